//! Checkouts of a real repository, made ready by real commands, and what those who work there do to them.

use super::*;
use crate::Turn;
use crate::test_queue::Urgency;
use rustix::fs::{FileType, Mode, XattrFlags, mknodat, setxattr};
use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::num::NonZeroU32;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use tempfile::TempDir;
use tm_worktrees::create_repository;

struct Scene {
    folder: TempDir,
    repository: Repository,
}

/// One checkout of tm's, with what is known of it.
struct Checkout {
    place: PreparedPlace,
    state: Prepared,
}

impl Scene {
    /// A repository that ignores `node_modules`, `.venv`, `.env` and `target`.
    fn new() -> Self {
        Self::in_folder(tempfile::tempdir().expect("a folder"))
    }

    fn in_folder(folder: TempDir) -> Self {
        let root = folder.path().join("user");
        write(
            &root.join(".gitignore"),
            "node_modules\n.venv\n.env\ntarget\n",
        );
        write(&root.join("code"), "code\n");
        let repository = create_repository(&root, "first").expect("a repository");
        Self { folder, repository }
    }

    fn user(&self, path: &str) -> PathBuf {
        self.repository.checkout_root().join(path)
    }

    fn basis(&self, settings: &str) -> PreparationBasis {
        let all = format!("worktree: {{{settings}}}\n");
        write(
            &self.folder.path().join("project/.taskmaster/tm.yaml"),
            &all,
        );
        let root = self.folder.path().join("project");
        let inputs = tm_config::Inputs {
            project: tm_config::ProjectFiles::InFolder(root),
            ..tm_config::Inputs::default()
        };
        PreparationBasis {
            repository: self.repository.clone(),
            settings: tm_config::load(&inputs)
                .expect("settings")
                .settings
                .worktree,
            folder: self.folder.path().join("run"),
            own_folders: vec![self.user("node_modules/tm-home")],
            environment: EnvironmentRules::default(),
            executor: Executor::local(self.folder.path().join("under-way")),
            tests: TestQueue::new(NonZeroU32::MIN),
        }
    }

    fn begin(&self, settings: &str) -> Arc<Preparation> {
        Preparation::begin(self.basis(settings)).expect("begun")
    }

    /// A checkout with the tracked files and nothing else.
    fn checkout(&self, name: &str, role: Role) -> Checkout {
        let folder = self
            .folder
            .path()
            .canonicalize()
            .expect("a folder")
            .join(name);
        write(&folder.join("code"), "code\n");
        write(&folder.join(".git"), "gitdir: elsewhere\n");
        let root = folder.clone();
        let untracked: Untracked = Arc::new(move || {
            let names = fs::read_dir(&root)
                .expect("a folder")
                .map(|entry| PathBuf::from(entry.expect("a name").file_name()));
            Ok(names
                .filter(|name| {
                    !["code", ".git", "tracked"]
                        .iter()
                        .any(|tracked| name == Path::new(tracked))
                })
                .collect())
        });
        let place = PreparedPlace {
            folder,
            role,
            log: self.folder.path().join("setup.log"),
            untracked,
            variables: Vec::new(),
            turn: Turn::new(Urgency::SetUp),
            layers: self.folder.path().join("layers"),
        };
        Checkout {
            place,
            state: Prepared::default(),
        }
    }
}

/// What a cleaning of a checkout leaves.
fn kept(
    preparation: &Arc<Preparation>,
    checkout: &Checkout,
    untracked: &[PathBuf],
) -> Vec<PathBuf> {
    let untracked = || Ok(untracked.to_vec());
    let kept = preparation.kept(&checkout.state, untracked);
    kept.expect("nothing has to be listed")
}

