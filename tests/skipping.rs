//! What a test can't do for want of a tool is said past the test harness, which shows what tests print only where they
//! fail. Under `TM_REQUIRE_TOOLS=1`, what `.ci/run` installs has to be there.

use std::io::Write as _;

/// Says that a tool that `.ci/run` installs is missing, so that a test, or a part of it, is skipped.
///
/// # Panics
/// `TM_REQUIRE_TOOLS=1` asks for all of them.
pub(crate) fn lacks(tool: &str) {
    let is_required = std::env::var_os("TM_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(
        !is_required,
        "there is no {tool}, which TM_REQUIRE_TOOLS=1 asks for; `.ci/run` installs it"
    );
    lacks_what_a_machine_may_have(&format!("{tool}; `.ci/run` installs it"));
}

/// Says that something is missing that nothing installs for the tests.
pub(crate) fn lacks_what_a_machine_may_have(what: &str) {
    writeln!(std::io::stderr(), "skipped: there is no {what}").expect("somebody listens");
}

/// Tells whether everything is tried, however long that takes, and not what the suite has time for.
pub(crate) fn has_every_row() -> bool {
    std::env::var_os("TM_TEST_EVERY_ROW").is_some()
}
