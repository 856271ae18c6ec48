//! Keeps one live run per project, its folder and its journal.

mod holder;
mod json;

pub use holder::Holder;
pub use json::{read_json, write_json};
