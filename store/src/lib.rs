//! Reads and writes every durable file: backlog, journal, lock, run directory.
//!
//! Knows formats and durability; decides nothing about a run.

pub mod atomic;
pub mod autopilot;
pub mod backlog;
mod error;
mod file_system;
pub mod run;

pub use error::Error;
