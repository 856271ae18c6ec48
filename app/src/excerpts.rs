//! Adds to a summary what a page of it shows besides: the beginning of what each task changed, and the end of what each
//! agent said. Bounded, safe to show, and left out where it can't be read.

use crate::project::Project;
use std::path::Path;
use tm_executors::agent::spoken;
use tm_reports::{Excerpt, Summary, TaskSummary};
use tm_scheduler::{AttemptNumber, CommitId, TaskId};
use tm_store::run::{AttemptDirectory, RunDirectory};

/// All of it together has so many bytes, and one excerpt at the least and at the most.
const ALL: usize = 3 * 1024 * 1024;
const LEAST: usize = 1024;
const MOST: usize = 16 * 1024;
/// A log is read so much further than it is shown: events say little to people.
const READ: usize = 16;

/// Returns a summary with the excerpts.
pub fn with_excerpts(project: &Project, directory: &RunDirectory, summary: &Summary) -> Summary {
    let mut summary = summary.clone();
    let pairs: Vec<(CommitId, CommitId)> = summary.tasks.iter().filter_map(ends).collect();
    let attempts: usize = summary.tasks.iter().map(|task| task.attempts.len()).sum();
    let most = (ALL / (pairs.len() + attempts).max(1)).clamp(LEAST, MOST);
    let patches = project.repository.patches(&pairs, most);
    let mut patches = patches.unwrap_or_default().into_iter();
    for task in &mut summary.tasks {
        if ends(task).is_some() {
            task.diff = patches.next().flatten().map(|patch| Excerpt {
                text: tm_untrusted::clean(&patch.text),
                left_out: patch.left_out,
            });
        }
        let id = TaskId::from(task.id.as_str());
        for attempt in &mut task.attempts {
            attempt.log = log_of(&directory.attempt(&id, AttemptNumber(attempt.n)), most);
        }
    }
    summary
}

/// What the work of a task was built on, and the work.
pub(crate) fn ends(task: &TaskSummary) -> Option<(CommitId, CommitId)> {
    let (base, commit) = (task.base_commit.as_deref()?, task.commit.as_deref()?);
    Some((CommitId::new(base), CommitId::new(commit)))
}

/// The end of what an agent said, what it complained about last.
fn log_of(directory: &AttemptDirectory, most: usize) -> Option<Excerpt> {
    let (said, is_torn) = words(&directory.stdout(), most);
    let mut lines: Vec<String> = said.iter().flat_map(|line| spoken(line)).collect();
    let (complaints, _) = words(&directory.stderr(), most);
    if !complaints.is_empty() {
        lines.push("stderr:".to_owned());
        lines.extend(complaints);
    }
    let mut left = most;
    let fits = |line: &&String| {
        let room = left.checked_sub(line.len() + 1);
        left = room.unwrap_or(0);
        room.is_some()
    };
    let shown = lines.iter().rev().take_while(fits).count();
    let text = lines.split_off(lines.len() - shown).join("\n");
    let left_out = lines.len() as u64 + u64::from(is_torn);
    (shown > 0).then_some(Excerpt { text, left_out })
}

/// The whole lines at the end of a log, and whether there are more; one that is not there has none.
fn words(log: &Path, most: usize) -> (Vec<String>, bool) {
    let most = (READ * most) as u64;
    let end = tm_untrusted::read_end(log, most).unwrap_or_default();
    let text = tm_untrusted::clean(&String::from_utf8_lossy(&end));
    let is_torn = tm_untrusted::size(log) > most;
    let whole = text.lines().skip(usize::from(is_torn));
    (whole.map(ToOwned::to_owned).collect(), is_torn)
}
