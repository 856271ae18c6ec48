//! What to type when a run is over. Pure: what it came to in, lines out.

use tm_reports::{Summary, Verdict};
use tm_scheduler::RunStatus;

/// Returns what fits how the run ended, the next step first.
pub(super) fn next_steps(summary: &Summary, status: RunStatus) -> String {
    let mut tasks = summary.tasks.iter();
    let failed = tasks.find(|task| task.verdict == Verdict::Fail);
    let logs = failed.map(|task| format!("tm waves logs {}", task.id));
    let is_cut_off = matches!(status, RunStatus::Interrupted | RunStatus::Stopped);
    let has_work = summary.tasks.iter().any(|task| task.commit.is_some());
    let has_landed = summary.counts.landed > 0;
    let commits = format!("git log --first-parent {}", summary.integration_branch);
    let steps = [
        is_cut_off.then_some(("tm waves resume", "take the rest up")),
        logs.as_deref().map(|logs| (logs, "see why it failed")),
        (failed.is_some() && !is_cut_off).then_some(("tm waves run", "try again what failed")),
        has_work.then_some(("tm review", "see each task, approve or reject it")),
        has_landed.then_some((
            "tm waves land",
            "merge it into your branch, when you are content",
        )),
        has_landed.then_some((commits.as_str(), "")),
    ];
    let line = |(command, about): (&str, &str)| {
        let line = format!("  {command:24}  {about}");
        format!("\n{}", line.trim_end())
    };
    let steps = steps.into_iter().flatten().map(line);
    "next:".to_owned() + &steps.collect::<String>()
}
