//! Prompts: Markdown templates, embedded, each replaceable by `.taskmaster/prompts/<name>.md`.
//!
//! Task text is filled in as text: what looks like a template in it stays as it is.

use crate::Error;
use crate::template::{self, PromptTemplate, filled, is_not_there, own_text, wrong_template};
use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use std::path::Path;

/// The embedded templates; those after the first five are parts of these.
const TEMPLATES: [(&str, &str); 11] = embedded!(
    "prompts",
    ".md",
    [
        "red", "green", "refactor", "task", "resolve", "about", "rejected", "conflict", "retry",
        "rules", "result",
    ]
);

tm_scheduler::words! {
    /// The prompts.
    pub enum Prompt {
        /// Write failing tests.
        Red = "red",
        /// Make them pass.
        Green = "green",
        /// Improve what makes them pass.
        Refactor = "refactor",
        /// Do a task that is no half of a pair.
        Task = "task",
        /// Put proven work together with what has landed.
        Resolve = "resolve",
    }
}

/// Everything that a prompt can speak of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PromptContext {
    /// The task.
    pub task: PromptTask,
    /// The number of the attempt.
    pub attempt: u32,
    /// How many attempts there are at the most.
    pub attempts_allowed: u32,
    /// The tag.
    pub tag: String,
    /// The run.
    pub run_id: String,
    /// The worktree.
    pub worktree: String,
    /// How tm is called from any shell.
    pub tm: String,
    /// Where the result goes; `None` where the agent can't write it.
    pub result_file: Option<String>,
    /// Where learnings go.
    pub context_file: String,
    /// The command that runs the tests.
    pub test_command: Option<String>,
    /// What earlier tasks found out, bounded.
    pub learnt: String,
    /// What was found out in earlier runs, quoted and bounded.
    pub noted: String,
    /// The tests of the pair, for GREEN.
    pub red_report: Option<RedReport>,
    /// Earlier work on the task that a person rejected.
    pub rejected: Vec<RejectedWork>,
    /// The files in which proven work conflicts with what has landed, where the agent is to resolve that.
    pub conflicted: Vec<String>,
    /// The tasks with whose landed work it conflicts.
    pub rivals: Vec<PromptTask>,
    /// What went wrong before.
    pub evidence: Vec<Evidence>,
}

/// The task of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PromptTask {
    /// The id in the backlog.
    pub id: String,
    /// One line.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// How it is to be done.
    pub details: String,
    /// How it is to be tested.
    pub test_strategy: String,
    /// What must be true at the end.
    pub acceptance_criteria: Vec<String>,
}

/// The tests of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RedReport {
    /// Their files.
    pub files: Vec<String>,
    /// Their names.
    pub tests: Vec<String>,
    /// What whoever wrote them says is open.
    pub issues: Vec<String>,
}

/// Work on the task that a person rejected.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RejectedWork {
    /// Why.
    pub reason: String,
    /// Its branch.
    pub branch: String,
    /// Its commit.
    pub commit: String,
    /// Whether the attempt starts from code that holds it.
    pub is_in_base: bool,
}

/// What went wrong in one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// The attempt.
    pub attempt: u32,
    /// The failure's name.
    pub failure: String,
    /// What was seen, bounded.
    pub text: String,
    /// What to try.
    pub what_to_try: String,
}

/// Fills in a prompt; of each template, the user's own in `own_folder` counts, when there is one.
pub fn render(prompt: Prompt, context: &PromptContext, own_folder: &Path) -> Result<String, Error> {
    let environment = environment(own_folder)?;
    let name = prompt.as_str();
    let filled = environment
        .get_template(name)
        .and_then(|template| template.render(Serde(context)));
    filled.map_err(|error| wrong_template(name, &error))
}

/// Returns every prompt and every part, the user's own where there is one.
pub fn prompt_templates(own_folder: &Path) -> Result<Vec<PromptTemplate>, Error> {
    let of = |(name, embedded): (&str, &str)| {
        let written = own(name, own_folder)?;
        let file = || own_folder.join(format!("{name}.md"));
        Ok(PromptTemplate {
            name: name.to_owned(),
            own: written.is_some().then(file),
            text: written.unwrap_or_else(|| embedded.to_owned()),
        })
    };
    TEMPLATES.into_iter().map(of).collect()
}

/// Fills in every prompt with an example, so that a mistake in the user's own is known before a run begins.
pub fn check_prompts(own_folder: &Path) -> Result<(), Error> {
    let example = PromptContext {
        test_command: Some(String::new()),
        red_report: Some(RedReport::default()),
        rejected: vec![RejectedWork::default()],
        evidence: vec![Evidence::default()],
        ..PromptContext::default()
    };
    Prompt::ALL
        .iter()
        .try_for_each(|prompt| render(*prompt, &example, own_folder).map(drop))
}

fn environment(own_folder: &Path) -> Result<Environment<'static>, Error> {
    let mut environment = template::environment();
    for PromptTemplate { name, text, .. } in prompt_templates(own_folder)? {
        let added = environment.add_template_owned(name.clone(), text);
        added.map_err(|error| wrong_template(&name, &error))?;
    }
    Ok(environment)
}

fn own(name: &str, folder: &Path) -> Result<Option<String>, Error> {
    let path = folder.join(format!("{name}.md"));
    match own_text(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_not_there(&error) => Ok(None),
        Err(error) => Err(Error::prompt_file(&path)(error)),
    }
}

/// What a reviewer is told.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReviewContext {
    /// The task.
    #[serde(flatten)]
    pub task: PromptTask,
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
    /// Where the files are, from where the reviewer begins.
    pub work_folder: String,
}

/// The prompt of a reviewer.
const REVIEW: &str = include_str!("../../gates/review.md");

/// Returns the prompt of a reviewer.
///
/// # Errors
/// The prompt can't be filled in.
pub fn review_prompt(context: &ReviewContext) -> Result<String, Error> {
    filled("review", REVIEW, context)
}

#[cfg(test)]
mod tests;
