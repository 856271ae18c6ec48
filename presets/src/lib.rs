//! Holds the prompts and the agent recipes, embedded and overridable by the user's own.
//!
//! Knows texts and placeholders; starts nothing, and knows no worktree and no run.

mod advice;
mod error;
mod placeholders;
mod program;
mod prompts;
mod recipes;

pub use advice::what_to_try;
pub use error::Error;
pub use placeholders::Placeholders;
pub use prompts::{Evidence, Prompt, PromptContext, PromptTask, RedReport, check_prompts, render};
pub use recipes::{Recipe, recipe, recipe_names, recipes};
