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
    /// By which of [`names`](super::batch::names) it is known.
    pub(super) name: String,
}

/// Reads what `squeue` printed; lines that are something else are left out.
pub(super) fn read(printed: &str) -> Vec<QueuedJob> {
    let of_line = |line: &str| {
        let mut columns = line.splitn(5, '|').map(str::trim);
        let mut next = || columns.next().map(str::to_owned);
        let (id, state, reason, nodes) = (next()?, next()?, next()?, next()?);
        let comment = next()?;
        let word = comment.rsplit(' ').next()?;
        let (job, index) = id
            .split_once('_')
            .map_or((id.as_str(), None), |(job, index)| (job, Some(index)));
        let name = index.map_or_else(
            || word.to_owned(),
            |index| batch::name_in_array(word, index),
        );
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(job) && index.is_none_or(is_number)).then_some(QueuedJob {
            id,
            state,
            reason,
            nodes,
            name,
        })
    };
    printed.lines().filter_map(of_line).collect()
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
                       13_4|RUNNING|None|n1|tm 1,2 job-y\n14_[1-3]|PENDING|None||tm 1,2 job-y\n";
        let read = read(printed);
        let read: Vec<_> = read
            .iter()
            .map(|job| (job.id.as_str(), job.name.as_str()))
            .collect();
        assert_eq!(read, [("12", "job-x"), ("13_4", "job-y_4")]);
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
