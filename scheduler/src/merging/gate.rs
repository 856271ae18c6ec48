//! Looks at what an agent made of a conflict, without a model: nothing settled is touched, nothing that a side added is
//! gone, nothing that a side removed is back.

use super::Segment;
use std::collections::BTreeMap;

/// So many ways to fit a text to its segments are tried.
const MOST_STEPS: usize = 20_000;

/// Returns what is wrong with a text that is to resolve these conflicts; `None` where nothing is.
pub fn wrong_resolution(segments: &[Segment], resolved: &str) -> Option<String> {
    if let Some(line) = left_marker(segments, resolved) {
        return Some(format!("a marker of the conflict was left: `{line}`"));
    }
    let mut fitting = Fitting {
        steps: 0,
        nearest: None,
    };
    if fitting.fits(segments, resolved) {
        return None;
    }
    let changed = "lines outside of the conflicts were changed".to_owned();
    Some(fitting.nearest.map_or(changed, |(_, why)| why))
}

fn left_marker<'a>(segments: &[Segment], resolved: &'a str) -> Option<&'a str> {
    let is_marker = |line: &str| {
        ["<<<<<<<", "|||||||", ">>>>>>>"]
            .iter()
            .any(|marker| line.starts_with(marker))
            || line == "======="
    };
    let is_known = |line: &str| {
        segments.iter().any(|segment| match segment {
            Segment::Settled(text) => text.lines().any(|known| known == line),
            Segment::Conflict { ours, theirs, .. } => ours
                .lines()
                .chain(theirs.lines())
                .any(|known| known == line),
        })
    };
    resolved
        .lines()
        .find(|line| is_marker(line) && !is_known(line))
}

/// The search for the places of the conflicts in a text.
struct Fitting {
    steps: usize,
    /// The conflict that came furthest, and what was wrong there.
    nearest: Option<(usize, String)>,
}

impl Fitting {
    /// Whether the text is the settled parts, word for word and in order, with something right between them.
    fn fits(&mut self, segments: &[Segment], text: &str) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return false;
        }
        let Some((first, rest)) = segments.split_first() else {
            return text.is_empty();
        };
        let Segment::Conflict { ours, base, theirs } = first else {
            let Segment::Settled(settled) = first else {
                unreachable!("a segment is settled or in conflict")
            };
            return text
                .strip_prefix(settled.as_str())
                .is_some_and(|after| self.fits(rest, after));
        };
        for end in ends(rest, text) {
            match wrong_place(ours, base, theirs, &text[..end]) {
                None if self.fits(rest, &text[end..]) => return true,
                None => {}
                Some(why) => self.note(segments.len(), why),
            }
        }
        false
    }

    fn note(&mut self, left: usize, why: String) {
        if self
            .nearest
            .as_ref()
            .is_none_or(|(before, _)| left < *before)
        {
            self.nearest = Some((left, why));
        }
    }
}

/// Where the place of a conflict may end: where the next settled part begins, or at the end of the text.
fn ends(rest: &[Segment], text: &str) -> Vec<usize> {
    let is_start_of_line = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    match rest.first() {
        None => vec![text.len()],
        Some(Segment::Settled(settled)) => {
            let found = text.match_indices(settled.as_str()).map(|(at, _)| at);
            found.filter(|&at| is_start_of_line(at)).collect()
        }
        Some(Segment::Conflict { .. }) => (0..=text.len())
            .filter(|&at| is_start_of_line(at))
            .collect(),
    }
}

