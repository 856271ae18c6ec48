//! Finds in what a hook or git printed the line that says why: it is rarely the first one.

/// Beginnings of lines that say what is being done, and not what is wrong.
const NOISE: [&str; 23] = [
    "hint: ",
    "TAP version",
    "ok ",
    "1..",
    "# Subtest",
    "# tests",
    "# pass",
    "husky",
    "> ",
    "$ ",
    "npm ",
    "yarn ",
    "Running ",
    "Preparing ",
    "Applying ",
    "Cleaning ",
    "Reverting ",
    "Restoring ",
    "Backed up ",
    "[STARTED]",
    "[COMPLETED]",
    "[SKIPPED]",
    "---",
];
/// Words of a line that says what is wrong.
const TELLING: [&str; 14] = [
    "not ok",
    "error",
    "fail",
    "refuse",
    "reject",
    "not allowed",
    "not found",
    "no such",
    "must ",
    "missing",
    "denied",
    "invalid",
    "cannot",
    "can't",
];
/// A line is shown up to here.
const MOST_BYTES: usize = 300;

/// The file that says how filters are held; it stands in their commands as git has them.
pub(crate) const HELD_FILTERS: &str = "held-filters.json";

/// What git says without the lines that name the command by which a filter is held: the filter's own words and git's name of
/// it stand beside them.
pub(crate) fn without_wrapping(said: &str) -> String {
    let is_wrapping =
        |line: &&str| line.starts_with("error: external filter") && line.contains(HELD_FILTERS);
    let lines: Vec<&str> = said
        .trim_end()
        .lines()
        .filter(|line| !is_wrapping(line))
        .collect();
    lines.join("\n")
}

/// Returns the line that tells most; empty where nothing was said.
pub(crate) fn telling_line(output: &str) -> String {
    let lines = || output.lines().map(plain).filter(|line| !line.is_empty());
    let is_noise = |line: &str| {
        NOISE.iter().any(|start| line.starts_with(start)) || !line.contains(char::is_alphabetic)
    };
    let tells = |line: &str| {
        let lower = line.to_lowercase();
        TELLING.iter().any(|word| lower.contains(word))
    };
    let meant = || lines().filter(|line| !is_noise(line));
    let line = meant()
        .find(|line| tells(line))
        .or_else(|| meant().next())
        .or_else(|| lines().next())
        .unwrap_or_default();
    line[..line.floor_char_boundary(MOST_BYTES)].to_owned()
}

/// A line without the signs that stand before it in lists of steps.
fn plain(line: &str) -> &str {
    let signs = ['✖', '✔', '✗', '✓', '❯', '↓', '⚠', '×', '•', '⠋', '>', '|'];
    let line = line.trim();
    if line.starts_with("> ") {
        line
    } else {
        line.trim_start_matches(|sign| signs.contains(&sign) || sign == ' ')
    }
}

#[cfg(test)]
mod tests {
    use super::telling_line;

    #[test]
    fn the_line_that_says_why_is_found_in_what_hooks_print() {
        for (output, expected) in [
            ("", ""),
            ("not today", "not today"),
            (
                "TAP version 13\nok 1 - a\nnot ok 2 - parses # oh\n1..2",
                "not ok 2 - parses # oh",
            ),
            (
                "✔ Preparing lint-staged...\n❯ Running tasks for staged files...\n✖ eslint --fix:\n\n/x/a.js\n  3:1  error  'b' is not defined\nhusky - pre-commit script failed (code 1)",
                "3:1  error  'b' is not defined",
            ),
            (
                "⧗   input: work\n✖   subject may not be empty [subject-empty]",
                "⧗   input: work",
            ),
            (
                "> app@1.0.0 test\n> tap\n\nchecking\nTests: 1 failed, 2 passed",
                "Tests: 1 failed, 2 passed",
            ),
            ("ok 1 - a\n1..1", "ok 1 - a"),
        ] {
            assert_eq!(telling_line(output), expected, "{output}");
        }
    }
}
