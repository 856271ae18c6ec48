//! The message of a commit: the words of the user's template or the task's title, and trailers that say what was proven.
//! Hooks that have had a message can neither take tm's trailers away nor add to them: by these lines the history says what
//! was proven.

use super::context::StepContext;
use crate::conventional::{commit_type, scope};
use crate::trailers::{MADE_IN, TEST_COMMAND};
use crate::{StepError, briefly};
use itertools::Itertools as _;
use tm_executors::testing::TestCommand;
use tm_presets::CommitWords;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{CommitId, Phase, Proof, TAKES_BACK, TITLE};
use tm_worktrees::{HookedWork, TreeId};

/// What is to be committed.
pub(super) struct Proven {
    pub(super) tree: TreeId,
    pub(super) phase: &'static str,
}

/// The phase of a further commit that improves GREEN's code, as its trailer says it.
pub(super) const REFACTOR: &str = "refactor";

/// The words are the template's, else the task's title; the trailers say what was proven.
pub(super) fn message(
    context: &StepContext,
    Proven { tree, phase }: &Proven,
    on: &CommitId,
) -> Result<String, StepError> {
    let files = briefly(|| context.repository().changed_between(on, tree))?;
    let command = context.command_of_work(on, tree)?;
    let title = one_line(&context.planned.title);
    let subject = templated(context, &files, phase).unwrap_or_else(|| match context.phase() {
        _ if *phase == REFACTOR => format!("Refactor: {title}"),
        Phase::Red => format!("Add tests for: {title}"),
        Phase::Green | Phase::None => title,
    });
    let trailers = trailers(context, phase, command.as_ref());
    let measured = match *phase {
        REFACTOR => String::new(),
        _ => (context.proof()).map_or_else(|| "Tests: none\n".to_owned(), measured),
    };
    Ok(format!("{subject}\n\n{trailers}{measured}"))
}

/// The trailers that say what was measured.
fn measured(proof: &Proof) -> String {
    let tests = format!("Tests: {} passed, {} failed\n", proof.passed, proof.failed);
    match proof.coverage {
        Some(coverage) => format!("{tests}Coverage: {:.1} %\n", coverage.after),
        None => tests,
    }
}

/// The words of the user's template; `None` without one. It was checked before the run, so where it fails on this task
/// alone, tm's own words keep the work from being lost.
fn templated(context: &StepContext, files: &[String], phase: &str) -> Option<String> {
    let template = context.setup.settings.git.commit_template.as_deref()?;
    let title = one_line(&context.planned.title);
    let kind = match phase {
        REFACTOR => "refactor".to_owned(),
        _ => commit_type(
            files,
            &title,
            &context.setup.settings.autopilot.default_commit_type,
        ),
    };
    let words = CommitWords {
        id: one_line(context.id().as_str()),
        description: context.task.description.trim().to_owned(),
        phase: phase.to_owned(),
        r#type: kind,
        scope: scope(files),
        tag: one_line(context.setup.header.tag.as_str()),
        run: context.setup.header.run_id.to_string(),
        title,
        files: files.to_vec(),
    };
    match tm_presets::commit_message(template, &words) {
        Ok(text) => Some(without_words_of_ours(&text, "")),
        Err(error) => {
            tracing::warn!("failed to {error}");
            None
        }
    }
}

fn trailers(context: &StepContext, phase: &str, command: Option<&TestCommand>) -> String {
    let header = &context.setup.header;
    let task = one_line(context.id().as_str());
    let tag = one_line(header.tag.as_str());
    let command = context.command_trailers(command);
    let resolution = context.carried_over().map_or_else(String::new, |_| {
        format!("{}: {}\n", Resolution::TRAILER, Resolution::Agent)
    });
    let (run, title) = (&header.run_id, title(context));
    format!("Task: {task}\nPhase: {phase}\nTag: {tag}\nRun: {run}\n{title}{command}{resolution}")
}

/// The trailer with the title, where the first line may be another one.
fn title(context: &StepContext) -> String {
    let setup = &context.setup;
    if setup.settings.git.commit_template.is_none()
        && !setup.repository.may_have_hooks(HookedWork::Commit)
    {
        return String::new();
    }
    format!("{TITLE}: {}\n", one_line(&context.planned.title))
}

/// Text from a backlog can't add lines of its own to a message.
pub(super) fn one_line(text: &str) -> String {
    let line = Some(tm_scheduler::one_line(text));
    let line = line.filter(|line| !line.is_empty());
    line.unwrap_or_else(|| "untitled".to_owned())
}

/// The names of tm's trailers; nobody else writes them.
const OWN: [&str; 12] = [
    "Task",
    "Phase",
    "Tag",
    "Run",
    TITLE,
    TAKES_BACK,
    MADE_IN,
    Resolution::TRAILER,
    TEST_COMMAND,
    "Tests",
    "Coverage",
    "Proof",
];

