//! What an agent does with a git folder of its own, and what of it is taken over.

use super::*;
use crate::git::Git;
use crate::lengths::LONGEST_FILE;
use crate::owned::OwnedFolder;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::symlink;

/// git as an agent calls it: it finds out itself what belongs to the folder, and runs hooks.
fn agent(scene: &Scene, folder: &Path, words: &str) -> String {
    Git::unattended(&scene.of_user.environment, folder, RunHooks::Yes)
        .line(words)
        .text()
        .unwrap_or_else(|error| panic!("{words}: {error}"))
}

fn private_folder(worktree: &Worktree, scene: &Scene) -> PathBuf {
    let name = worktree.path().file_name().expect("a name");
    let own = scene.folder.path().join("worktrees/git/worktrees");
    own.canonicalize()
        .expect("a path")
        .join(name)
        .join("private")
}

fn tip(scene: &Scene, name: &str) -> CommitId {
    let tip = scene.of_user.branch_tip(&branch(name)).expect("asked");
    tip.expect("a branch")
}

#[test]
fn what_an_agent_does_reaches_the_repository_only_when_it_is_brought_home() {
    let scene = Scene::new();
    scene.git(&["branch", "other"]);
    scene.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    scene.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    let git_dir = scene.of_user.common_dir().to_owned();
    hook(&git_dir.join("hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    let base = scene.head();
    let worktree = scene.check_out("tm/1", &base);
    let before = files_below(scene.of_user.common_dir());
    let dot_git = fs::read(worktree.path().join(".git")).expect("a file");
    let private = worktree.begin_private().expect("a git folder");
    let folder = private_folder(&worktree, &scene);
    assert_eq!(
        private.writable,
        [folder.join("git"), folder.join("common")]
    );
    assert!(private.fixed.iter().all(|file| file.is_file()));
    assert!(private.readable.contains(&git_dir.join("objects")));
    let git = |words: &str| agent(&scene, worktree.path(), words);
    assert_eq!(git("status --porcelain"), "");
    assert_eq!(git("branch --show-current"), "tm/1");
    assert_eq!(git("rev-parse origin/HEAD other main").lines().count(), 3);
    assert_eq!(git("log --format=%an"), "Somebody");
    write(&worktree.path().join("a.txt"), "changed\n");
    git("stash");
    git("stash pop");
    git("add .");
    git("commit --quiet -m one");
    // Whoever is taken over after a crash is in the middle of its work.
    assert_eq!(
        worktree.begin_private().expect("the same").writable,
        private.writable
    );
    write(&worktree.path().join("b.txt"), "b\n");
    git("add .");
    git("commit --quiet -m two");
    git("tag -a v1 -m v1");
    git("branch -D other");
    git("update-ref refs/heads/main HEAD");
    git("config core.pager evil");
    git("pack-refs --all");
    git("checkout --quiet -b side");
    git("checkout --quiet tm/1");
    git("gc --quiet --prune=now");
    let left = CommitId::new(git("rev-parse HEAD"));
    assert_eq!(git("log --format=%an -1"), "Somebody");
    assert_eq!(files_below(scene.of_user.common_dir()), before);
    assert_eq!(worktree.bring_home().expect("brought"), None);
    assert_eq!(tip(&scene, "tm/1"), left);
    assert_eq!(scene.git(&["rev-list", "--count", "main..tm/1"]), "2");
    scene.git(&["fsck", "--strict"]);
    assert_eq!(
        scene.git(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main\nrefs/heads/other\nrefs/heads/tm/1\nrefs/remotes/origin/HEAD\nrefs/remotes/origin/main"
    );
    assert_eq!(tip(&scene, "main"), base);
    assert_eq!(
        fs::read(worktree.path().join(".git")).expect("a file"),
        dot_git
    );
    assert!(!private_folder(&worktree, &scene).exists());
    assert_eq!(worktree.bring_home().expect("nothing to bring"), None);
    let captured = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    let tree = scene.repository.tree_of(&left).expect("a tree");
    assert_eq!(captured.tree, tree);
    let mark = ("Task".to_owned(), "1".to_owned());
    let found = worktree.commits_of_agent(&base, &mark).expect("asked");
    assert_eq!(found, Some(left));
}

#[test]
fn work_on_another_branch_or_on_none_is_brought_too() {
    for (words, says) in [
        (&["checkout --quiet -b side", "commit --quiet -m x"][..], ""),
        (&["checkout --quiet --detach", "commit --quiet -m x"], ""),
        (&["commit --quiet -m x", "checkout --quiet --orphan o"], "o"),
    ] {
        let scene = Scene::new();
        let base = scene.head();
        let worktree = scene.check_out("tm/1", &base);
        worktree.begin_private().expect("a git folder");
        write(&worktree.path().join("b.txt"), "b\n");
        agent(&scene, worktree.path(), "add b.txt");
        for words in words {
            agent(&scene, worktree.path(), words);
        }
        assert_eq!(worktree.bring_home().expect("brought"), None);
        let head = worktree.head();
        assert_ne!(head, base, "{words:?}");
        scene.git(&["fsck", "--strict"]);
        let made = scene.git(&["show", &format!("{head}:b.txt")]);
        assert_eq!(
            (made.as_str(), says.is_empty()),
            ("b", tip(&scene, "tm/1") == base)
        );
    }
}

#[test]
fn files_that_an_agent_added_by_force_are_taken() {
    let scene = Scene::new();
    write(&scene.of_user.checkout_root().join(".gitignore"), "*.log\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "rules"]);
    let worktree = scene.check_out("tm/1", &scene.head());
    worktree.begin_private().expect("a git folder");
    write(&worktree.path().join("x.log"), "x");
    agent(&scene, worktree.path(), "add --force x.log");
    assert_eq!(worktree.bring_home().expect("brought"), None);
    let captured = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    let text = scene.repository.text_in_tree(&captured.tree, "x.log");
    assert_eq!(text.expect("a tree").as_deref(), Some("x"));
}

/// An agent that commits once, and whose git folder somebody then changes.
struct Changed {
    scene: Scene,
    worktree: Worktree,
    folder: PathBuf,
    commit: String,
}

impl Changed {
    fn new() -> Self {
        let scene = Scene::new();
        let worktree = scene.check_out("tm/1", &scene.head());
        worktree.begin_private().expect("a git folder");
        write(&worktree.path().join("b.txt"), "b\n");
        agent(&scene, worktree.path(), "add .");
        agent(&scene, worktree.path(), "commit --quiet -m one");
        Self {
            folder: private_folder(&worktree, &scene),
            commit: agent(&scene, worktree.path(), "rev-parse HEAD"),
            scene,
            worktree,
        }
    }

    fn owned(&self) -> OwnedFolder {
        let repository = self.scene.pool.repository();
        OwnedFolder::made_before(repository, self.worktree.path().to_owned()).expect("a folder")
    }

    /// Returns the file of a loose object.
    fn object(&self, revision: &str) -> PathBuf {
        let id = agent(
            &self.scene,
            self.worktree.path(),
            &format!("rev-parse {revision}"),
        );
        let objects = self.folder.join("common/objects");
        objects.join(&id[..2]).join(&id[2..])
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        let _nothing_there = fs::remove_file(&path);
        write(&path, text);
    }
}

/// What zlib makes of a few bytes without compressing them.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("few");
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    [
        &[0x78, 0x01, 0x01],
        &length.to_le_bytes()[..],
        &(!length).to_le_bytes(),
        bytes,
        &(b << 16 | a).to_be_bytes(),
    ]
    .concat()
}

fn fill(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    let _nothing_there = fs::remove_file(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .expect("written");
}

fn pipe(path: &Path) {
    let _nothing_there = fs::remove_file(path);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a pipe");
}

/// What is changed, how, and what is said of it.
type Change = (&'static str, fn(&Changed), &'static str);

const CHANGED_FILES: &[Change] = &[
    (
        "HEAD leads elsewhere",
        |this| {
            let path = this.scene.folder.path().join("elsewhere");
            write(&path, &this.commit);
            fs::remove_file(this.folder.join("git/HEAD")).expect("removed");
            symlink(path, this.folder.join("git/HEAD")).expect("a link");
        },
        "`git/HEAD` can't be read: it is a link",
    ),
    (
        "HEAD is a pipe",
        |this| pipe(&this.folder.join("git/HEAD")),
        "`git/HEAD` can't be read: it is a pipe",
    ),
    (
        "HEAD is gone",
        |this| fs::remove_file(this.folder.join("git/HEAD")).expect("removed"),
        "`git/HEAD` names no commit",
    ),
    (
        "HEAD leads out of the folder",
        |this| this.put("git/HEAD", "ref: ../../../../../checkout/.git/HEAD\n"),
        "out of the folder",
    ),
    (
        "HEAD is endless",
        |this| {
            let file = fs::File::create(this.folder.join("git/HEAD")).expect("a file");
            file.set_len(10 << 30).expect("a hole");
        },
        "`git/HEAD` can't be read: it is longer than",
    ),
    (
        "HEAD is at a blob",
        |this| {
            let blob = agent(&this.scene, this.worktree.path(), "rev-parse HEAD:b.txt");
            this.put("git/HEAD", &blob);
        },
        "there is no commit",
    ),
    (
        "HEAD is an option",
        |this| this.put("git/HEAD", "--output=/tmp/x"),
        "names no commit",
    ),
    (
        "the references are garbage",
        |this| {
            let garbage = "\0\u{1}garbage refs/heads/tm/1\n";
            this.put("common/packed-refs", garbage);
            fs::remove_file(this.folder.join("common/refs/heads/tm/1")).expect("removed");
        },
        "`common/packed-refs` names no commit",
    ),
    (
        "the branch is a pipe",
        |this| pipe(&this.folder.join("common/refs/heads/tm/1")),
        "`common/refs/heads/tm/1` can't be read",
    ),
];

const CHANGED_OBJECTS: &[Change] = &[
    (
        "a commit of another repository",
        |this| {
            let other = this.scene.folder.path().join("other");
            fs::create_dir(&other).expect("a folder");
            let git = |words| agent(&this.scene, &other, words);
            git("init --quiet");
            git("config user.name A");
            git("config user.email a@example.org");
            git("commit --quiet --allow-empty -m secret");
            let objects = format!("{}\n", other.join(".git/objects").display());
            this.put("common/objects/info/alternates", &objects);
            this.put("common/refs/heads/tm/1", &git("rev-parse HEAD"));
        },
        "there is no commit",
    ),
    (
        "a tree is missing",
        |this| fs::remove_file(this.object("HEAD^{tree}")).expect("removed"),
        "bad tree object",
    ),
    (
        "a file is missing",
        |this| fs::remove_file(this.object("HEAD:b.txt")).expect("removed"),
        "unable to",
    ),
    (
        "a file is another one than its name says",
        |this| {
            let path = this.object("HEAD:b.txt");
            fill(&path, &stored(b"blob 4\0evil"));
        },
        "did not receive expected object",
    ),
    (
        "an object says that it is endless",
        |this| {
            let path = this.object("HEAD:b.txt");
            fill(&path, &stored(b"blob 10737418240\0x"));
        },
        "`b.txt` has 10737418240 bytes",
    ),
    (
        "a folder that nobody committed says that it is endless",
        |this| {
            let id = "1".repeat(38);
            let path = this.folder.join("common/objects/11").join(id);
            fill(&path, &stored(b"tree 10737418240\0x"));
        },
        "it has a tree of 10737418240 bytes",
    ),
    (
        "objects say that they are endless together",
        |this| {
            for number in 10..30 {
                write(
                    &this.worktree.path().join(number.to_string()),
                    &format!("{number}"),
                );
            }
            agent(&this.scene, this.worktree.path(), "add .");
            agent(&this.scene, this.worktree.path(), "commit --quiet -m many");
            for number in 10..30 {
                let path = this.object(&format!("HEAD:{number}"));
                fill(&path, &stored(b"blob 268435456\0x"));
            }
        },
        "its objects have 5368",
    ),
    (
        "a pack is endless",
        |this| {
            let folder = this.folder.join("common/objects/pack");
            fs::create_dir_all(&folder).expect("a folder");
            let file = fs::File::create(folder.join("pack-1.pack")).expect("a file");
            file.set_len(10 << 30).expect("a hole");
        },
        "its store of objects is longer than 1073741824 bytes",
    ),
    (
        "a pack says that it has very many objects",
        |this| {
            let pack = this.folder.join("common/objects/pack/pack-1.pack");
            fill(&pack, b"PACK\0\0\0\x02\xff\xff\xff\xff");
        },
        "more than 2000000 objects",
    ),
    (
        "a pack is garbage",
        |this| this.put("common/objects/pack/pack-1.pack", "garbage"),
        "early EOF",
    ),
    (
        "a tree that git refuses",
        |this| {
            let git = |words: &str| agent(&this.scene, this.worktree.path(), words);
            let blob = git("rev-parse HEAD:b.txt");
            let id: Vec<u8> = (0..20)
                .map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).expect("hex"))
                .collect();
            let file = this.scene.folder.path().join("tree");
            fill(&file, &[b"100644 .git\0", &id[..]].concat());
            let path = file.display();
            let tree = git(&format!("hash-object -w -t tree --literally {path}"));
            let commit = git(&format!("commit-tree {tree} -p main -m evil"));
            this.put("common/refs/heads/tm/1", &commit);
        },
        "hasDotgit",
    ),
    (
        "the folder is another one",
        |this| {
            fs::rename(&this.folder, this.scene.folder.path().join("aside")).expect("moved");
            symlink(this.scene.folder.path().join("aside"), &this.folder).expect("a link");
        },
        "its git folder is another one by now",
    ),
];

#[test]
fn what_nobody_committed_may_be_as_long_as_it_is() {
    let this = Changed::new();
    for number in 10..30 {
        let id = format!("{number}{}", "1".repeat(36));
        let path = this.folder.join("common/objects/11").join(id);
        let length = if number == 10 {
            LONGEST_FILE + 1
        } else {
            LONGEST_FILE
        };
        fill(&path, &stored(format!("blob {length}\0x").as_bytes()));
    }
    assert_eq!(this.worktree.bring_home().expect("brought"), None);
    assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit);
    this.scene.git(&["fsck", "--strict"]);
}

#[test]
fn a_git_folder_that_was_changed_is_refused_in_words_and_nothing_is() {
    for (name, change, words) in CHANGED_FILES.iter().chain(CHANGED_OBJECTS) {
        let this = Changed::new();
        let (scene, worktree) = (&this.scene, &this.worktree);
        change(&this);
        let before = files_below(scene.of_user.common_dir());
        let refused = worktree.bring_home().expect("an answer").expect(name);
        assert!(refused.contains(words), "{name}: {refused}");
        assert_eq!(files_below(scene.of_user.common_dir()), before, "{name}");
        assert!(this.folder.symlink_metadata().is_err(), "{name}");
        let captured = worktree
            .capture(&PathPatterns::default())
            .expect("captured");
        let text = scene.repository.text_in_tree(&captured.tree, "b.txt");
        assert_eq!(text.expect("a tree").as_deref(), Some("b\n"), "{name}");
        assert_eq!(worktree.head(), scene.head(), "{name}");
    }
}

#[test]
fn nothing_in_the_folder_has_git_run_or_read_anything() {
    let this = Changed::new();
    let place = this.scene.folder.path();
    let run = place.join("run");
    let evil = format!("#!/bin/sh\ntouch {}\n", run.display());
    hook(&place.join("evil"), &evil);
    let program = place.join("evil").display().to_string();
    let mut config = String::from("[core]\n\trepositoryformatversion = 1\n");
    for line in [
        "[core]\n\tfsmonitor = %\n\tsshCommand = %\n\tgitProxy = %\n\thooksPath = common/hooks",
        "[uploadpack]\n\tpackObjectsHook = %",
        "[filter \"x\"]\n\tclean = %\n\tsmudge = %\n\trequired",
        "[extensions]\n\tpartialClone = origin",
        "[remote \"origin\"]\n\turl = ext::%\n\tpromisor\n\tuploadpack = %",
        "[alias]\n\tcat-file = !%\n\tindex-pack = !%",
        "[include]\n\tpath = /dev/stdin",
    ] {
        config.push_str(&line.replace('%', &program));
        config.push('\n');
    }
    for (file, text) in [
        ("common/config", config.as_str()),
        ("git/config.worktree", &config),
        ("common/info/attributes", "* filter=x\n"),
        ("common/info/grafts", &this.commit),
        ("common/shallow", &format!("{}\n", this.commit)),
        ("common/objects/info/alternates", "/\n"),
        ("common/objects/info/commit-graph", "garbage"),
        ("common/objects/pack/multi-pack-index", "garbage"),
        ("common/objects/pack/pack-1.promisor", ""),
        ("git/commondir", "/nowhere\n"),
    ] {
        this.put(file, text);
    }
    for name in [
        "post-index-change",
        "reference-transaction",
        "post-checkout",
    ] {
        hook(&this.folder.join("common/hooks").join(name), &evil);
        hook(&this.folder.join("git/hooks").join(name), &evil);
    }
    assert_eq!(this.worktree.bring_home().expect("brought"), None);
    assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit);
    this.scene.git(&["fsck", "--strict"]);
    assert!(!run.exists());
}

