//! Real git in folders of its own.

mod accepted;
mod apart;
mod arguments;
mod believed;
mod bounded;
mod bounded_merges;
mod extent;
mod history;
mod hooks;
mod ignored;
mod judging;
mod left;
mod left_in_git;
mod lengths;
mod merged;
mod named_objects;
mod nested;
mod new_commit;
mod objects;
mod private;
mod quiet;
mod reader;
mod reading;
mod reference_updates;
mod safety;
mod united;
mod untouched;
mod user_indexes;
mod work_of_others;

use super::*;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tm_scheduler::iteration::WorkChanges;
use tm_scheduler::{BranchName, CommitId};

/// Every file below a folder, where links lead.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder").flatten() {
            let path = entry.path();
            if entry.file_type().expect("a kind").is_dir() {
                folders.push(path);
            } else {
                let within = path.strip_prefix(folder).expect("below it").to_owned();
                found.insert(within, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// Writes other bytes into a file, through a mapping of it that was read before.
fn write_mapped(file: &Path) {
    let opened = std::fs::File::options().read(true).write(true).open(file);
    let (mut mapping, _) = opened
        .map(|file| {
            (
                vmap::MapMut::with_options().map(&file).expect("mapped"),
                file,
            )
        })
        .expect("a file");
    std::hint::black_box(mapping.to_vec());
    mapping.fill(b'x');
}

/// Returns the bytes of an id.
fn bytes_of(id: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("digits");
    (0..id.len()).step_by(2).map(byte).collect()
}

/// When a look that begins now is over.
fn soon() -> std::time::Instant {
    std::time::Instant::now() + LONGEST_LOOK
}

struct Scene {
    folder: TempDir,
    /// The repository as the user has it, and as the run of the pool does.
    of_user: Repository,
    repository: Repository,
    pool: WorktreePool,
}

fn environment(home: &Path) -> Environment {
    Environment::default()
        .with("HOME", home)
        .with("XDG_CONFIG_HOME", home)
        .with("GIT_CONFIG_NOSYSTEM", "1")
        .with("GIT_CONFIG_GLOBAL", "/dev/null")
}

/// A folder for a test: in memory where there is room, since most of the time goes into the disk's flushes otherwise. Whoever
/// sets TMPDIR chooses.
fn own_folder() -> TempDir {
    const IN_MEMORY: &str = "/dev/shm";
    const ENOUGH: u64 = 1 << 30;
    let has_room = rustix::fs::statvfs(IN_MEMORY).is_ok_and(|found| {
        // Hooks are programs in it.
        let is_for_programs = !found.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
        found.f_bavail * found.f_frsize > ENOUGH && is_for_programs
    });
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    let in_memory = (has_room && !is_chosen)
        .then(|| tempfile::tempdir_in(IN_MEMORY).ok())
        .flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a folder"))
}

impl Scene {
    fn new() -> Self {
        Self::of_kind(&[]).expect("git")
    }

    /// One whose objects or references are kept in another way; `None` where git knows none of that kind.
    fn of_kind(kind: &[&str]) -> Option<Self> {
        Self::in_folder(own_folder(), kind)
    }

    fn in_folder(folder: TempDir, kind: &[&str]) -> Option<Self> {
        let root = folder.path().join("checkout");
        std::fs::create_dir(&root).expect("a folder");
        let environment = environment(folder.path());
        let git = |arguments: &[&str]| {
            git::Git::new(&environment, &root)
                .args(arguments)
                .done()
                .expect("git");
        };
        let init = ["init", "--quiet", "--initial-branch=main"];
        let init = git::Git::new(&environment, &root).args([&init[..], kind].concat());
        init.done().ok()?;
        git(&["config", "user.name", "Somebody"]);
        git(&["config", "user.email", "somebody@example.org"]);
        write(&root.join("a.txt"), "one\ntwo\nthree\n");
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "first"]);
        let repository = Repository::discover_in(&root, environment).expect("a repository");
        let pool =
            WorktreePool::open(&repository, &folder.path().join("worktrees")).expect("a pool");
        Some(Self {
            folder,
            of_user: repository,
            repository: pool.repository().clone(),
            pool,
        })
    }

    /// A pool of a run that begins now.
    fn pool_anew(&self) -> WorktreePool {
        WorktreePool::open(&self.of_user, &self.folder.path().join("anew")).expect("a pool")
    }

    /// The same with such a pool.
    fn anew(self) -> Self {
        let pool = self.pool_anew();
        Self {
            repository: pool.repository().clone(),
            pool,
            ..self
        }
    }

    /// What the user's git says, once the run has published what it made.
    fn git(&self, arguments: &[&str]) -> String {
        // There is nothing to publish in a pool that was closed.
        let _closed = self.repository.publish_objects();
        self.repository
            .git_in(self.repository.checkout_root())
            .args(arguments)
            .text()
            .expect("git")
    }

    fn head(&self) -> CommitId {
        self.of_user.head().expect("a head").commit
    }

    fn check_out(&self, name: &str, base: &CommitId) -> Worktree {
        self.pool
            .check_out(&branch(name), None, base, &[], |_, _| Ok(Vec::new()))
            .expect("a worktree")
    }

    /// One task from worktree to commit.
    fn task(&self, name: &str, base: &CommitId, file: &str, text: &str) -> CommitId {
        let worktree = self.check_out(name, base);
        write(&worktree.path().join(file), text);
        let captured = worktree
            .capture(&PathPatterns::default())
            .expect("captured");
        assert!(captured.changed_from_base);
        let commit = self.commit(
            &worktree,
            &captured.tree,
            &format!("{name}\n\nTask: {name}\n"),
        );
        worktree.release().expect("released");
        commit
    }

    fn commit(&self, worktree: &Worktree, tree: &TreeId, message: &str) -> CommitId {
        let commit = self
            .repository
            .commit_as_user(tree, &[worktree.base()], message)
            .expect("a commit");
        worktree
            .put_branch_at(&commit, "refs/tm/salvage/test/1/1")
            .expect("moved");
        commit
    }

    fn advance(&self, integration: &BranchName, preview: &MergePreview) {
        let merge = self
            .repository
            .merge_commit(preview, "Land\n")
            .expect("a merge");
        let start = preview.head.clone();
        self.repository
            .move_branch(integration, &merge, Some(&start))
            .expect("landed");
    }

    fn land(&self, commit: &CommitId) -> Landing {
        let head = self
            .repository
            .resolve("tm/run")
            .expect("an integration branch");
        let landing = self.repository.land(&head, commit).expect("a merge");
        if let Landing::Clean(preview) = &landing {
            self.advance(&branch("tm/run"), preview);
        }
        landing
    }
}

