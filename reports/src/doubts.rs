//! Landings that a journal tells of and git does not show: no report says of them that they have landed.
//!
//! Does not know how a journal is compared with git.

use crate::cleaned::cleaned;
use crate::{Counts, DoubtSummary, PairSummary, Summary, TaskSummary, Totals, Verdict};

/// Returns the summary in which nothing that is in doubt has landed, nor has the other half of its pair.
pub fn with_doubts(mut summary: Summary, doubts: Vec<DoubtSummary>) -> Summary {
    for doubt in &doubts {
        let Some(id) = &doubt.task else { continue };
        let is_partner = |task: &TaskSummary| task.landed && task.pair.as_ref() == Some(id);
        let tasks = summary.tasks.iter_mut();
        tasks
            .filter(|task| task.id == *id || is_partner(task))
            .for_each(|task| task.put_in_doubt(&doubt.why));
        let pairs = summary.tdd.table.iter_mut();
        pairs
            .filter(|pair| pair.green == *id || pair.red == *id)
            .for_each(PairSummary::put_in_doubt);
    }
    summary.totals = Totals::of(&summary.tasks);
    summary.counts = Counts::of(&summary.tasks);
    summary.tdd.recount();
    cleaned(Summary { doubts, ..summary })
}

impl TaskSummary {
    fn put_in_doubt(&mut self, why: &str) {
        self.landed = false;
        self.verdict = Verdict::Fail;
        "in doubt".clone_into(&mut self.state);
        self.reason = Some(why.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::report_html;
    use crate::junit::junit_xml;
    use crate::tests::summary;
    use crate::{Sheet, metrics_text, status_text, summary_markdown};

    fn doubted() -> Summary {
        let why = "its merge is not on the integration branch\u{1b}[2J".to_owned();
        with_doubts(
            summary(),
            vec![DoubtSummary {
                task: Some("1".to_owned()),
                commit: "merge".to_owned(),
                why,
            }],
        )
    }

    #[test]
    fn what_is_in_doubt_is_said_and_counted_nowhere_as_landed() {
        let summary = doubted();
        assert!(
            summary.tasks.iter().all(|task| !task.landed),
            "{summary:#?}"
        );
        assert_eq!(
            (
                summary.totals.passed,
                summary.totals.failed,
                summary.tdd.compliant
            ),
            (0, 3, 0)
        );
        for text in [
            summary_markdown(&summary),
            Sheet::PLAIN.set(&status_text(&summary)),
            report_html(&summary),
        ] {
            assert!(text.contains("task 1 is said to have landed by"), "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        assert!(junit_xml(&summary).contains("its merge is not on the integration branch"));
        assert!(
            metrics_text(&summary)
                .lines()
                .any(|line| line.starts_with("tm_tasks_landed") && line.ends_with(" 0"))
        );
    }

    #[test]
    fn a_run_that_git_shows_is_reported_as_before() {
        assert_eq!(with_doubts(summary(), Vec::new()), summary());
    }
}
