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
        let (ours, base, theirs) = match first {
            Segment::Conflict { ours, base, theirs } => (ours, base, theirs),
            Segment::Settled(settled) => {
                let after = text.strip_prefix(settled.as_str());
                return after.is_some_and(|after| self.fits(rest, after));
            }
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
        let nearest = self.nearest.as_ref();
        if nearest.is_none_or(|(before, _)| left < *before) {
            self.nearest = Some((left, why));
        }
    }
}

/// Where the place of a conflict may end: where the next settled part begins, or at the end of the text.
fn ends(rest: &[Segment], text: &str) -> Vec<usize> {
    let is_start_of_line = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    match rest.first() {
        None => vec![text.len()],
        Some(Segment::Settled(settled)) => text
            .match_indices(settled.as_str())
            .map(|(at, _)| at)
            .filter(|&at| is_start_of_line(at))
            .collect(),
        Some(Segment::Conflict { .. }) => (0..=text.len())
            .filter(|&at| is_start_of_line(at))
            .collect(),
    }
}

/// What is wrong with the text that stands in the place of a conflict.
fn wrong_place(ours: &str, base: &str, theirs: &str, text: &str) -> Option<String> {
    let added = |side| Bag::lines(side).without(&Bag::lines(base));
    let shared = added(ours).shared_with(&added(theirs));
    // Words that stood there before are no news.
    let news = |side| {
        let new = Bag::words(side).without(&Bag::words(base));
        added(side)
            .without(&shared)
            .words_of_lines()
            .shared_with(&new)
    };
    let mut need = Bag::words(base)
        .shared_with(&Bag::words(ours))
        .shared_with(&Bag::words(theirs));
    for more in [shared.words_of_lines(), news(ours), news(theirs)] {
        need.add(more.0);
    }
    let have = Bag::words(text);
    let mut gone = need
        .0
        .iter()
        .filter(|(word, many)| have.count(word) < **many);
    if let Some((word, _)) = gone.next() {
        return Some(format!("`{word}`, which a side added, is gone"));
    }
    returned_line(ours, base, theirs, text)
        .map(|line| format!("`{line}`, which a side removed, is back"))
}

/// A line that stood there, that a side took out, and that is there as often as before.
fn returned_line<'t>(ours: &str, base: &'t str, theirs: &str, text: &str) -> Option<&'t str> {
    let [ours, theirs, now] = [ours, theirs, text].map(Bag::lines);
    let is_returned = |&(line, many): &(&str, usize)| {
        let (ours, theirs) = (ours.count(line), theirs.count(line));
        let left = ours.min(theirs);
        let added = ours.max(theirs).saturating_sub(many);
        left < many && now.count(line) > left + added
    };
    Bag::lines(base)
        .0
        .into_iter()
        .find(is_returned)
        .map(|(line, _)| line)
}

/// Lines or words, each with how often it stands somewhere.
#[derive(Debug, Default)]
struct Bag<'t>(BTreeMap<&'t str, usize>);

impl<'t> Bag<'t> {
    fn of(parts: impl Iterator<Item = &'t str>) -> Self {
        let mut bag = Self::default();
        bag.add(parts.filter(|part| !part.is_empty()).map(|part| (part, 1)));
        bag
    }

    fn lines(text: &'t str) -> Self {
        Self::of(text.lines().map(str::trim))
    }

    fn words(text: &'t str) -> Self {
        Self::of(text.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
    }

    fn words_of_lines(&self) -> Self {
        let mut words = Self::default();
        for (line, many) in &self.0 {
            let of_line = Self::words(line).0.into_iter();
            words.add(of_line.map(|(word, count)| (word, count * many)));
        }
        words
    }

    fn add(&mut self, more: impl IntoIterator<Item = (&'t str, usize)>) {
        for (part, many) in more {
            *self.0.entry(part).or_default() += many;
        }
    }

    fn count(&self, part: &str) -> usize {
        self.0.get(part).copied().unwrap_or(0)
    }

    fn without(mut self, other: &Bag<'_>) -> Self {
        self.0.retain(|part, many| {
            *many = many.saturating_sub(other.count(part));
            *many > 0
        });
        self
    }

    fn shared_with(mut self, other: &Bag<'_>) -> Self {
        self.0.retain(|part, many| {
            *many = other.count(part).min(*many);
            *many > 0
        });
        self
    }
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
