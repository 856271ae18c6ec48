//! Keeps one live run per project, its folder and its journal.
//!
//! Time, paths and randomness are arguments: there is no clock and no environment here.

/// Makes methods that return the paths of files, or folders, in a folder.
macro_rules! files {
    ($($(#[$doc:meta])* $method:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        pub fn $method(&self) -> PathBuf {
            self.path.join($name)
        }
    )*};
}

mod activity;
mod control;
mod directory;
mod folder;
mod holder;
mod home;
mod journal;
mod json;
mod lock;
mod loops;
mod moved;
mod name;
mod review;

pub use activity::{ActivityLog, event_line};
pub use control::ControlSocket;
pub use directory::{AttemptDirectory, RunDirectory};
pub(crate) use folder::create_durable;
pub use holder::Holder;
pub use home::{Home, ProjectDirectory};
pub use journal::{
    JournalContents, JournalEnd, JournalRecord, JournalWriter, TornLine, read_journal,
};
pub use json::{read_json, write_json};
pub use lock::RunLock;
pub use loops::LoopDirectory;
pub use moved::Whereabouts;
pub(crate) use name::{calendar_time, encode};
pub use name::{new_run_id, safe_name};
pub use review::{Decision, Rejection, Review};
