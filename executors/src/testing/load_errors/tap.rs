//! What runners that write TAP say of tests that could not be loaded, where they put the error behind the name.
//!
//! Knows nothing of what follows from it. Such a line names no file, and its name may be that of no test.

use super::javascript::is_own;
use super::{Found, python};
use tm_scheduler::LoadCause;

patterns! {
    FAILED = r"^ *not ok\b.*?: ((ModuleNotFoundError|ImportError|Error): (.+))$";
    NO_SCRIPT = r"^Cannot find (?:module|package) '([^']+)'";
}

/// Only what is missing of the project counts: a test that fails with any other error has been loaded.
pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    for line in output.lines() {
        let Some(error) = FAILED.captures(line) else {
            continue;
        };
        let is_missing = match NO_SCRIPT.captures(&error[3]) {
            Some(module) => is_own(&module[1], found),
            None => python::is_missing_item(&error[2], &error[3], found),
        };
        if is_missing {
            found.add(LoadCause::MissingItem, None, &error[1]);
        }
    }
}
