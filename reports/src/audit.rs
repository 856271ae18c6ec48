//! An audit of a history as text and as `JUnit` XML.

use crate::junit::{JunitCase, JunitFault, JunitSuite, junit_document};
use crate::terminal::table;
use itertools::Itertools as _;
use std::fmt::Write as _;
use tm_scheduler::{Audit, AuditItem, AuditOutcome, Proof, TaskId};

/// So many characters of a commit's id are shown.
const SHORT: usize = 12;

/// Returns the audit for people: a line for each commit, and what the tests said where something could not be shown.
pub fn audit_text(audit: &Audit) -> String {
    let command = audit.test_command.as_deref().unwrap_or("no test command");
    let mut text = format!("{}, tests by: {}\n", range(audit), plain(command));
    if let Some(sample) = audit.sample {
        let (taken, of) = (sample.taken, sample.of);
        let _ = writeln!(text, "a sample: the tests of {taken} of {of} tasks");
    }
    let heads = ["task", "commit", "kind", "", "tests", ""].map(ToOwned::to_owned);
    let items = || audit.items.iter();
    let rows = [heads].into_iter().chain(items().map(row)).collect_vec();
    text += &table(&rows.iter().map(|row| row.join("\t") + "\n").join(""));
    text.extend(items().filter(|item| is_told_of(item)).map(evidence));
    text + "\n" + &sums(audit) + "\n"
}

/// Returns the audit as `JUnit` XML: a suite, with a case for each commit.
pub fn audit_junit(audit: &Audit) -> String {
    let suite = JunitSuite {
        name: range(audit),
        properties: Vec::new(),
        cases: audit.items.iter().map(case).collect(),
    };
    junit_document("tm audit", None, &[suite])
}

fn range(audit: &Audit) -> String {
    format!("{:.SHORT$}..{:.SHORT$}", audit.from, audit.to)
}

fn case(item: &AuditItem) -> JunitCase {
    let fault = |tag| JunitFault {
        tag,
        kind: Some(item.outcome.as_str()),
        message: item.what.clone(),
        details: item.evidence.clone(),
    };
    let task = item.task.as_ref();
    JunitCase {
        name: format!("{} {:.SHORT$} {}", item.kind, item.commit, item.subject),
        class: task.map_or("tm.audit", TaskId::as_str).to_owned(),
        seconds: None,
        fault: match item.outcome {
            AuditOutcome::Shown | AuditOutcome::Flaky => None,
            AuditOutcome::NotTested => Some(JunitFault::skipped(&item.what)),
            AuditOutcome::NotShown => Some(fault("failure")),
            AuditOutcome::CannotRun => Some(fault("error")),
        },
    }
}

fn row(item: &AuditItem) -> [String; 6] {
    let tests = |proof: &Proof| match proof.failed {
        0 => format!("{} passed", proof.passed),
        failed => format!("{} passed, {failed} failed", proof.passed),
    };
    let own = item.test_command.as_ref();
    let own = own.map_or_else(String::new, |own| format!(" (by its own command: {own})"));
    [
        item.task
            .as_ref()
            .map_or_else(String::new, |task| plain(task.as_str())),
        format!("{:.SHORT$}", item.commit),
        item.kind.to_string(),
        item.outcome.to_string(),
        item.proof.as_ref().map_or_else(String::new, tests),
        plain(&format!("{}{own}", item.what)),
    ]
}

const fn is_told_of(item: &AuditItem) -> bool {
    !item.evidence.is_empty()
        && matches!(item.outcome, AuditOutcome::NotShown | AuditOutcome::Flaky)
}

fn evidence(item: &AuditItem) -> String {
    let task = item.task.as_ref();
    let task = task.map_or_else(String::new, |task| {
        format!(" of task {}", plain(task.as_str()))
    });
    let lines = item.evidence.trim_end().lines();
    let lines = lines.map(|line| format!("    {}\n", plain(line))).join("");
    format!("\n{} {:.SHORT$}{task}:\n{lines}", item.kind, item.commit)
}

fn sums(audit: &Audit) -> String {
    if audit.items.is_empty() {
        return "there is no commit to show".to_owned();
    }
    let counts = AuditOutcome::ALL
        .iter()
        .map(|outcome| (audit.count(*outcome), outcome));
    let told = counts.filter(|(count, _)| *count > 0);
    told.map(|(count, outcome)| format!("{count} {outcome}"))
        .join(", ")
}

/// What commits and tests say stays on its line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::{AuditKind, AuditSample};

    fn item(kind: AuditKind, task: &str, outcome: AuditOutcome, what: &str) -> AuditItem {
        AuditItem {
            kind,
            commit: format!("{task}{}0123456789abcdef", kind.as_str()).into(),
            task: (!task.is_empty()).then(|| task.into()),
            run: None,
            subject: "Add <it>".to_owned(),
            outcome,
            what: what.to_owned(),
            evidence: String::new(),
            test_command: None,
            proof: None,
        }
    }

    fn audit() -> Audit {
        let proof = Proof {
            passed: 3,
            failed: 1,
            ..Proof::default()
        };
        let refused = item(
            AuditKind::Green,
            "1",
            AuditOutcome::NotShown,
            "red-tests-fail: tests of RED fail",
        );
        let items = vec![
            AuditItem {
                proof: Some(proof),
                ..item(
                    AuditKind::Red,
                    "1:red",
                    AuditOutcome::Shown,
                    "new tests fail",
                )
            },
            AuditItem {
                evidence: "- works\u{1b}[2J\n    ]]>".to_owned(),
                ..refused
            },
            item(AuditKind::Landing, "2", AuditOutcome::NotTested, "in place"),
            item(
                AuditKind::Whole,
                "",
                AuditOutcome::Flaky,
                "only when run again: t",
            ),
        ];
        Audit {
            from: "from56789012345".into(),
            to: "to3456789012345".into(),
            test_command: Some("make check".to_owned()),
            sample: Some(AuditSample { taken: 1, of: 2 }),
            items,
        }
    }

    #[test]
    fn each_commit_is_a_line_and_what_can_not_be_shown_has_its_evidence() {
        insta::assert_snapshot!(crate::Sheet::PLAIN.set(&audit_text(&audit())), @r"
        from56789012..to3456789012, tests by: make check
        a sample: the tests of 1 of 2 tasks
        task   commit        kind                 tests
        1:red  1:redred0123  red      shown       3 passed, 1 failed  new tests fail
        1      1green012345  green    not-shown                       red-tests-fail: tests of RED fail
        2      2landing0123  landing  not-tested                      in place
               whole0123456  whole    flaky                           only when run again: t

        green 1green012345 of task 1:
            - works [2J
                ]]>

        1 shown, 1 flaky, 1 not-tested, 1 not-shown
        ");
    }

    #[test]
    fn each_commit_is_a_case() {
        insta::assert_snapshot!(audit_junit(&audit()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tm audit" tests="4" skipped="1" failures="1" errors="0">
            <testsuite name="from56789012..to3456789012" tests="4" skipped="1" failures="1" errors="0">
                <testcase name="red 1:redred0123 Add &lt;it&gt;" classname="1:red"/>
                <testcase name="green 1green012345 Add &lt;it&gt;" classname="1">
                    <failure message="red-tests-fail: tests of RED fail" type="not-shown">- works
            ]]&gt;</failure>
                </testcase>
                <testcase name="landing 2landing0123 Add &lt;it&gt;" classname="2">
                    <skipped message="in place"/>
                </testcase>
                <testcase name="whole whole0123456 Add &lt;it&gt;" classname="tm.audit"/>
            </testsuite>
        </testsuites>
        "#);
    }
}
