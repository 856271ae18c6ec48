//! Holds the prompts and the agent recipes, embedded and overridable by the user's own.
//!
//! Knows texts and placeholders; starts nothing.

mod error;
mod prompts;
mod recipes;

pub use error::Error;
pub use prompts::{Evidence, Prompt, PromptContext, PromptTask, RedReport, render, what_to_try};
pub use recipes::{Placeholders, Recipe, recipe, recipe_names};