fn branch(name: &str) -> BranchName {
    BranchName::new(name.to_owned()).expect("a branch name")
}

#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn never(patterns: &[&str]) -> PathPatterns {
    PathPatterns::new(patterns).expect("patterns")
}

#[test]
fn landing_in_either_order_gives_the_same_tree_and_touches_no_checkout() {
    let trees: Vec<TreeId> = [["b", "c"], ["c", "b"]]
        .iter()
        .map(|order| {
            let scene = Scene::new();
            let base = scene.head();
            scene
                .repository
                .create_branch(&branch("tm/run"), &base)
                .expect("created");
            for name in order {
                let commit = scene.task(&format!("tm/{name}"), &base, &format!("{name}.txt"), name);
                assert!(matches!(scene.land(&commit), Landing::Clean(_)));
                assert_eq!(scene.land(&commit), Landing::AlreadyLanded);
            }
            assert_eq!(
                (scene.head(), scene.git(&["status", "--porcelain"])),
                (base, String::new())
            );
            scene
                .repository
                .tree_of(&scene.repository.resolve("tm/run").expect("a commit"))
                .expect("a tree")
        })
        .collect();
    assert_eq!(trees[0], trees[1]);
}

#[test]
fn a_conflict_names_the_files_and_moves_nothing() {
    let scene = Scene::new();
    let base = scene.head();
    scene
        .repository
        .create_branch(&branch("tm/run"), &base)
        .expect("created");
    let one = scene.task("tm/1", &base, "a.txt", "ONE\ntwo\nthree\n");
    let other = scene.task("tm/2", &base, "a.txt", "uno\ntwo\nthree\n");
    scene.land(&one);
    let before = scene.repository.resolve("tm/run").expect("a commit");
    let Landing::Conflict(conflict) = scene.land(&other) else {
        panic!("a conflict")
    };
    assert_eq!(
        (conflict.files, conflict.texts.expect("lines").len()),
        (vec!["a.txt".to_owned()], 1)
    );
    assert_eq!(
        scene.repository.resolve("tm/run").expect("a commit"),
        before
    );
    let with = scene
        .repository
        .trailers_between(&other, &before, &["a.txt".into()], "Task")
        .expect("trailers");
    assert_eq!(with, ["tm/1"]);
    assert!(matches!(
        scene
            .repository
            .combine(&[one, other], "Base\n", Conflicts::United),
        Ok(Err(_))
    ));
}

