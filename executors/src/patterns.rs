//! Regular expressions that are compiled when they are first needed.

use regex::Captures;

/// Returns a part of what was found; one that is not there is empty.
pub(crate) fn part<'t>(found: &Captures<'t>, number: usize) -> &'t str {
    found.get(number).map_or("", |part| part.as_str())
}

/// Makes a static of each name.
macro_rules! patterns {
    ($($(#[$about:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$about])*
        static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($text).expect("a valid pattern")
        });)+
    };
}
