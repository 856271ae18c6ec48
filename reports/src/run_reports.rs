//! The reports of a run: one view of it in several layouts.

use crate::Summary;
use crate::html::report_html;
use crate::junit::junit_xml;
use crate::layout::rendered;
use crate::view::RunView;

/// A report that every run leaves.
#[derive(Debug)]
pub struct RunReport {
    /// Its file.
    pub file: &'static str,
    /// Its media type (RFC 6838).
    pub media_type: &'static str,
    /// What it is, for programs that list it.
    pub about: &'static str,
    /// The flag of `tm waves report` that shows it, and its help.
    pub flag: (&'static str, &'static str),
    /// Lays it out.
    pub layout: fn(&Summary) -> String,
}

/// The reports that a run leaves.
pub static REPORTS: [RunReport; 3] = [
    RunReport {
        file: "summary.md",
        media_type: "text/markdown",
        about: "the summary of the run",
        flag: ("markdown", "Markdown, on stdout"),
        layout: summary_markdown,
    },
    RunReport {
        file: "report.html",
        media_type: "text/html",
        about: "the report of the run, in one page",
        flag: ("html", "One page of HTML, on stdout"),
        layout: report_html,
    },
    RunReport {
        file: "junit.xml",
        media_type: "application/xml",
        about: "the results of the run, for CI systems",
        flag: ("junit", "`JUnit` XML, on stdout"),
        layout: junit_xml,
    },
];

/// Returns the summary as Markdown, for `summary.md` and for a CI step summary alike: what happened in a
/// sentence, sums, the compliance table, failures with what to type next, branches.
pub fn summary_markdown(summary: &Summary) -> String {
    rendered("summary.md", &RunView::of(summary))
}

/// Returns where a run stands, in the text format that Prometheus reads.
pub fn metrics_text(summary: &Summary) -> String {
    rendered("metrics.txt", &RunView::of(summary))
}

/// Returns where a run stands, for a terminal: a line of totals, and one a task.
pub fn status_text(summary: &Summary) -> String {
    rendered("status.txt", &RunView::of(summary))
}

/// Returns the summary for a terminal: the tasks, what failed and what to type next, sums, what happened in a sentence.
pub fn summary_text(summary: &Summary) -> String {
    rendered("summary.txt", &RunView::of(summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::summary;

    #[test]
    fn metrics_have_a_family_a_number_and_labels() {
        insta::assert_snapshot!(metrics_text(&summary()), @r#"
        # HELP tm_tasks Tasks by verdict; a pair is one.
        # TYPE tm_tasks gauge
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="pass"} 1
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="partial"} 0
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="fail"} 1
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="blocked"} 0
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="not-run"} 0
        # HELP tm_tasks_landed Tasks on the integration branch; a pair is one.
        # TYPE tm_tasks_landed gauge
        tm_tasks_landed{run="20261121-014512-3fa9",tag="master"} 1
        # HELP tm_attempts Attempts that were started.
        # TYPE tm_attempts gauge
        tm_attempts{run="20261121-014512-3fa9",tag="master"} 3
        # HELP tm_attempts_failed Attempts that failed.
        # TYPE tm_attempts_failed gauge
        tm_attempts_failed{run="20261121-014512-3fa9",tag="master"} 1
        # HELP tm_attempts_under_way Attempts that are not over.
        # TYPE tm_attempts_under_way gauge
        tm_attempts_under_way{run="20261121-014512-3fa9",tag="master"} 0
        # HELP tm_pairs Pairs in the plan.
        # TYPE tm_pairs gauge
        tm_pairs{run="20261121-014512-3fa9",tag="master"} 2
        # HELP tm_pairs_compliant Pairs that kept the cycle.
        # TYPE tm_pairs_compliant gauge
        tm_pairs_compliant{run="20261121-014512-3fa9",tag="master"} 1
        # HELP tm_run_seconds Time since the run began, or that it took.
        # TYPE tm_run_seconds gauge
        tm_run_seconds{run="20261121-014512-3fa9",tag="master"} 7.000
        # HELP tm_run_status 1 for the status of the run.
        # TYPE tm_run_status gauge
        tm_run_status{run="20261121-014512-3fa9",tag="master",status="failed"} 1
        # HELP tm_tokens Tokens that agents report.
        # TYPE tm_tokens gauge
        tm_tokens{run="20261121-014512-3fa9",tag="master"} 330
        "#);
    }

    #[test]
    fn labels_can_not_be_broken_out_of() {
        let mut summary = summary();
        summary.tag = "a\"} 1\nb\\".to_owned();
        assert!(metrics_text(&summary).contains("tag=\"a\\\"} 1\\nb\\\\\""));
    }
}
