//! Where a run stands, in the text format that Prometheus reads.

use crate::{Summary, Verdict};
use std::fmt::{Display, Write as _};

/// Returns the metrics of a run.
pub fn metrics_text(summary: &Summary) -> String {
    let run = format!(
        "run=\"{}\",tag=\"{}\"",
        label(&summary.run_id),
        label(&summary.tag)
    );
    let mut metrics = Metrics {
        text: String::new(),
        run,
    };
    metrics.family("tm_tasks", "Tasks by verdict.");
    for verdict in [
        Verdict::Pass,
        Verdict::Partial,
        Verdict::Fail,
        Verdict::Blocked,
        Verdict::NotRun,
    ] {
        let tasks = summary.tasks.iter();
        let count = tasks.filter(|task| task.verdict == verdict).count();
        metrics.value(
            "tm_tasks",
            &format!(",verdict=\"{}\"", verdict.as_str()),
            count,
        );
    }
    let landed = summary.tasks.iter().filter(|task| task.landed).count();
    let attempts = || summary.tasks.iter().flat_map(|task| &task.attempts);
    let under_way = attempts().filter(|attempt| attempt.ended_at.is_none());
    let failed = attempts().filter(|attempt| attempt.failure.is_some());
    let tdd = &summary.tdd;
    metrics.one(
        "tm_tasks_landed",
        "Tasks on the integration branch.",
        landed,
    );
    metrics.one(
        "tm_attempts",
        "Attempts that were started.",
        attempts().count(),
    );
    metrics.one(
        "tm_attempts_failed",
        "Attempts that failed.",
        failed.count(),
    );
    metrics.one(
        "tm_attempts_under_way",
        "Attempts that are not over.",
        under_way.count(),
    );
    metrics.one("tm_pairs", "Pairs in the plan.", tdd.pairs);
    metrics.one(
        "tm_pairs_compliant",
        "Pairs that kept the cycle.",
        tdd.compliant,
    );
    let seconds = format!("{}.{:03}", summary.wall_ms / 1_000, summary.wall_ms % 1_000);
    metrics.one(
        "tm_run_seconds",
        "Time since the run began, or that it took.",
        seconds,
    );
    metrics.family("tm_run_status", "1 for the status of the run.");
    metrics.value(
        "tm_run_status",
        &format!(",status=\"{}\"", label(&summary.status)),
        1,
    );
    metrics.one(
        "tm_tokens",
        "Tokens that agents report.",
        summary.totals.tokens,
    );
    if let Some(cost) = summary.totals.cost_usd {
        metrics.one("tm_cost_dollars", "Cost that agents report.", cost);
    }
    metrics.text
}

/// The metrics as far as they are written, and the labels that all of them have.
struct Metrics {
    text: String,
    run: String,
}

impl Metrics {
    fn family(&mut self, name: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.text, "{name}{{{}{labels}}} {value}", self.run);
    }

    /// A family of one value.
    fn one(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, help);
        self.value(name, "", value);
    }
}

/// Text that can stand in a label's value.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::summary;

    #[test]
    fn metrics_have_a_family_a_number_and_labels() {
        insta::assert_snapshot!(metrics_text(&summary()), @r#"
        # HELP tm_tasks Tasks by verdict.
        # TYPE tm_tasks gauge
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="pass"} 2
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="partial"} 0
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="fail"} 1
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="blocked"} 1
        tm_tasks{run="20261121-014512-3fa9",tag="master",verdict="not-run"} 0
        # HELP tm_tasks_landed Tasks on the integration branch.
        # TYPE tm_tasks_landed gauge
        tm_tasks_landed{run="20261121-014512-3fa9",tag="master"} 2
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
