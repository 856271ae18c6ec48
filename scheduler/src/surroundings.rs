//! What surrounds an agent or a test by the user's choice: what is brought into checkouts, whose home tests have, the
//! signal that asks a program to stop. Others carry it out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// Whether something that lies in no object of the repository is brought into checkouts.
    #[derive(Default, JsonSchema)]
    pub enum Bring {
        /// Where the tree says that there is any.
        #[default]
        Auto = "auto",
        /// Always; what can't be brought is an error.
        On = "on",
        /// Never: submodules are empty folders, and files that LFS keeps are the few lines that name them.
        Off = "off",
    }
}

words! {
    /// Whose home folder and variables the tests have.
    #[derive(Default, JsonSchema)]
    pub enum TestHome {
        /// A home of their own, empty each time, and the variables of tm's list.
        #[default]
        Private = "private",
        /// The user's home, and every variable that tm was started with but those of git and of tm.
        User = "user",
    }
}

/// The signal that asks a program politely to stop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
pub enum StopSignal {
    /// SIGTERM, as `kill` sends.
    #[default]
    #[serde(rename = "term")]
    Terminate,
    /// SIGINT, as Ctrl-C does.
    #[serde(rename = "int")]
    Interrupt,
}
