//! What is wrong with settings; all problems of one load are told together.

use std::fmt;

/// One problem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Where: a file, a variable, a flag.
    pub place: String,
    /// What is wrong, in one line.
    pub what: String,
}

/// Settings that can't be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// Every problem that was found.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("read the settings: ")?;
        let problems: Vec<String> =
            self.problems.iter().map(|problem| format!("{}: {}", problem.place, problem.what)).collect();
        formatter.write_str(&problems.join("; "))
    }
}

impl std::error::Error for Error {}
