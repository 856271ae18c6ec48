//! Pieces of a line: cut to a width, without what a terminal would take for an order, coloured where that is wanted.

use super::layout::Look;
use console::{measure_text_width, truncate_str};
use tm_reports::{Colours, Tone};

/// What a terminal can show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Charset {
    /// Everything.
    Unicode,
    /// Letters, digits and signs of ASCII.
    Ascii,
}

impl Charset {
    /// Returns the sign that can be shown.
    pub(crate) const fn sign(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}

/// Returns the text as it can stand in a line: no control characters, and none that the terminal can't show.
pub(crate) fn safe(text: &str, look: &Look) -> String {
    let text = text.replace(char::is_control, " ");
    match look.charset {
        Charset::Unicode => text,
        Charset::Ascii => text.replace(|letter: char| !letter.is_ascii(), "?"),
    }
}

/// Returns the text, cut at a width.
pub(crate) fn cut(text: &str, width: usize, look: &Look) -> String {
    let tail = look.charset.sign("…", "...");
    let has_room = width > measure_text_width(tail);
    truncate_str(text, width, if has_room { tail } else { "" }).into_owned()
}

/// Returns the text, cut or filled up to a width.
pub(crate) fn column(text: &str, width: usize, look: &Look) -> String {
    let text = cut(&safe(text, look), width, look);
    let fill = " ".repeat(width.saturating_sub(measure_text_width(&text)));
    format!("{text}{fill}")
}

/// Returns the text in a tone.
pub(crate) fn toned(text: &str, tone: Tone, look: &Look) -> String {
    match look.colours {
        Colours::On => format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()),
        Colours::Off => text.to_owned(),
    }
}

/// Returns a bar of so many columns.
pub(crate) fn bar(done: usize, of: usize, width: usize, look: &Look) -> String {
    let filled = (done * width).checked_div(of).unwrap_or(0);
    let full = look.charset.sign("█", "#").repeat(filled);
    let empty = look.charset.sign("░", "-").repeat(width - filled);
    toned(&full, Tone::Good, look) + &toned(&empty, Tone::Quiet, look)
}

/// Returns milliseconds as `mm:ss`, with hours where there are some.
pub(crate) fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds / 3_600 {
        0 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// Returns a count as `950`, `1.2k` or `3.4M`.
pub(crate) fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Returns a time as roughly as an estimate deserves: `1m`, `25m`, `3h10`.
pub(crate) fn roughly(milliseconds: u64) -> String {
    let minutes = milliseconds.div_ceil(60_000);
    match minutes {
        0..20 => format!("{}m", minutes.max(1)),
        20..60 => format!("{}m", minutes.div_ceil(5) * 5),
        _ => {
            let tens = minutes.div_ceil(10);
            format!("{}h{:02}", tens / 6, tens % 6 * 10)
        }
    }
}
