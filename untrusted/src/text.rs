//! Takes out of a text what orders a terminal about or shows it otherwise than it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::ops::RangeInclusive;
use std::str::Chars;

/// Returns text without escape sequences, control characters, and marks that turn the direction of what is shown or
/// can't be seen. Lines and tabs stay; a carriage return ends a line, as a progress bar means it.
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_safe(text) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' => safe.push('\n'),
            '\u{1b}' => skip_escape(&mut letters),
            '\u{9b}' => skip_parameters(&mut letters),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut letters),
            other if is_unsafe(other) => {}
            other => safe.push(other),
        }
    }
    Cow::Owned(safe)
}

/// Returns a JSON document in which such characters are escaped: it says the same, and orders a terminal about nothing.
pub fn json(document: &str) -> Cow<'_, str> {
    if is_safe(document) {
        return Cow::Borrowed(document);
    }
    // Outside its texts a document has none of them, and in its texts every character may be written so.
    let mut safe = String::with_capacity(document.len());
    for letter in document.chars() {
        if is_unsafe(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                let _never_fails = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// Returns text as one line of so many characters at the most; what is left out is shown by an ellipsis.
pub fn line(text: &str, most: usize) -> String {
    // A title of megabytes is looked at no further than it is shown, escapes included.
    let beginning = text
        .char_indices()
        .nth(most.saturating_mul(4))
        .map_or(text, |(end, _)| &text[..end]);
    let is_whole = beginning.len() == text.len();
    let words = shown(beginning)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if is_whole && words.chars().count() <= most {
        return words;
    }
    let mut cut: String = words.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// So many bytes are looked at together.
const TOGETHER: usize = 32;

/// Tells whether no letter is unsafe. Most bytes of most texts are plain English ones, which are not looked at as letters.
fn is_safe(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    let are_plain = |bytes: &[u8]| bytes.iter().fold(true, |are, byte| are & is_plain(*byte));
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.ceil_char_boundary(TOGETHER);
        let (part, behind) = rest.split_at(end);
        if !are_plain(part.as_bytes()) && part.chars().any(is_unsafe) {
            return false;
        }
        rest = behind;
    }
    true
}

fn is_unsafe(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Direction: embeddings and overrides, isolates. Lines of another kind. Not to be seen: zero width, word joiner,
        // tags.
        '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{200b}'
        | '\u{2060}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Skips what follows an escape.
fn skip_escape(letters: &mut Peekable<Chars<'_>>) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            skip_parameters(letters);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            letters.next();
            skip_string(letters);
        }
        Some(' '..='/') => skip_up_to(letters, ' '..='/', '0'..='~'),
        Some('0'..='~') => drop(letters.next()),
        Some(_) | None => {}
    }
}

/// Skips parameters up to the letter that ends them; one that is none of either ends them too, and stays.
fn skip_parameters(letters: &mut Peekable<Chars<'_>>) {
    skip_up_to(letters, ' '..='?', '@'..='~');
}

/// Skips some letters, and the one that ends them.
fn skip_up_to(
    letters: &mut Peekable<Chars<'_>>,
    skipped: RangeInclusive<char>,
    ending: RangeInclusive<char>,
) {
    while letters.next_if(|letter| skipped.contains(letter)).is_some() {}
    letters.next_if(|letter| ending.contains(letter));
}

/// Skips a string for the terminal up to its end. Where it has none it ends with the line, so that nobody hides what
/// others say after it.
fn skip_string(letters: &mut Peekable<Chars<'_>>) {
    while let Some(letter) = letters.next_if(|letter| !matches!(letter, '\n' | '\r')) {
        match letter {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                letters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_to_a_terminal_are_gone_and_the_text_stays() {
        for (text, expected) in [
            ("plain – 日本\n\ttext", "plain – 日本\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]52;c;ZXZpbA==\u{7}b", "ab"),
            ("a\u{1b}]0;title\u{1b}\\b", "ab"),
            ("a\u{9d}52;c;x\u{9c}b\u{9b}2Jc", "abc"),
            (
                "a\u{1b}Pq#0\u{1b}\\b\u{1b}_x\u{1b}\\c\u{1b}^x\u{7}d\u{1b}Xx\u{9c}e",
                "abcde",
            ),
            ("a\u{1b}(Bb\u{1b}7c\u{1b}=d\u{1b}ce", "abcde"),
            ("a\u{1b}]0;no end\nthe next line", "a\nthe next line"),
            ("10%\r20%\r\ndone\u{8}\u{7f}\u{0}", "10%\n20%\ndone"),
            ("a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{e0041}f", "abcdef"),
            ("a\u{2028}b", "a\nb"),
            ("\u{1b}[31", ""),
            ("\u{1b}", ""),
            ("\u{1b}é\u{1b}[é", "éé"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_one_line_and_no_longer_than_it_may_be() {
        assert_eq!(line(" a\n b\tc ", 10), "a b c");
        assert_eq!(line("abcdef", 6), "abcdef");
        assert_eq!(line("abcdefg", 6), "abcde…");
        assert_eq!(line(&"x".repeat(10 << 20), 200).chars().count(), 200);
        assert!(line(&"\u{1b}[0m".repeat(1000), 5).ends_with('…'));
    }

    proptest! {
        #[test]
        fn letters_together_are_as_safe_as_each_of_them(
            text in "(?s)([a-z ]{20,40}|\\n|\\t|é|日){0,4}(\\r|\\x1b|\\x7f|\u{9b}|\u{200b}|é)?[a-z ]{0,40}"
        ) {
            prop_assert_eq!(is_safe(&text), !text.chars().any(is_unsafe), "{:?}", text);
        }

        #[test]
        fn nothing_unsafe_is_left_and_a_second_time_changes_nothing(
            text in "(?s)(\\x1b|\\x9b|\\x9d|[\\[\\]P;a-c\\\\]|\\x07|\\n|\\r|.){0,60}"
        ) {
            let once = shown(&text).into_owned();
            prop_assert!(!once.chars().any(is_unsafe), "{:?}", once);
            prop_assert_eq!(shown(&once), once.as_str());
        }

        #[test]
        fn a_json_document_comes_back_as_it_is_and_nothing_unsafe_is_in_it(
            text in "(?s)(\\x1b|\\x9b|\\x7f|\u{2028}|\u{e0041}|[\"\\\\a]|\\n|.){0,60}"
        ) {
            let document = format!("{:#}", serde_json::json!({ &text: [&text] }));
            let printed = json(&document);
            prop_assert!(!printed.chars().any(is_unsafe), "{:?}", printed);
            prop_assert_eq!(
                serde_json::from_str::<serde_json::Value>(&printed).expect("JSON"),
                serde_json::json!({ &text: [&text] })
            );
        }
    }
}
