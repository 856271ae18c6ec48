//! The run lock against other handles, other processes and dead ones.

use super::*;
use crate::run::Home;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use tempfile::TempDir;
use tm_scheduler::Timestamp;

/// Tells the test's own program, started anew, to hold the lock of the project below this folder.
const HOLD_BELOW: &str = "TM_STORE_TEST_HOLD_BELOW";

fn project_below(root: &Path) -> ProjectDirectory {
    project_of_home(root, "home")
}

/// The same repository, seen by somebody with this home.
fn project_of_home(root: &Path, home: &str) -> ProjectDirectory {
    let git_dir = root.join("app/.git");
    fs::create_dir_all(&git_dir).unwrap();
    Home::new(root.join(home)).project(&git_dir).unwrap()
}

fn put(path: &Path, content: &[u8]) {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .unwrap();
    file.write_all(content).unwrap();
}

fn project() -> (TempDir, ProjectDirectory) {
    let root = tempfile::tempdir().unwrap();
    let project = project_below(root.path());
    (root, project)
}

fn this_process() -> Holder {
    Holder::this_process(
        Timestamp(7),
        vec!["tm".to_owned(), "waves".to_owned(), "run".to_owned()],
    )
}

fn held(result: Result<RunLock, Error>) -> Holder {
    match result {
        Err(Error::Held(holder)) => *holder,
        other => panic!("should be held: {other:?}"),
    }
}

#[test]
fn second_start_is_refused_and_told_who_holds_the_lock() {
    let (_root, project) = project();
    let mut lock = RunLock::acquire(&project, &this_process()).unwrap();
    assert_eq!(
        held(RunLock::acquire(&project, &this_process())),
        this_process()
    );
    lock.set_run_id(&"r-1".into()).unwrap();
    let error = RunLock::acquire(&project, &this_process()).unwrap_err();
    let who = format!("process {} on ", std::process::id());
    assert!(
        error
            .to_string()
            .starts_with(&format!("take the run lock, which is held by {who}")),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .ends_with("for run `r-1` (`tm waves run`)"),
        "{error}"
    );
}

#[test]
fn holder_is_known_for_as_long_as_the_lock_is_held() {
    let (_root, project) = project();
    assert_eq!(RunLock::holder(&project).unwrap(), None);
    let lock = RunLock::acquire(&project, &this_process()).unwrap();
    assert_eq!(RunLock::holder(&project).unwrap(), Some(this_process()));
    drop(lock);
    assert_eq!(RunLock::holder(&project).unwrap(), None);
    drop(RunLock::acquire(&project, &this_process()).unwrap());
}

#[test]
fn refused_start_changes_nothing_for_the_holder() {
    let (_root, project) = project();
    let _lock = RunLock::acquire(&project, &this_process()).unwrap();
    let before = fs::read(project.lock_file()).unwrap();
    let other = Holder {
        command_line: vec!["other".to_owned()],
        ..this_process()
    };
    held(RunLock::acquire(&project, &other));
    assert_eq!(fs::read(project.lock_file()).unwrap(), before);
}

#[test]
fn lock_file_is_private_and_stays_the_same_file() {
    let (_root, project) = project();
    drop(RunLock::acquire(&project, &this_process()).unwrap());
    let first = fs::metadata(project.lock_file()).unwrap();
    let mut lock = RunLock::acquire(&project, &this_process()).unwrap();
    lock.set_run_id(&"r-1".into()).unwrap();
    assert_eq!(
        fs::metadata(project.lock_file()).unwrap().ino(),
        first.ino()
    );
    assert_eq!(first.permissions().mode() & 0o777, 0o600);
}

#[test]
fn shorter_record_leaves_nothing_of_the_longer_one() {
    let (_root, project) = project();
    let long = Holder {
        command_line: vec!["x".repeat(5_000)],
        ..this_process()
    };
    let mut lock = RunLock::acquire(&project, &long).unwrap();
    lock.holder = this_process();
    lock.write_records().unwrap();
    for path in files(&project) {
        let record: Holder = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert_eq!(record, this_process());
    }
}

