//! Finds the files that the texts of a task name, and those that most work touches, such as a list of modules or a log of
//! changes; does not know which of them there are.

use crate::Task;
use std::collections::{BTreeMap, BTreeSet};

/// So many are kept of one task.
const MOST: usize = 24;
/// Of a text, so many bytes are looked at.
const MOST_READ: usize = 64 * 1024;

/// Returns the paths that a task's texts, and those of its subtasks, name: words with a folder or an end that files have.
pub(crate) fn named_files(task: &Task) -> Vec<String> {
    let mut files = BTreeSet::new();
    for task in Task::with_subtasks(std::slice::from_ref(task)) {
        let texts = [&task.description, &task.details, &task.test_strategy];
        let texts = texts.into_iter().chain(&task.acceptance_criteria);
        for text in texts.map(String::as_str).chain([&*task.title]) {
            if !text.contains('.') {
                continue;
            }
            let text = &text[..text.floor_char_boundary(MOST_READ)];
            files.extend(
                dotted_words(text)
                    .filter(|word| is_file(word))
                    .map(|word| word.trim_start_matches("./").to_owned()),
            );
        }
    }
    files.into_iter().take(MOST).collect()
}

/// Returns the last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the words with a dot in them, without what stands around them; nothing else is looked at.
fn dotted_words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |letter: char| letter.is_alphanumeric() || "_-./@:".contains(letter);
    let mut dots = text.match_indices('.');
    let mut end = 0;
    std::iter::from_fn(move || {
        let (dot, _) = dots.find(|(dot, _)| *dot >= end)?;
        let before = text[..dot].trim_end_matches(is_of_path);
        end = text.len() - text[dot..].trim_start_matches(is_of_path).len();
        Some(text[before.len()..end].trim_matches(['.', ':', '-']))
    })
}

/// Whether a word looks like a file: its last part has a name and an end of letters, and it is neither an address nor a
/// number of a version.
fn is_file(word: &str) -> bool {
    let name = file_name(word);
    let Some((stem, end)) = name.rsplit_once('.') else {
        return false;
    };
    let is_end = (1..=5).contains(&end.len()) && end.chars().all(char::is_alphanumeric);
    let has_letter = end.chars().any(char::is_alphabetic);
    let is_path = word.contains('/') || KNOWN_ENDS.contains(&end);
    !stem.is_empty()
        && is_end
        && has_letter
        && is_path
        && !word.contains([':', '@'])
        && !word.starts_with('/')
}

/// Ends by which a word without a folder is a file: others are as often an abbreviation, or a method of something.
const KNOWN_ENDS: [&str; 30] = [
    "c", "cc", "cpp", "cs", "css", "ex", "exs", "go", "h", "hpp", "html", "java", "js", "json",
    "jsx", "kt", "lua", "md", "mjs", "php", "py", "rb", "rs", "scss", "sh", "swift", "toml", "ts",
    "tsx", "yaml",
];

/// A file that so many landings touched, and at least half of them, is expected of others, too.
const HOT_FROM: usize = 3;

/// Returns the files that most landings touched, of those of each.
pub fn hot_files<'a>(landings: impl IntoIterator<Item = BTreeSet<&'a str>>) -> BTreeSet<String> {
    let (mut counts, mut all) = (BTreeMap::<&str, usize>::new(), 0);
    for files in landings {
        all += 1;
        for file in files {
            *counts.entry(file).or_default() += 1;
        }
    }
    counts
        .into_iter()
        .filter(|&(_, count)| count >= HOT_FROM && 2 * count >= all)
        .map(|(file, _)| file.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_are_told_from_other_words_with_dots() {
        let mut task = Task::new("1", "Export it from src/index.ts.");
        task.description =
            "See https://example.org/a.html, v1.2.3, e.g. ./lib/b.rs:12 or lib/b.rs; call foo.bar()".into();
        task.details = "`README.md`, me@here.py and /etc/passwd.d/x.c are none but one.".into();
        assert_eq!(
            named_files(&task),
            ["README.md", "lib/b.rs", "src/index.ts"]
        );
    }

    /// Every word of a text, without what stands around it.
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let is_of_path = |letter: char| letter.is_alphanumeric() || "_-./@:".contains(letter);
        text.split(move |letter| !is_of_path(letter))
            .map(|word| word.trim_matches(['.', ':', '-']))
    }

    proptest! {
        #[test]
        fn no_file_is_missed_where_words_without_a_dot_are_passed_over(
            text in r"([a-c1é/_@:,-]|\.|\.rs|src/|[ \n]){0,40}"
        ) {
            let all: Vec<&str> = words(&text).filter(|word| is_file(word)).collect();
            let found: Vec<&str> = dotted_words(&text).filter(|word| is_file(word)).collect();
            prop_assert_eq!(found, all);
        }
    }
}
