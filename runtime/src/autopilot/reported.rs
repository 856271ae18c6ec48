//! Reads what agents report: `failed:3,passed:0`, or JSON.

use super::error::Error;
use serde::Deserialize;
use tm_scheduler::autopilot::TestCounts;

/// Counts as they are written: what is missing is 0, a missing total is the sum.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
struct Written {
    passed: Option<u64>,
    failed: Option<u64>,
    #[serde(default)]
    skipped: Option<u64>,
    total: Option<u64>,
}

/// Reads counts.
///
/// # Errors
/// The text is in neither form, or says neither how many passed nor how many failed.
pub fn parse_counts(text: &str) -> Result<TestCounts, Error> {
    let failed = |why: String| Error::Results {
        text: text.to_owned(),
        why,
    };
    let written = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| failed(error.to_string()))?
    } else {
        pairs(text).map_err(failed)?
    };
    if written == Written::default() || (written.passed, written.failed) == (None, None) {
        return Err(failed(
            "it says neither how many tests passed nor how many failed".to_owned(),
        ));
    }
    let counts = TestCounts::of(
        written.passed.unwrap_or(0),
        written.failed.unwrap_or(0),
        written.skipped.unwrap_or(0),
    );
    Ok(TestCounts {
        total: written.total.unwrap_or(counts.total),
        ..counts
    })
}

fn pairs(text: &str) -> Result<Written, String> {
    let mut written = Written::default();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let Some((name, number)) = part.split_once([':', '=']) else {
            return Err(format!("`{part}` is not `<name>:<number>`"));
        };
        let number = number
            .trim()
            .parse()
            .map_err(|_| format!("`{}` is no number of tests", number.trim()))?;
        let place = match name.trim() {
            "passed" => &mut written.passed,
            "failed" => &mut written.failed,
            "skipped" => &mut written.skipped,
            "total" => &mut written.total,
            other => {
                return Err(format!(
                    "`{other}` is none of passed, failed, skipped, total"
                ));
            }
        };
        if place.replace(number).is_some() {
            return Err(format!("`{}` is there twice", name.trim()));
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        for text in [
            "failed:3,passed:0",
            " passed : 0 , failed=3 ",
            r#"{"failed":3}"#,
            r#"{"total":3,"failed":3}"#,
        ] {
            assert_eq!(
                parse_counts(text).unwrap(),
                TestCounts::of(0, 3, 0),
                "{text}"
            );
        }
        let counts = parse_counts(r#"{"total":10,"passed":9,"failed":1,"skipped":0}"#).unwrap();
        assert_eq!(counts, TestCounts::of(9, 1, 0));
        assert_eq!(
            parse_counts("total:9,failed:1").unwrap().total,
            9,
            "whether it adds up is judged elsewhere"
        );
    }

    #[test]
    fn rubbish_says_what_is_wrong_with_it() {
        for (text, part) in [
            ("", "neither"),
            ("skipped:1", "neither"),
            ("{}", "neither"),
            ("failed", "`failed` is not"),
            ("failed:-1", "`-1` is no number"),
            ("failed:1.5", "no number"),
            ("failed:1,failed:2", "twice"),
            ("errors:1", "none of"),
            ("{\"failed\":\"x\"}", "invalid type"),
            ("{\"fialed\":1}", "unknown field"),
            ("{", "EOF"),
        ] {
            let error = parse_counts(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