#[test]
fn the_base_of_a_task_contains_everything_or_is_refused() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/1", &base, "b.txt", "b");
    let two = scene.task("tm/2", &base, "c.txt", "c");
    let refused = scene.pool.check_out(
        &branch("tm/3"),
        None,
        &one,
        std::slice::from_ref(&two),
        |_, _| Ok(Vec::new()),
    );
    assert!(matches!(refused, Err(Error::MissingDependency { missing, .. }) if missing == two));
    let Ok(both) = scene
        .repository
        .combine(&[one.clone(), two.clone()], "Base\n", Conflicts::Told)
        .expect("a merge")
    else {
        panic!("a conflict")
    };
    scene
        .pool
        .check_out(&branch("tm/3"), None, &both, &[one.clone(), two], |_, _| {
            Ok(Vec::new())
        })
        .expect("a worktree");
    let same = scene
        .repository
        .combine(&[both.clone(), one], "Base\n", Conflicts::Told)
        .expect("a merge");
    assert_eq!(same, Ok(both));
}

#[test]
fn the_default_branch_and_the_one_checked_out_are_never_moved() {
    let scene = Scene::new();
    let base = scene.head();
    let commit = scene.task("tm/1", &base, "b.txt", "b");
    scene.git(&["checkout", "--quiet", "-b", "mine"]);
    for name in ["main", "mine"] {
        let start = base.clone();
        let moved = scene
            .repository
            .move_branch(&branch(name), &commit, Some(&start));
        assert!(
            matches!(moved, Err(Error::RefusedDefaultBranch { .. })),
            "{name}"
        );
        let given = scene
            .pool
            .check_out(&branch(name), Some(&start), &base, &[], |_, _| {
                Ok(Vec::new())
            });
        assert!(
            matches!(given, Err(Error::RefusedDefaultBranch { .. })),
            "{name}"
        );
        assert_eq!(scene.repository.resolve(name).expect("a commit"), base);
    }
}

#[test]
fn whoever_loses_a_race_for_a_branch_is_told() {
    let scene = Scene::new();
    let base = scene.head();
    scene
        .repository
        .create_branch(&branch("tm/run"), &base)
        .expect("created");
    let one = scene.task("tm/1", &base, "b.txt", "b");
    let start = base.clone();
    scene
        .repository
        .move_branch(&branch("tm/run"), &one, Some(&start))
        .expect("moved");
    let late = scene
        .repository
        .move_branch(&branch("tm/run"), &base, Some(&start));
    assert!(matches!(late, Err(Error::Moved { .. })));
    let again = scene.repository.move_branch(&branch("tm/run"), &one, None);
    assert!(matches!(again, Err(Error::Moved { .. })));
}

