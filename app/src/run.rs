//! The way of a run, one value after the other: the lock, what was interrupted, the plan, the run, what it leaves.

use crate::after::{AfterRun, tell_meanwhile};
use crate::commit_trial::refuse_uncommittable;
use crate::committing::Statuses;
use crate::error::Error;
use crate::holding::{Waiting, end_abandoned, lock, while_held};
use crate::interrupted::{
    Manifest, as_started, end, is_at_work, is_resumable, opened, resumed_limits,
};
use crate::notes::note;
use crate::notice::Notice;
use crate::plan::{Planned, new_id, plan};
use crate::plan_order::PlanOrder;
use crate::preflight::remove_what_never_began;
use crate::project::{KnownRun, Project};
use crate::proving_again::{JournalTrust, prove_again, refuse_lost_landings};
use crate::pruned::PrunedItem;
use crate::pruning::prune;
use crate::report::{forget_rejections, whole_summary, write_besides, write_reports};
use crate::setup::{Begins, mend_references, preflight, run_setup};
use crate::steering::steers;
use tm_config::CommitBacklog;
use tm_reports::Summary;
use tm_runtime::preflight::BrokenBase;
use tm_runtime::steering::Steer;
use tm_runtime::{JournalHeader, Outcome, Run, RunEvent, now};
use tm_scheduler::{Scheduler, StopMode, Timestamp, branch_from_pattern, with_causes};
use tm_store::backlog::{Backlog, BacklogSource};
use tm_store::run::{HeldFor, RunDirectory, RunLock, note_planned, read_json, write_json};
use tm_worktrees::Pruning;

/// A project whose run lock this process holds.
#[derive(Debug)]
pub struct Session {
    /// The project.
    pub project: Project,
    after: AfterRun,
    lock: RunLock,
}

/// What is known of a run in this process.
#[derive(Debug)]
pub struct RunOf {
    /// Its project, as it was started.
    pub project: Project,
    /// What it is.
    pub header: JournalHeader,
    /// Its folder.
    pub directory: RunDirectory,
    /// What is done when it is over.
    pub after: AfterRun,
}

/// A run that is about to go on.
#[derive(Debug)]
pub struct Ready {
    /// What is known of it.
    pub of: RunOf,
    run: Run,
}

/// A run that is over in this process.
#[derive(Debug)]
pub struct Ended {
    /// What is known of it.
    pub of: RunOf,
    /// How it ended.
    pub outcome: Outcome,
    kept: Result<(), Error>,
}

impl Session {
    /// Takes the run lock, and ends what was left running by whoever had it before.
    ///
    /// # Errors
    /// Somebody else has it.
    pub async fn open(project: Project, after: AfterRun, waiting: Waiting) -> Result<Self, Error> {
        let lock = lock(&project, waiting, HeldFor::Waves)?;
        project.take_along(&new_id(now()))?;
        end_abandoned(&project).await?;
        Ok(Self {
            project,
            after,
            lock,
        })
    }

    /// Returns the run that is named, or the last one.
    ///
    /// # Errors
    /// There is none, or it has ended.
    pub fn named(&self, name: Option<&str>) -> Result<KnownRun, Error> {
        let run = self.project.replayed(name)?;
        if is_resumable(&run) {
            Ok(run)
        } else {
            Err(Error::RunEnded(run.replayed.header.run_id))
        }
    }

    /// Returns the last run when it can be taken up.
    ///
    /// # Errors
    /// Its journal can't be read.
    pub fn interrupted(&self) -> Result<Option<KnownRun>, Error> {
        let Some(id) = self.project.directory.live()? else {
            return Ok(None);
        };
        let directory = self.project.directory.run(&id)?;
        let folder = directory.path().to_owned();
        let journal = directory.journal();
        match KnownRun::read(directory) {
            Ok(run) => Ok(Some(run).filter(is_resumable)),
            // It never began.
            Err(error) if error.is_unstarted() => Ok(None),
            // Somebody removed what it wrote down: there is nothing that could be taken up.
            Err(_) if !journal.exists() => {
                self.project.tell(&Notice::JournalGone(&id));
                Ok(None)
            }
            Err(error) => Err(Error::UnreadableLastRun {
                run: id,
                folder,
                error: Box::new(error),
            }),
        }
    }