#[test]
fn a_call_that_takes_too_long_is_ended() {
    use std::time::{Duration, Instant};
    let scene = Scene::new();
    let call = |until: Instant, words: &str| {
        let git = scene.of_user.git_in(scene.of_user.checkout_root());
        git.line("-c alias.wait=!sleep -c alias.say=!echo")
            .line(words)
            .until(until)
            .text()
    };
    let begun = Instant::now();
    let ended = call(begun + Duration::from_millis(50), "wait 3");
    assert!(
        ended
            .expect_err("ended")
            .to_string()
            .contains("it took longer than")
    );
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_eq!(
        call(begun + Duration::from_mins(1), "say it").expect("said"),
        "it"
    );
}

/// What a tm that was killed left, each when it had come further.
const KILLED: [(&str, Killed); 4] = [
    ("before anything", |_| ()),
    ("when the first object was in the repository", |this| {
        let object = this.object("HEAD");
        let within = object.strip_prefix(this.folder.join("common"));
        let place = this
            .scene
            .repository
            .common_dir()
            .join(within.expect("a path"));
        fill(&place, &fs::read(&object).expect("an object"));
    }),
    ("when git's folder was the repository's again", |this| {
        let owned = this.owned();
        owned
            .link_to_repository(&OwnedHead::Branch(this.worktree.branch()))
            .expect("linked");
    }),
    ("when all was done", |this| {
        assert_eq!(this.worktree.bring_home().expect("brought"), None);
    }),
];

