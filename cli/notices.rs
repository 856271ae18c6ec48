//! Notices as words. Pure, but for the printing.

use crate::display::{json_event, print_line};
use itertools::Itertools as _;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_app::{Notice, PrunedItem};
use tm_executors::engine::TriedPlace;
use tm_runtime::loops::CutOff;
use tm_runtime::now;
use tm_runtime::standing::{RevertReason, TakenBack};
use tm_scheduler::{BranchName, CommitId, TaskId, Work, counted};

/// Prints a notice for people.
pub(crate) fn print(notice: &Notice<'_>) {
    for line in describe(notice) {
        print_line(&line);
    }
}

/// Prints a notice for people, and for programs what is an event.
pub(crate) fn print_for_programs(notice: &Notice<'_>) {
    match notice {
        Notice::BaseMeasured(seen) => json_event(now(), seen),
        other => print(other),
    }
}

/// Says how much was removed at the end of a run; nothing where nothing was.
fn pruned(items: &[PrunedItem]) -> Vec<String> {
    let gone = items.iter().filter(|item| item.goes).map(|item| item.kind);
    let counts = gone.counts().into_iter().sorted();
    let counts = counts
        .map(|(kind, count)| counted(count, kind.as_str()))
        .join(", ");
    let line = (!counts.is_empty()).then(|| format!("removed, by `waves.keep`: {counts}"));
    line.into_iter().collect()
}

/// Says whose the runs are that lie in a folder.
fn of_another(folder: &Path) -> String {
    format!(
        "what tm knows here until now is of another repository that was in this place (`{}`); it stays, and `tm waves run` \
         begins anew",
        folder.display()
    )
}

fn moved_back(branch: &BranchName, landed: &CommitId) -> String {
    format!(
        "warning: `{branch}` was moved: work that landed there is not in what this run starts from, and its tasks stay as \
         they are; `git branch --force {branch} {landed:.10}` brings it back"
    )
}

fn describe(notice: &Notice<'_>) -> Vec<String> {
    vec![match notice {
        Notice::Warning(words) => format!("warning: {words}"),
        Notice::Failed(why) => format!("warning: failed to {why}"),
        Notice::Printed(text) => (*text).to_owned(),
        Notice::StartsAt(branch) => {
            format!(
                "starting from `{branch}`, where the work of the last run landed; `--base HEAD` leaves it out"
            )
        }
        Notice::StartsTogetherWith(branch) => format!(
            "starting from HEAD together with `{branch}`, where the work of the last run landed; `--base HEAD` leaves it \
             out"
        ),
        Notice::MovedBack(branch, landed) => moved_back(branch, landed),
        Notice::TakenBack(taken) => taken_back(taken),
        Notice::ShallowClone => {
            "warning: this clone has only a part of its history, so work that landed before is not \
                                 seen; `git fetch --unshallow` brings the rest"
                .to_owned()
        }
        Notice::DoneAlready(ids) => format!(
            "done already, by the history that the run starts from: {} (`--again ID` does one once more)",
            ids.join(", ")
        ),
        Notice::OtherTitle(id, work) => other_title(id, work),
        Notice::UnreliableLock(system) => {
            format!("warning: the run lock is on {system}, where locks may not hold")
        }
        Notice::Moved { from, linked } => format!(
            "the repository was moved from `{}`: its runs are taken along, and {linked} worktrees linked to it again",
            from.display()
        ),
        Notice::OfAnother(folder) => of_another(folder),
        Notice::ProcessesEnded(count) => format!(
            "ended what was still there of tests or of a commit of before: {}",
            counted(*count, "process")
        ),
        Notice::LoopCutOff(cut_off) => return loop_cut_off(cut_off),
        Notice::PutAside(run) => format!(
            "the run {run} is left as it is, with its branches and its kept work; `tm waves resume {run}` takes it up"
        ),
        Notice::JournalGone(run) => journal_gone(run),
        Notice::TornJournal => {
            "warning: the last line of the journal was cut off and is left out".to_owned()
        }
        Notice::ProvesAgain { run, tasks } => format!(
            "the run {run} ended uncleanly: proving {} again that landed or were about to \
             (`--trust-journal` leaves that out)",
            counted(*tasks, "task")
        ),
        Notice::BranchMadeAgain { branch, commit } => {
            format!("warning: `{branch}` was deleted; it is made again at `{commit}`, where it was")
        }
        Notice::WaitsForPlace(why) => format!("a first job waits for a place: {why}"),
        Notice::PlaceTried(trial) => placed(trial),
        Notice::LooksAtBase => {
            return while_somebody_waits("looking at the base: set-up, then tests");
        }
        Notice::TriesHooks => {
            return while_somebody_waits("trying the hooks of a commit in a fresh checkout");
        }
        Notice::SetsUp => return while_somebody_waits("setting up a worktree"),
        Notice::BaseMeasured(seen) => return seen.preflight.lines(),
        Notice::NotSteerable(error) => not_steerable(error),
        Notice::StatusesCommitted { ids, branch } => statuses_committed(ids, branch),
        Notice::StaysOpen(task) => {
            format!("{task} was taken back since, so it stays open and is done again")
        }
        Notice::CostUntold(agent) => format!(
            "note: tm does not know that `{agent}` reports its cost; `--max-cost` counts what it reports, if anything"
        ),
        Notice::GoesOnWith(branch) => {
            format!("going on with `{branch}` where the loop before was cut off")
        }
        Notice::Pruned(items) => return pruned(items),
        _ => return Vec::new(),
    }]
}