    /// Ends what a run has left running and leaves it as it is, so that another one can begin.
    ///
    /// # Errors
    /// It could not be ended.
    pub async fn abandon(&self, run: KnownRun) -> Result<(), Error> {
        let id = run.id().clone();
        if is_at_work(&run.replayed.scheduler) {
            Box::pin(end(&self.project, run)).await?;
            self.project.executor().clear().await;
        }
        self.project.tell(&Notice::PutAside(&id));
        Ok(())
    }

    /// Gets an interrupted run ready to go on.
    ///
    /// # Errors
    /// Something that is said to have landed can't be shown, or nothing could be committed.
    pub async fn resume(&mut self, run: KnownRun, trust: JournalTrust) -> Result<Ready, Error> {
        let repository = &self.project.repository;
        let worktrees = self.project.worktrees_folder();
        repository.put_back_collected_of(&worktrees.join(run.replayed.header.run_id.as_str()))?;
        refuse_lost_landings(repository, &run.replayed)?;
        let (header, directory) = (run.replayed.header.clone(), run.directory.clone());
        let limits = resumed_limits(&self.project, &header.limits);
        if run.replayed.is_torn {
            self.project.tell(&Notice::TornJournal);
        }
        let mut manifest: Manifest = read_json(&directory.manifest())?;
        manifest.after = self.after.or(&manifest.after)?;
        write_json(&directory.manifest(), &manifest)?;
        let project = as_started(&self.project, &directory)?;
        refuse_uncommittable(&project)?;
        Box::pin(prove_again(&project, &run, trust)).await?;
        let run = Box::pin(opened(&project, run, limits)).await?;
        let of = RunOf {
            project,
            header,
            directory,
            after: manifest.after,
        };
        self.ready(of, run)
    }

    /// Removes what of ended runs can go, or only tells what that is, and why the rest stays.
    ///
    /// # Errors
    /// The runs can't be read, or git refused.
    pub fn prune(&self, pruning: Pruning) -> Result<Vec<PrunedItem>, Error> {
        prune(&self.project, pruning)
    }

    /// Plans what is to be run, and writes into the backlog what is done already.
    ///
    /// # Errors
    /// There is no backlog, it can't be planned, an agent is not there, or nothing could be proven.
    pub fn plan(&self, order: &PlanOrder) -> Result<Planned, Error> {
        remove_what_never_began(&self.project)?;
        let planned = plan(&self.project, order)?;
        if !planned.plan.tasks.is_empty() {
            preflight(&self.project, &planned.plan, &planned.backlog.tasks)?;
        }
        planned.start.write(&planned.source, &planned.backlog)?;
        Ok(planned)
    }

    /// Gets a run ready to begin.
    ///
    /// # Errors
    /// An agent is not there, nothing could be committed, or nothing could be proven on its base.
    pub async fn begin(&mut self, planned: Planned, broken: BrokenBase) -> Result<Ready, Error> {
        let project = self.project.clone();
        let (mut header, source, backlog) = header_of(planned, &project)?;
        let (agents, ..) = preflight(&project, &header.plan, &backlog.tasks)?;
        refuse_uncommittable(&project)?;
        header.limits.agents = agents.roster(&header.run_id);
        let directory = project.directory.run(&header.run_id)?;
        directory.create()?;
        let manifest = Manifest::new(&project, self.after.or(&AfterRun::default())?);
        write_json(&directory.manifest(), &manifest)?;
        let plan_text = tm_reports::plan_text(&header.plan, &header.limits);
        let plan_text = tm_reports::Sheet::PLAIN.set(&plan_text);
        tm_store::atomic::replace_own(&directory.plan(), plan_text.as_bytes())?;
        let run = (header.clone(), directory.clone());
        let setup = run_setup(&project, run, (source, backlog), Begins::Anew(broken));
        let run = Run::begin(Box::pin(setup).await?)?;
        let of = RunOf {
            project,
            header,
            directory,
            after: manifest.after,
        };
        self.ready(of, run)
    }

    fn ready(&mut self, of: RunOf, run: Run) -> Result<Ready, Error> {
        self.lock.begin_attempts(&of.header.run_id)?;
        of.project.directory.set_live(&of.header.run_id)?;
        Ok(Ready { of, run })
    }

