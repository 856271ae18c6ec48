//! What the trailers of a commit say of it: the words in which a run writes down what it proved.

use itertools::Itertools as _;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{AuditKind, RunId, TaskId};

/// The trailer of work or a merge that was judged by another command than the project's: one for each command.
pub(crate) const TEST_COMMAND: &str = "Test-Command";
/// The trailer of a commit of an agent's that is kept as the history of its task's: run, task and attempt.
pub(crate) const MADE_IN: &str = "Made-In";

/// What a commit says of itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Claims {
    pub(crate) task: Option<TaskId>,
    pub(crate) run: Option<RunId>,
    /// The kind of work; `None` for merges.
    pub(crate) phase: Option<String>,
    /// The test commands that judged it, where it names any.
    pub(crate) test_commands: Vec<String>,
    /// The attempt in which an agent made it.
    pub(crate) made_in: Option<String>,
    /// How a merge came about where merging lines alone gives none.
    pub(crate) resolution: Option<Resolution>,
}

impl Claims {
    /// Reads them.
    ///
    /// # Errors
    /// A trailer says two things.
    pub(crate) fn of(trailers: &[(String, String)]) -> Result<Self, Contradiction> {
        Ok(Self {
            task: one(trailers, "Task")?.map(TaskId::from),
            run: one(trailers, "Run")?.map(RunId::from),
            phase: one(trailers, "Phase")?.map(ToOwned::to_owned),
            test_commands: values(trailers, TEST_COMMAND).map(command_of).collect(),
            made_in: one(trailers, MADE_IN)?.map(ToOwned::to_owned),
            resolution: one(trailers, Resolution::TRAILER)?.and_then(Resolution::of),
        })
    }

    /// Tells whether it is of a merge that names no task, as the base of one is.
    pub(crate) fn is_of_base(&self) -> bool {
        Self {
            resolution: None,
            ..self.clone()
        } == Self::default()
    }

    pub(crate) fn is_of_same_work(&self, other: &Self) -> bool {
        (&self.task, &self.run) == (&other.task, &other.run)
    }

    /// Returns the kind of merge that a merge says it is: a landing names its task.
    pub(crate) const fn kind_of_merge(&self) -> AuditKind {
        match self.task {
            Some(_) => AuditKind::Landing,
            None => AuditKind::Merge,
        }
    }

    /// Returns the kind of work that a commit of a task says it is.
    pub(crate) fn kind(&self) -> Option<AuditKind> {
        self.task.as_ref().and(self.run.as_ref())?;
        match self.phase.as_deref()? {
            "red" => Some(AuditKind::Red),
            "green" => Some(AuditKind::Green),
            "none" => Some(AuditKind::Work),
            "refactor" => Some(AuditKind::Refactor),
            _ => None,
        }
    }
}

/// The trailers of a commit contradict each other.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("its trailers say two things for `{0}`")]
pub(crate) struct Contradiction(String);

fn one<'a>(trailers: &'a [(String, String)], name: &str) -> Result<Option<&'a str>, Contradiction> {
    match values(trailers, name).all_equal_value() {
        Err(Some(_two)) => Err(Contradiction(name.to_owned())),
        all => Ok(all.ok()),
    }
}

/// Returns the values of the trailers of a name.
pub(crate) fn values<'a>(
    trailers: &'a [(String, String)],
    name: &str,
) -> impl Iterator<Item = &'a str> {
    let named = trailers.iter().filter(move |(key, _)| key == name);
    named.map(|(_, value)| value.as_str())
}

/// Returns a test command as the value of a trailer: as it is where one line holds it, else as a text of JSON.
pub(crate) fn as_value(command: &str) -> String {
    let is_trimmed = !command.is_empty() && command.trim() == command;
    if is_trimmed && !command.starts_with('"') && !command.contains(char::is_control) {
        command.to_owned()
    } else {
        serde_json::Value::from(command).to_string()
    }
}

fn command_of(value: &str) -> String {
    serde_json::from_str(value).unwrap_or_else(|_plain| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_test_command_is_read_as_it_was_written() {
        for command in [
            "sh run-tests.sh",
            "make\n\tcheck  all",
            "\"my tests\" --all",
            "\"quoted\"",
            " x",
            "12",
            "",
        ] {
            let value = as_value(command);
            assert!(!value.contains(char::is_control), "{value}");
            assert_eq!(command_of(&value), command);
        }
    }

    #[test]
    fn trailers_that_say_two_things_are_named() {
        let trailer = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let twice = [
            trailer("Task", "1"),
            trailer("Task", "1"),
            trailer("Phase", "red"),
            trailer("Run", "r"),
        ];
        assert_eq!(
            Claims::of(&twice).expect("no contradiction").kind(),
            Some(AuditKind::Red)
        );
        let two = [
            trailer("Task", "1"),
            trailer("Phase", "red"),
            trailer("Phase", "none"),
        ];
        assert_eq!(Claims::of(&two), Err(Contradiction("Phase".to_owned())));
    }
}