#[test]
fn holder_with_an_unreadable_record_still_holds() {
    let (_root, project) = project();
    let _lock = RunLock::acquire(&project, &this_process()).unwrap();
    for record in [
        &b""[..],
        b"{\"pid\":",
        b"\xff\xfe",
        b"[]",
        b"{\"pid\":\"seven\"}",
    ] {
        for path in files(&project) {
            put(&path, record);
        }
        assert_eq!(RunLock::holder(&project).unwrap(), Some(Holder::default()));
        assert_eq!(
            held(RunLock::acquire(&project, &this_process())),
            Holder::default()
        );
    }
}

#[test]
fn record_of_a_dead_process_is_not_taken_for_the_holder() {
    let (_root, project) = project();
    let dead = Holder {
        pid: Some(u32::MAX),
        ..this_process()
    };
    let _lock = RunLock::acquire(&project, &dead).unwrap();
    assert_eq!(
        held(RunLock::acquire(&project, &this_process())),
        Holder::default()
    );
}

#[test]
fn record_left_behind_blocks_nobody() {
    let (_root, project) = project();
    drop(RunLock::acquire(&project, &this_process()).unwrap());
    let record = serde_json::to_vec(&this_process()).unwrap();
    for path in files(&project) {
        put(&path, &record);
    }
    assert_eq!(RunLock::holder(&project).unwrap(), None);
    drop(RunLock::acquire(&project, &this_process()).unwrap());
}

#[test]
fn two_homes_share_the_lock_of_one_repository() {
    let root = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|home| project_of_home(root.path(), home));
    let lock = RunLock::acquire(&one, &this_process()).unwrap();
    assert_eq!(
        held(RunLock::acquire(&other, &this_process())),
        this_process()
    );
    assert_eq!(RunLock::holder(&other).unwrap(), Some(this_process()));
    drop(lock);
    assert_eq!(RunLock::holder(&other).unwrap(), None);
    drop(RunLock::acquire(&other, &this_process()).unwrap());
}

#[test]
fn removed_files_let_nobody_in_and_are_put_back() {
    let root = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|home| project_of_home(root.path(), home));
    let mut lock = RunLock::acquire(&one, &this_process()).unwrap();
    for path in files(&one) {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(
        held(RunLock::acquire(&other, &this_process())),
        Holder::default()
    );
    lock.renew().unwrap();
    assert_eq!(
        held(RunLock::acquire(&other, &this_process())),
        this_process()
    );
    assert_eq!(
        held(RunLock::acquire(&one, &this_process())),
        this_process()
    );
    let inodes = |paths: Vec<PathBuf>| {
        paths
            .iter()
            .map(|path| fs::metadata(path).unwrap().ino())
            .collect::<Vec<_>>()
    };
    let before = inodes(files(&one));
    lock.renew().unwrap();
    assert_eq!(inodes(files(&one)), before, "what is in place stays");
}

#[test]
fn whatever_replaces_the_files_lets_nobody_in_and_is_mended() {
    let (root, project) = project();
    let mut lock = RunLock::acquire(&project, &this_process()).unwrap();
    let stranger = serde_json::to_vec(&Holder {
        pid: Some(1),
        ..Holder::default()
    })
    .unwrap();
    let elsewhere = root.path().join("elsewhere");
    put(&elsewhere, b"precious");
    let replace: [&dyn Fn(&Path); 4] = [
        &|path| put(path, b"{}"),
        &|path| symlink(&elsewhere, path).unwrap(),
        &|path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        },
        &|path| put(path, &stranger),
    ];
    for replace in replace {
        for path in files(&project) {
            fs::remove_file(&path).unwrap();
            replace(&path);
        }
        assert!(matches!(
            RunLock::acquire(&project, &this_process()),
            Err(Error::Held(_))
        ));
        lock.renew().unwrap();
        assert_eq!(RunLock::holder(&project).unwrap(), Some(this_process()));
    }
    for path in files(&project) {
        put(&path, &stranger);
    }
    lock.renew().unwrap();
    assert_eq!(
        RunLock::holder(&project).unwrap(),
        Some(this_process()),
        "a forged record is written again"
    );
    assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");
}

