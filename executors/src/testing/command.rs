//! The command that runs the tests, and the format of what it says.

use crate::environment::EnvironmentRules;
use std::ffi::OsString;
use std::fmt;
use std::time::Duration;
use tm_scheduler::ResultFormat;

/// The variable that holds the path of a file for the results.
pub(super) const RESULTS_VARIABLE: &str = "TM_RESULTS";

/// The command that runs the tests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TestCommand {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The format of its results.
    pub format: ResultFormat,
    /// Where it writes its results: a path in the worktree, with wildcards or without. `None`: into the file that the
    /// variable `TM_RESULTS` names, or else what it prints is read.
    pub results: Option<String>,
    /// The limit of one run.
    pub timeout: Duration,
    /// The environment that it is run in.
    pub environment: EnvironmentRules,
    /// What stands before the names of its tests, so that they are told from those of other commands.
    pub label: Option<String>,
    /// The commands that it is made of: then nothing else of it is run, and its results are theirs together.
    pub parts: Vec<Self>,
}

impl TestCommand {
    /// The limit of one run when nothing says otherwise.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

    /// Whether it means to write its results into the file that tm names.
    pub(super) fn names_results_file(&self) -> bool {
        self.argv
            .iter()
            .any(|word| word.to_string_lossy().contains(RESULTS_VARIABLE))
    }

    /// Returns a command that `sh` runs; format and limit are those of `like`.
    pub fn shell(text: &str, like: Option<&Self>) -> Self {
        Self {
            argv: vec!["sh".into(), "-c".into(), text.into()],
            format: like.map_or(ResultFormat::Auto, |like| like.format),
            results: like.and_then(|like| like.results.clone()),
            timeout: like.map_or(Self::DEFAULT_TIMEOUT, |like| like.timeout),
            environment: like
                .map(|like| like.environment.clone())
                .unwrap_or_default(),
            label: None,
            parts: Vec::new(),
        }
    }

    /// Returns it as one of several: the names of its tests begin with its words.
    #[must_use]
    pub fn with_label(self) -> Self {
        Self {
            label: Some(self.to_string()),
            ..self
        }
    }

    /// Returns the command that is all of these, each once; `None` of none.
    pub fn together(commands: Vec<Self>) -> Option<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for command in commands {
            if !parts
                .iter()
                .any(|known| known.identity() == command.identity())
            {
                parts.push(command);
            }
        }
        if parts.len() < 2 {
            return parts.pop();
        }
        let like = parts.first().cloned();
        Some(Self {
            parts,
            ..Self::shell("", like.as_ref())
        })
    }

    /// Returns the commands that it is made of, or itself alone.
    pub fn each(&self) -> &[Self] {
        if self.parts.is_empty() {
            std::slice::from_ref(self)
        } else {
            &self.parts
        }
    }

    /// Returns everything about it that decides what its results are, in one text: two commands of one identity have
    /// the same results for the same files.
    pub fn identity(&self) -> String {
        let own = |one: &Self| {
            format!(
                "{:?} {:?} {:?} {:?} {:?}",
                one.argv, one.format, one.results, one.environment, one.label
            )
        };
        self.each().iter().map(own).collect::<Vec<_>>().join(" && ")
    }
}

impl fmt::Display for TestCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.parts.is_empty() {
            let each: Vec<String> = self.parts.iter().map(|part| format!("({part})")).collect();
            return formatter.write_str(&each.join(" && "));
        }
        let words: Vec<_> = self
            .argv
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        match words.as_slice() {
            [shell, flag, text] if shell == "sh" && flag == "-c" => formatter.write_str(text),
            words => formatter.write_str(&words.join(" ")),
        }
    }
}