type Killed = fn(&Changed);

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    for (when, killed) in KILLED {
        let this = Changed::new();
        killed(&this);
        let folder = this.scene.folder.path().join("worktrees");
        let anew = WorktreePool::open(&this.scene.of_user, &folder).expect("a pool");
        let worktree = anew
            .take_over(this.worktree.path(), &branch("tm/1"), &this.scene.head())
            .expect("a worktree");
        assert_eq!(worktree.bring_home().expect("brought"), None, "{when}");
        assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit, "{when}");
        this.scene.git(&["fsck", "--strict"]);
        let captured = worktree.capture(&PathPatterns::default());
        assert!(
            captured.is_ok_and(|captured| captured.changed_from_base),
            "{when}"
        );
        // The branch says all of it.
        worktree.release().expect("released");
    }
}

#[test]
fn what_was_committed_is_kept_when_a_killed_runs_worktrees_are_cleared() {
    let this = Changed::new();
    write(&this.worktree.path().join("c.txt"), "c\n");
    WorktreePool::open(
        &this.scene.of_user,
        &this.scene.folder.path().join("worktrees"),
    )
    .and_then(|pool| pool.close())
    .expect("closed");
    assert!(!this.worktree.path().exists());
    assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit);
    let kept = this.scene.of_user.kept("refs/tm/salvage/").expect("kept");
    let files = this
        .scene
        .git(&["ls-tree", "--name-only", &kept[0].reference]);
    assert_eq!(files, "a.txt\nb.txt\nc.txt");
}