#[test]
fn holder_whose_place_is_taken_is_told_by_whom() {
    let (_root, project) = project();
    let mut lock = RunLock::acquire(&project, &this_process()).unwrap();
    let path = project.lock_file();
    fs::remove_file(&path).unwrap();
    let other = Holder {
        command_line: vec!["other".to_owned()],
        ..this_process()
    };
    let taken = LockedFile::take(&path, &[]).unwrap();
    taken.write(&other).unwrap();
    let error = lock.renew().unwrap_err();
    assert!(
        matches!(&error, Error::LockLost { holder, .. } if **holder == other),
        "{error}"
    );
    drop(taken);
    lock.renew().unwrap();
}

#[test]
fn holder_of_a_repository_that_was_replaced_is_told() {
    let (root, project) = project();
    let mut lock = RunLock::acquire(&project, &this_process()).unwrap();
    fs::rename(root.path().join("app/.git"), root.path().join("app/moved")).unwrap();
    assert!(matches!(
        lock.renew(),
        Err(Error::RepositoryReplaced { .. })
    ));
    fs::create_dir(root.path().join("app/.git")).unwrap();
    assert!(matches!(
        lock.renew(),
        Err(Error::RepositoryReplaced { .. })
    ));
}

#[test]
fn repository_that_can_not_be_written_is_one_clear_error() {
    let (_root, project) = project();
    // Not by permissions, which don't hold up everybody.
    fs::create_dir(project.shared_lock_file().unwrap()).unwrap();
    let error = RunLock::acquire(&project, &this_process()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("lock `{}`", project.shared_lock_file().unwrap().display())
    );
    assert_eq!(RunLock::holder(&project).unwrap(), None);
}

#[test]
fn looking_who_holds_the_lock_never_keeps_a_run_from_starting() {
    let (_root, project) = project();
    drop(RunLock::acquire(&project, &this_process()).unwrap());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..300).for_each(|_| drop(RunLock::holder(&project).unwrap())));
        }
        for _ in 0..100 {
            drop(RunLock::acquire(&project, &this_process()).unwrap());
        }
    });
}

#[test]
fn projects_do_not_lock_each_other_out() {
    let (_first_root, first) = project();
    let (_second_root, second) = project();
    let _first = RunLock::acquire(&first, &this_process()).unwrap();
    RunLock::acquire(&second, &this_process()).unwrap();
}

/// Starts a process that lives until it is killed or its input ends.
#[expect(
    clippy::disallowed_methods,
    reason = "a lock between processes is tested with processes"
)]
fn start(program: &Path, configure: impl FnOnce(&mut Command)) -> (Child, ChildStdin) {
    let mut command = Command::new(program);
    configure(
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    );
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_holder_frees_the_lock_at_once() {
    if let Some(root) = env::var_os(HOLD_BELOW) {
        hold_until_killed(Path::new(&root));
        return;
    }
    let (root, project) = project();
    let (mut child, _stdin) = start(&env::current_exe().unwrap(), |command| {
        let name = "run::lock::tests::killed_holder_frees_the_lock_at_once";
        command
            .args(["--exact", name, "--nocapture"])
            .env(HOLD_BELOW, root.path());
    });
    let stdout = BufReader::new(child.stdout.take().unwrap());
    assert!(
        stdout
            .lines()
            .any(|line| line.unwrap().ends_with("the lock is held"))
    );
    let holder = held(RunLock::acquire(&project, &this_process()));
    assert_eq!((holder.pid, holder.is_alive()), (Some(child.id()), true));
    assert_eq!(RunLock::holder(&project).unwrap().as_ref(), Some(&holder));
    end(child);
    assert!(!holder.is_alive());
    assert_eq!(RunLock::holder(&project).unwrap(), None);
    let _lock = RunLock::acquire(&project, &this_process()).unwrap();
    assert_eq!(RunLock::holder(&project).unwrap(), Some(this_process()));
}

fn hold_until_killed(root: &Path) {
    let _lock = RunLock::acquire(&project_below(root), &this_process()).unwrap();
    println!("\nthe lock is held");
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).unwrap();
}

#[test]
fn process_started_under_the_lock_does_not_keep_it() {
    let (_root, project) = project();
    let lock = RunLock::acquire(&project, &this_process()).unwrap();
    let (child, _stdin) = start(Path::new("cat"), |_| ());
    drop(lock);
    drop(RunLock::acquire(&project, &this_process()).unwrap());
    end(child);
}
