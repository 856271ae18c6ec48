//! Guesses where a long text can be scanned in parts: from one entry of a list to another one, where each begins on a line
//! of its own.
//!
//! Does not know whether they are of one list: who scans finds that out.

use std::ops::Range;

/// Returns the parts behind the first of so many, in order; none where no entries are seen.
pub(super) fn parts_behind_first(text: &str, count: usize) -> Vec<Range<usize>> {
    let Some(beginning) = beginning_of_entries(text) else {
        return Vec::new();
    };
    // From the line's end before an entry to its bracket.
    let to_bracket = beginning.len() - 1;
    let next_entry = |part: usize| {
        let from = text.ceil_char_boundary(text.len() / count * part);
        Some(from + text[from..].find(beginning)? + to_bracket)
    };
    let mut ends: Vec<usize> = (1..count).filter_map(next_entry).collect();
    ends.extend(text.rfind(beginning).map(|last| last + to_bracket));
    let parts = ends.windows(2).map(|ends| ends[0]..ends[1]);
    parts.filter(|part| !part.is_empty()).collect()
}

/// How far the first entry that begins on a line of its own is moved in, as all of its list are.
fn beginning_of_entries(text: &str) -> Option<&str> {
    let mut lines = text.match_indices('\n');
    lines.find_map(|(end, _)| {
        let line = &text[end + 1..];
        let entry = line.trim_start_matches([' ', '\t']);
        let bracket = text.len() - entry.len();
        entry.starts_with('{').then(|| &text[end..=bracket])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_and_end_where_an_entry_of_the_outer_list_does() {
        let task = "    {\n      \"subtasks\": [\n        {},\n        {}\n      ]\n    }";
        let text = format!("{{ \"tasks\": [\n{}\n]}}", [task; 9].join(",\n"));
        let parts = parts_behind_first(&text, 4);
        assert_eq!(parts.len(), 3);
        for part in &parts {
            assert!(text[part.clone()].starts_with("{\n      \"subtasks"));
            assert!(text[..part.end].ends_with("},\n    "));
        }
        assert!(parts.windows(2).all(|two| two[0].end == two[1].start));
        assert!(text[parts[2].end..].ends_with("{}\n      ]\n    }\n]}"));
    }

    #[test]
    fn a_text_without_such_lines_has_no_parts() {
        for text in ["", "\n", "[{}, {}]", "[\n{}]", "[\n1,\n2\n]"] {
            assert!(parts_behind_first(text, 3).is_empty(), "{text}");
        }
    }
}