#[test]
fn names_that_are_taken_or_in_the_way_are_seen() {
    let scene = Scene::new();
    let base = scene.head();
    scene
        .repository
        .create_branch(&branch("tm/1"), &base)
        .expect("created");
    assert_eq!(
        scene
            .repository
            .free_branch(&branch("tm/1"))
            .expect("a name"),
        branch("tm/1-2")
    );
    assert!(matches!(
        scene.repository.free_branch(&branch("tm/1/x")),
        Err(Error::BranchClash { .. })
    ));
    assert!(matches!(
        scene.repository.free_branch(&branch("tm")),
        Err(Error::BranchClash { .. })
    ));
}

#[test]
fn what_is_never_committed_stays_out_even_when_the_agent_committed_it() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    write(&worktree.path().join(".taskmaster/tasks.json"), "{}");
    write(&worktree.path().join("b.txt"), "b");
    let git = |arguments: &[&str]| {
        scene
            .repository
            .git_in(worktree.path())
            .args(arguments)
            .done()
            .expect("git");
    };
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "by the agent"]);
    let captured = worktree
        .capture(&never(&[".taskmaster/**"]))
        .expect("captured");
    assert_eq!(
        captured.never_committed,
        [PathBuf::from(".taskmaster/tasks.json")]
    );
    let commit = scene.commit(&worktree, &captured.tree, "by tm\n");
    assert_eq!(
        scene.git(&["ls-tree", "-r", "--name-only", commit.as_str()]),
        "a.txt\nb.txt"
    );
    assert_eq!(
        scene.git(&["log", "--format=%s", commit.as_str()]),
        "by tm\nfirst"
    );
    assert_eq!(
        scene.git(&["log", "--format=%s", "refs/tm/salvage/test/1/1"]),
        "by the agent\nfirst"
    );
    assert!(worktree.path().join(".taskmaster/tasks.json").exists());
}

#[test]
fn an_agent_that_leaves_the_branch_or_rewrites_history_keeps_its_content() {
    for commands in [
        &[
            &["checkout", "--quiet", "-b", "elsewhere"][..],
            &["commit", "--quiet", "--allow-empty", "-m", "there"],
        ][..],
        &[&["checkout", "--quiet", "--detach"]],
        &[
            &["checkout", "--quiet", "--orphan", "nothing"],
            &["commit", "--quiet", "--allow-empty", "-m", "root"],
        ],
    ] {
        let scene = Scene::new();
        let base = scene.head();
        let worktree = scene.check_out("tm/1", &base);
        write(&worktree.path().join("b.txt"), "b");
        for arguments in commands {
            scene
                .repository
                .git_in(worktree.path())
                .args(*arguments)
                .done()
                .expect("git");
        }
        let captured = worktree
            .capture(&PathPatterns::default())
            .expect("captured");
        let commit = scene.commit(&worktree, &captured.tree, "work\n");
        assert_eq!(
            scene.repository.branch_tip(&branch("tm/1")).expect("a tip"),
            Some(commit.clone())
        );
        assert!(
            scene
                .repository
                .is_ancestor(&base, &commit)
                .expect("an answer")
        );
        assert_eq!(
            scene.git(&["ls-tree", "-r", "--name-only", commit.as_str()]),
            "a.txt\nb.txt"
        );
    }
}

