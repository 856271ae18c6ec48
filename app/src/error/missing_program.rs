//! That the program of an agent is not where it is to be started.

use std::fmt;

/// A program of an agent that was looked for and is not there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MissingProgram {
    /// The program.
    pub program: String,
    /// The agent.
    pub agent: String,
    /// Where a first job looked for it, where that was not this machine.
    pub place: Option<String>,
}

impl fmt::Display for MissingProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            program,
            agent,
            place,
        } = self;
        write!(
            formatter,
            "find the program `{program}` of the agent `{agent}`"
        )?;
        match place {
            Some(place) => write!(formatter, " on {place}"),
            None => Ok(()),
        }
    }
}
