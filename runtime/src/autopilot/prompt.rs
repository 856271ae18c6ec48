//! The prompt for the step under way, and what agents need to know of autopilot.

use super::error::Error;
use super::next::instructions;
use super::project::Project;
use super::session::OpenRun;
use std::fmt::Write as _;
use tm_scheduler::Task;

/// What agents need to know of autopilot, for CLAUDE.md, AGENTS.md or rules of an editor.
pub const GUIDE: &str = include_str!("guide.md");

/// Files with rules of the project, taken when they are there.
const RULES: [&str; 3] = [
    ".cursor/rules/git_workflow.mdc",
    ".cursor/rules/test_workflow.mdc",
    ".claude/agents/surgical-test-generator.md",
];

/// More of a file of rules is left out.
const LONGEST_RULES: usize = 64 * 1024;

/// Returns the prompt for the step under way of the run that is named, or of the current one.
///
/// # Errors
/// There is no such run.
pub fn prompt(project: &Project) -> Result<String, Error> {
    let open = OpenRun::open(project)?;
    let action = open.state.machine.next();
    let next = open.next_action()?;
    let mut parts: Vec<String> = RULES
        .iter()
        .filter_map(|name| rules(project, name))
        .collect();
    parts.push("<TASK CONTEXT>".to_owned());
    parts.push(task_context(
        &open.task(),
        open.current_piece().as_ref(),
        &open,
    ));
    parts.push("<INSTRUCTION>".to_owned());
    parts.push(instructions(&action, next.work_unit.as_ref(), project));
    Ok(parts.join("\n\n") + "\n")
}

/// A longer file holds no rules.
const LONGEST_RULES_FILE: u64 = 16 * 1024 * 1024;

fn rules(project: &Project, name: &str) -> Option<String> {
    let bytes =
        tm_untrusted::read_within(project.root(), name.as_ref(), LONGEST_RULES_FILE).ok()?;
    let text = tm_untrusted::clean(&String::from_utf8(bytes).ok()?);
    let text = text[..text.floor_char_boundary(LONGEST_RULES)].trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn task_context(task: &Task, subtask: Option<&Task>, open: &OpenRun<'_>) -> String {
    let mut text = format!("Task {}: {}\n", task.id, task.title);
    let mut say = |name: &str, words: &str| {
        if !words.trim().is_empty() {
            let _ = writeln!(text, "{name}: {}", words.trim());
        }
    };
    say("Tag", open.state.tag.as_str());
    say("Branch", open.state.branch.as_str());
    say("About the task", &task.description);
    if let Some(subtask) = subtask.filter(|subtask| subtask.id != task.id) {
        say("Subtask", &format!("{} {}", subtask.id, subtask.title));
        say("Description", &subtask.description);
    }
    if let Some(piece) = subtask {
        say("Details", &piece.details);
        say("Test strategy", &piece.test_strategy);
        for criterion in &piece.acceptance_criteria {
            say("Must be true at the end", criterion);
        }
    }
    let finished = open.state.completed();
    say("Finished before", &finished.join(", "));
    text.trim_end().to_owned()
}
