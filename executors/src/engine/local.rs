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
            let sandbox = self
                .holding
                .as_ref()
                .and_then(|holding| holding.of(command));
            let is_asked_for = (self.holding.as_ref()).is_some_and(|held| held.level.is_none());
            let is_to_be_held = |needs: &Needs| is_asked_for || needs.hosts.is_some();
            if sandbox.is_none() && command.needs.as_ref().is_some_and(is_to_be_held) {
                let found = self.holding.as_ref().map(|held| held.describe());
                let found = found.unwrap_or_else(|| Level::None.as_str().to_owned());
                let why = format!("no sandbox that the settings ask for works here: {found}");
                return Err(command.not_held_since(&why));
            }
            let mut tree = match sandbox {
                None => ProcessTree::spawn(command)?,
                Some(sandbox) => {
                    let (sandbox, group) = grouped(sandbox);
                    let command = TreeCommand {
                        sandbox: Some(Arc::new(sandbox)),
                        ..command.clone()
                    };
                    ProcessTree::spawn(&command)?.bounded_by(group)
                }
            };
            if !tree.has_begun().await {
                return Err(command.not_held());
            }
            Ok(Box::new(tree) as Box<dyn Job>)
        })
    }

    fn adopt<'a>(
        &'a self,
        handle: Option<&'a JobHandle>,
        env_markers: &'a [(String, String)],
    ) -> Pending<'a, Box<dyn Job>> {
        let leader = handle.and_then(JobHandle::job::<ProcessIdentity>);
        Box::pin(async move { Box::new(ProcessTree::adopt(leader, env_markers)) as Box<dyn Job> })
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

    #[tokio::test]
    async fn a_program_that_could_not_be_held_has_not_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        let holding = Holding {
            wanted: tm_sandbox::Wanted::Auto,
            level: Some(Level::Landlock),
            refused: Vec::new(),
            // Ends before the program begins, with an exit code that programs have too.
            tm_program: "/bin/false".into(),
            hidden: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            limits: Limits::default(),
            hosts: None,
            networks: BTreeMap::new(),
        };
        let log = folder.path().join("log");
        let command = TreeCommand {
            program: "true".into(),
            working_folder: folder.path().to_owned(),
            stdout: log.clone(),
            stderr: log,
            needs: Some(Needs {
                kind: JobKind::Tests,
                own_folder: folder.path().to_owned(),
                hosts: None,
                network: None,
                only_reads: false,
                pass: Vec::new(),
                besides: Besides::default(),
            }),
            ..TreeCommand::default()
        };
        let executor = Executor::local(folder.path().join("records")).held(Arc::new(holding));
        let ended = executor.run(&command, Duration::from_mins(1)).await;
        let error = ended.expect_err("nothing was run");
        assert!(
            matches!(error, Error::Hold { .. }) && error.is_of_surroundings(),
            "{error}"
        );
    }
}