    /// Carries a run out to its end; `listener` is told everything that people may want to see.
    ///
    /// # Errors
    /// The run can't go on; it can be taken up.
    pub async fn run(
        &mut self,
        ready: Ready,
        mut listener: impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) -> Result<Ended, Error> {
        let Ready { of, run } = ready;
        let (socket, sender, steers) = steers(&of.project)?;
        let work = run.run(steers, |at, told, scheduler| {
            listener(at, told, scheduler);
            tell_meanwhile(
                told,
                &of.after,
                (&of.project, &of.header.run_id, &of.directory),
            );
        });
        // A run that is over hears nothing.
        let stop = || {
            sender
                .send(Steer::Stop(StopMode::Gently))
                .unwrap_or_default();
        };
        let (outcome, kept) = Box::pin(while_held(&mut self.lock, work, stop)).await;
        // Whatever an earlier process has left in a queue.
        of.project.executor().clear().await;
        if let Some(socket) = socket {
            socket.close().await;
        }
        if let Err(error) = self.lock.end_attempts() {
            tracing::warn!(%error, "what follows the run is taken for a part of it");
        }
        let outcome = outcome.map_err(|error| Error::RunBrokenOff(Box::new(error.into())))?;
        Ok(Ended { of, outcome, kept })
    }
}

/// What the journal of a planned run begins with, and its backlog.
fn header_of(
    planned: Planned,
    project: &Project,
) -> Result<(JournalHeader, BacklogSource, Backlog), Error> {
    let Planned {
        source,
        backlog,
        plan,
        limits,
        run: run_id,
        start,
    } = planned;
    let pattern = &project.loaded.settings.git.integration;
    let names = [("tag", backlog.tag.as_str()), ("run", run_id.as_str())];
    let header = JournalHeader {
        integration_branch: branch_from_pattern(pattern, &names)?,
        run_id,
        tag: backlog.tag.clone(),
        backlog: std::path::absolute(source.path())?.display().to_string(),
        started_at: now(),
        base_commit: start.commit,
        plan: plan.into(),
        limits,
    };
    let planned = header
        .plan
        .tasks
        .iter()
        .map(|placed| &placed.task.backlog_id);
    note_planned(project.repository.common_dir(), &header.tag, planned)?;
    Ok((header, source, backlog))
}

impl Ended {
    /// Writes what the run leaves: the summary in all its forms, and the statuses where they are committed each time.
    ///
    /// # Errors
    /// It can't be written; the run can be taken up.
    pub fn report(&self) -> Result<Summary, Error> {
        let RunOf {
            project,
            header,
            directory,
            after,
        } = &self.of;
        mend_references(project);
        let scheduler = &self.outcome.scheduler;
        let summary = whole_summary(project, scheduler, header, self.outcome.ended_at);
        forget_rejections(project, scheduler, header)?;
        note(project, header, directory);
        write_reports(project, directory, &summary)
            .map_err(|error| Error::RunBrokenOff(Box::new(error)))?;
        if project.loaded.settings.git.commit_backlog == CommitBacklog::Each {
            Statuses::of(project, header).commit_on_branch(scheduler)?;
        }
        if let Some(folder) = &after.report_dir {
            write_besides(project, directory, &summary, folder);
        }
        if project.loaded.settings.waves.keep.is_some() {
            match prune(project, Pruning::Done) {
                Ok(items) => project.tell(&Notice::Pruned(&items)),
                Err(error) => project.tell(&Notice::Failed(&with_causes(&error))),
            }
        }
        Ok(summary)
    }

    /// Tells whoever is to be told that the run is over.
    pub async fn tell(&self, summary: &Summary) {
        let of = &self.of;
        of.after.tell(&of.project, summary, &of.directory).await;
    }

    /// Returns how it ended.
    ///
    /// # Errors
    /// The surroundings ended it, or somebody else has the run lock.
    pub fn conclude(self) -> Result<Outcome, Error> {
        self.kept?;
        let Some(why) = self.outcome.scheduler.trouble() else {
            return Ok(self.outcome);
        };
        Err(Error::RunParked(
            why.trim_start_matches("failed to ").to_owned(),
        ))
    }
}
