//! Holds the prompts, the presets of loops and the agent recipes, embedded and overridable by the user's own.
//!
//! Knows texts and placeholders; starts nothing, and knows no worktree and no run.

/// Makes a table of the embedded texts of a folder, by their names.
macro_rules! embedded {
    ($folder:literal, $end:literal, [$($name:literal),+ $(,)?]) => {
        [$(($name, include_str!(concat!("../../", $folder, "/", $name, $end)))),+]
    };
}

mod advice;
mod commit;
mod error;
mod loops;
mod placeholders;
mod prompts;
mod recipes;
mod shell;
mod template;

pub use advice::what_to_try;
pub use commit::{CommitWords, commit_message, example_commit_message};
pub use error::Error;
pub use loops::{LoopContext, PresetFolders, is_path, loop_presets, loop_prompt, new_preset};
pub use placeholders::Placeholders;
pub use prompts::{
    Evidence, Prompt, PromptContext, PromptTask, RedReport, RejectedWork, ReviewContext,
    check_prompts, prompt_templates, render, review_prompt,
};
pub use recipes::{Granted, Recipe, recipe, recipe_names, recipes};
pub use shell::shell_word;
pub use template::PromptTemplate;