fn hook(path: &Path, text: &str) {
    write(path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn worktrees_are_used_again_clean_and_their_branches_are_free() {
    let scene = Scene::new();
    let base = scene.head();
    let worktree = scene.check_out("tm/1", &base);
    let path: PathBuf = worktree.path().to_owned();
    write(&path.join("left.txt"), "left");
    worktree.release().expect("released");
    scene.git(&["branch", "-D", "--quiet", "tm/1"]);
    let again = scene.check_out("tm/2", &base);
    assert_eq!(again.path(), path);
    assert!(!path.join("left.txt").exists());
    again.release().expect("released");
    scene.pool.close().expect("closed");
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn many_worktrees_at_once_are_no_trouble() {
    let scene = Scene::new();
    let base = scene.head();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (scene, base) = (&scene, &base);
            scope.spawn(move || {
                scene.task(&format!("tm/{number}"), base, &format!("{number}.txt"), "x")
            });
        }
    });
    scene.pool.close().expect("closed");
}

#[test]
fn a_worktree_or_branch_that_the_user_deleted_is_an_error_and_no_panic() {
    let scene = Scene::new();
    let base = scene.head();
    let worktree = scene.check_out("tm/1", &base);
    std::fs::remove_dir_all(worktree.path()).expect("removed");
    assert!(worktree.capture(&PathPatterns::default()).is_err());
    let path = worktree.path().to_owned();
    assert!(worktree.release().is_err());
    assert!(matches!(
        scene.pool.take_over(&path, &branch("tm/1"), &base),
        Err(Error::NotInPool { .. })
    ));
    scene.check_out("tm/2", &base);
}

#[test]
fn changes_are_seen_where_the_default_branch_is_only_at_the_remote() {
    let scene = Scene::new();
    scene.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/elsewhere",
    ]);
    let take = || CheckoutSnapshot::take(&scene.repository, &[]).expect("a snapshot");
    let before = take();
    write(&scene.repository.checkout_root().join("x.txt"), "x\n");
    assert_eq!(
        before.changes(&take(), &scene.repository).work,
        ["x.txt (new, +1)"]
    );
}

#[test]
fn changes_in_the_users_checkout_are_seen() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root().to_owned();
    let own = [root.join("tasks.json")];
    let take = || CheckoutSnapshot::take(&scene.repository, &own).expect("a snapshot");
    let changes = |before: &CheckoutSnapshot, after: &CheckoutSnapshot| {
        before.changes(after, &scene.repository).work
    };
    let before = take();
    write(&root.join("tasks.json"), "{}");
    assert_eq!(changes(&before, &take()), Vec::<String>::new());
    write(&root.join("x.txt"), "x\ny\n");
    let with_file = take();
    assert_eq!(changes(&before, &with_file), ["x.txt (new, +2)"]);
    write(&root.join("x.txt"), "longer");
    assert_eq!(changes(&with_file, &take()), ["x.txt (changed again, +1)"]);
    write(&root.join("a.txt"), "one\n2\nthree\nfour\n");
    assert_eq!(
        changes(&with_file, &take()),
        ["a.txt (modified, +2 -1)", "x.txt (changed again, +1)"]
    );
    std::fs::remove_file(root.join("x.txt")).expect("removed");
    assert_eq!(
        changes(&with_file, &take()),
        [
            "a.txt (modified, +2 -1)",
            "x.txt (was changed before, and is as in HEAD now)"
        ]
    );
    scene.git(&["commit", "--quiet", "--allow-empty", "-m", "escape"]);
    let second = scene.head().to_string();
    let second = &second[..10];
    let [head, default, _] = &changes(&before, &take())[..] else {
        panic!("three changes")
    };
    assert_eq!(*head, format!("HEAD (now main at {second})"));
    assert_eq!(*default, format!("the default branch (now at {second})"));
}

