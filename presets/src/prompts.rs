//! Prompts: Markdown templates, embedded, each replaceable by `.taskmaster/prompts/<name>.md`.
//!
//! Task text is filled in as text: what looks like a template in it stays as it is.

use crate::Error;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::path::Path;

/// The embedded templates; the last three are parts of the others.
const TEMPLATES: [(&str, &str); 6] = [
    ("red", include_str!("../prompts/red.md")),
    ("green", include_str!("../prompts/green.md")),
    ("task", include_str!("../prompts/task.md")),
    ("about", include_str!("../prompts/about.md")),
    ("rules", include_str!("../prompts/rules.md")),
    ("result", include_str!("../prompts/result.md")),
];

/// The prompts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prompt {
    /// Write failing tests.
    Red,
    /// Make them pass.
    Green,
    /// Do a task that is no half of a pair.
    Task,
}

impl Prompt {
    const fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Green => "green",
            Self::Task => "task",
        }
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
    /// Where the result goes.
    pub result_file: String,
    /// Where learnings go.
    pub context_file: String,
    /// The command that runs the tests.
    pub test_command: Option<String>,
    /// What earlier tasks found out, bounded.
    pub learnt: String,
    /// The tests of the pair, for GREEN.
    pub red_report: Option<RedReport>,
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

/// Fills in a prompt, the user's own from `own_folder` when there is one of that name.
///
/// # Errors
/// A template can't be read, or speaks of something that there is not.
pub fn render(prompt: Prompt, context: &PromptContext, own_folder: &Path) -> Result<String, Error> {
    let name = prompt.name();
    let wrong = |error: minijinja::Error| Error::Template { name: name.to_owned(), why: format!("{error:#}") };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_trim_blocks(true);
    for (part, embedded) in TEMPLATES {
        let template = own(part, own_folder)?.unwrap_or_else(|| embedded.to_owned());
        environment.add_template_owned(part, template).map_err(wrong)?;
    }
    environment.get_template(name).and_then(|template| template.render(context)).map_err(wrong)
}

fn own(name: &str, folder: &Path) -> Result<Option<String>, Error> {
    let path = folder.join(format!("{name}.md"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::PromptFile { path, source }),
    }
}

/// Returns what the next attempt should try, by the name of the failure.
pub fn what_to_try(failure: &str) -> &'static str {
    match failure {
        "timed-out" => "Take a smaller step: do the core first, leave out what is not asked for.",
        "stalled" => "Something waited for input or for a service. Start nothing that waits; pass flags that say yes.",
        "no-result" => "The process ended early. Write the result file last, even when you give up.",
        "malformed-result" => "Use `tm result`, which writes the file in the right form.",
        "claimed-fail" => "Read what stopped the attempt and take another way round it.",
        "red-passed" => {
            "The tests passed without an implementation, so they test what is there. Aim at what is missing."
        }
        "red-cannot-run" => {
            "Run the test command yourself: the new tests must be found, load without errors, and fail."
        }
        "green-failing" => {
            "Read the assertions of the failing tests again; they decide what is right, not your idea of it."
        }
        "regression" => "Find what these tests relied on and keep it. Don't touch them.",
        "tests-tampered" => "Leave the test files as they are, however wrong they look; change the implementation.",
        "nothing-done" => "No file was changed. Write the files in the worktree itself.",
        "conflict" => "Others changed the same lines meanwhile. Their work is in your worktree now: build on it.",
        "landing-regression" => {
            "Together with what landed meanwhile these tests fail. That work is in your worktree now."
        }
        "escaped" => "Use paths inside the worktree only, never the path of the project that you may know.",
        "commit-refused" => "A hook of the project refused the commit. Make what it checks pass.",
        _ => "Try again.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> PromptContext {
        PromptContext {
            task: PromptTask {
                id: "7".into(),
                title: "Parse {{ secrets }}".into(),
                description: "{% raw %} <b>".into(),
                details: "details".into(),
                test_strategy: "strategy".into(),
                acceptance_criteria: vec!["one".into(), "two".into()],
            },
            attempt: 2,
            attempts_allowed: 4,
            worktree: "/w".into(),
            result_file: "/r/result.md".into(),
            context_file: "/r/context.md".into(),
            test_command: Some("make test".into()),
            learnt: "learnt".into(),
            red_report: Some(RedReport { files: vec!["t/a.t".into()], tests: vec!["adds".into()] }),
            evidence: vec![Evidence {
                attempt: 1,
                failure: "regression".into(),
                text: "evidence".into(),
                what_to_try: what_to_try("regression").into(),
            }],
            ..PromptContext::default()
        }
    }

    #[test]
    fn every_prompt_says_everything_and_takes_task_text_as_text() {
        for prompt in [Prompt::Red, Prompt::Green, Prompt::Task] {
            let text = render(prompt, &full(), Path::new("/nowhere")).expect("a prompt");
            for part in [
                "Parse {{ secrets }}",
                "{% raw %} <b>",
                "details",
                "strategy",
                "- two",
                "learnt",
                "evidence",
                "make test",
                "/r/result.md",
                "attempt: 2/4",
            ] {
                assert!(text.contains(part), "{part} in {text}");
            }
            assert_eq!(text.contains("- adds"), prompt == Prompt::Green);
        }
    }

    #[test]
    fn a_bare_task_gives_a_prompt_without_empty_headings() {
        let text = render(Prompt::Task, &PromptContext::default(), Path::new("/nowhere")).expect("a prompt");
        assert!(!text.contains("## How\n") && !text.contains("{{") && !text.contains("{%"), "{text}");
    }

    #[test]
    fn a_users_own_prompt_takes_the_place_of_the_embedded_one() {
        let folder = tempfile::tempdir().expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        let write = |text: &str| std::fs::write(folder.path().join("task.md"), text).expect("a file");
        write("Do {{ task.id }}. {% include \"rules\" %}");
        let text = render(Prompt::Task, &full(), folder.path()).expect("a prompt");
        assert!(text.starts_with("Do 7. "), "{text}");
        write("{{ task.nope }}");
        assert!(render(Prompt::Task, &full(), folder.path()).is_err());
    }
}
