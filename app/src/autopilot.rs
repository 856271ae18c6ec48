//! Autopilot: one agent is led through a task, step by step, by calls about a run in a checkout.

use std::path::{Path, PathBuf};
use tm_runtime::autopilot::{
    self, Cleanup, CommitRequest, Committed, CompleteRequest, Completed, Ended, Environment, Error,
    FinalizeRequest, NextAction, Project, StartRequest, Started, StatusView, UnitResult, WorkUnit,
};
use tm_scheduler::RunId;

/// What calls are about: a checkout, and a run there.
#[derive(Clone, Debug)]
pub struct Autopilot {
    /// The checkout.
    pub project: Project,
    /// The run; `None` means the current one.
    pub run: Option<RunId>,
}

impl Autopilot {
    /// Opens the checkout that a folder is in, with the variables of this process and the backlog that was named.
    ///
    /// # Errors
    /// The folder is in no repository, or the settings can't be read.
    pub fn open(
        folder: &Path,
        backlog: Option<PathBuf>,
        run: Option<RunId>,
    ) -> Result<Self, Error> {
        let environment = Environment {
            backlog,
            ..Environment::of_process()
        };
        let project = Project::open(folder, environment)?;
        Ok(Self { project, run })
    }

    fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// Begins a run, which is the current one then.
    ///
    /// # Errors
    /// The surroundings, the task or another run don't allow it; nothing is left then.
    pub async fn start(&self, request: &StartRequest) -> Result<Started, Error> {
        autopilot::start(&self.project, request).await
    }

    /// Tells what starting would do, and does nothing.
    ///
    /// # Errors
    /// As for starting.
    pub fn preview(&self, request: &StartRequest) -> Result<Started, Error> {
        autopilot::preview(&self.project, request)
    }

    /// Goes on with a run that is paused or was cut off.
    ///
    /// # Errors
    /// There is none, or waves are at work.
    pub fn resume(&self) -> Result<Started, Error> {
        autopilot::resume(&self.project, self.run())
    }

    /// Goes on with the unfinished run of a task; `None` where the current one is not that.
    ///
    /// # Errors
    /// It can't be gone on with.
    pub fn resume_of(&self, task: &str) -> Result<Option<Started>, Error> {
        let is_meant = |view: &StatusView| {
            view.task_id == task && matches!(view.status.as_str(), "in-progress" | "paused")
        };
        let Some(current) = self.status()?.filter(is_meant) else {
            return Ok(None);
        };
        let run = RunId::from(current.run_id);
        autopilot::resume(&self.project, Some(&run)).map(Some)
    }

    /// Tells what is to be done next.
    ///
    /// # Errors
    /// There is no such run.
    pub fn next(&self) -> Result<NextAction, Error> {
        autopilot::next(&self.project, self.run())
    }

    /// Returns the piece of work under way; `None` where nothing of the kind is.
    ///
    /// # Errors
    /// There is no such run.
    pub fn next_work_unit(&self) -> Result<Option<WorkUnit>, Error> {
        autopilot::next_work_unit(&self.project, self.run())
    }

    /// Takes a report of the tests after RED or GREEN.
    ///
    /// # Errors
    /// It is not time for that, or the report does not allow the next step.
    pub async fn complete(&self, request: CompleteRequest) -> Result<Completed, Error> {
        let run = self.run.clone();
        autopilot::complete(&self.project, &CompleteRequest { run, ..request }).await
    }

    /// Takes what came of a piece of work.
    ///
    /// # Errors
    /// It is not the one under way, or the report does not allow the next step.
    pub async fn complete_unit(
        &self,
        unit: &str,
        result: &UnitResult,
    ) -> Result<NextAction, Error> {
        autopilot::complete_unit(&self.project, self.run(), unit, result).await
    }

    /// Commits the subtask under way.
    ///
    /// # Errors
    /// It is not time for that, HEAD is not on the run's branch, a hook refused, or there is nothing to commit.
    pub async fn commit(&self, request: CommitRequest) -> Result<Committed, Error> {
        let run = self.run.clone();
        autopilot::commit(&self.project, &CommitRequest { run, ..request }).await
    }

    /// Closes a run of which everything is committed, and sets its task done.
    ///
    /// # Errors
    /// Something is not committed, or the whole suite does not pass.
    pub async fn finalize(&self, request: FinalizeRequest) -> Result<Ended, Error> {
        let run = self.run.clone();
        autopilot::finalize(&self.project, &FinalizeRequest { run, ..request }).await
    }

    /// Stops a run until it is resumed.
    ///
    /// # Errors
    /// There is none that goes on.
    pub fn pause(&self) -> Result<Ended, Error> {
        autopilot::pause(&self.project, self.run())
    }

    /// Gives a run up; commits are kept unless the branch is to be removed.
    ///
    /// # Errors
    /// There is none, or its branch can't be left.
    pub fn abort(&self, cleanup: Cleanup) -> Result<Ended, Error> {
        autopilot::abort(&self.project, self.run(), cleanup)
    }

    /// Tells how a run stands; `None` where there has been none.
    ///
    /// # Errors
    /// The run that is named is none.
    pub fn status(&self) -> Result<Option<StatusView>, Error> {
        autopilot::status(&self.project, self.run())
    }

    /// Returns the state of a run as it is kept.
    ///
    /// # Errors
    /// There is no such run.
    pub fn state(&self) -> Result<serde_json::Value, Error> {
        autopilot::run_state(&self.project, self.run())
    }

    /// Returns what an agent is told at the beginning of its work.
    ///
    /// # Errors
    /// There is no such run.
    pub fn prompt(&self) -> Result<String, Error> {
        autopilot::prompt(&self.project, self.run())
    }

    /// Returns the run itself, whatever becomes the current one meanwhile, and its log of events.
    ///
    /// # Errors
    /// There is no such run.
    pub fn watched(mut self) -> Result<(Self, PathBuf), Error> {
        let log = autopilot::activity(&self.project, self.run())?;
        if self.run.is_none() {
            let current = self.status()?.ok_or(Error::NoRun)?;
            self.run = Some(RunId::from(current.run_id));
        }
        Ok((self, log))
    }
}