/// What is wrong with the text that stands in the place of a conflict.
fn wrong_place(ours: &str, base: &str, theirs: &str, text: &str) -> Option<String> {
    let (shared, ours_alone, theirs_alone) = added_lines(ours, base, theirs);
    let have = words(text);
    let kept_by_both = least(&[&words(base), &words(ours), &words(theirs)]);
    let of_base = words(base);
    let added = |lines: &str, whole: &str| {
        let whole = words(whole);
        let mut count = words(lines);
        // Words that stood there before are no news.
        count.retain(|word, many| {
            let new = whole
                .get(word)
                .copied()
                .unwrap_or(0)
                .saturating_sub(of_base.get(word).copied().unwrap_or(0));
            *many = new.min(*many);
            *many > 0
        });
        count
    };
    let mut need = kept_by_both;
    for more in [
        words(&shared),
        added(&ours_alone, ours),
        added(&theirs_alone, theirs),
    ] {
        for (word, count) in more {
            *need.entry(word).or_default() += count;
        }
    }
    if let Some((word, _)) = need
        .iter()
        .find(|(word, count)| have.get(*word).copied().unwrap_or(0) < **count)
    {
        return Some(format!("`{word}`, which a side added, is gone"));
    }
    returned_line(ours, base, theirs, text)
        .map(|line| format!("`{line}`, which a side removed, is back"))
}

/// The lines that both sides added, and those that only one did.
fn added_lines(ours: &str, base: &str, theirs: &str) -> (String, String, String) {
    let before = lines(base);
    let new = |side: &str| -> BTreeMap<String, usize> {
        let mut new = lines(side);
        new.retain(|line, many| {
            *many = many.saturating_sub(before.get(line).copied().unwrap_or(0));
            *many > 0
        });
        new
    };
    let (ours, theirs) = (new(ours), new(theirs));
    let shared = least(&[&ours, &theirs]);
    let without = |mut side: BTreeMap<String, usize>| {
        side.retain(|line, many| {
            *many -= shared.get(line).copied().unwrap_or(0);
            *many > 0
        });
        text_of(&side)
    };
    let (ours, theirs) = (without(ours), without(theirs));
    (text_of(&shared), ours, theirs)
}

/// A line that stood there, that a side took out, and that is there as often as before.
fn returned_line(ours: &str, base: &str, theirs: &str, text: &str) -> Option<String> {
    let (before, ours, theirs, now) = (lines(base), lines(ours), lines(theirs), lines(text));
    let of =
        |counts: &BTreeMap<String, usize>, line: &String| counts.get(line).copied().unwrap_or(0);
    let returned = before.iter().find(|(line, many)| {
        let left = of(&ours, line).min(of(&theirs, line));
        let added = of(&ours, line)
            .max(of(&theirs, line))
            .saturating_sub(**many);
        left < **many && of(&now, line) > left + added
    });
    returned.map(|(line, _)| line.clone())
}

fn lines(text: &str) -> BTreeMap<String, usize> {
    counted(text.lines().map(str::trim).filter(|line| !line.is_empty()))
}

fn words(text: &str) -> BTreeMap<String, usize> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    counted(
        text.split(|letter| !is_of_word(letter))
            .filter(|word| !word.is_empty()),
    )
}

fn counted<'a>(parts: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for part in parts {
        *counts.entry(part.to_owned()).or_default() += 1;
    }
    counts
}

fn least(of: &[&BTreeMap<String, usize>]) -> BTreeMap<String, usize> {
    let Some((first, rest)) = of.split_first() else {
        return BTreeMap::new();
    };
    let mut least = (*first).clone();
    least.retain(|part, many| {
        let fewest = rest
            .iter()
            .map(|other| other.get(part).copied().unwrap_or(0))
            .min();
        *many = fewest.unwrap_or(*many).min(*many);
        *many > 0
    });
    least
}

