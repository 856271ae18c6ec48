//! How wide text is, and where it is broken.

use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// Returns how many columns text takes.
pub(crate) fn columns_of(text: &str) -> usize {
    // Most text is plain, and its letters are not looked up.
    if text.is_ascii() {
        let is_seen = |byte: &u8| matches!(byte, b' '..=b'~');
        return text.bytes().filter(is_seen).count();
    }
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// Returns text as lines of so many columns at the most, broken between words where that can be.
pub(crate) fn fold(text: &str, width: usize) -> Vec<Cow<'_, str>> {
    if columns_of(text) <= width {
        return vec![Cow::Borrowed(text)];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if columns_of(line) + 1 + columns_of(word) <= width && !line.is_empty() {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.extend(pieces(word, width));
        }
    }
    lines.remove(0);
    lines.into_iter().map(Cow::Owned).collect()
}

/// Returns text in so many columns at the most; where that is not all of it, it ends in an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let pieces = pieces(text, width.saturating_sub(1));
    format!("{}…", pieces[0])
}

/// A word in pieces of so many columns at the most.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for letter in word.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide > width && used > 0 {
            pieces.push(String::new());
            used = 0;
        }
        pieces.last_mut().expect("there is one").push(letter);
        used += wide;
    }
    pieces
}