/// What is done with a worktree in which somebody committed.
type Step = fn(&Worktree);

#[test]
fn whatever_takes_the_work_or_makes_the_worktree_ready_anew_brings_it_home() {
    let steps: [Step; 5] = [
        |worktree| {
            let captured = worktree.capture(&PathPatterns::default());
            assert!(captured.is_ok_and(|captured| captured.changed_from_base));
        },
        |worktree| worktree.go_back_to(worktree.base()).expect("gone back"),
        |worktree| worktree.show_at_branch().expect("shown"),
        |worktree| {
            let kept = worktree.salvage("refs/tm/salvage/test/1/1", "kept");
            assert_eq!(kept.expect("kept"), Some(worktree.head()));
        },
        |worktree| {
            let rest = worktree.commit_rest::<Error>(&PathPatterns::default(), "rest", None);
            assert_eq!(rest.expect("nothing is left"), None);
        },
    ];
    for step in steps {
        let this = Changed::new();
        step(&this.worktree);
        assert!(!this.folder.exists());
        assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit);
        assert_eq!(this.worktree.bring_home().expect("nothing"), None);
    }
}

#[test]
fn commits_are_brought_home_from_a_worktree_that_is_gone() {
    let this = Changed::new();
    fs::remove_dir_all(this.worktree.path()).expect("removed");
    let pruned = this
        .scene
        .repository
        .prune(this.scene.pool.folder(), Pruning::Done, |_| None)
        .expect("pruned");
    assert_eq!(pruned[0].why, "its folder is gone");
    assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit);
    this.scene.git(&["fsck", "--strict"]);
}

