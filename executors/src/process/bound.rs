//! How many processes a tree may have where the kernel counts them for nobody alone, and whether it has had more.
//!
//! Threads are counted, as the kernel counts them where it does (`RLIMIT_NPROC`). Knows processes by who they are, and not
//! why they are of a tree.

use super::table::Process;
use super::{ProcessIdentity, signal, system};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What one tree may have, and what it was seen to have.
#[derive(Debug)]
pub(super) struct ProcessBound {
    most: u64,
    /// No more than so many were there at the last look.
    seen: AtomicU64,
    was_exceeded: AtomicBool,
}

impl ProcessBound {
    pub(super) const fn new(most: u64) -> Self {
        Self {
            most,
            seen: AtomicU64::new(0),
            was_exceeded: AtomicBool::new(false),
        }
    }

    /// Tells whether it was ever seen to have more.
    pub(super) fn was_exceeded(&self) -> bool {
        self.was_exceeded.load(Ordering::Relaxed)
    }

    /// Tells whether a tree can have more, where there are so many processes and threads in the whole system.
    pub(super) const fn can_be_exceeded(&self, in_system: u64) -> bool {
        in_system > self.most
    }

    /// Tells whether the tree can have more by now, where so many have been added in the whole system since the last look.
    pub(super) fn can_be_exceeded_since(&self, added: u64) -> bool {
        self.seen.load(Ordering::Relaxed).saturating_add(added) > self.most
    }

    /// Ends a tree that has more, whose processes are these; tells whether it had.
    pub(super) fn enforce(&self, members: &BTreeSet<ProcessIdentity>, in_system: u64) -> bool {
        if !self.can_be_exceeded(in_system) {
            self.seen.store(in_system, Ordering::Relaxed);
            return false;
        }
        let present: Vec<Process> = members.iter().copied().filter_map(now).collect();
        let seen = present.iter().map(|one| u64::from(one.threads)).sum();
        self.seen.store(seen, Ordering::Relaxed);
        if seen <= self.most {
            return false;
        }
        // Before the first of them is gone, with which somebody may learn that the tree has ended.
        self.was_exceeded.store(true, Ordering::Relaxed);
        end(&present);
        true
    }
}

/// Ends processes; groups first, each of which ends as a whole, with what its processes have started meanwhile.
fn end(processes: &[Process]) {
    let leads = |one: &&Process| one.group == one.identity.pid;
    for leader in processes.iter().filter(leads) {
        signal::send_to_group(leader.identity, Signal::KILL);
    }
    for process in processes {
        signal::send(process.identity, Signal::KILL);
    }
}

