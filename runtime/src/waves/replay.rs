//! Rebuilds the state of a run from its journal; used to resume it, and to look at it while it is live.
//!
//! The first record is everything that the run was started with and that replaying needs.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use tm_scheduler::{
    BranchName, CommitId, Input, Limits, RunId, Scheduler, Tag, Timestamp, WavePlan,
};
use tm_store::run::{JournalContents, JournalEnd, read_journal};

/// A run as its journal tells it.
#[derive(Debug)]
pub struct Replayed {
    /// What it was started with.
    pub header: JournalHeader,
    /// Where it stands.
    pub scheduler: Scheduler,
    /// When the last input came.
    pub last_input_at: Timestamp,
    /// Where the whole records end.
    pub end: JournalEnd,
    /// Whether a torn last line was left out.
    pub is_torn: bool,
}

/// Replays a journal.
///
/// # Errors
/// The journal can't be read, is damaged anywhere but in its last line, or tells of something that can't happen.
pub fn replay(path: &Path) -> Result<Replayed, Error> {
    let contents: JournalContents<JournalHeader, Input> = read_journal(path)?;
    let header = contents.header;
    let mut scheduler = Scheduler::new(Arc::clone(&header.plan), header.limits.clone());
    let mut last_input_at = header.started_at;
    for (position, entry) in contents.records.into_iter().enumerate() {
        last_input_at = entry.at;
        scheduler
            .handle(entry.at, entry.record)
            .map_err(|source| Error::ImpossibleJournal {
                path: path.to_owned(),
                record: position + 1,
                source,
            })?;
    }
    Ok(Replayed {
        header,
        scheduler,
        last_input_at,
        end: contents.end,
        is_torn: contents.torn.is_some(),
    })
}

/// What a run was started with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The run.
    pub run_id: RunId,
    /// The tag of the backlog.
    pub tag: Tag,
    /// The backlog's path.
    pub backlog: String,
    /// When the run began.
    pub started_at: Timestamp,
    /// The commit that it starts from.
    pub base_commit: CommitId,
    /// The integration branch.
    pub integration_branch: BranchName,
    /// The plan.
    pub plan: Arc<WavePlan>,
    /// The limits at the start.
    pub limits: Limits,
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::{Answer, AttemptNumber, RunStatus, State, StopMode};
    use tm_store::run::JournalWriter;

    /// A run of two tasks that was paused and then killed: the first has landed, the agent of the second was at work.
    #[test]
    fn a_journal_that_an_earlier_tm_wrote_in_version_1_is_replayed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        tm_store::atomic::replace(&path, include_bytes!("fixtures/journal-version-1.jsonl"))
            .expect("written");
        let replayed = replay(&path).expect("replayed");
        let state = |id: &str| {
            replayed
                .scheduler
                .task(&id.into())
                .expect("a task")
                .state
                .clone()
        };
        assert!(
            matches!(state("1"), State::Landed { .. }),
            "{:?}",
            state("1")
        );
        assert!(matches!(state("2"), State::Running), "{:?}", state("2"));
        assert!(!replayed.is_torn && replayed.scheduler.ended().is_none());
    }

    /// An earlier tm wrote down whatever came in one batch with the end.
    #[test]
    fn what_follows_the_end_of_a_run_keeps_nobody_from_taking_it_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let earlier = folder.path().join("earlier.jsonl");
        tm_store::atomic::replace(&earlier, include_bytes!("fixtures/journal-version-1.jsonl"))
            .expect("written");
        let header = replay(&earlier).expect("replayed").header;
        let limits = header.limits.clone();
        let path = folder.path().join("journal.jsonl");
        let mut journal = JournalWriter::create(&path, &header).expect("a journal");
        let late = Input::Answer {
            task: "1".into(),
            attempt: AttemptNumber(1),
            answer: Answer::WorkLost("too late".to_owned()),
        };
        let now = Input::Stop(StopMode::Now);
        for input in [Input::Begin, now, late.clone(), Input::Tick, late] {
            journal.append(header.started_at, &input).expect("written");
        }
        journal.flush().expect("written");
        let ended = replay(&path).expect("replayed").scheduler.ended();
        assert_eq!(ended, Some(RunStatus::Interrupted));
        let taken_up = Input::Resumed(limits);
        journal
            .append(header.started_at, &taken_up)
            .expect("written");
        journal.flush().expect("written");
        assert!(replay(&path).expect("replayed").scheduler.ended().is_none());
    }
}