#[test]
fn a_tree_is_made_with_some_files_as_they_were() {
    let scene = Scene::new();
    let head = scene.head();
    let worktree = scene.check_out("tm/one", &head);
    write(&worktree.path().join("a.txt"), "other");
    write(&worktree.path().join("t/new.txt"), "new");
    write(&worktree.path().join("kept.txt"), "kept");
    let staged = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    let text =
        |commit: &CommitId, path: &str| scene.repository.text_at(commit, path).expect("a commit");
    assert_eq!(
        scene
            .repository
            .text_in_tree(&staged.tree, "t/new.txt")
            .expect("a tree")
            .as_deref(),
        Some("new")
    );
    let files = ["a.txt", "t/new.txt", "nowhere.txt"].map(str::to_owned);
    let made = scene
        .repository
        .with_files_of(&staged.tree, &files, &head)
        .expect("a commit");
    assert_eq!(text(&made, "a.txt").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(text(&made, "t/new.txt"), None);
    assert_eq!(text(&made, "kept.txt").as_deref(), Some("kept"));
    assert_eq!(
        scene.repository.first_parent(&made).expect("a commit"),
        Some(head.clone())
    );
    assert_eq!(
        scene.repository.first_parent(&head).expect("a commit"),
        None
    );
}

#[test]
fn work_is_seen_committed_or_not_and_files_of_tm_are_left_out() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root();
    write(&root.join("before.txt"), "was there\n");
    let before = scene.repository.work_snapshot().expect("a snapshot");
    let since = |before: &WorkSnapshot, left_out: &[PathBuf]| {
        let after = scene.repository.work_snapshot().expect("a snapshot");
        scene
            .repository
            .work_between(before, &after, left_out)
            .expect("work")
    };
    let nothing = since(&before, &[]);
    assert_eq!(
        nothing,
        WorkChanges {
            uncommitted: 1,
            ..WorkChanges::default()
        }
    );
    write(&root.join("a.txt"), "one\n2\nthree\n");
    scene.git(&["commit", "--quiet", "-am", "count\tdown"]);
    write(&root.join("sub/new.txt"), "a\nb\n");
    write(&root.join(".taskmaster/notes"), "mine\n");
    let work = since(&before, &[".taskmaster".into()]);
    assert_eq!(
        (
            work.files,
            work.insertions,
            work.deletions,
            work.uncommitted
        ),
        (2, 3, 1, 2)
    );
    assert_eq!(
        work.commits
            .iter()
            .map(|(_, subject)| subject.as_str())
            .collect::<Vec<_>>(),
        ["count\tdown"]
    );
    assert_eq!(
        scene.git(&["diff", "--cached", "--name-only"]),
        "",
        "the index is as it was"
    );
}

#[test]
fn the_rest_is_committed_above_the_agents_own_commits() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/loop", &scene.head());
    assert_eq!(
        worktree
            .commit_rest(&PathPatterns::default(), "rest", Some(&mut hooks::unheld))
            .expect("nothing"),
        None
    );
    write(&worktree.path().join("b.txt"), "b\n");
    let git = || scene.repository.git_in(worktree.path());
    git().line("add .").done().expect("added");
    git()
        .line("commit --quiet -m")
        .arg("the agent's")
        .done()
        .expect("committed");
    assert_eq!(
        worktree
            .commit_rest(&PathPatterns::default(), "rest", Some(&mut hooks::unheld))
            .expect("nothing"),
        None
    );
    write(&worktree.path().join("c.txt"), "c\n");
    let rest = worktree
        .commit_rest(&PathPatterns::default(), "rest", Some(&mut hooks::unheld))
        .expect("a commit")
        .expect("a commit");
    assert_eq!(
        scene
            .repository
            .resolve(&format!("{rest}~2"))
            .expect("a commit"),
        scene.head()
    );
}

#[test]
fn a_file_that_changes_just_after_it_was_staged_is_seen() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/one", &scene.head());
    for round in 0..20 {
        write(&worktree.path().join("a.txt"), &format!("old {round:02}"));
        worktree.capture(&PathPatterns::default()).expect("staged");
        write(&worktree.path().join("a.txt"), &format!("new {round:02}"));
        let there = scene.repository.at_checkout(worktree.path());
        let tree = there.and_then(|it| it.tree_of_checkout());
        let tree = tree.expect("a tree");
        let text = scene
            .repository
            .text_in_tree(&tree, "a.txt")
            .expect("a tree");
        assert_eq!(text, Some(format!("new {round:02}")));
    }
}

