//! An engine of other machines, whoever finds them: makes the folder of a job and has it started.

use super::folder::{JobFolder, Label};
use super::job::{Known, RemoteJob};
use super::order::Order;
use super::{JobDescription, Launcher};
use crate::Error;
use crate::engine::{Engine, Holding, Job, JobHandle, Pending};
use crate::process::TreeCommand;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// So many parts of a path say what it is of: a task, an attempt and a log.
const PARTS_IN_TITLE: usize = 3;

/// Runs jobs on other machines.
#[derive(Clone, Debug)]
pub struct RemoteEngine {
    launcher: Arc<dyn Launcher>,
    /// The folder of all jobs of the project, which all nodes see.
    jobs: PathBuf,
    holding: Option<Arc<Holding>>,
}

impl RemoteEngine {
    /// Has jobs started by a launcher; their folders are made in one that all nodes see.
    pub fn new(launcher: Arc<dyn Launcher>, jobs: PathBuf, holding: Option<Arc<Holding>>) -> Self {
        Self {
            launcher,
            jobs,
            holding,
        }
    }

    /// Returns the newest job that has these marks.
    fn marked(&self, env_markers: &[(String, String)]) -> Option<JobFolder> {
        let has_marks = |folder: &JobFolder| {
            let label = folder.label();
            label.is_some_and(|label| label.env_markers == env_markers)
        };
        self.own_jobs().filter(has_marks).max_by_key(|folder| {
            folder
                .path()
                .metadata()
                .and_then(|made| made.created())
                .ok()
        })
    }

    /// Returns the jobs that this engine has, and none of another one. One without a label was never asked for.
    fn own_jobs(&self) -> impl Iterator<Item = JobFolder> {
        let is_own = |folder: &JobFolder| {
            let label = folder.label();
            label.is_some_and(|label| label.engine == self.launcher.name())
        };
        JobFolder::all(&self.jobs).filter(is_own)
    }

    fn job(&self, folder: JobFolder) -> RemoteJob {
        RemoteJob::new(Arc::clone(&self.launcher), folder)
    }
}

impl Engine for RemoteEngine {
    fn name(&self) -> &'static str {
        self.launcher.name()
    }

    /// What was started is known by its folder, however often any machine was started since.
    fn epoch(&self) -> String {
        String::new()
    }

    fn start<'a>(&'a self, command: &'a TreeCommand) -> Pending<'a, Result<Box<dyn Job>, Error>> {
        Box::pin(async {
            let label = Label {
                engine: self.launcher.name().to_owned(),
                env_markers: command.env_markers.clone(),
                program: command.program.to_string_lossy().into_owned(),
                working_folder: command.working_folder.display().to_string(),
            };
            let folder = JobFolder::new(&self.jobs, &label)?;
            let holding = self.holding.as_deref().filter(|_| command.needs.is_some());
            let order = Order::new(command, holding, self.launcher.variables());
            if let Err(error) = folder.order(&order) {
                folder.remove();
                return Err(error);
            }
            let description = JobDescription {
                title: title(command),
                env_markers: command.env_markers.clone(),
                complexity: command.complexity,
            };
            self.launcher.submit(&folder, &description);
            Ok(Box::new(self.job(folder)) as Box<dyn Job>)
        })
    }

    fn adopt<'a>(
        &'a self,
        handle: Option<&'a JobHandle>,
        env_markers: &'a [(String, String)],
    ) -> Pending<'a, Box<dyn Job>> {
        Box::pin(async move {
            let known = handle.and_then(JobHandle::job::<Known>);
            let by_handle = known.map(|known| JobFolder::at(&self.jobs.join(known.folder)));
            let folder = by_handle.or_else(|| self.marked(env_markers));
            if let Some(folder) = &folder {
                // Where the folder is gone, its engine says whether the job is.
                self.launcher.take_over(folder);
            }
            // One that nobody knows is gone.
            let folder = folder.unwrap_or_else(|| JobFolder::at(&self.jobs.join("unknown")));
            Box::new(self.job(folder)) as Box<dyn Job>
        })
    }

    fn clear(&self) -> Pending<'_, ()> {
        Box::pin(async {
            let mut ending = JoinSet::new();
            JobFolder::sweep(&self.jobs);
            for folder in self.own_jobs() {
                self.launcher.take_over(&folder);
                let mut job = self.job(folder.clone());
                ending.spawn(async move {
                    let ending = job.end(Duration::ZERO).await;
                    let name = folder.name();
                    tracing::info!(job = name, ?ending, told = ?job.told(), "a job that was left");
                    // Whoever could not be reached ends itself without it.
                    folder.remove();
                });
            }
            ending.join_all().await;
            self.launcher.settled().await;
        })
    }

    fn has_jobs(&self) -> bool {
        self.own_jobs().next().is_some()
    }

    fn settled(&self) -> Pending<'_, ()> {
        self.launcher.settled()
    }

    fn trouble(&self) -> Option<String> {
        self.launcher.trouble()
    }

    /// The kernel of this machine hears nothing of what others write.
    fn writes_here(&self) -> bool {
        false
    }

    /// Some file systems of many machines can't, which is an error of theirs.
    fn give_back(&self, log: &Path, part: Range<u64>) -> io::Result<()> {
        crate::engine::LocalEngine::default().give_back(log, part)
    }
}

/// What a job is, for people who look at the queue: its marks, of paths the end.
fn title(command: &TreeCommand) -> String {
    let of_mark = |(_, value): &(String, String)| {
        let parts: Vec<&str> = value.split('/').collect();
        parts[parts.len().saturating_sub(PARTS_IN_TITLE)..].join("/")
    };
    let marks: Vec<String> = command.env_markers.iter().map(of_mark).collect();
    marks.join("/")
}