#[test]
fn a_worktree_whose_link_to_its_git_folder_was_changed_is_told_of() {
    let this = Changed::new();
    let dot_git = this.worktree.path().join(".git");
    fs::remove_file(&dot_git).expect("removed");
    agent(&this.scene, this.worktree.path(), "init --quiet");
    for _ in 0..2 {
        let refused = this.worktree.capture(&PathPatterns::default());
        assert!(
            matches!(&refused, Err(Error::GitFilesChanged(files)) if *files == [dot_git.clone()])
        );
        assert_eq!(this.worktree.bring_home().expect("brought"), None);
    }
    assert_eq!(tip(&this.scene, "tm/1").as_str(), this.commit);
    this.worktree.show_at_branch().expect("shown");
    assert!(this.worktree.capture(&PathPatterns::default()).is_ok());
}

#[test]
fn a_git_folder_that_is_another_one_is_not_opened_for_anybody() {
    let this = Changed::new();
    let aside = this.scene.folder.path().join("aside");
    fs::rename(&this.folder, &aside).expect("moved");
    symlink(&aside, &this.folder).expect("a link");
    let private = this.worktree.begin_private().expect("a git folder");
    let real = this.folder.canonicalize().expect("a path");
    assert_eq!(real, this.folder);
    assert!(private.writable.iter().all(|path| path.starts_with(&real)));
    assert!(aside.join("common/config").exists());
}

