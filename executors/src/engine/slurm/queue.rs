//! What Slurm says of jobs, and what that means. Pure: text in, standings out.
//!
//! Only forms are read that have been the same since 22.05: columns that are asked for by name, and never JSON.

use super::batch;
use crate::engine::node::{Loss, Standing};

/// The columns that `squeue` is asked for; the comment is last, since anything may be in it.
pub(super) const COLUMNS: &str = "%i|%T|%r|%N|%k";

/// A job as `squeue` shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct QueuedJob {
    pub(super) id: String,
    pub(super) state: String,
    /// Why it waits, in Slurm's words.
    pub(super) reason: String,
    pub(super) nodes: String,
    /// The name of its folder.
    pub(super) name: String,
}

/// Reads what `squeue` printed; lines that are something else are left out.
pub(super) fn read(printed: &str) -> Vec<QueuedJob> {
    let of_line = |line: &str| {
        let mut columns = line.splitn(5, '|').map(str::trim);
        let mut next = || columns.next().map(str::to_owned);
        let (id, state, reason, nodes) = (next()?, next()?, next()?, next()?);
        let comment = next()?;
        let name = batch::name_of(&id, &comment)?.to_owned();
        batch::is_number(&id).then_some(QueuedJob {
            id,
            state,
            reason,
            nodes,
            name,
        })
    };
    printed.lines().filter_map(of_line).collect()
}

impl QueuedJob {
    /// Whether it waits or runs.
    pub(super) fn goes_on(&self) -> bool {
        !matches!(standing(self, false), Standing::Gone(_))
    }
}

/// Returns what Slurm shows of a job: of the copy that has taken it, else the one of its number, or of its name where that one
/// is over or was never seen: Slurm may have more of a job than it told.
pub(super) fn shown<'q>(
    queued: &'q [QueuedJob],
    name: &str,
    id: Option<&str>,
    is_taken: bool,
) -> Option<&'q QueuedJob> {
    let by_number = || queued.iter().find(|job| Some(job.id.as_str()) == id);
    if is_taken {
        return by_number();
    }
    let goes_on = |job: &&QueuedJob| job.goes_on();
    let by_name = || queued.iter().rev().filter(|job| job.name == name);
    (by_number().filter(goes_on))
        .or_else(|| by_name().find(goes_on))
        .or_else(by_number)
        .or_else(|| by_name().next())
}

/// Reads the state out of what `scontrol show job` printed, or `sacct -P -n -o State`.
pub(super) fn state_of(printed: &str) -> Option<&str> {
    let said = printed
        .split_once("JobState=")
        .map_or(printed, |(_, rest)| rest);
    said.split_whitespace().next()
}

