//! What an agent printed: the last line for people, the last words for reports, signs of a refusal.
//!
//! Output is text from a stranger: escapes and control characters never reach a terminal.

use super::RefusalPatterns;
use std::path::Path;
use tm_scheduler::ServiceRefusal;

/// So much of the end of a log is looked at.
const TAIL_BYTES: u64 = 16 * 1024;
/// So much is kept as last words.
const LAST_WORDS_BYTES: usize = 4 * 1024;
/// A line for people has so many characters at the most.
const LINE_CHARACTERS: usize = 200;

/// Returns the end of a log as text without orders to a terminal and without secrets.
pub(super) fn tail(path: &Path) -> String {
    let end = tm_untrusted::read_end(path, TAIL_BYTES).unwrap_or_default();
    // A log that is not there says nothing.
    tm_untrusted::clean(&String::from_utf8_lossy(&end))
}

/// Returns the last line that says something.
pub(super) fn last_line(text: &str) -> Option<String> {
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARACTERS).collect())
}

/// Returns the end of both logs, errors last.
pub(super) fn last_words(stdout: &str, stderr: &str) -> String {
    let joined = [stdout.trim(), stderr.trim()]
        .iter()
        .filter(|text| !text.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    let start = joined.ceil_char_boundary(joined.len().saturating_sub(LAST_WORDS_BYTES));
    joined[start..].to_owned()
}

/// Tells a refusal of the service behind the agent by the words of its last output.
pub(super) fn refusal(text: &str, patterns: &RefusalPatterns) -> Option<ServiceRefusal> {
    let text = text.to_lowercase();
    let says = |patterns: &[String]| {
        patterns
            .iter()
            .any(|pattern| text.contains(&pattern.to_lowercase()))
    };
    if says(&patterns.rate_limited) {
        return Some(ServiceRefusal::RateLimited { until: None });
    }
    says(&patterns.auth).then_some(ServiceRefusal::Auth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_never_come_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(
            &log,
            "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}a\r10%\r\nnext\u{8}\u{0}",
        )
        .expect("a log");
        assert_eq!(tail(&log), "red a\n10%\nnext");
        assert_eq!(last_line(&tail(&log)).as_deref(), Some("next"));
    }

    #[test]
    fn last_words_keep_the_end() {
        let long = "é".repeat(LAST_WORDS_BYTES);
        assert!(last_words(&long, "the end").ends_with("\nthe end"));
        assert!(last_words(&long, "the end").len() <= LAST_WORDS_BYTES);
    }

    #[test]
    fn a_refusal_is_known_by_its_words() {
        let patterns = RefusalPatterns {
            rate_limited: vec!["Rate Limit".into()],
            auth: vec!["401".into()],
        };
        assert_eq!(
            refusal("hit the rate limit", &patterns),
            Some(ServiceRefusal::RateLimited { until: None })
        );
        assert_eq!(refusal("HTTP 401", &patterns), Some(ServiceRefusal::Auth));
        assert_eq!(refusal("fine", &patterns), None);
    }
}