#[test]
fn hooks_are_those_of_when_the_run_began_and_what_the_user_has_checked_out_is_refused() {
    let scene = Scene::new();
    let hooks = scene.of_user.common_dir().join("hooks");
    let say = "#!/bin/sh\necho Hooked >> $1\n";
    hook(&hooks.join("commit-msg"), say);
    let anew = scene.pool_anew();
    hook(&hooks.join("commit-msg"), "#!/bin/sh\nexit 1\n");
    let worktree = anew
        .check_out(&branch("tm/1"), None, &scene.head(), &[], |_, _| Ok(vec![]))
        .expect("a worktree");
    let private = worktree.begin_private().expect("a git folder");
    let git = |words: &str| agent(&scene, worktree.path(), words);
    git("commit --quiet --allow-empty -m x");
    assert_eq!(git("log -1 --format=%B").trim_end(), "x\nHooked");
    let named = PathBuf::from(git("config core.hooksPath"));
    assert!(private.readable.contains(&named) && !named.starts_with(&hooks));
    let refused = Git::unattended(&scene.of_user.environment, worktree.path(), RunHooks::No)
        .line("checkout main")
        .text();
    assert!(
        refused
            .expect_err("refused")
            .to_string()
            .contains("already")
    );
}

/// What an agent may call, `%` being a file of its choice.
const CALLS: [&str; 27] = [
    "add %",
    "add --all",
    "add --all",
    "checkout --quiet --detach",
    "checkout --quiet -b side",
    "checkout --quiet main",
    "checkout --quiet tm/1",
    "cherry-pick other",
    "clean --force --quiet",
    "commit --allow-empty --quiet -m empty",
    "commit --amend --no-edit --quiet",
    "commit --quiet --all -m all",
    "commit --quiet --all -m all",
    "commit --quiet -m staged",
    "merge --quiet -m merged other",
    "mv a.txt moved.txt",
    "pack-refs --all",
    "rebase --abort",
    "rebase --quiet other",
    "reset --hard --quiet HEAD~1",
    "reset --soft HEAD~1",
    "revert --no-edit HEAD",
    "repack -d -q",
    "rm --quiet %",
    "stash --include-untracked",
    "stash pop",
    "tag --force v1",
];

/// Everything that is to be the same: what git answered, where the branch and HEAD are, and what would be committed.
type Outcome = (Vec<String>, CommitId, CommitId, String, TreeId);

