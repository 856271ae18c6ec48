//! Reads what git makes of three texts that conflict: what is the same or was merged, and each place of conflict.

/// A part of a merged text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// Nobody quarrels over it.
    Settled(String),
    /// Both sides changed it.
    Conflict {
        /// What has landed.
        ours: String,
        /// What was there before.
        base: String,
        /// What is to land.
        theirs: String,
    },
}

/// Ends the last line, as the others are ended, so that lines added after it are no change of it.
pub fn with_ended_line(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(if text.contains("\r\n") { "\r\n" } else { "\n" });
    }
    text
}

/// Returns a size of markers that no line of these texts has at its beginning.
pub fn marker_size(texts: &[&str]) -> usize {
    const SMALLEST: usize = 7;
    let run = |line: &str| {
        let first = line
            .chars()
            .next()
            .filter(|first| "<|=>".contains(*first))?;
        Some(line.chars().take_while(|letter| *letter == first).count())
    };
    let longest = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(run)
        .max()
        .unwrap_or(0);
    SMALLEST.max(longest + 1)
}

/// Which part of a conflict is read.
enum Part {
    Settled,
    Ours,
    Base,
    Theirs,
}

/// Reads a merged text with markers of that size, base included; `None` where the markers are not in order.
pub fn segments(merged: &str, marker: usize) -> Option<Vec<Segment>> {
    let starts = |line: &str, letter: char| {
        line.chars()
            .take(marker)
            .filter(|&found| found == letter)
            .count()
            == marker
    };
    let (mut found, mut part) = (Vec::new(), Part::Settled);
    let [mut settled, mut ours, mut base, mut theirs] = [const { String::new() }; 4];
    for line in merged.split_inclusive('\n') {
        part = match part {
            Part::Settled if starts(line, '<') => {
                if !settled.is_empty() {
                    found.push(Segment::Settled(std::mem::take(&mut settled)));
                }
                Part::Ours
            }
            Part::Ours if starts(line, '|') => Part::Base,
            Part::Base if starts(line, '=') => Part::Theirs,
            Part::Theirs if starts(line, '>') => {
                let [ours, base, theirs] = [&mut ours, &mut base, &mut theirs].map(std::mem::take);
                found.push(Segment::Conflict { ours, base, theirs });
                Part::Settled
            }
            part => {
                match part {
                    Part::Settled => settled.push_str(line),
                    Part::Ours => ours.push_str(line),
                    Part::Base => base.push_str(line),
                    Part::Theirs => theirs.push_str(line),
                }
                part
            }
        };
    }
    if !settled.is_empty() {
        found.push(Segment::Settled(settled));
    }
    matches!(part, Part::Settled).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_text_falls_into_what_is_settled_and_what_is_not() {
        let merged = "a\n<<<<<<<< x\nb\n|||||||| y\n========\nc\n>>>>>>>> z\nd\n=======\n";
        assert_eq!(marker_size(&["a\n=======\n"]), 8);
        let conflict = Segment::Conflict {
            ours: "b\n".into(),
            base: String::new(),
            theirs: "c\n".into(),
        };
        let expected = [
            Segment::Settled("a\n".into()),
            conflict,
            Segment::Settled("d\n=======\n".into()),
        ];
        assert_eq!(segments(merged, 8).expect("in order"), expected);
        assert_eq!(segments("<<<<<<<\na\n", 7), None, "it does not end");
        assert_eq!(segments("", 7), Some(Vec::new()));
    }
}
