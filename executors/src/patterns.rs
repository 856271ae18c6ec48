//! Regular expressions that are compiled when they are first needed.

/// Makes a static of each name.
macro_rules! patterns {
    ($($(#[$about:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$about])*
        static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($text).expect("a valid pattern")
        });)+
    };
}