impl Checkout {
    fn path(&self, path: &str) -> PathBuf {
        self.place.folder.join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| error.kind().to_string())
    }

    async fn prepare(
        &mut self,
        preparation: &Arc<Preparation>,
        named_files: &str,
    ) -> Option<Unprepared> {
        match preparation
            .prepare(&self.place, &mut self.state, named_files, TreeOf::User)
            .await
            .expect("prepared")
        {
            PrepareReport::WasReady => None,
            PrepareReport::Made { why, .. } => Some(why),
        }
    }

    async fn fails(&mut self, preparation: &Arc<Preparation>) -> Error {
        preparation
            .prepare(&self.place, &mut self.state, "", TreeOf::User)
            .await
            .expect_err("a failure")
    }

    /// The state of a checkout that was made ready by a command, after somebody has worked there.
    async fn after(
        &mut self,
        preparation: &Arc<Preparation>,
        work: impl FnOnce(&Self),
    ) -> Option<Unprepared> {
        assert_eq!(self.prepare(preparation, "").await, Some(Unprepared::New));
        work(self);
        self.prepare(preparation, "").await
    }
}

/// Something that is done to a prepared folder.
type Work = fn(&Path);

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("written");
}

fn changed(path: &str) -> Unprepared {
    Unprepared::Changed(path.into())
}

const MAKE: &str = "setup: 'mkdir -p node_modules/a && echo 1 > node_modules/a/x && ln -s a node_modules/b; echo run >> ../runs'";

#[tokio::test]
async fn commands_run_once_and_again_when_the_named_files_differ() {
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    let mut judge = scene.checkout("w1", Role::Judge);
    assert_eq!(
        judge.prepare(&preparation, "lock 1").await,
        Some(Unprepared::New)
    );
    assert_eq!(judge.prepare(&preparation, "lock 1").await, None);
    assert_eq!(
        judge.prepare(&preparation, "lock 2").await,
        Some(Unprepared::OtherFiles)
    );
    assert_eq!(
        (
            judge.text("../runs").lines().count(),
            judge.text("node_modules/b/x")
        ),
        (2, "1\n".to_owned())
    );
    let mut other = scene.checkout("w2", Role::Judge);
    assert_eq!(
        other.prepare(&preparation, "lock 2").await,
        Some(Unprepared::New)
    );
    assert_eq!(kept(&preparation, &judge, &[]), [Path::new("node_modules")]);
}

#[tokio::test]
async fn without_settings_nothing_is_prepared_and_other_files_change_nothing() {
    let scene = Scene::new();
    let preparation = scene.begin("");
    let mut judge = scene.checkout("w", Role::Judge);
    write(&judge.path("node_modules/left"), "by somebody");
    assert_eq!(
        judge.prepare(&preparation, "lock 1").await,
        Some(Unprepared::New)
    );
    assert_eq!(judge.prepare(&preparation, "lock 2").await, None);
    assert!(!judge.path("node_modules").exists() && kept(&preparation, &judge, &[]).is_empty());
    assert!(
        !scene.folder.path().join("run").exists(),
        "nothing was copied"
    );
}

#[tokio::test]
async fn what_is_added_is_removed_and_the_rest_is_not_made_again() {
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    let mut judge = scene.checkout("w", Role::Judge);
    let again = judge.after(&preparation, |judge| {
        write(&judge.path("node_modules/a/evil/x"), "");
        symlink("/", judge.path("node_modules/root")).expect("a link");
    });
    assert_eq!(again.await, None);
    assert!(
        !judge.path("node_modules/a/evil").exists()
            && !judge.path("node_modules/root").is_symlink()
    );
    assert_eq!(judge.text("node_modules/a/x"), "1\n");
}

#[tokio::test]
async fn a_file_with_the_size_and_the_time_that_it_had_is_seen() {
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    let mut judge = scene.checkout("w", Role::Judge);
    let again = judge.after(&preparation, |judge| {
        let path = judge.path("node_modules/a/x");
        let before = fs::metadata(&path).expect("a file");
        write(&path, "2\n");
        let times = FileTimes::new().set_modified(before.modified().expect("a time"));
        File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_times(times))
            .expect("set back");
        let after = fs::metadata(&path).expect("a file");
        assert_eq!(
            (before.len(), before.mtime_nsec(), before.ino()),
            (after.len(), after.mtime_nsec(), after.ino())
        );
    });
    assert_eq!(again.await, Some(changed("node_modules/a/x")));
    assert_eq!(judge.text("node_modules/a/x"), "1\n");
}