/// Returns a process as it is by now. What has ended counts until its parent asks how, but this process asks only now and
/// then.
fn now(identity: ProcessIdentity) -> Option<Process> {
    let process = system::process(identity.pid)?;
    let is_counted = process.is_running() || process.parent != std::process::id();
    (process.identity == identity && is_counted).then_some(process)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::process::{ProcessTree, TreeCommand, registry, stamp_of};
    use std::ffi::OsString;
    use std::fs::{File, Permissions};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{ExitStatus, Stdio};
    use std::sync::Arc;
    use std::time::Duration;
    use tempfile::TempDir;
    use tm_sandbox::{Confinement, Exceeded, Layers, Level, Limits, Network, Sandbox, View};

    /// What a tree of these tests may have.
    const MOST: u64 = 20;
    /// Ends in any case.
    const LIMIT: Duration = Duration::from_secs(20);
    const BREEDS: &str = "for i in $(seq 40); do sleep 30 & done; wait";

    /// A folder with what holds programs by nothing.
    fn folder() -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("tm");
        let script = "#!/bin/sh\nuntil [ \"$1\" = -- ]; do shift; done; shift; exec \"$@\"\n";
        File::create(&program)
            .and_then(|mut file| file.write_all(script.as_bytes()))
            .and_then(|()| std::fs::set_permissions(&program, Permissions::from_mode(0o755)))
            .expect("a program");
        folder
    }

    fn spawn(folder: &Path, program: OsString, arguments: &[&str], marks: &str) -> ProcessTree {
        let confinement = Confinement {
            view: View::of_system(),
            working_folder: folder.to_owned(),
            own_folder: folder.to_owned(),
            layers: Layers::Gone,
            network: Network::On,
            limits: Limits {
                processes: Some(MOST),
                ..Limits::default()
            },
        };
        let sandbox = Sandbox {
            level: Level::Landlock,
            confinement,
            group: None,
            stamp: None,
            tm_program: folder.join("tm"),
        };
        let command = TreeCommand {
            program,
            arguments: arguments.iter().map(OsString::from).collect(),
            working_folder: folder.to_owned(),
            stdout: "/dev/null".into(),
            stderr: "/dev/null".into(),
            env_markers: vec![("TM_BOUND".to_owned(), marks.to_owned())],
            sandbox: Some(Arc::new(sandbox)),
            ..TreeCommand::default()
        };
        ProcessTree::spawn(&command).expect("started")
    }

    fn shell(folder: &Path, script: &str, marks: &str) -> ProcessTree {
        spawn(folder, "sh".into(), &["-c", script], marks)
    }

    async fn ended(tree: &mut ProcessTree) -> Option<ExitStatus> {
        let ended = tokio::time::timeout(LIMIT, tree.wait()).await;
        let ended = ended.expect("ended in time").expect("waited for");
        tree.end(Duration::ZERO).await;
        ended
    }

    #[tokio::test]
    async fn a_tree_with_too_many_processes_is_ended_and_another_one_starts_all_along() {
        let folder = folder();
        let beside = "until [ -e over ]; do /bin/true || exit 1; done";
        let mut other = shell(folder.path(), beside, "other");
        let mut tree = shell(folder.path(), BREEDS, "breeds");
        let status = ended(&mut tree).await.expect("its child");
        assert_eq!(
            (status.code(), tree.exceeded()),
            (None, vec![Exceeded::Processes])
        );
        File::create(folder.path().join("over")).expect("made");
        let status = ended(&mut other).await.expect("its child");
        assert_eq!((status.code(), other.exceeded()), (Some(0), vec![]));
    }

    #[tokio::test]
    async fn a_tree_with_as_many_as_it_may_have_is_left_alone() {
        let folder = folder();
        let script = "for i in $(seq 15); do sleep 60 & done; > ready; wait";
        let mut tree = shell(folder.path(), script, "few");
        while !folder.path().join("ready").exists() {
            assert!(tree.leader().is_some_and(ProcessIdentity::is_alive));
            std::thread::yield_now();
        }
        registry::observe(registry::everywhere());
        let bound = tree.bound.clone().expect("it has one");
        assert!(bound.seen.load(Ordering::Relaxed) > 15 && !bound.was_exceeded());
        assert!(tree.leader().is_some_and(ProcessIdentity::is_alive));
        tree.end(Duration::ZERO).await;
    }

    #[test]
    #[ignore = "this is the program of a test"]
    fn has_threads() {
        let sleep = || std::thread::spawn(|| std::thread::sleep(LIMIT));
        let threads: Vec<_> = (0..40).map(|_| sleep()).collect();
        for thread in threads {
            thread.join().expect("it slept");
        }
    }

    #[tokio::test]
    async fn threads_are_counted() {
        let folder = folder();
        let this = std::env::current_exe().expect("this program");
        let arguments = ["process::bound::tests::has_threads", "--exact", "--ignored"];
        let mut tree = spawn(folder.path(), this.into(), &arguments, "threads");
        let status = ended(&mut tree).await.expect("its child");
        assert_eq!(
            (status.code(), tree.exceeded()),
            (None, vec![Exceeded::Processes])
        );
    }

    #[tokio::test]
    async fn a_tree_of_an_earlier_tm_is_bounded_where_it_has_its_stamp() {
        let marks = [("TM_BOUND".to_owned(), "earlier".to_owned())];
        let stamp = stamp_of(&marks).expect("it has marks");
        for (locks, is_bounded) in [(stamp, true), (stamp + 1, false)] {
            #[expect(clippy::disallowed_methods, reason = "an earlier tm started it")]
            let mut child = std::process::Command::new("prlimit")
                .args([format!("--locks={locks}:{locks}").as_str(), "sh", "-c"])
                .arg(format!("read it; {BREEDS}"))
                .stdin(Stdio::piped())
                .process_group(0)
                .spawn()
                .expect("started");
            let leader = ProcessIdentity::of(child.id()).expect("it is there");
            while system::most_locks(child.id()) != Some(locks) {
                std::thread::yield_now();
            }
            let mut tree = ProcessTree::adopt(Some(leader), &marks, Some(MOST));
            assert_eq!(tree.bound.is_some(), is_bounded);
            if is_bounded {
                drop(child.stdin.take());
                child.wait().expect("waited for");
            }
            tree.end(Duration::ZERO).await;
            let expected = is_bounded.then_some(Exceeded::Processes);
            assert_eq!(tree.exceeded().first(), expected.as_ref());
            child.wait().expect("waited for");
        }
    }
}
