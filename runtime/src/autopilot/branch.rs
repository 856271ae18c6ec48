//! The branch of a run, for whoever reviews it and passes it on: what is committed there, and what is known of that.

use super::error::Error;
use super::project::Project;
use super::session::OpenRun;
use super::state::commit_of;
use crate::trailers::values;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tm_scheduler::{BranchName, CommitId, Proof, RunId, Tag, TaskId, Timestamp};
use tm_store::autopilot::PointerStatus;
use tm_store::run::{RunDirectory, read_json};

/// The branch of a run.
#[derive(Debug)]
pub struct RunBranch {
    /// The run.
    pub run: RunId,
    /// Its folder.
    pub directory: RunDirectory,
    /// The tag.
    pub tag: Tag,
    /// The backlog.
    pub backlog: PathBuf,
    /// The branch.
    pub branch: BranchName,
    /// What the run started from.
    pub base: CommitId,
    /// When it began.
    pub started_at: Timestamp,
    /// When something happened in it last.
    pub updated_at: Timestamp,
    /// Whether it goes on with the next call.
    pub is_under_way: bool,
    /// The checkout that it works in.
    pub checkout: PathBuf,
    /// What is committed, the oldest first.
    pub pieces: Vec<CommittedPiece>,
}

/// A subtask that is committed, or the task where it has none.
#[derive(Debug)]
pub struct CommittedPiece {
    /// Its id in the backlog.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// The last commit of it.
    pub commit: CommitId,
    /// What was seen of it, and who saw that.
    pub proof: Proof,
}

/// Returns the branch of the run that is named, or of the one in which something happened last, in any checkout of the
/// repository; `None` where nothing is committed in it, or there is none.
///
/// # Errors
/// The files of the runs can't be read, or git refused.
pub fn branch(project: &Project, named: Option<&RunId>) -> Result<Option<RunBranch>, Error> {
    let mut found = Vec::new();
    for (folder, checkout) in project.all_folders()? {
        let project = project.with_folder(folder);
        let runs = project.folder.runs();
        let runs = match named {
            Some(_) => runs?,
            None => runs.unwrap_or_default(),
        };
        for id in runs {
            if named.is_some_and(|named| *named != id) {
                continue;
            }
            // What can't be read, or is of another repository, says so where it is named, and is not meant otherwise.
            match RunBranch::read(&project, id, &checkout) {
                Err(_) if named.is_none() => {}
                read => found.push(read?),
            }
        }
    }
    found.retain(|run| !run.pieces.is_empty());
    Ok(found.into_iter().max_by_key(|run| run.updated_at))
}

impl RunBranch {
    fn read(project: &Project, id: RunId, checkout: &Path) -> Result<Self, Error> {
        let open = OpenRun::of(project, id)?;
        let state = &open.state;
        project.refuse_of_another(&state.run_id, state.repository.as_ref())?;
        let committed = state.machine.items().iter();
        let committed = committed.filter_map(|item| Some((item, commit_of(&item.progress)?)));
        let pieces = committed.map(|(item, commit)| CommittedPiece {
            id: item.id.clone(),
            title: item.title.clone(),
            commit: commit.clone(),
            proof: open.proof_of(&item.id, commit),
        });
        Ok(Self {
            run: state.run_id.clone(),
            directory: open.run.as_run(),
            tag: state.tag.clone(),
            backlog: project.backlog_source()?.path().to_owned(),
            branch: state.branch.clone(),
            base: state.base_commit.clone(),
            started_at: state.started_at,
            updated_at: state.updated_at,
            is_under_way: state.status() == PointerStatus::InProgress,
            checkout: checkout.to_owned(),
            pieces: pieces.collect(),
        })
    }
}

impl OpenRun<'_> {
    /// What is known of a subtask's tests: what tm measured, or what the agent said of them, and which of the two it is.
    fn proof_of(&self, subtask: &TaskId, commit: &CommitId) -> Proof {
        let said: Value = read_json(&self.run.test_results(subtask, "green")).unwrap_or_default();
        let measured: Option<Proof> = serde_json::from_value(said["proof"].clone()).ok();
        let mut proof = measured.unwrap_or_else(|| Proof {
            passed: said["passed"].as_u64().unwrap_or_default(),
            failed: said["failed"].as_u64().unwrap_or_default(),
            notes: vec!["these numbers are the agent's: tm has not run its tests".to_owned()],
            ..Proof::default()
        });
        let repository = &self.project.repository;
        let trailers = repository.past(commit).map(|past| past.trailers);
        let is_own = trailers.is_ok_and(|trailers| values(&trailers, "Run").next().is_none());
        let own = is_own.then(|| {
            format!(
                "`{commit:.12}` is the agent's own commit, without tm's trailers: only the backlog says that it is done"
            )
        });
        proof.notes.extend(own);
        // Hooks may have made another tree of what was measured.
        proof.tree = repository.tree_of(commit).ok().map(|tree| tree.to_string());
        proof
    }
}