/// Has an agent do it all in a worktree, with the repository's git folder or one of its own.
fn outcome(steps: &[(usize, String, String)], has_own: bool) -> Outcome {
    let mut scene = Scene::new();
    let at = "2026-01-01T00:00:00Z";
    let environment = environment(scene.folder.path())
        .with("GIT_AUTHOR_DATE", at)
        .with("GIT_COMMITTER_DATE", at);
    let git = |folder: &Path, words: &str| {
        Git::unattended(&environment, folder, RunHooks::Yes)
            .line(words)
            .once()
            .answer()
            .expect("git is there")
    };
    let root = scene.of_user.checkout_root().to_owned();
    hook(
        &scene.of_user.common_dir().join("hooks/commit-msg"),
        "#!/bin/sh\necho Hooked >> $1\n",
    );
    scene.pool.close().expect("closed");
    for words in [
        "commit --amend --quiet --no-edit --reset-author",
        "checkout --quiet -b other",
    ] {
        assert_eq!(git(&root, words).code, 0, "{words}");
    }
    write(&root.join("b.txt"), "other\n");
    git(&root, "add .");
    git(&root, "commit --quiet -m other");
    git(&root, "checkout --quiet main");
    // Two pools would wait for each other.
    let (pool, folder) = (scene.pool, scene.folder.path().join("worktrees"));
    drop(pool);
    scene.pool = WorktreePool::open(&scene.of_user, &folder).expect("a pool");
    let worktree = scene.check_out("tm/1", &scene.head());
    if has_own {
        worktree.begin_private().expect("a git folder");
    }
    let mut answers = Vec::new();
    for (call, file, text) in steps {
        let Some(words) = CALLS.get(*call) else {
            write(&worktree.path().join(file), text);
            continue;
        };
        let answer = git(worktree.path(), &words.replace('%', file));
        let status = git(worktree.path(), "status --porcelain=v2 --branch").stdout;
        let status = String::from_utf8_lossy(&status).into_owned();
        answers.push(format!("{words}: {} {status}", answer.code));
    }
    if has_own {
        assert_eq!(worktree.bring_home().expect("brought"), None);
        // Without, git itself leaves an index that names the tree of no file, which is nowhere.
        scene.git(&["fsck", "--strict", "--no-dangling"]);
    }
    let head = worktree.head();
    let log = scene.git(&["log", "--format=%H %B", head.as_str()]);
    let captured = worktree.capture(&PathPatterns::default());
    let tree = captured.expect("captured").tree;
    (answers, tip(&scene, "tm/1"), head, log, tree)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]
    #[test]
    fn what_an_agent_does_comes_to_the_same_with_a_git_folder_of_its_own_and_without(
        steps in proptest::collection::vec((0_usize..40, "[ab][.]txt", "[xy]{1,3}\n"), 1..16)
    ) {
        prop_assert_eq!(outcome(&steps, true), outcome(&steps, false));
    }
}

#[test]
fn many_objects_come_as_a_pack_and_few_do_not() {
    for (files, packs) in [(20, 0), (200, 1)] {
        let scene = Scene::new();
        let worktree = scene.check_out("tm/1", &scene.head());
        worktree.begin_private().expect("a git folder");
        for number in 0..files {
            let path = worktree.path().join(format!("{number}.txt"));
            write(&path, &number.to_string());
        }
        agent(&scene, worktree.path(), "add .");
        agent(&scene, worktree.path(), "commit --quiet -m many");
        assert_eq!(worktree.bring_home().expect("brought"), None);
        let counted = scene.git(&["count-objects", "-v"]);
        assert!(counted.contains(&format!("packs: {packs}")), "{counted}");
        assert!(counted.contains("garbage: 0"), "{counted}");
        scene.git(&["fsck", "--strict"]);
    }
}

#[test]
fn secrets_in_settings_are_not_told_and_nothing_is_signed() {
    let scene = Scene::new();
    for (key, value) in [
        ("remote.origin.url", "https://me:s3cret@example.org/a.git"),
        (
            "http.https://example.org/.extraheader",
            "Authorization: s3cret",
        ),
        ("credential.helper", "!echo password=s3cret"),
        ("commit.gpgsign", "true"),
        ("gpg.program", "/nowhere"),
        ("core.autocrlf", "input"),
    ] {
        scene.git(&["config", key, value]);
    }
    let worktree = scene
        .pool_anew()
        .check_out(&branch("tm/1"), None, &scene.head(), &[], |_, _| {
            Ok(Vec::new())
        })
        .expect("a worktree");
    let private = worktree.begin_private().expect("a git folder");
    let git = |words: &str| agent(&scene, worktree.path(), words);
    assert_eq!(git("config core.autocrlf"), "input");
    assert_eq!(
        git("remote get-url origin"),
        "https://me:[redacted]@example.org/a.git"
    );
    git("commit --quiet --allow-empty -m x");
    let config = fs::read_to_string(private.writable[1].join("config")).expect("a file");
    assert!(!config.contains("s3cret"), "{config}");
}