fn text_of(counts: &BTreeMap<String, usize>) -> String {
    counts
        .iter()
        .flat_map(|(line, &many)| std::iter::repeat_n(format!("{line}\n"), many))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `fn top`, a quarrel over an export and one over a number, `fn end`.
    fn quarrel() -> Vec<Segment> {
        let conflict = |ours: &str, base: &str, theirs: &str| Segment::Conflict {
            ours: ours.to_owned(),
            base: base.to_owned(),
            theirs: theirs.to_owned(),
        };
        vec![
            Segment::Settled("fn top() {\n}\n".to_owned()),
            conflict(
                "export { a, one };\n",
                "export { a };\n",
                "export { a, two };\n",
            ),
            Segment::Settled("}\n".to_owned()),
            conflict("first();\nshared();\n", "", "second();\nshared();\n"),
            Segment::Settled("fn end() {\n}\n".to_owned()),
        ]
    }

    fn resolved(exports: &str, calls: &str) -> Option<String> {
        wrong_resolution(
            &quarrel(),
            &format!("fn top() {{\n}}\n{exports}}}\n{calls}fn end() {{\n}}\n"),
        )
    }

    #[test]
    fn a_resolution_keeps_what_both_sides_added_and_touches_nothing_else() {
        const CALLS: &str = "first();\nsecond();\nshared();\n";
        const EXPORTS: &str = "export { a, one, two };\n";
        assert_eq!(resolved(EXPORTS, CALLS), None);
        assert_eq!(
            resolved("export { a,\n  one,\n  two,\n};\n", CALLS),
            None,
            "it may be laid out anew"
        );
        assert_eq!(
            resolved(EXPORTS, &format!("{CALLS}third();\n")),
            None,
            "and say how the two go together"
        );
        let wrong = |exports: &str, calls: &str| resolved(exports, calls).expect("a fault");
        assert_eq!(
            wrong("export { a, two };\n", CALLS),
            "`one`, which a side added, is gone"
        );
        assert_eq!(
            wrong("export { one, two };\n", CALLS),
            "`a`, which a side added, is gone"
        );
        assert_eq!(
            wrong(EXPORTS, "second();\nshared();\n"),
            "`first`, which a side added, is gone"
        );
        assert!(
            wrong(
                EXPORTS,
                "<<<<<<< x\nfirst();\n=======\nsecond();\nshared();\n>>>>>>> y\n"
            )
            .contains("marker")
        );
        let back = wrong("export { a };\nexport { a, one, two };\n", CALLS);
        assert_eq!(back, "`export { a };`, which a side removed, is back");
        let outside = format!("fn top() {{ evil() }}\n{EXPORTS}}}\n{CALLS}fn end() {{\n}}\n");
        assert_eq!(
            wrong_resolution(&quarrel(), &outside).expect("a fault"),
            "lines outside of the conflicts were changed"
        );
        let end = format!("fn top() {{\n}}\n{EXPORTS}}}\n{CALLS}fn end() {{\n}}\nmore\n");
        assert!(
            wrong_resolution(&quarrel(), &end).is_some(),
            "nor may anything follow"
        );
    }

    #[test]
    fn a_line_of_a_side_may_look_like_a_marker() {
        let title = Segment::Conflict {
            ours: "A\n=======\n".into(),
            base: String::new(),
            theirs: "B\n---\n".into(),
        };
        assert_eq!(wrong_resolution(&[title], "A\n=======\nB\n---\n"), None);
    }

    #[test]
    fn a_last_line_without_an_end_is_no_change_whatever_ends_the_others() {
        for end in ["\n", "\r\n"] {
            let settled = Segment::Settled(format!("# end{end}"));
            let title = Segment::Conflict {
                ours: format!("a{end}"),
                base: String::new(),
                theirs: format!("b{end}"),
            };
            let left = super::super::with_ended_line(format!("a{end}b{end}# end"));
            assert_eq!(wrong_resolution(&[title, settled], &left), None, "{end:?}");
        }
    }

    #[test]
    fn one_of_two_values_can_not_be_kept_so_nobody_but_a_fresh_attempt_decides() {
        let version = Segment::Conflict {
            ours: "v = 2\n".into(),
            base: "v = 1\n".into(),
            theirs: "v = 3\n".into(),
        };
        assert_eq!(
            wrong_resolution(&[version], "v = 3\n").expect("a fault"),
            "`2`, which a side added, is gone"
        );
    }
}
