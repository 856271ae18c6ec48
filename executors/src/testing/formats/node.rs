//! What `node --test` prints with its `spec` reporter.

use crate::testing::Parsed;
use tm_scheduler::TestOutcome;

patterns! {
    RESULT = r"^( *)(✔|✖|﹣|⚠) (.+?) \([\d.]+m?s\)(?: # (SKIP|TODO).*)?$";
    SUITE = r"^( *)▶ (.+?)(?: \([\d.]+m?s\))?$";
    COUNT = r"(?mR)^ℹ tests (\d+)$";
}

/// Spaces by which tests within a suite are indented.
const INDENTATION: usize = 2;

/// Tells whether the output is in this format.
pub(super) fn looks_like(output: &str) -> bool {
    COUNT.is_match(output)
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut suites: Vec<String> = Vec::new();
    let mut announced: Option<usize> = None;
    let mut seen = 0;
    for line in output.lines() {
        if let Some(count) = COUNT.captures(line) {
            announced = count[1].parse().ok();
            // Failures are listed once more behind the counts.
            break;
        }
        if let Some(suite) = SUITE.captures(line) {
            suites.truncate(suite[1].len() / INDENTATION);
            suites.push(suite[2].to_owned());
        } else if let Some(result) = RESULT.captures(line) {
            suites.truncate(result[1].len() / INDENTATION);
            let directive = result.get(4).map(|directive| directive.as_str());
            let outcome = match (&result[2], directive) {
                (_, Some("SKIP")) | ("﹣", _) | ("✖" | "⚠", Some("TODO")) => {
                    TestOutcome::Skipped
                }
                ("✔", _) => TestOutcome::Passed,
                (_, _) => TestOutcome::Failed,
            };
            seen += 1;
            let within = suites.iter().flat_map(|suite| [suite, " > "]);
            let name: Vec<&str> = within.chain([&result[3]]).collect();
            parsed.add(&name, outcome);
        }
    }
    match announced {
        // Suites have lines of their own and are not counted as tests.
        Some(announced) => parsed.check_count(announced, seen),
        None => parsed.breaks("node ended before its summary"),
    }
    parsed
}