/// Returns what a state means for a job; `has_run` when it was seen running before.
pub(super) fn standing(job: &QueuedJob, has_run: bool) -> Standing {
    let QueuedJob {
        id,
        state,
        reason,
        nodes,
        ..
    } = job;
    let place = if nodes.is_empty() {
        String::new()
    } else {
        format!(" on `{nodes}`")
    };
    let lost = |what: &str| Standing::Gone(Loss::Lost(format!("Slurm job {id}{place} {what}")));
    // Of what others did states have more to say, such as `CANCELLED by 1000`.
    let word = state.split([' ', '+']).next().unwrap_or_default();
    match word {
        "PENDING" if has_run => lost("was put back into the queue"),
        "PENDING" if reason == "DependencyNeverSatisfied" => {
            lost("waits for something that never comes (DependencyNeverSatisfied)")
        }
        "PENDING" => Standing::Waiting(reason.clone()),
        "RUNNING" | "CONFIGURING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "RESIZING"
        | "SIGNALING" | "STAGE_OUT" => Standing::Running,
        "TIMEOUT" | "DEADLINE" => Standing::Gone(Loss::TimedOut(format!(
            "Slurm job {id}{place} was ended at its limit of time ({word})"
        ))),
        "NODE_FAIL" | "BOOT_FAIL" => lost(&format!("was lost with its node ({word})")),
        "PREEMPTED" => lost("had to make room for others (PREEMPTED)"),
        "OUT_OF_MEMORY" => lost("used more memory than it has (OUT_OF_MEMORY)"),
        "CANCELLED" | "REVOKED" => lost(&format!("was cancelled by somebody ({state})")),
        "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" => {
            lost(&format!("was put back into the queue ({word})"))
        }
        // Its end is told in its folder, or it was none of tm's.
        "COMPLETED" => lost("is over, and nothing is told of its end"),
        _ => lost(&format!(
            "is over ({state}), and nothing is told of its end"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(state: &str, reason: &str) -> QueuedJob {
        let line = format!("12|{state}|{reason}|n1|tm a|b/2 job-x");
        read(&line).pop().expect("a job")
    }

    #[test]
    fn lines_are_read_whatever_the_comment_holds_and_others_are_left_out() {
        let printed = "slurm_load_jobs error: whatever\n12|PENDING|Resources||tm a|b/2 job-x\n\
                       13_1|RUNNING|None|n1|tm 1,2 job-y,job-z\n14_[1-3]|PENDING|None||tm 1,2 job-y,job-z\n";
        let read = read(printed);
        let read: Vec<_> = read
            .iter()
            .map(|job| (job.id.as_str(), job.name.as_str()))
            .collect();
        assert_eq!(read, [("12", "job-x"), ("13_1", "job-z")]);
    }

    #[test]
    fn of_what_slurm_has_twice_the_copy_that_took_it_counts_and_before_one_did_whichever_goes_on() {
        let queued = "36|RUNNING|None|n1|tm 1 job-x\n37|FAILED|None|n1|tm 1 job-x\n38|PENDING|None||tm 1 job-y\n";
        let queued = read(queued);
        let shown =
            |name, id, is_taken| shown(&queued, name, id, is_taken).map(|job| job.id.as_str());
        assert_eq!(shown("job-x", Some("37"), false), Some("36"));
        assert_eq!(shown("job-x", Some("36"), true), Some("36"));
        assert_eq!(shown("job-x", Some("37"), true), Some("37"));
        assert_eq!(shown("job-x", Some("35"), true), None, "it left the queue");
        assert_eq!(
            shown("job-y", Some("9999"), false),
            Some("38"),
            "a number that nobody has"
        );
        assert_eq!(shown("job-z", None, false), None);
    }

    #[test]
    fn every_state_is_one_of_what_tm_knows() {
        let waiting = standing(&job("PENDING", "Priority"), false);
        assert_eq!(waiting, Standing::Waiting("Priority".to_owned()));
        for state in ["RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"] {
            assert_eq!(standing(&job(state, "None"), true), Standing::Running);
        }
        let words =
            |state: &str, reason: &str, has_run| match standing(&job(state, reason), has_run) {
                Standing::Gone(Loss::Lost(words)) => words,
                Standing::Gone(Loss::TimedOut(words)) => format!("timed out: {words}"),
                other => format!("{other:?}"),
            };
        let told = [
            words("NODE_FAIL", "None", true),
            words("PREEMPTED", "None", true),
            words("TIMEOUT", "None", true),
            words("OUT_OF_MEMORY", "None", true),
            words("CANCELLED by 1000", "None", false),
            words("PENDING", "DependencyNeverSatisfied", false),
            words("PENDING", "BeginTime", true),
            words("FAILED", "NonZeroExitCode", true),
        ];
        assert_eq!(
            told.join("\n"),
            "Slurm job 12 on `n1` was lost with its node (NODE_FAIL)\n\
             Slurm job 12 on `n1` had to make room for others (PREEMPTED)\n\
             timed out: Slurm job 12 on `n1` was ended at its limit of time (TIMEOUT)\n\
             Slurm job 12 on `n1` used more memory than it has (OUT_OF_MEMORY)\n\
             Slurm job 12 on `n1` was cancelled by somebody (CANCELLED by 1000)\n\
             Slurm job 12 on `n1` waits for something that never comes (DependencyNeverSatisfied)\n\
             Slurm job 12 on `n1` was put back into the queue\n\
             Slurm job 12 on `n1` is over (FAILED), and nothing is told of its end"
        );
    }

    #[test]
    fn the_state_of_a_job_that_left_the_queue_is_found_in_both_forms() {
        let shown = "JobId=7 JobName=tm\n   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)\n";
        assert_eq!(state_of(shown), Some("NODE_FAIL"));
        assert_eq!(state_of("CANCELLED by 0\n"), Some("CANCELLED"));
        assert_eq!(state_of(""), None);
    }
}