#[tokio::test]
async fn what_is_written_through_a_mapping_is_seen_in_memory_as_on_a_disk() {
    let on_disk = tempfile::tempdir();
    let in_memory = tempfile::tempdir_in("/dev/shm");
    for folder in [on_disk, in_memory].into_iter().flatten() {
        let scene = Scene::in_folder(folder);
        let preparation = scene.begin(MAKE);
        let mut judge = scene.checkout("w", Role::Judge);
        let again = judge.after(&preparation, |judge| {
            let path = judge.path("node_modules/a/x");
            let file = File::options().read(true).write(true).open(path);
            let mapping = vmap::MapMut::with_options().map(&file.expect("a file"));
            let mut mapping = mapping.expect("mapped");
            // Pages that were read before are noticed by nobody.
            std::hint::black_box(mapping.to_vec());
            mapping.fill(b'2');
        });
        assert_eq!(again.await, Some(changed("node_modules/a/x")));
        assert_eq!(judge.text("node_modules/a/x"), "1\n");
    }
}

/// As `setfacl --default --modify user::rw-,group::---,other::---` says it.
const NOT_EXECUTABLE: &[u8] = b"\
    \x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x04\0\0\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";

#[tokio::test]
async fn whatever_else_happens_to_prepared_files_is_seen() {
    let works: [(&str, &str, Work); 7] = [
        ("gone", "node_modules/a/x", |modules| {
            fs::remove_file(modules.join("a/x")).expect("removed");
        }),
        ("mode", "node_modules/a/x", |modules| {
            fs::set_permissions(modules.join("a/x"), fs::Permissions::from_mode(0o755))
                .expect("set");
        }),
        ("link", "node_modules/b", |modules| {
            fs::remove_file(modules.join("b"))
                .and_then(|()| symlink("a", modules.join("b")))
                .expect("a link");
        }),
        ("folder", "node_modules/a", |modules| {
            fs::rename(modules.join("a"), modules.join("c")).expect("moved");
            write(&modules.join("a/x"), "1\n");
        }),
        ("all", "node_modules", |modules| {
            fs::remove_dir_all(modules).expect("removed");
        }),
        ("unreadable", "node_modules/a", |modules| {
            fs::set_permissions(modules.join("a"), fs::Permissions::from_mode(0o000)).expect("set");
        }),
        ("handed down", "node_modules/a", |modules| {
            let name = "system.posix_acl_default";
            setxattr(modules.join("a"), name, NOT_EXECUTABLE, XattrFlags::empty()).expect("set");
        }),
    ];
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    for (name, place, work) in works {
        let mut judge = scene.checkout(name, Role::Judge);
        let again = judge.after(&preparation, |judge| work(&judge.path("node_modules")));
        assert_eq!(again.await, Some(changed(place)), "{name}");
        assert_eq!(judge.text("node_modules/b/x"), "1\n", "{name}");
        assert!(!judge.path("node_modules/c").exists(), "{name}");
    }
}

#[tokio::test]
async fn a_folder_that_became_a_link_is_never_followed() {
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    let documents = scene.folder.path().join("documents");
    write(&documents.join("letter"), "dear");
    write(&documents.join("x"), "1\n");
    for (name, place) in [("top", "node_modules"), ("inner", "node_modules/a")] {
        let mut judge = scene.checkout(name, Role::Judge);
        let again = judge.after(&preparation, |judge| {
            fs::remove_dir_all(judge.path(place))
                .and_then(|()| symlink(&documents, judge.path(place)))
                .expect("a link");
        });
        assert_eq!(again.await, Some(changed(place)));
        assert!(judge.path(place).is_dir() && !judge.path(place).is_symlink());
        assert_eq!(fs::read_dir(&documents).expect("still there").count(), 2);
    }
}

