//! The engine of this machine: jobs are process trees, known by the number of their first process and the moment it was
//! started. How a tree is held together is in `process`.

use super::{Ending, Engine, Holding, Job, JobEnd, JobHandle, Pending};
use crate::Error;
use crate::process::{Needs, ProcessIdentity, ProcessTree, TreeCommand};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tm_sandbox::{Exceeded, Group, Level, Limits, Sandbox};
use tm_scheduler::StopSignal;

/// The name in handles.
pub(super) const NAME: &str = "local";

/// Runs jobs on this machine, as whoever runs tm.
#[derive(Clone, Debug, Default)]
pub struct LocalEngine {
    /// How jobs are held that say what they need; without it none is.
    pub holding: Option<Arc<Holding>>,
}

impl Engine for LocalEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The start of the machine, where the system tells it (Linux).
    fn epoch(&self) -> String {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
    }

    fn start<'a>(&'a self, command: &'a TreeCommand) -> Pending<'a, Result<Box<dyn Job>, Error>> {
        Box::pin(async {
            self.assert_may_be_started(command)?;
            let mut pauses = PAUSES.into_iter();
            loop {
                let error = match self.start_once(command).await {
                    Ok(tree) => return Ok(Box::new(tree) as Box<dyn Job>),
                    Err(error) if !may_be_of_another_job(&error) => return Err(error),
                    Err(error) => error,
                };
                let Some(pause) = pauses.next() else {
                    return Err(self.blamed(error).await);
                };
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        })
    }

    fn adopt<'a>(
        &'a self,
        handle: Option<&'a JobHandle>,
        env_markers: &'a [(String, String)],
    ) -> Pending<'a, Box<dyn Job>> {
        let leader = handle.and_then(JobHandle::job::<ProcessIdentity>);
        let holding = self.holding.as_ref();
        let most_processes = holding.and_then(|holding| holding.limits.processes);
        Box::pin(async move {
            Box::new(ProcessTree::adopt(leader, env_markers, most_processes)) as Box<dyn Job>
        })
    }

    fn writes_here(&self) -> bool {
        true
    }

    #[cfg(target_os = "linux")]
    fn give_back(&self, log: &Path, part: Range<u64>) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let file = tm_untrusted::open_writable(log)?;
        Ok(fallocate(file, hole, part.start, part.end - part.start)?)
    }

    /// There is no portable way.
    #[cfg(not(target_os = "linux"))]
    fn give_back(&self, _log: &Path, _part: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A job that could not be started is tried again after these pauses (milliseconds): what another job may write can be
/// another file or folder by the time at which it is laid out, and processes that others start are as many as there may be.
const PAUSES: [u64; 5] = [20, 50, 100, 200, 400];

impl LocalEngine {
    /// Starts a job held as the paths are now.
    async fn start_once(&self, command: &TreeCommand) -> Result<ProcessTree, Error> {
        let holding = self.holding.as_ref();
        let Some(sandbox) = holding.and_then(|holding| holding.of(command)) else {
            return ProcessTree::spawn(command);
        };
        let (sandbox, group) = grouped(sandbox);
        let held = TreeCommand {
            sandbox: Some(Arc::new(sandbox)),
            ..command.clone()
        };
        let mut tree = ProcessTree::spawn(&held)?.bounded_by(group);
        if tree.has_begun().await {
            Ok(tree)
        } else {
            Err(command.not_held())
        }
    }

    /// Refuses a job that is to be held where nothing holds any.
    fn assert_may_be_started(&self, command: &TreeCommand) -> Result<(), Error> {
        let holding = self.holding.as_ref();
        if holding.is_some_and(|held| held.level.is_some_and(|level| level != Level::None)) {
            return Ok(());
        }
        let is_asked_for = holding.is_some_and(|held| held.level.is_none());
        let is_to_be_held = |needs: &Needs| is_asked_for || needs.hosts.is_some();
        if !command.needs.as_ref().is_some_and(is_to_be_held) {
            return Ok(());
        }
        let found = holding.map(|held| held.describe());
        let found = found.unwrap_or_else(|| Level::None.as_str().to_owned());
        let why = format!("no sandbox that the settings ask for works here: {found}");
        Err(command.not_held_since(&why))
    }

    /// Returns the error as one of this job where others are held.
    async fn blamed(&self, error: Error) -> Error {
        let (Error::Hold { program, why }, Some(holding)) = (&error, self.holding.clone()) else {
            return error;
        };
        let still_holds = tokio::task::spawn_blocking(move || holding.still_holds()).await;
        if still_holds.unwrap_or(false) {
            let (program, why) = (program.clone(), why.clone());
            return Error::HoldThis { program, why };
        }
        error
    }
}

/// Tells whether a job was not started for something that another one can bring about, and that passes.
fn may_be_of_another_job(error: &Error) -> bool {
    use io::ErrorKind::{ExecutableFileBusy, OutOfMemory, WouldBlock};
    match error {
        Error::Hold { .. } => true,
        Error::Start { source, .. } => {
            matches!(source.kind(), ExecutableFileBusy | OutOfMemory | WouldBlock)
        }
        _ => false,
    }
}

/// Has a group bound a job as a whole, where one can be had; what bounds each process is left to those that have none.
fn grouped(mut sandbox: Sandbox) -> (Sandbox, Option<Group>) {
    let group = Group::new(sandbox.confinement.limits);
    if let Some(group) = &group {
        sandbox.group = Some(group.folder().to_owned());
        sandbox.confinement.limits = Limits {
            file_size: sandbox.confinement.limits.file_size,
            ..Limits::default()
        };
    }
    (sandbox, group)
}

impl Job for ProcessTree {
    fn handle(&self) -> Option<JobHandle> {
        self.leader().map(|leader| JobHandle::new(NAME, &leader))
    }

    fn is_running(&self) -> Pending<'_, bool> {
        Box::pin(async { self.leader().is_some_and(ProcessIdentity::is_alive) })
    }

    fn wait(&mut self) -> Pending<'_, Result<JobEnd, Error>> {
        Box::pin(async {
            let status = Self::wait(self).await?;
            Ok(status.map_or(JobEnd::Unknown, |status| {
                status.code().map_or(JobEnd::Killed, JobEnd::Exited)
            }))
        })
    }

    fn signal(&self, signal: StopSignal) {
        self.ask_to_stop(signal);
    }

    fn end(&mut self, grace: Duration) -> Pending<'_, Ending> {
        Box::pin(async move { Ending::Gone(Self::end(self, grace).await) })
    }

    fn told(&self) -> Vec<String> {
        let words = |exceeded| match exceeded {
            Exceeded::Memory => {
                "its processes used more memory together than `sandbox.memory` gives, and the kernel ended some of them"
            }
            Exceeded::Processes => "it wanted more processes than `sandbox.processes` gives",
        };
        let exceeded = self.exceeded().into_iter();
        exceeded.map(|one| words(one).to_owned()).collect()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::engine::Executor;
    use crate::process::{Besides, JobKind};
    use std::collections::BTreeMap;
    use std::fs::Permissions;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    /// Holds by a program of the test's own, which is to be what tm is to jobs.
    fn holding(program: &Path) -> Holding {
        Holding {
            wanted: tm_sandbox::Wanted::Auto,
            level: Some(Level::Landlock),
            refused: Vec::new(),
            tm_program: program.to_owned(),
            hidden: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            limits: Limits::default(),
            hosts: None,
            networks: BTreeMap::new(),
        }
    }

    async fn started_in(folder: &Path, holding: Holding) -> Error {
        let log = folder.join("log");
        let command = TreeCommand {
            program: "true".into(),
            working_folder: folder.to_owned(),
            stdout: log.clone(),
            stderr: log,
            needs: Some(Needs {
                kind: JobKind::Tests,
                own_folder: folder.to_owned(),
                hosts: None,
                network: None,
                only_reads: false,
                said_by_others: Vec::new(),
                pass: Vec::new(),
                besides: Besides::default(),
            }),
            ..TreeCommand::default()
        };
        let executor = Executor::local(folder.join("records")).held(Arc::new(holding));
        let ended = executor.run(&command, Duration::from_mins(1)).await;
        ended.expect_err("nothing was run")
    }

    #[tokio::test]
    async fn a_program_that_could_not_be_held_has_not_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        // Ends before the program begins, with an exit code that programs have too.
        let error = started_in(folder.path(), holding(Path::new("/bin/false"))).await;
        assert!(
            matches!(error, Error::Hold { .. }) && error.is_of_surroundings(),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_job_that_can_not_be_held_again_and_again_while_others_are_fails_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let (program, tries) = (elsewhere.path().join("tm"), folder.path().join("tries"));
        let job = folder.path().display();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *{job}*) echo try >> {}; echo no such mount >&2; exit 1;; esac\n",
            tries.display()
        );
        std::fs::File::create(&program)
            .and_then(|mut file| file.write_all(script.as_bytes()))
            .and_then(|()| std::fs::set_permissions(&program, Permissions::from_mode(0o755)))
            .expect("a program");
        let error = started_in(folder.path(), holding(&program)).await;
        assert!(matches!(error, Error::HoldThis { .. }), "{error}");
        assert!(!error.is_of_surroundings() && error.to_string().ends_with("no such mount"));
        let tried = tm_untrusted::read(&tries, 1_000).expect("tried");
        assert_eq!(tried.len() / "try\n".len(), PAUSES.len() + 1);
    }
}
