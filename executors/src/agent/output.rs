//! What an agent printed: the last line for people, the last words for reports, signs of a refusal.
//!
//! Output is text from a stranger: escapes and control characters never reach a terminal.

use super::RefusalPatterns;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tm_scheduler::ServiceRefusal;

/// So much of the end of a log is looked at.
const TAIL_BYTES: u64 = 16 * 1024;
/// So much is kept as last words.
const LAST_WORDS_BYTES: usize = 4 * 1024;
/// A line for people has so many characters at the most.
const LINE_CHARACTERS: usize = 200;

/// Returns the end of a log as text without escapes and control characters.
pub(super) fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // A log that is not there says nothing.
    plain(&String::from_utf8_lossy(&read().unwrap_or_default()))
}

/// Returns the last line that says something.
pub(super) fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARACTERS).collect())
}

/// Returns the end of both logs, errors last.
pub(super) fn last_words(stdout: &str, stderr: &str) -> String {
    let joined =
        [stdout.trim(), stderr.trim()].iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join("\n");
    let start = joined.ceil_char_boundary(joined.len().saturating_sub(LAST_WORDS_BYTES));
    joined[start..].to_owned()
}

/// Tells a refusal of the service behind the agent by the words of its last output.
pub(super) fn refusal(text: &str, patterns: &RefusalPatterns) -> Option<ServiceRefusal> {
    let text = text.to_lowercase();
    let says = |patterns: &[String]| patterns.iter().any(|pattern| text.contains(&pattern.to_lowercase()));
    if says(&patterns.rate_limited) {
        return Some(ServiceRefusal::RateLimited { until: None });
    }
    says(&patterns.auth).then_some(ServiceRefusal::Auth)
}

/// Removes escape sequences and control characters; a carriage return ends a line as a progress bar means it.
pub(super) fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_escape(&mut letters),
            '\r' if letters.peek() != Some(&'\n') => clean.push('\n'),
            '\n' | '\t' => clean.push(letter),
            other if other.is_control() => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Skips the rest of one escape sequence: `[` up to a letter, `]` up to a bell or a terminator, else one character.
fn skip_escape(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.next() {
        Some('[') => {
            letters.find(|letter| ('@'..='~').contains(letter));
        }
        Some(']' | 'P' | '_' | '^') => {
            let mut before = ' ';
            letters.find(|&letter| {
                let ends = letter == '\u{7}' || before == '\u{1b}' && letter == '\\';
                before = letter;
                ends
            });
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_never_come_through() {
        let hostile = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\r10%\r\nnext\u{8}\u{0}";
        assert_eq!(plain(hostile), "red ab\n10%\r\nnext".replace('\r', ""));
        assert_eq!(last_line(&plain(hostile)).as_deref(), Some("next"));
        assert_eq!(plain("\u{1b}[31"), "");
    }

    #[test]
    fn last_words_keep_the_end() {
        let long = "é".repeat(LAST_WORDS_BYTES);
        assert!(last_words(&long, "the end").ends_with("\nthe end"));
        assert!(last_words(&long, "the end").len() <= LAST_WORDS_BYTES);
    }

    #[test]
    fn a_refusal_is_known_by_its_words() {
        let patterns = RefusalPatterns { rate_limited: vec!["Rate Limit".into()], auth: vec!["401".into()] };
        assert_eq!(refusal("hit the rate limit", &patterns), Some(ServiceRefusal::RateLimited { until: None }));
        assert_eq!(refusal("HTTP 401", &patterns), Some(ServiceRefusal::Auth));
        assert_eq!(refusal("fine", &patterns), None);
    }
}
