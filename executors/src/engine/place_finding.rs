//! What is found where an engine looks whether jobs can run in a place, and what helps where they can't.

/// One thing that was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlaceFinding {
    /// What it is about, in a word or two.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// How it is with it.
    pub soundness: Soundness,
}

/// How it is with one thing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Soundness {
    /// As it has to be.
    Good,
    /// It will do; holds what would be better.
    Note(String),
    /// It has to be changed; holds how.
    Bad(String),
}
