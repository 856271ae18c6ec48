//! The command that runs the tests, and the format of what it says.

use crate::environment::EnvironmentRules;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The format of results.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ResultFormat {
    /// Told by looking at the output.
    #[default]
    Auto,
    /// Test Anything Protocol.
    Tap,
    /// The text of `cargo test`.
    Cargo,
    /// The text of `cargo nextest run`.
    Nextest,
    /// `JUnit` XML.
    Junit,
    /// The JSON of jest and vitest.
    Jest,
    /// The JSON or the text of `go test`.
    Go,
    /// The `spec` reporter of `node --test`.
    Node,
    /// The text of pytest with `-v` or `-rA`.
    Pytest,
    /// The text of `python3 -m unittest -v`.
    Unittest,
    /// The JSON of rspec.
    Rspec,
    /// Nothing is read but the exit status.
    ExitStatus,
}

impl ResultFormat {
    /// Every format.
    pub const ALL: [Self; 12] = [
        Self::Auto,
        Self::Tap,
        Self::Cargo,
        Self::Nextest,
        Self::Junit,
        Self::Jest,
        Self::Go,
        Self::Node,
        Self::Pytest,
        Self::Unittest,
        Self::Rspec,
        Self::ExitStatus,
    ];

    /// Returns its name in the settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tap => "tap",
            Self::Cargo => "cargo",
            Self::Nextest => "nextest",
            Self::Junit => "junit",
            Self::Jest => "jest",
            Self::Go => "go",
            Self::Node => "node",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Rspec => "rspec",
            Self::ExitStatus => "exit-status",
        }
    }
}

/// A name that no format has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("read results in the format `{0}`; there are {all}", all = all_names())]
pub struct UnknownFormat(String);

fn all_names() -> String {
    ResultFormat::ALL.map(|format| format!("`{}`", format.as_str())).join(", ")
}

impl FromStr for ResultFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == name);
        found.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

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
        self.argv.iter().any(|word| word.to_string_lossy().contains(RESULTS_VARIABLE))
    }

    /// Returns a command that `sh` runs; format and limit are those of `like`.
    pub fn shell(text: &str, like: Option<&Self>) -> Self {
        Self {
            argv: vec!["sh".into(), "-c".into(), text.into()],
            format: like.map_or(ResultFormat::Auto, |like| like.format),
            results: like.and_then(|like| like.results.clone()),
            timeout: like.map_or(Self::DEFAULT_TIMEOUT, |like| like.timeout),
            environment: like.map(|like| like.environment.clone()).unwrap_or_default(),
            label: None,
            parts: Vec::new(),
        }
    }

    /// Returns it as one of several: the names of its tests begin with its words.
    #[must_use]
    pub fn with_label(self) -> Self {
        Self { label: Some(self.to_string()), ..self }
    }

    /// Returns the command that is all of these, each once; `None` of none.
    pub fn together(commands: Vec<Self>) -> Option<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for command in commands {
            if !parts.iter().any(|known| known.identity() == command.identity()) {
                parts.push(command);
            }
        }
        if parts.len() < 2 {
            return parts.pop();
        }
        let like = parts.first().cloned();
        Some(Self { parts, ..Self::shell("", like.as_ref()) })
    }

    /// Returns the commands that it is made of, or itself alone.
    pub fn each(&self) -> &[Self] {
        if self.parts.is_empty() { std::slice::from_ref(self) } else { &self.parts }
    }

    /// Returns everything about it that decides what its results are, in one text: two commands of one identity have
    /// the same results for the same files.
    pub fn identity(&self) -> String {
        let own = |one: &Self| {
            format!("{:?} {:?} {:?} {:?} {:?}", one.argv, one.format, one.results, one.environment, one.label)
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
        let words: Vec<_> = self.argv.iter().map(|word| word.to_string_lossy()).collect();
        match words.as_slice() {
            [shell, flag, text] if shell == "sh" && flag == "-c" => formatter.write_str(text),
            words => formatter.write_str(&words.join(" ")),
        }
    }
}
