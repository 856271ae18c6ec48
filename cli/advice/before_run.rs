//! What to do about what is looked at before a run begins.

use super::{Advice, ExitCode};
use tm_app::BrokenTests;
use tm_executors::Error;

/// The settings to change, and the flag that goes on where the base can prove nothing.
pub(crate) fn broken_base(tests: &BrokenTests) -> String {
    let settings = tests.what_to_change();
    format!("{settings}; `--allow-broken-base` goes on all the same")
}

/// What to do where something could not be started.
pub(crate) fn on_executors(error: &Error) -> Advice {
    let words = match error {
        Error::Secret { name, command, .. } => Some(untold_secret(name, command)),
        Error::NoPlace(_) | Error::PlaceSettings(_) => Some(NO_PLACE.to_owned()),
        _ => None,
    };
    (ExitCode::Error, words)
}

/// What helps where no job runs on a node.
const NO_PLACE: &str =
    "docs/engines.md says what a site has to provide; `--on local` runs on this machine";

/// What to do when an agent can't be used.
pub(super) const CHOOSE_AN_AGENT: &str =
    "`--agent NAME` chooses another agent, `--agent-command COMMAND` any command";
/// What helps where an agent's program is not on a node.
pub(crate) const INSTALL_THERE: &str = "install it where jobs run (in the image where they are pods), at the `PATH` that they have, and `tm doctor --on \
     PLACE` looks again; `--agent NAME` chooses another agent";

/// What shows why a command does not tell a secret.
pub(crate) fn untold_secret(name: &str, command: &str) -> String {
    format!(
        "`{command}` in a terminal shows why; `secrets.{name}.command` in .taskmaster/tm.yaml is that command"
    )
}