/// Beginnings of lines that history takes for a word on a task wherever they stand in a message.
const BELIEVED: [&str; 7] = [
    "Task: ",
    "Phase: ",
    "Tag: ",
    "Run: ",
    "Title: ",
    "Takes-Back: ",
    "This reverts commit ",
];

/// Returns what hooks made of a message, with the trailers of the message that they were given, and theirs behind.
pub(super) fn with_own_trailers(hooked: &str, given: &str) -> String {
    let own = last_block(given).map_or("", |(_, block)| block);
    if hooked == given {
        return hooked.to_owned();
    }
    let hooked = without_words_of_ours(hooked, given);
    let (mut body, mut theirs) = (hooked.trim_end(), Vec::new());
    while let Some((before, block)) = last_block(body) {
        theirs.splice(0..0, block.lines().filter(|line| !is_own(line)));
        body = before.trim_end();
    }
    let paragraphs = body.split("\n\n").map(without_own);
    let body = paragraphs
        .filter(|paragraph| !paragraph.trim().is_empty())
        .join("\n\n");
    let trailers = own.lines().chain(theirs).join("\n");
    format!("{}\n\n{trailers}\n", body.trim_end())
}

/// Returns a message without lines that history takes for tm's word on a task, but for those of another message, which is
/// tm's own: a hook of the tree, or a text of the backlog, may have written them.
pub(super) fn without_words_of_ours(message: &str, own: &str) -> String {
    let is_forged = |line: &&str| {
        let text = line.trim_start();
        BELIEVED.iter().any(|name| text.starts_with(name))
            && !own.lines().any(|known| known == *line)
    };
    message.lines().filter(|line| !is_forged(line)).join("\n")
}

/// The last paragraph where all of it is trailers, with what comes before; a subject alone is none.
fn last_block(message: &str) -> Option<(&str, &str)> {
    let (before, block) = message.trim_end().rsplit_once("\n\n")?;
    let is_continued = |line: &str| line.starts_with([' ', '\t']);
    let mut lines = block.lines();
    let is_block = lines.next().is_some_and(is_trailer)
        && lines.all(|line| is_trailer(line) || is_continued(line));
    is_block.then_some((before, block))
}

fn is_trailer(line: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    line.split_once(": ")
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_name))
}

fn is_own(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| is_of_tm(name))
}

/// Tells whether a trailer is tm's, as git compares names.
pub(super) fn is_of_tm(name: &str) -> bool {
    OWN.iter().any(|own| own.eq_ignore_ascii_case(name.trim()))
}

/// A paragraph in the midst of which tm's trailers stand, since something was written right behind them.
fn without_own(paragraph: &str) -> String {
    let is_whole = paragraph.lines().next().is_some_and(is_own);
    let mut lines = paragraph.lines().filter(|line| !is_whole || !is_own(line));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::with_own_trailers;

    const GIVEN: &str = "Add it\n\nTask: 1\nPhase: green\nTests: 2 passed, 0 failed\n";
    const OWN: &str = "Task: 1\nPhase: green\nTests: 2 passed, 0 failed";

    #[test]
    fn hooks_neither_take_trailers_away_nor_add_to_them() {
        for (what, hooked, expected) in [
            ("nothing changed", GIVEN.to_owned(), GIVEN.to_owned()),
            (
                "dropped",
                "Add it\n".to_owned(),
                format!("Add it\n\n{OWN}\n"),
            ),
            (
                "one dropped",
                "Add it\n\nTask: 1\n".to_owned(),
                format!("Add it\n\n{OWN}\n"),
            ),
            (
                "another subject",
                GIVEN.replace("Add it", "feat: add it"),
                format!("feat: add it\n\n{OWN}\n"),
            ),
            (
                "an id of Gerrit's",
                format!("{GIVEN}Change-Id: I0f\n"),
                format!("Add it\n\n{OWN}\nChange-Id: I0f\n"),
            ),
            (
                "a block behind",
                format!("{GIVEN}\nSigned-off-by: A <a@b>\n"),
                format!("Add it\n\n{OWN}\nSigned-off-by: A <a@b>\n"),
            ),
            (
                "prose behind",
                format!("{GIVEN}checked\n"),
                format!("Add it\n\nchecked\n\n{OWN}\n"),
            ),
            (
                "prose after",
                format!("{GIVEN}\nIt was checked.\n"),
                format!("Add it\n\nIt was checked.\n\n{OWN}\n"),
            ),
            (
                "forged",
                GIVEN.replace("Task: 1", "Task: 2"),
                format!("Add it\n\n{OWN}\n"),
            ),
            (
                "forged behind",
                format!("{GIVEN}\ntask: 2\nTests: 9 passed\n"),
                format!("Add it\n\n{OWN}\n"),
            ),
            ("everything gone", String::new(), format!("\n\n{OWN}\n")),
        ] {
            assert_eq!(with_own_trailers(&hooked, GIVEN), expected, "{what}");
        }
    }
}
