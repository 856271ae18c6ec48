//! The prompt of a reviewer: what a task asks for, and what was done.

use crate::Error;
use crate::template::{environment, wrong_template};
use minijinja::value::Serde;
use serde::Serialize;

/// What a reviewer is told.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReviewContext {
    /// The task's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its details.
    pub details: String,
    /// How it is to be tested.
    pub test_strategy: String,
    /// What has to hold.
    pub acceptance_criteria: Vec<String>,
    /// The kind of work.
    pub phase: String,
    /// What the project says besides.
    pub own_words: String,
    /// The difference, or its beginning.
    pub diff: String,
    /// The file with all of it.
    pub diff_file: String,
    /// Whether the difference is longer.
    pub is_cut: bool,
    /// Where the verdict goes.
    pub verdict_file: String,
}

const NAME: &str = "review";
const TEXT: &str = include_str!("../gates/review.md");

/// Returns the prompt of a reviewer.
///
/// # Errors
/// The prompt can't be filled in.
pub fn review_prompt(context: &ReviewContext) -> Result<String, Error> {
    environment()
        .render_named_str(NAME, TEXT, Serde(context))
        .map_err(|error| wrong_template(NAME, &error))
}