#[test]
fn repositories_of_other_kinds_are_worked_in_and_brought_home() {
    for kind in ["--object-format=sha256", "--ref-format=reftable"] {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("checkout");
        fs::create_dir(&root).expect("a folder");
        let environment = environment(folder.path());
        let git = |folder: &Path, words: &str| Git::new(&environment, folder).line(words).text();
        if git(&root, &format!("init --quiet --initial-branch=main {kind}")).is_err() {
            // An older git has no such kind.
            continue;
        }
        for words in [
            "config user.name A",
            "config user.email a@example.org",
            "commit --quiet --allow-empty -m first",
        ] {
            git(&root, words).expect("git");
        }
        let repository = Repository::discover_in(&root, environment.clone()).expect("found");
        let pool = WorktreePool::open(&repository, &folder.path().join("worktrees"));
        let base = repository.head().expect("a head").commit;
        let worktree = pool
            .expect("a pool")
            .check_out(&branch("tm/1"), None, &base, &[], |_, _| Ok(Vec::new()))
            .expect("a worktree");
        worktree.begin_private().expect("a git folder");
        let agent = |words| git(worktree.path(), words).expect(words);
        agent("commit --quiet --allow-empty -m one");
        agent("tag v1");
        let left = agent("rev-parse HEAD");
        assert_eq!(worktree.bring_home().expect(kind), None);
        let tip = repository.branch_tip(&branch("tm/1")).expect("asked");
        assert_eq!(tip, Some(CommitId::new(left)), "{kind}");
        assert_eq!(git(&root, "tag").expect("git"), "");
        assert_eq!(agent("log --format=%s"), "one\nfirst");
    }
}

#[test]
fn a_commit_of_a_tree_that_nobody_could_walk_is_not_taken_over() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    worktree.begin_private().expect("a git folder");
    let git = |words: &str| {
        let git = Git::unattended(&scene.of_user.environment, worktree.path(), RunHooks::No);
        git.line(words)
    };
    write(&worktree.path().join("b.txt"), "b\n");
    let file = agent(&scene, worktree.path(), "hash-object -w b.txt");
    let mut line = format!("100644 blob {file}");
    for _ in 0..12 {
        let entries = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
            .map(|at| format!("{line}\tn{at}\n"))
            .concat();
        let tree = git("mktree").input(entries).object_id().expect("a tree");
        line = format!("040000 tree {tree}");
    }
    let tree = line.rsplit(' ').next().expect("an id");
    let commit = agent(
        &scene,
        worktree.path(),
        &format!("commit-tree {tree} -m large"),
    );
    agent(
        &scene,
        worktree.path(),
        &format!("update-ref HEAD {commit}"),
    );
    let refused = worktree.bring_home().expect("brought").expect("refused");
    assert!(refused.contains("stands for more than"), "{refused}");
    assert_eq!(tip(&scene, "tm/1"), scene.head());
    let captured = worktree.capture(&never(&[])).expect("what is in the files");
    let paths = scene.repository.paths(&captured.tree).expect("paths");
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
}

#[test]
fn a_worktree_in_which_an_agent_works_is_looked_at_by_no_settings_of_its_own() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    worktree.begin_private().expect("a git folder");
    let mark = scene.folder.path().join("was-here");
    let filter = format!("touch '{}'; cat", mark.display());
    let git = |words: &[&str]| {
        let git = Git::unattended(&scene.of_user.environment, worktree.path(), RunHooks::Yes);
        git.args(words).text().expect("git")
    };
    git(&["config", "filter.x.clean", &filter]);
    write(&worktree.path().join(".gitattributes"), "* filter=x\n");
    write(&worktree.path().join("new"), "new\n");
    let tree = scene.pool.tree_of_worktree(worktree.path());
    let tree = tree.expect("a tree");
    assert!(!mark.exists());
    let text = scene.of_user.text_in_tree(&tree, "new").expect("read");
    assert_eq!(text.as_deref(), Some("new\n"));
    // What leads elsewhere is not followed, and what is no worktree is none.
    fs::remove_file(worktree.path().join(".git")).expect("removed");
    write(&worktree.path().join(".git"), "gitdir: /nowhere\n");
    let again = scene.pool.tree_of_worktree(worktree.path());
    assert_eq!(again.expect("a tree"), tree);
    fs::create_dir_all(worktree.path().join("in/.git")).expect("a folder");
    for folder in [worktree.path().join("in"), scene.folder.path().to_owned()] {
        let refused = scene.pool.tree_of_worktree(&folder);
        assert!(matches!(refused, Err(Error::NoCheckout(_))), "{refused:?}");
    }
}
