//! A run of autopilot in the shape of a run of waves: a task for each subtask that is committed, each on what the one before
//! left, landed by its own commit. So whatever looks at the branch of a run looks at this one too.

use crate::error::Error;
use crate::plan::limits;
use crate::project::{KnownRun, Project};
use std::num::NonZeroU32;
use std::sync::Arc;
use tm_runtime::autopilot::{self, RunBranch};
use tm_runtime::{JournalHeader, Replayed};
use tm_scheduler::{
    AgentPool, AgentReport, Answer, AttemptNumber, Claim, ClaimStatus, Cycles, Ended, IllegalInput,
    Input, Landing, Limits, Place, PlanOptions, Refactor, ResultFile, RunId, Scheduler, Task,
    TddMode, Unit, WavePlan,
};
use tm_store::run::{JournalEnd, is_autopilot_run};

/// Who worked, where no recipe says so.
const AGENT: &str = "autopilot";

/// Returns the run that is named, or the one in which something happened last, of waves or of autopilot.
pub(super) fn known(project: &Project, named: Option<&str>) -> Result<KnownRun, Error> {
    let named_here = named.map(RunId::from);
    let is_meant = named_here.as_ref().is_none_or(is_autopilot_run);
    let own = || project.of_autopilot();
    let branch = match is_meant.then(own).transpose()? {
        Some(own) => autopilot::branch(&own, named_here.as_ref())?,
        None => None,
    };
    let waves = match (named_here, &branch) {
        (Some(named), None) if is_meant => return Err(Error::UnknownRun(named)),
        (Some(_), Some(_)) => None,
        _ => Some(project.replayed(named)),
    };
    match (waves, branch) {
        (Some(Err(Error::NoRun)) | None, Some(branch)) => shaped(project, branch),
        (Some(Ok(waves)), Some(branch)) if waves.replayed.last_input_at < branch.updated_at => {
            shaped(project, branch)
        }
        (waves, _) => waves.unwrap_or(Err(Error::NoRun)),
    }
}

/// Refuses to pass on the branch of a run that goes on.
pub(crate) fn refuse_under_way(project: &Project, run: &RunId) -> Result<(), Error> {
    if !is_autopilot_run(run) {
        return Ok(());
    }
    let own = project.of_autopilot()?;
    let going = autopilot::branch(&own, Some(run))?.filter(|branch| branch.is_under_way);
    Error::refuse(going, |branch| Error::AutopilotUnderWay {
        run: branch.run,
        place: branch.checkout,
    })
}

fn shaped(project: &Project, branch: RunBranch) -> Result<KnownRun, Error> {
    let (plan, limits) = (Arc::new(planned(&branch)?), limits_of_one(project));
    let mut scheduler = Scheduler::new(Arc::clone(&plan), limits.clone());
    for (position, input) in inputs(&branch).into_iter().enumerate() {
        let told = scheduler.handle(branch.updated_at, input);
        told.map_err(
            |source: IllegalInput| tm_runtime::Error::ImpossibleJournal {
                path: branch.directory.path().join("state.json"),
                record: position + 1,
                source,
            },
        )?;
    }
    let header = JournalHeader {
        run_id: branch.run,
        tag: branch.tag,
        backlog: branch.backlog.display().to_string(),
        started_at: branch.started_at,
        base_commit: branch.base,
        integration_branch: branch.branch,
        plan,
        limits,
    };
    let replayed = Replayed {
        header,
        scheduler,
        last_input_at: branch.updated_at,
        end: JournalEnd::default(),
        is_torn: false,
    };
    Ok(KnownRun {
        directory: branch.directory,
        replayed,
    })
}

fn planned(branch: &RunBranch) -> Result<WavePlan, Error> {
    let mut before = None;
    let tasks = branch.pieces.iter().map(|piece| Task {
        dependencies: before.replace(piece.id.clone()).into_iter().collect(),
        ..Task::new(piece.id.clone(), piece.title.clone())
    });
    let options = PlanOptions {
        unit: Unit::Task,
        tdd: TddMode::Off,
        cycles: Cycles::Refuse,
        ..PlanOptions::default()
    };
    let plan = WavePlan::new(&tasks.collect::<Vec<_>>(), &options);
    plan.map_err(|refusal| Error::Unplannable {
        backlog: branch.backlog.clone(),
        refusal,
    })
}

/// One agent at a time, and nothing that would end the run.
fn limits_of_one(project: &Project) -> Limits {
    Limits {
        slots: NonZeroU32::MIN,
        landing: Landing::Each,
        refactor: Refactor::Off,
        deadline: None,
        agents: AgentPool::of_one(AGENT),
        ..limits(project)
    }
}

/// What would have come in if a run of waves had done the same.
fn inputs(branch: &RunBranch) -> Vec<Input> {
    let mut inputs = vec![Input::Begin];
    let mut base = branch.base.clone();
    for piece in &branch.pieces {
        // When each of them was committed is not kept.
        let ended = AgentReport {
            result: ResultFile::Claimed(Claim::of(ClaimStatus::Pass)),
            ..AgentReport::new(
                AGENT,
                branch.started_at,
                branch.updated_at,
                Ended::Exited(Some(0)),
            )
        };
        let commit = piece.commit.clone();
        let place = Place {
            branch: branch.branch.clone(),
            base: std::mem::replace(&mut base, commit.clone()),
            worktree: branch.checkout.display().to_string(),
        };
        let answers = [
            Answer::Prepared(place),
            Answer::AgentEnded(ended),
            Answer::Proved(piece.proof.clone()),
            Answer::Committed {
                commit: commit.clone(),
                proof: None,
            },
            Answer::Landed {
                commit,
                resolution: None,
            },
        ];
        inputs.extend(answers.map(|answer| Input::Answer {
            task: piece.id.clone(),
            attempt: AttemptNumber(1),
            answer,
        }));
    }
    inputs
}