#[tokio::test]
async fn what_nobody_can_open_or_name_in_one_path_is_removed() {
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    let mut judge = scene.checkout("w", Role::Judge);
    let again = judge.after(&preparation, |judge| {
        write(&judge.path("node_modules/locked/in/x"), "");
        for folder in ["node_modules/locked/in", "node_modules/locked"] {
            fs::set_permissions(judge.path(folder), fs::Permissions::from_mode(0o000))
                .expect("set");
        }
        let modules = Folder::open(&judge.path("node_modules")).expect("a folder");
        let deep: PathBuf = std::iter::repeat_n("deep-enough", 200)
            .chain(["pipe"])
            .collect();
        let folder = modules
            .make_parent_of(&deep)
            .expect("folders")
            .expect("no link")
            .0;
        mknodat(&folder, "pipe", FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
    });
    assert_eq!(again.await, None);
    let names = |path: &str| {
        Folder::open(&judge.path(path))
            .and_then(|folder| folder.names())
            .expect("names")
            .len()
    };
    assert_eq!((names("node_modules"), names("")), (2, 3));
}

#[tokio::test]
async fn folders_that_are_too_deep_fail_the_set_up_that_made_them_and_nothing_else() {
    let scene = Scene::new();
    let deep = "mkdir -p node_modules/$(printf \"d/%.0s\" $(seq 300))";
    let preparation = scene.begin(&format!("setup: '{deep}'"));
    let mut checkout = scene.checkout("w", Role::Agent);
    let (place, state) = (&checkout.place, &mut checkout.state);
    for _ in 0..2 {
        let made = preparation.prepare(place, state, "", TreeOf::Agents).await;
        let error = made.expect_err("too deep");
        assert!(
            crate::step_error::describe(&error).contains("more than 128 deep"),
            "{error:?}"
        );
        assert!(!crate::StepError::of(&error).is_of_surroundings());
    }
}

#[tokio::test]
async fn a_folder_that_a_set_up_closed_is_opened_and_written_down() {
    let scene = Scene::new();
    let preparation = scene.begin("setup: 'mkdir -p node_modules/a/b && chmod 0 node_modules/a'");
    let mut judge = scene.checkout("w", Role::Judge);
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    assert!(judge.path("node_modules/a/b").is_dir());
    assert_eq!(judge.prepare(&preparation, "").await, None);
}

#[tokio::test]
async fn a_file_of_holes_is_copied_as_one() {
    let scene = Scene::new();
    fs::create_dir(scene.user("target")).expect("made");
    let file = File::create(scene.user("target/holes")).expect("made");
    file.set_len(1 << 40).expect("a long file");
    file.write_all_at(b"data", 1 << 39).expect("written");
    let preparation = scene.begin("copy: [target]");
    let mut checkout = scene.checkout("w", Role::Judge);
    checkout.prepare(&preparation, "").await;
    let copy = File::open(checkout.path("target/holes")).expect("copied");
    let (metadata, mut data) = (copy.metadata().expect("it is there"), [0; 4]);
    copy.read_exact_at(&mut data, 1 << 39).expect("read");
    assert_eq!((metadata.len(), &data), (1 << 40, b"data"));
    assert!(metadata.blocks() < 1_000, "{} blocks", metadata.blocks());
}

#[tokio::test]
async fn caches_stay_whoever_wrote_there_and_whatever_is_made_again() {
    let scene = Scene::new();
    let preparation = scene.begin(&format!("{MAKE}, cache: [/target, node_modules/.cache]"));
    let mut judge = scene.checkout("w", Role::Judge);
    let again = judge.after(&preparation, |judge| {
        write(&judge.path("target/debug/x"), "");
        write(&judge.path("node_modules/.cache/x"), "");
    });
    assert_eq!(again.await, None);
    write(&judge.path("node_modules/a/x"), "other");
    assert_eq!(
        judge.prepare(&preparation, "").await,
        Some(changed("node_modules/a/x"))
    );
    assert!(judge.path("target/debug/x").exists() && judge.path("node_modules/.cache/x").exists());
    let stay = |of: &Checkout| preparation.renew(&of.place).expect("renewed");
    assert!(stay(&judge) && !stay(&scene.checkout("new", Role::Judge)));
    let untracked = ["target", "node_modules", "other"].map(PathBuf::from);
    let kept = kept(&preparation, &judge, &untracked);
    assert!(
        untracked[..2].iter().all(|path| kept.contains(path)) && !kept.contains(&untracked[2]),
        "{kept:?}"
    );
}

#[tokio::test]
async fn what_tests_built_before_anybody_worked_is_in_each_checkout_that_is_new() {
    let scene = Scene::new();
    let preparation = scene.begin("cache: [/target]");
    let mut first = scene.checkout("first", Role::Judge);
    assert_eq!(first.prepare(&preparation, "").await, Some(Unprepared::New));
    let (library, names) = ("target/deps/library", "target/names");
    write(&first.path(library), "built once");
    write(&first.path("elsewhere/x"), "no cache");
    write(&first.path(names), &first.path("src").display().to_string());
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let built = File::options().write(true).open(first.path(library));
    let built = built.expect("a file");
    built.set_modified(long_ago).expect("a time");
    let folder = scene.folder.path().join("built");
    let kept = preparation.keep_built(&first.place, folder.clone()).await;
    kept.expect("kept");
    // What others build there later is theirs.
    write(&first.path(library), "built by somebody's work");
    for (name, role) in [("agent", Role::Agent), ("judge", Role::Judge)] {
        let mut new = scene.checkout(name, role);
        assert_eq!(new.prepare(&preparation, "").await, Some(Unprepared::New));
        assert_eq!(new.text(library), "built once");
        assert_eq!(new.text(names), new.path("src").display().to_string());
        assert!(!new.path("elsewhere").exists());
        let metadata = fs::metadata(new.path(library)).expect("a file");
        assert_eq!(metadata.modified().expect("a time"), long_ago);
    }
    let mut used = scene.checkout("used", Role::Judge);
    write(&used.path("target/own"), "its own");
    used.prepare(&preparation, "").await;
    assert!(used.path("target/own").exists() && !used.path(library).exists());
    // Somebody was there since: nobody gets it.
    write(&folder.join(library), "built by an agent");
    let mut last = scene.checkout("last", Role::Judge);
    last.prepare(&preparation, "").await;
    assert!(!last.path("target").exists());
}

#[tokio::test]
async fn a_file_of_the_tree_in_a_prepared_folder_stays() {
    let scene = Scene::new();
    let preparation = scene.begin(MAKE);
    let mut judge = scene.checkout("w", Role::Judge);
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    write(&judge.path("node_modules/a/tracked"), "by the tree");
    write(&judge.path("node_modules/a/strange/x"), "");
    let listed = [
        "node_modules/a/strange",
        "node_modules/a/x",
        "node_modules/b",
    ]
    .map(PathBuf::from)
    .to_vec();
    judge.place.untracked = Arc::new(move || Ok(listed.clone()));
    assert_eq!(judge.prepare(&preparation, "").await, None);
    assert_eq!(judge.text("node_modules/a/tracked"), "by the tree");
    assert!(!judge.path("node_modules/a/strange").exists());
}

#[tokio::test]
async fn a_command_that_fails_is_named_with_its_last_lines_and_leaves_nothing() {
    let scene = Scene::new();
    let settings = "setup: ['mkdir node_modules', 'seq 20 && echo \"no such package\" >&2; exit 4', 'touch ../late']";
    let preparation = scene.begin(settings);
    let mut judge = scene.checkout("w", Role::Judge);
    let Error::Setup(failed) = judge.fails(&preparation).await else {
        panic!("another error")
    };
    assert_eq!(failed.end, SetupEnd::Exited(4));
    assert_eq!(
        (
            failed.last_lines.len(),
            failed.last_lines.last().map(String::as_str)
        ),
        (12, Some("no such package"))
    );
    let words = failed.to_string();
    assert!(
        words.starts_with("set up a worktree: `seq 20")
            && words.ends_with("\n  20\n  no such package"),
        "{words}"
    );
    assert!(!scene.folder.path().join("late").exists());
    assert!(kept(&preparation, &judge, &[]).is_empty());
}

#[tokio::test]
async fn commands_have_one_limit_together_and_leave_no_process() {
    let scene = Scene::new();
    let preparation =
        scene.begin("setup: ['true', 'sleep 1000 & sleep 1000'], setup_timeout: 300ms");
    let Error::Setup(failed) = scene.checkout("w", Role::Judge).fails(&preparation).await else {
        panic!("another")
    };
    assert_eq!(failed.end, SetupEnd::TimedOut(Duration::from_millis(300)));
    let preparation = scene.begin("setup: [[no-such-program-here]]");
    let Error::Setup(failed) = scene.checkout("v", Role::Judge).fails(&preparation).await else {
        panic!("another")
    };
    assert!(matches!(failed.end, SetupEnd::NotStarted(_)), "{failed}");
    assert_eq!(
        fs::read_dir(scene.folder.path().join("under-way")).map_or(0, Iterator::count),
        0
    );
}

#[tokio::test]
async fn commands_find_what_keeps_hooks_away_and_what_they_are_given() {
    let scene = Scene::new();
    let mut basis =
        scene.basis("setup: 'echo $HUSKY $CI $GIVEN $(ls -A $HOME) > node_modules', teardown: 'echo done; exit 3'");
    basis
        .environment
        .added
        .insert("GIVEN".to_owned(), Some("given".to_owned()));
    let preparation = Preparation::begin(basis).expect("begun");
    let mut judge = scene.checkout("w", Role::Judge);
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    let text = judge.text("node_modules");
    assert!(
        text.starts_with("0 1 given") && !text.contains("node_modules"),
        "{text}"
    );
    let Error::Setup(warning) = preparation
        .tear_down(&judge.place)
        .await
        .expect_err("a warning")
    else {
        panic!("another")
    };
    assert_eq!(
        (warning.end, warning.last_lines),
        (SetupEnd::Exited(3), vec!["done".to_owned()])
    );
}

#[tokio::test]
async fn ignored_files_are_copied_with_modes_and_times_and_links_stay_links() {
    let scene = Scene::new();
    write(&scene.user("node_modules/a/run"), "run");
    fs::set_permissions(
        scene.user("node_modules/a/run"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("set");
    symlink("a", scene.user("node_modules/inside")).expect("a link");
    symlink("/etc", scene.user("node_modules/outside")).expect("a link");
    symlink(scene.user("code"), scene.user("node_modules/back")).expect("a link");
    write(
        &scene.user("node_modules/script"),
        &format!("#!{}\n", scene.user(".venv/bin/python").display()),
    );
    write(&scene.user("node_modules/a/.git/config"), "git's own");
    write(&scene.user("node_modules/tm-home/runs"), "tm's own");
    write(&scene.user(".taskmaster/x/.env"), "tm's own");
    write(&scene.user(".env"), "SECRET=1");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in ["node_modules/a/run", "node_modules/a"] {
        let times = FileTimes::new().set_modified(long_ago);
        File::open(scene.user(path))
            .and_then(|file| file.set_times(times))
            .expect("set");
    }
    let preparation = scene.begin("copy: [node_modules, .env, code]");
    let mut agent = scene.checkout("w", Role::Agent);
    assert_eq!(agent.prepare(&preparation, "").await, Some(Unprepared::New));
    let copy = fs::metadata(agent.path("node_modules/a/run")).expect("a copy");
    assert_eq!(
        (
            copy.mode() & 0o777,
            copy.modified().expect("a time"),
            copy.nlink()
        ),
        (0o755, long_ago, 1)
    );
    assert_eq!(
        fs::metadata(agent.path("node_modules/a"))
            .and_then(|folder| folder.modified())
            .expect("a time"),
        long_ago
    );
    let target = |path: &str| fs::read_link(agent.path(path)).expect("a link");
    assert_eq!(target("node_modules/inside"), Path::new("a"));
    assert_eq!(target("node_modules/outside"), Path::new("/etc"));
    assert_eq!(target("node_modules/back"), agent.path("code"));
    assert_eq!(
        agent.text("node_modules/script"),
        format!("#!{}\n", agent.path(".venv/bin/python").display())
    );
    assert_eq!(agent.text(".env"), "SECRET=1");
    for absent in ["node_modules/a/.git", "node_modules/tm-home", ".taskmaster"] {
        assert!(!agent.path(absent).exists(), "{absent}");
    }
    assert_eq!(agent.prepare(&preparation, "").await, None);
}

#[tokio::test]
async fn include_file_names_what_is_copied_when_git_ignores_it() {
    let scene = Scene::new();
    write(
        &scene.user(".worktreeinclude"),
        "# needed\n.env\nplain\n!/deep/.env\n",
    );
    for file in [".env", "plain", "deep/.env", "other/.env"] {
        write(&scene.user(file), file);
    }
    let preparation = scene.begin("");
    let mut judge = scene.checkout("w", Role::Judge);
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    let names = ["plain", "deep/.env", ".env", "other/.env"].map(|name| judge.path(name).exists());
    assert_eq!(names, [false, false, true, true]);
}

#[tokio::test]
async fn what_is_linked_for_agents_is_copied_for_the_judge_as_it_was_when_the_run_began() {
    let scene = Scene::new();
    write(&scene.user("node_modules/x"), "good");
    let preparation = scene.begin("link: [node_modules]");
    let mut agent = scene.checkout("agent", Role::Agent);
    assert_eq!(agent.prepare(&preparation, "").await, Some(Unprepared::New));
    assert_eq!(
        fs::read_link(agent.path("node_modules")).expect("a link"),
        scene.user("node_modules")
    );
    write(&agent.path("node_modules/x"), "evil");
    assert_eq!(
        scene.user("node_modules/x"),
        fs::canonicalize(agent.path("node_modules/x")).expect("the user's")
    );
    let mut judge = scene.checkout("judge", Role::Judge);
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    assert_eq!(judge.text("node_modules/x"), "good");
    let resumed = scene.begin("link: [node_modules]");
    let mut later = scene.checkout("later", Role::Judge);
    assert_eq!(later.prepare(&resumed, "").await, Some(Unprepared::New));
    assert_eq!(later.text("node_modules/x"), "good");
    judge.place.role = Role::Agent;
    assert_eq!(
        judge.prepare(&preparation, "").await,
        Some(Unprepared::OtherFiles)
    );
    assert!(judge.path("node_modules").is_symlink());
    judge.place.role = Role::Judge;
    assert_eq!(
        judge.prepare(&preparation, "").await,
        Some(Unprepared::OtherFiles)
    );
    assert_eq!(
        (judge.text("node_modules/x"), agent.text("node_modules/x")),
        ("good".to_owned(), "evil".to_owned())
    );
}

#[tokio::test]
async fn copies_that_were_changed_since_the_run_began_are_refused() {
    let scene = Scene::new();
    write(&scene.user("node_modules/x"), "good");
    let preparation = scene.begin("copy: [node_modules]");
    write(
        &scene.folder.path().join("run/files/node_modules/x"),
        "evil",
    );
    let error = scene.checkout("w", Role::Judge).fails(&preparation).await;
    assert!(
        matches!(&error, Error::CopiesChanged { changed, .. } if changed == Path::new("node_modules/x")),
        "{error}"
    );
    Preparation::begin(scene.basis("copy: [node_modules]")).expect_err("refused");
}

#[tokio::test]
async fn copies_that_were_never_finished_are_made_anew() {
    let scene = Scene::new();
    write(&scene.user("node_modules/x"), "good");
    write(
        &scene.folder.path().join("run/files/node_modules/x"),
        "half",
    );
    let preparation = scene.begin("copy: [node_modules]");
    let mut judge = scene.checkout("w", Role::Judge);
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    assert_eq!(judge.text("node_modules/x"), "good");
}

#[tokio::test]
async fn nothing_is_copied_over_or_through_what_the_tree_has() {
    let scene = Scene::new();
    write(&scene.user("node_modules/x"), "copied");
    write(&scene.user("tracked/.env"), "copied");
    let preparation = scene.begin("copy: [node_modules, .env]");
    let mut judge = scene.checkout("w", Role::Judge);
    let documents = scene.folder.path().join("documents");
    fs::create_dir(&documents).expect("a folder");
    symlink(&documents, judge.path("tracked")).expect("a link");
    assert_eq!(judge.prepare(&preparation, "").await, Some(Unprepared::New));
    assert_eq!(fs::read_dir(&documents).expect("a folder").count(), 0);
    assert_eq!(judge.text("node_modules/x"), "copied");
}
