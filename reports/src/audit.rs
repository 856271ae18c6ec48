//! An audit of a history as text and as `JUnit` XML.

use crate::cleaned::cleaned;
use crate::columns;
use crate::junit_document::{JunitCase, JunitDocument, JunitFault, JunitSuite};
use std::fmt::Write as _;
use tm_scheduler::{Audit, AuditItem, AuditOutcome};

/// So many characters of a commit's id are shown.
const SHORT: usize = 12;

/// Returns the audit with no text in it that is an order to a terminal, or a secret.
pub fn cleaned_audit(audit: Audit) -> Audit {
    cleaned(audit)
}

/// Returns the audit for people: a line for each commit, and what the tests said where something could not be shown.
pub fn audit_text(audit: &Audit) -> String {
    let mut text = format!(
        "{}..{}",
        short(audit.from.as_str()),
        short(audit.to.as_str())
    );
    let command = audit.test_command.as_deref().unwrap_or("no test command");
    let _ = writeln!(text, ", tests by: {}", plain(command));
    if let Some(sample) = audit.sample {
        let _ = writeln!(
            text,
            "a sample: the tests of {} of {} tasks",
            sample.taken, sample.of
        );
    }
    let heads = ["task", "commit", "kind", "", "tests", ""].map(ToOwned::to_owned);
    let rows: Vec<_> = [heads]
        .into_iter()
        .chain(audit.items.iter().map(row))
        .collect();
    text += &columns(&rows, None);
    for item in audit.items.iter().filter(|item| is_told_of(item)) {
        evidence(&mut text, item);
    }
    let _ = writeln!(text, "\n{}", sums(audit));
    text
}

/// Returns the audit as `JUnit` XML: a suite, with a case for each commit.
pub fn audit_junit(audit: &Audit) -> String {
    let name = format!(
        "{}..{}",
        short(audit.from.as_str()),
        short(audit.to.as_str())
    );
    let suite = JunitSuite {
        name,
        properties: Vec::new(),
        cases: audit.items.iter().map(case).collect(),
    };
    JunitDocument {
        name: "tm audit",
        seconds: None,
        suites: vec![suite],
    }
    .to_xml()
}

fn case(item: &AuditItem) -> JunitCase {
    JunitCase {
        name: format!(
            "{} {} {}",
            item.kind.as_str(),
            short(item.commit.as_str()),
            item.subject
        ),
        class: item
            .task
            .as_ref()
            .map_or("tm.audit", |task| task.as_str())
            .to_owned(),
        seconds: None,
        fault: match item.outcome {
            AuditOutcome::Shown | AuditOutcome::Flaky => None,
            AuditOutcome::NotTested => Some(JunitFault::skipped(item.what.clone())),
            AuditOutcome::NotShown => Some(fault(item, "failure")),
            AuditOutcome::CannotRun => Some(fault(item, "error")),
        },
    }
}

fn fault(item: &AuditItem, tag: &'static str) -> JunitFault {
    let (message, details) = (item.what.clone(), item.evidence.clone());
    JunitFault {
        tag,
        kind: Some(item.outcome.as_str()),
        message,
        details,
    }
}

fn row(item: &AuditItem) -> [String; 6] {
    let tests = item.proof.as_ref().map_or_else(String::new, |proof| {
        if proof.failed == 0 {
            format!("{} passed", proof.passed)
        } else {
            format!("{} passed, {} failed", proof.passed, proof.failed)
        }
    });
    let own = item
        .test_command
        .as_ref()
        .map_or_else(String::new, |own| format!(" (by its own command: {own})"));
    [
        item.task
            .as_ref()
            .map_or_else(String::new, |task| plain(task.as_str())),
        short(item.commit.as_str()).to_owned(),
        item.kind.as_str().to_owned(),
        item.outcome.as_str().to_owned(),
        tests,
        plain(&format!("{}{own}", item.what)),
    ]
}

const fn is_told_of(item: &AuditItem) -> bool {
    !item.evidence.is_empty()
        && matches!(item.outcome, AuditOutcome::NotShown | AuditOutcome::Flaky)
}

fn evidence(text: &mut String, item: &AuditItem) {
    let task = item.task.as_ref().map_or_else(String::new, |task| {
        format!(" of task {}", plain(task.as_str()))
    });
    let _ = writeln!(
        text,
        "\n{} {}{task}:",
        item.kind.as_str(),
        short(item.commit.as_str())
    );
    for line in item.evidence.trim_end().lines() {
        let _ = writeln!(text, "    {}", plain(line));
    }
}

fn sums(audit: &Audit) -> String {
    if audit.items.is_empty() {
        return "there is no commit to show".to_owned();
    }
    let all = [
        AuditOutcome::Shown,
        AuditOutcome::Flaky,
        AuditOutcome::NotTested,
        AuditOutcome::NotShown,
        AuditOutcome::CannotRun,
    ];
    let counts = all.map(|outcome| (outcome, audit.count(outcome)));
    let told = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(outcome, count)| format!("{count} {outcome}"));
    told.collect::<Vec<_>>().join(", ")
}

fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}

/// What commits and tests say stays on its line.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::{AuditKind, AuditSample, Proof};

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
        insta::assert_snapshot!(audit_text(&audit()), @r"
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
