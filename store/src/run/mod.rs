//! Keeps one live run per project, its folder and its journal.
//!
//! Time, paths and randomness are arguments: there is no clock and no environment here.

mod activity;
mod control;
mod directory;
mod holder;
mod home;
mod journal;
mod json;
mod lock;
mod moved;
mod name;
mod notes;
mod past_tasks;
mod planned;
mod review;

pub use activity::{ActivityLog, event_line};
pub use control::ControlSocket;
pub use directory::{AttemptDirectory, LoopDirectory, RunDirectory};
pub use holder::{HeldFor, Holder};
pub use home::{Home, ProjectDirectory};
pub use journal::{
    JournalContents, JournalEnd, JournalRecord, JournalWriter, TornLine, read_journal,
};
pub use json::{
    digest, json_bytes, read_json, read_json_and_bytes, read_json_if_there, write_bytes,
    write_json, write_text,
};
pub use lock::RunLock;
pub use moved::Whereabouts;
pub use name::{autopilot_run_id, is_autopilot_run, new_run_id, safe_name};
pub(crate) use name::{calendar_time, check_autopilot_run_id, encode};
pub use notes::MOST_NOTES;
pub use planned::{PlannedNumbers, note_planned, planned_numbers};
pub use review::{Decision, Rejection, Review};
