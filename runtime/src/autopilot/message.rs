//! The message of a commit: the words of the subtask, or of the user's template, and trailers for machines.
//!
//! Pure: knows no git.

use super::error::Error;
use crate::conventional::{commit_type, one_line, scope, summary};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tm_presets::CommitWords;
use tm_scheduler::Task;
use tm_scheduler::autopilot::TestCounts;

/// Everything that a message speaks of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// The pattern of the first line.
    pub(super) template: &'a str,
    /// The template of everything but the trailers, where the user has one.
    pub(super) own_template: Option<&'a str>,
    pub(super) default_type: &'a str,
    pub(super) subtask: &'a Task,
    pub(super) files: &'a [String],
    pub(super) tag: &'a str,
    pub(super) run: &'a str,
    pub(super) tests: TestCounts,
    pub(super) coverage: Option<f64>,
    /// The words of somebody who knows better.
    pub(super) message: Option<&'a str>,
}

/// Returns the whole message.
pub(super) fn commit_message(subject: &Subject<'_>) -> Result<String, Error> {
    let mut text = match (subject.message, subject.own_template) {
        (Some(message), _) => message.replace('\0', "").trim().to_owned(),
        (None, Some(template)) => tm_presets::commit_message(template, &commit_words(subject))?,
        (None, None) => {
            let body = subject.subtask.description.replace('\0', "");
            format!("{}\n\n{}", subject_line(subject)?, body.trim())
                .trim_end()
                .to_owned()
        }
    };
    let title = one_line(&subject.subtask.title);
    let id = one_line(subject.subtask.id.as_str());
    let _ = write!(
        text,
        "\n\nTask: #{id} - {title}\nPhase: COMMIT\nTag: {}\n",
        one_line(subject.tag)
    );
    let _ = writeln!(text, "Tests: {} passing", subject.tests.passed);
    if let Some(coverage) = subject.coverage {
        let _ = writeln!(text, "Coverage: {coverage}% lines");
    }
    let _ = writeln!(text, "Run: {}", subject.run);
    Ok(text)
}

fn commit_words(subject: &Subject<'_>) -> CommitWords {
    CommitWords {
        id: one_line(subject.subtask.id.as_str()),
        title: one_line(&subject.subtask.title),
        description: subject.subtask.description.trim().to_owned(),
        phase: "commit".to_owned(),
        r#type: commit_type(subject.files, &subject.subtask.title, subject.default_type),
        scope: scope(subject.files),
        tag: one_line(subject.tag),
        run: subject.run.to_owned(),
        files: subject.files.to_vec(),
    }
}

fn subject_line(subject: &Subject<'_>) -> Result<String, Error> {
    let scope = scope(subject.files);
    let values = BTreeMap::from([
        (
            "type",
            commit_type(subject.files, &subject.subtask.title, subject.default_type),
        ),
        ("scope", scope.clone()),
        ("msg", summary(&subject.subtask.title)),
        ("taskId", one_line(subject.subtask.id.as_str())),
    ]);
    // A scope that nothing tells leaves no empty parentheses.
    let template = if scope.is_empty() {
        subject.template.replace("({scope})", "")
    } else {
        subject.template.into()
    };
    let line = tm_scheduler::fill(&template, &values)?;
    Ok(one_line(&line))
}

/// Refuses patterns that can't be filled, before anything is begun.
pub(super) fn check_templates(template: &str, own_template: Option<&str>) -> Result<(), Error> {
    own_template
        .map(tm_presets::check_commit_template)
        .transpose()?;
    let subtask = Task::new("1", "x");
    let (tests, files) = (TestCounts::default(), Vec::new());
    let subject = Subject {
        template,
        own_template: None,
        default_type: "feat",
        subtask: &subtask,
        files: &files,
        tag: "",
        run: "",
        tests,
        coverage: None,
        message: None,
    };
    subject_line(&subject).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_message_speaks_of_the_task_and_ends_in_trailers() {
        let mut subtask = Task::new("1.1", "Add the command\nskeleton.");
        subtask.description = "Registers the command.".to_owned();
        let files = files(&["cli/command.rs"]);
        let subject = Subject {
            template: "{type}({scope}): {msg} (task {taskId})",
            own_template: None,
            default_type: "feat",
            subtask: &subtask,
            files: &files,
            tag: "phase-0",
            run: "phase-0__task-1__x",
            tests: TestCounts::of(3, 0, 0),
            coverage: Some(92.0),
            message: None,
        };
        assert_eq!(
            commit_message(&subject).unwrap(),
            "feat(cli): add the command skeleton (task 1.1)\n\nRegisters the command.\n\n\
             Task: #1.1 - Add the command skeleton.\nPhase: COMMIT\nTag: phase-0\nTests: 3 passing\n\
             Coverage: 92% lines\nRun: phase-0__task-1__x\n"
        );
        let template = Some("{{ type }}/{{ scope }}: {{ title }}\n\n{{ files | join }}");
        let templated = commit_message(&Subject {
            own_template: template,
            coverage: None,
            ..subject
        })
        .unwrap();
        assert!(
            templated
                .starts_with("feat/cli: Add the command skeleton.\n\ncli/command.rs\n\nTask: #1.1"),
            "{templated}"
        );
        let own = commit_message(&Subject {
            message: Some("mine"),
            own_template: template,
            ..subject
        })
        .unwrap();
        assert!(own.starts_with("mine\n\nTask: #1.1"), "{own}");
    }

    #[test]
    fn braces_in_a_title_stay_and_unknown_placeholders_are_refused() {
        assert!(check_templates("{type}: {msg}", None).is_ok());
        assert!(check_templates("{typ}: {msg}", None).is_err());
        let subtask = Task::new("1", "Parse {type} in JSON");
        let files = Vec::new();
        let subject = Subject {
            template: "{type}({scope}): {msg}",
            own_template: None,
            default_type: "feat",
            subtask: &subtask,
            files: &files,
            tag: "",
            run: "",
            tests: TestCounts::default(),
            coverage: None,
            message: None,
        };
        assert_eq!(
            subject_line(&subject).unwrap(),
            "feat: parse {type} in JSON"
        );
    }
}
