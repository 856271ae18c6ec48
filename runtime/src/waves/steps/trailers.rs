//! Puts tm's trailers at the end of a message that hooks have had: they can neither take them away nor add to them.
//!
//! Decides alone: by these lines the history says what was proven.

use crate::audit::{MADE_IN, TEST_COMMAND};
use tm_scheduler::merging::Resolution;
use tm_scheduler::{TAKES_BACK, TITLE};

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
        let kept = block
            .lines()
            .filter(|line| !is_own(line))
            .map(str::to_owned);
        theirs.splice(0..0, kept);
        body = before.trim_end();
    }
    let paragraphs = body
        .split("\n\n")
        .map(without_own)
        .filter(|paragraph| !paragraph.trim().is_empty());
    let body = paragraphs.collect::<Vec<_>>().join("\n\n");
    let mut trailers: Vec<String> = own.lines().map(str::to_owned).collect();
    trailers.extend(theirs);
    format!("{}\n\n{}\n", body.trim_end(), trailers.join("\n"))
}

/// Returns a message without lines that history takes for tm's word on a task, but for those of another message, which is
/// tm's own: a hook of the tree, or a text of the backlog, may have written them.
pub(super) fn without_words_of_ours(message: &str, own: &str) -> String {
    let is_forged = |line: &&str| {
        let text = line.trim_start();
        BELIEVED.iter().any(|name| text.starts_with(name))
            && !own.lines().any(|known| known == *line)
    };
    let kept: Vec<&str> = message.lines().filter(|line| !is_forged(line)).collect();
    kept.join("\n")
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
    line.split_once(": ").is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || character == '-')
    })
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
    if !is_whole {
        return paragraph.to_owned();
    }
    paragraph
        .lines()
        .filter(|line| !is_own(line))
        .collect::<Vec<_>>()
        .join("\n")
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
