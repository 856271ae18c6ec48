//! Markers: how an agent says in its final message that there is nothing left to do, or that it can't go on.
//!
//! A marker ends its line, and nothing stands before it there, or the end of a sentence. Anything else is talk about
//! markers: one in the middle of a line, within a code block or a quotation, or in a line copied from the prompt.

use serde::{Deserialize, Serialize};

/// What an agent says of the whole loop.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "says", content = "reason")]
pub enum Marker {
    /// `<loop-complete>REASON</loop-complete>`: there is nothing left to do.
    Complete(String),
    /// `<loop-blocked>REASON</loop-blocked>`: it can't go on.
    Blocked(String),
}

/// The word that stands for a reason where markers are explained.
const PLACEHOLDER: &str = "REASON";
/// Makes a marker of its reason.
type OfReason = fn(String) -> Marker;

/// What markers are called in a message.
const MARKERS: [(&str, OfReason); 2] = [
    ("loop-complete", Marker::Complete),
    ("loop-blocked", Marker::Blocked),
];
/// A reason is kept to so many characters.
const REASON_CHARACTERS: usize = 400;

/// Returns the last marker of a final message that is meant.
pub fn find_marker(final_message: &str, prompt: &str) -> Option<Marker> {
    let mut found = None;
    let mut fence: Option<&str> = None;
    for line in final_message.lines().map(str::trim) {
        let mut marks = ["```", "~~~"].into_iter();
        match (fence, marks.find(|mark| line.starts_with(mark))) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if !line.starts_with('>') => {
                found = marker_of(line, prompt).or(found);
            }
            (_, _) => {}
        }
    }
    found
}

fn marker_of(line: &str, prompt: &str) -> Option<Marker> {
    let line = line.trim_matches(['*', '_', ' ']);
    let lower = line.to_ascii_lowercase();
    let mut kinds = MARKERS.into_iter();
    let (name, marker) = kinds.find(|(name, _)| lower.contains(name))?;
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = lower.rfind(&open)?;
    let reason = line[start + open.len()..]
        .get(..line.len().checked_sub(start + open.len() + close.len())?)?;
    if !lower.ends_with(&close) || reason.contains('<') {
        return None;
    }
    let before = line[..start].trim_end_matches(['*', '_', ' ']);
    let is_said =
        before.is_empty() || before.ends_with(['.', '!', '?']) && !is_copied(line, prompt);
    let reason = reason.trim();
    if !is_said || reason == PLACEHOLDER {
        return None;
    }
    let reason: String = reason.chars().take(REASON_CHARACTERS).collect();
    Some(marker(reason))
}

fn is_copied(line: &str, prompt: &str) -> bool {
    prompt.lines().any(|instruction| instruction.contains(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markers_that_are_meant_are_found() {
        let complete = Some(Marker::Complete("ALL_TASKS_DONE".to_owned()));
        for message in [
            "<loop-complete>ALL_TASKS_DONE</loop-complete>",
            "I looked at every task.\n\n  <loop-complete> ALL_TASKS_DONE </loop-complete>  \nGood night.",
            "All tasks are done. <loop-complete>ALL_TASKS_DONE</loop-complete>",
            "**<LOOP-COMPLETE>ALL_TASKS_DONE</LOOP-COMPLETE>**",
            "```\ncargo test\n```\n<loop-complete>ALL_TASKS_DONE</loop-complete>",
            "<loop-blocked>no network</loop-blocked>\nIt works now!\n<loop-complete>ALL_TASKS_DONE</loop-complete>",
        ] {
            assert_eq!(find_marker(message, ""), complete, "{message}");
        }
        let blocked = find_marker(
            "Sorry.\n<loop-blocked>the database is down</loop-blocked>",
            "",
        );
        assert_eq!(
            blocked,
            Some(Marker::Blocked("the database is down".to_owned()))
        );
    }

    #[test]
    fn talk_about_markers_is_no_marker() {
        let prompt = "Do one task.\nStop there. <loop-complete>ALL</loop-complete>\n";
        for message in [
            "",
            "I was told: if all tasks are complete, output: <loop-complete>ALL_TASKS_DONE</loop-complete>",
            "I will print <loop-complete>ALL_TASKS_DONE</loop-complete> at the end.",
            "Not yet `<loop-complete>ALL_TASKS_DONE</loop-complete>`",
            "```\n<loop-complete>ALL_TASKS_DONE</loop-complete>\n```",
            "~~~\n```\n<loop-complete>A</loop-complete>\n~~~",
            "> <loop-complete>ALL_TASKS_DONE</loop-complete>",
            "<loop-blocked>REASON</loop-blocked>",
            "Stop there. <loop-complete>ALL</loop-complete>",
            "<loop-complete>",
            "<loop-complete>A</loop-blocked>",
            "</loop-complete>",
            "<loop-complete>a<b></loop-complete>",
        ] {
            assert_eq!(find_marker(message, prompt), None, "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_message_can_be_read(
            message in "(<loop-complete>|</loop-complete>|</?loop-blocked>|```|é|[ .\n>*A-Z]){0,12}",
        ) {
            drop(find_marker(&message, &message));
        }
    }
}
