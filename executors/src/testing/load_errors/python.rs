//! What pytest and unittest say of a test module that can't be imported.

use super::{Found, cause};
use crate::patterns::part;

patterns! {
    COLLECTING = r"^(?:_+ ERROR collecting (\S+) _+|ERROR: (?:\S+) \(unittest\.loader\._FailedTest\S*\))$";
    RAISED = r"^(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception|Interrupt)): ?(.*)$";
    NO_MODULE = r"^No module named '([^']+)'";
    NO_NAME = r"^cannot import name '[^']+' from '([^'.]+)";
    PLACE = r#"^\s*(?:E\s+)?File "([^"]+)", line \d+"#;
    NO_FIXTURE = r"^E\s+(fixture '[^']+' not found)";
    FIXTURE_USER = r"^file (\S+), line \d+";
}

pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    collecting(output, found);
    fixtures(output, found);
}

/// One error a module: the exception that its import ended with.
fn collecting(output: &str, found: &mut Found<'_>) {
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(collecting) = COLLECTING.captures(line) else {
            continue;
        };
        let mut file = collecting.get(1).map(|file| file.as_str().to_owned());
        let mut raised = None;
        while let Some(next) = lines.next_if(|next| !is_separator(next)) {
            if let Some(place) = PLACE.captures(next).filter(|_| collecting.get(1).is_none()) {
                file = Some(place[1].to_owned());
            }
            if let Some(exception) = RAISED.captures(next) {
                raised = Some((exception[1].to_owned(), exception[2].to_owned()));
            }
        }
        let Some((exception, words)) = raised else {
            continue;
        };
        let is_missing = is_missing_item(&exception, &words, found);
        found.add(
            cause(is_missing),
            file.as_deref(),
            &format!("{exception}: {words}"),
        );
    }
}

/// Lines of `=` or `_` around a title stand between one error and the next; unittest has lines of `=` alone.
fn is_separator(line: &str) -> bool {
    line.starts_with("=====") || line.starts_with("_____") || COLLECTING.is_match(line)
}

pub(super) fn is_missing_item(exception: &str, words: &str, found: &Found<'_>) -> bool {
    let is_own = |path: &str| {
        let top = path.split('.').next().unwrap_or(path);
        !found.project.depends_on(top)
    };
    match exception {
        "ModuleNotFoundError" => NO_MODULE
            .captures(words)
            .is_some_and(|module| is_own(&module[1])),
        "ImportError" => NO_NAME
            .captures(words)
            .is_some_and(|module| is_own(&module[1])),
        "AttributeError" | "NameError" => true,
        _ => false,
    }
}

/// A test that asks for a fixture which nobody defines can't ever run.
fn fixtures(output: &str, found: &mut Found<'_>) {
    let mut file: Option<&str> = None;
    for line in output.lines() {
        if let Some(user) = FIXTURE_USER.captures(line) {
            file = Some(part(&user, 1));
        } else if let Some(missing) = NO_FIXTURE.captures(line) {
            found.add(tm_scheduler::LoadCause::Other, file, &missing[1]);
        }
    }
}
