//! Counts with the word for what is counted.

use std::fmt::Display;

/// Returns a count with its word, in the plural unless it is one: `1 task`, `2 branches`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, word: &str) -> String {
    let ending = match word {
        _ if count == N::from(1) => "",
        word if word.ends_with("ch") || word.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {word}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_no_plural() {
        let words = [(0, "task"), (1, "task"), (2, "branch"), (1, "branch")];
        let words = words.map(|(count, word): (usize, _)| counted(count, word));
        assert_eq!(words, ["0 tasks", "1 task", "2 branches", "1 branch"]);
    }
}