#[test]
fn a_worktree_for_looking_around_goes_when_nothing_is_left_in_it() {
    let scene = Scene::new();
    let commit = scene.task("task", &scene.head(), "new.txt", "new\n");
    let folder = scene.folder.path().join("opened/task");
    let opened = scene
        .repository
        .open_worktree(&branch("task"), &folder)
        .expect("a worktree");
    assert_eq!(opened, InspectionWorktree::Made(folder.clone()));
    assert_eq!(
        scene
            .repository
            .open_worktree(&branch("task"), &folder)
            .expect("again"),
        opened
    );
    write(&folder.join("mine.txt"), "not committed\n");
    assert_eq!(
        scene.repository.close_worktree(&opened).outcome,
        Pruned::Kept
    );
    std::fs::remove_file(folder.join("mine.txt")).expect("removed");
    assert_eq!(
        scene.repository.close_worktree(&opened).outcome,
        Pruned::Removed
    );
    assert!(!folder.exists());
    assert_eq!(
        scene
            .repository
            .branch_tip(&branch("task"))
            .expect("a branch"),
        Some(commit)
    );
    let here = scene
        .repository
        .open_worktree(&branch("main"), &folder)
        .expect("the checkout");
    assert_eq!(
        here,
        InspectionWorktree::Found(scene.repository.checkout_root().to_owned())
    );
    assert_eq!(scene.repository.close_worktree(&here).outcome, Pruned::Kept);
    scene
        .repository
        .open_worktree(&branch("nowhere"), &folder)
        .expect_err("there is no such branch");
}

/// Names on both sides of every rule.
const NAMES: [&str; 33] = [
    "a",
    "a/b",
    "tm/master/task-1.2-x",
    "ünïcode",
    "-a",
    "a-",
    "a/-b",
    ".a",
    "a/.b",
    "a.",
    "a./b",
    "a..b",
    "a b",
    "a~b",
    "a^b",
    "a:b",
    "a?b",
    "a*b",
    "a[b",
    "a\\b",
    "a@{b",
    "a@b",
    "a/@",
    "HEAD",
    "a//b",
    "/a",
    "a/",
    "a.lock",
    "a.lock/b",
    "a\u{7f}b",
    "a\nb",
    "a'b\"c",
    "{a}",
];

#[test]
fn names_are_judged_as_git_judges_them() {
    for name in NAMES {
        let git = crate::git::Git::new(&crate::Environment::default(), std::path::Path::new("/"))
            .line("check-ref-format --branch")
            .arg(name)
            .answer()
            .expect("git runs");
        assert_eq!(BranchName::new(name).is_ok(), git.code == 0, "`{name}`");
    }
}

/// Settings that were about to be forgotten are taken again, whatever of them was gone already.
#[test]
fn settings_that_were_half_removed_are_made_anew() {
    let scene = Scene::new();
    let folder = scene.folder.path().join("kept");
    let open = || scene.of_user.with_settings_kept_in(&folder);
    let settings = || {
        open().map(|repository| {
            repository
                .own()
                .map(|own| own.environment(&Environment::default()))
        })
    };
    let whole = format!("{:?}", settings().expect("settings"));
    for gone in [
        "common/config",
        "common",
        "gitconfig",
        "attributes",
        "reading",
        "",
    ] {
        std::fs::remove_file(folder.join("settings")).expect("removed");
        let gone = folder.join(gone);
        if gone.is_dir() {
            std::fs::remove_dir_all(gone).expect("removed");
        } else {
            std::fs::remove_file(gone).expect("removed");
        }
        assert_eq!(format!("{:?}", settings().expect("settings")), whole);
        assert!(open().expect("settings").read(|_| Some(())).is_some());
    }
    crate::repository::own::OwnGit::remove(&folder).expect("removed");
    assert!(!folder.exists());
}
