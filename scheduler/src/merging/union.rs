//! Takes both sides of a conflict where both only added lines, or where one only removes lines that the other has added to.

use super::{Segment, lock_file};

/// Files whose lines are no items: a key may stand in them once, and an end of a line may belong to the next one. Nothing
/// that runs need notice when they are put together wrongly.
const NOT_BY_LINES: [&str; 10] = [
    ".json", ".jsonc", ".ipynb", ".xml", ".svg", ".html", ".lock", ".sum", ".plist", ".pbxproj",
];

/// Tells whether added lines of such a file are put together line by line at all.
pub fn is_joined_by_lines(path: &str) -> bool {
    let name = path.to_lowercase();
    !NOT_BY_LINES.iter().any(|end| name.ends_with(end)) && lock_file(path).is_none()
}

/// Returns a text with what both sides added, what had landed first; `None` where a side changed or removed a line that
/// the other changed, or where they end their lines differently.
pub fn union(segments: &[Segment]) -> Option<String> {
    resolved(segments, |ours, base, theirs| {
        let can_be = base.is_empty() && ends_of_lines(ours) == ends_of_lines(theirs);
        can_be.then(|| format!("{ours}{}", without_repeated(ours, theirs)))
    })
}

/// Returns a text without what `theirs` removes, where all else that conflicts are lines that `ours` added around it;
/// `None` where lines are changed, or it can't be told which ones go.
pub fn without_removed(segments: &[Segment]) -> Option<String> {
    resolved(segments, |ours, base, theirs| match theirs {
        "" => without_block(ours, base),
        _ => None,
    })
}

/// Returns a text with what `resolve` makes of ours, base and theirs in the place of each conflict.
fn resolved(
    segments: &[Segment],
    resolve: impl Fn(&str, &str, &str) -> Option<String>,
) -> Option<String> {
    let resolved = |segment: &Segment| match segment {
        Segment::Settled(settled) => Some(settled.clone()),
        Segment::Conflict { ours, base, theirs } => resolve(ours, base, theirs),
    };
    segments.iter().map(resolved).collect()
}

/// A text without some lines that stand in it, next to each other, just once.
fn without_block(text: &str, block: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let block: Vec<&str> = block.split_inclusive('\n').collect();
    if block.is_empty() {
        return None;
    }
    let mut places = lines
        .windows(block.len())
        .enumerate()
        .filter(|(_, window)| *window == block.as_slice());
    let (place, None) = (places.next()?.0, places.next()) else {
        return None;
    };
    Some(
        [&lines[..place], &lines[place + block.len()..]]
            .concat()
            .concat(),
    )
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum EndsOfLines {
    LineFeed,
    CarriageReturnToo,
    Mixed,
}

fn ends_of_lines(text: &str) -> EndsOfLines {
    let count = text.lines().count();
    match text.matches("\r\n").count() {
        0 => EndsOfLines::LineFeed,
        of_both if of_both == count => EndsOfLines::CarriageReturnToo,
        _ => EndsOfLines::Mixed,
    }
}

/// What `theirs` adds to `ours`: in a list of lines, each one that is not there yet.
fn without_repeated(ours: &str, theirs: &str) -> String {
    if !is_list(ours) || !is_list(theirs) {
        return theirs.to_owned();
    }
    let known: Vec<&str> = ours.lines().collect();
    theirs
        .split_inclusive('\n')
        .filter(|line| !known.contains(&line.trim_end_matches(['\n', '\r'])))
        .collect()
}

/// Whether each line stands for itself: none is blank, all are indented alike, and none opens or closes anything.
fn is_list(text: &str) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let first = text.lines().next().map(indentation);
    text.lines().all(|line| {
        let opens =
            |open: char, close: char| line.matches(open).count() != line.matches(close).count();
        !line.trim().is_empty()
            && Some(indentation(line)) == first
            && !line.trim_end().ends_with(':')
            && !opens('(', ')')
            && !opens('[', ']')
            && !opens('{', '}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(ours: &str, base: &str, theirs: &str) -> Vec<Segment> {
        let settled = |text: &str| Segment::Settled(text.to_owned());
        let of = |text: &str| text.to_owned();
        vec![
            settled("top\n"),
            Segment::Conflict {
                ours: of(ours),
                base: of(base),
                theirs: of(theirs),
            },
            settled("end\n"),
        ]
    }

    #[test]
    fn added_lines_of_both_are_taken_what_had_landed_first() {
        for (name, ours, base, theirs, expected) in [
            (
                "items",
                "\nfn a() {\n}\n",
                "",
                "\nfn b() {\n}\n",
                Some("\nfn a() {\n}\n\nfn b() {\n}\n"),
            ),
            (
                "a list",
                "mod a;\nmod x;\n",
                "",
                "mod b;\nmod x;\n",
                Some("mod a;\nmod x;\nmod b;\n"),
            ),
            (
                "the same statements twice",
                "if a:\n  x\n",
                "",
                "if b:\n  x\n",
                Some("if a:\n  x\nif b:\n  x\n"),
            ),
            (
                "both end lines as Windows does",
                "a\r\n",
                "",
                "b\r\n",
                Some("a\r\nb\r\n"),
            ),
            ("only one does", "a\r\n", "", "b\n", None),
            ("a changed line", "a\n", "c\n", "b\n", None),
            ("a removed line", "", "c\n", "b\n", None),
        ] {
            let expected = expected.map(|middle| format!("top\n{middle}end\n"));
            assert_eq!(union(&conflict(ours, base, theirs)), expected, "{name}");
        }
    }

    #[test]
    fn lines_that_are_taken_back_go_from_among_those_that_others_added() {
        for (name, ours, base, theirs, expected) in [
            ("the last one", "1\n11\n2\n", "2\n", "", Some("1\n11\n")),
            ("one in the middle", "1\n2\n3\n", "2\n", "", Some("1\n3\n")),
            (
                "an item",
                "\nfn a() {\n}\n\nfn b() {\n}\n",
                "\nfn a() {\n}\n",
                "",
                Some("\nfn b() {\n}\n"),
            ),
            ("twice the same", "2\n1\n2\n", "2\n", "", None),
            ("changed since", "1\n2 more\n", "2\n", "", None),
            (
                "no longer next to each other",
                "1\n2\n3\n",
                "1\n3\n",
                "",
                None,
            ),
            ("a changed line comes back", "1\n2\n", "2\n", "0\n", None),
            ("nothing goes", "1\n", "", "", None),
        ] {
            let expected = expected.map(|middle| format!("top\n{middle}end\n"));
            assert_eq!(
                without_removed(&conflict(ours, base, theirs)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn files_of_data_and_locks_are_not_put_together() {
        for path in [
            "a.json",
            "x/Cargo.lock",
            "go.sum",
            "web/pnpm-lock.yaml",
            "i.HTML",
        ] {
            assert!(!is_joined_by_lines(path), "{path}");
        }
        assert!(is_joined_by_lines("src/lib.rs") && is_joined_by_lines("CHANGELOG.md"));
    }
}