/// What takes a while is said to somebody who waits for it, and not to a file.
fn while_somebody_waits(words: &str) -> Vec<String> {
    let waits = std::io::stderr().is_terminal();
    waits.then(|| words.to_owned()).into_iter().collect()
}

fn journal_gone(run: &tm_scheduler::RunId) -> String {
    format!(
        "warning: the journal of the run {run} is gone, so it can't be taken up; its branches and its kept work stay"
    )
}

fn other_title(id: &TaskId, work: &Work) -> String {
    let title = work.titles.first().map_or("another one", String::as_str);
    tm_untrusted::clean(&format!(
        "warning: task {id} has the id of work that landed with another title, `{title}` (`{}`), so it is planned; \
         `tm set-status --id={id} --status=done` where it is the same",
        work.commit
    ))
}

fn not_steerable(error: &tm_store::Error) -> String {
    format!(
        "warning: the run can't be steered from elsewhere: failed to {}",
        tm_scheduler::with_causes(error)
    )
}

pub(crate) fn placed(trial: &TriedPlace) -> String {
    let TriedPlace {
        place,
        begun_after,
        seen_after,
        missing: _,
        told,
    } = trial;
    let told = told.iter().map(|words| format!("; {words}")).join("");
    tm_untrusted::clean(&format!(
        "a first job ran on {place}: begun after {:.1} s; what is written here was seen there, and the other way, within {:.2} s{told}",
        begun_after.as_secs_f64(),
        seen_after.as_secs_f64()
    ))
}

fn statuses_committed(ids: &[TaskId], branch: &str) -> String {
    let ids = tm_untrusted::clean(&ids.iter().join(", "));
    format!("the statuses of {ids} are committed on `{branch}` (`git.commit_backlog`)")
}

fn taken_back(taken: &TakenBack) -> String {
    let TakenBack { task, why, by, .. } = taken;
    tm_untrusted::clean(&match why {
        RevertReason::Rejected(reason) => {
            let first = reason.lines().next().unwrap_or_default();
            format!("taking back `{task}` ({by:.10}), which was rejected: {first}")
        }
        RevertReason::InTheWay(other) => {
            format!(
                "taking back `{task}` too ({by:.10}), and doing it again: it changed the same lines as `{other}`"
            )
        }
        RevertReason::TestsAlone => {
            format!(
                "taking back the tests of `{task}` ({by:.10}) until its implementation lands: they come back with it"
            )
        }
    })
}

fn loop_cut_off(
    CutOff {
        state,
        ended_processes,
    }: &CutOff,
) -> Vec<String> {
    let processes = match ended_processes {
        0 => String::new(),
        count => format!("; {count} processes of its agent were still there and have been ended"),
    };
    let place = if state.is_under_way { "in" } else { "after" };
    let first = format!(
        "the loop {} was cut off {place} iteration {}{processes}",
        state.id, state.iteration
    );
    let second = state.worktree.as_ref().map(|(path, branch, _)| {
        format!(
            "its work is on `{branch}`, what it had not committed is in {}",
            path.display()
        )
    });
    std::iter::once(first).chain(second).collect()
}
