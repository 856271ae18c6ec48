//! Finds the files that the texts of a task name; does not know which of them there are.

use crate::Task;
use crate::verdict::file_name;
use std::collections::BTreeSet;

/// So many are kept of one task.
const MOST: usize = 24;
/// Of a text, so many bytes are looked at.
const MOST_READ: usize = 64 * 1024;

/// Returns the paths that a task's texts, and those of its subtasks, name: words with a folder or an end that files have.
pub(crate) fn named_files(task: &Task) -> Vec<String> {
    let mut files = BTreeSet::new();
    for task in Task::with_subtasks(std::slice::from_ref(task)) {
        let texts = [
            &task.title,
            &task.description,
            &task.details,
            &task.test_strategy,
        ];
        for text in texts.into_iter().chain(&task.acceptance_criteria) {
            let text = &text[..text.floor_char_boundary(MOST_READ)];
            files.extend(
                words(text)
                    .filter(|word| is_file(word))
                    .map(|word| word.trim_start_matches("./").to_owned()),
            );
        }
    }
    files.into_iter().take(MOST).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |letter: char| letter.is_alphanumeric() || "_-./@:".contains(letter);
    text.split(move |letter| !is_of_path(letter))
        .map(|word| word.trim_matches(['.', ':', '-']))
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
