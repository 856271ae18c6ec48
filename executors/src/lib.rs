//! Runs one attempt of one agent, from spawn to reaped process and parsed result file; runs test commands and reads
//! their output.
//!
//! Knows processes and output formats; what a result means is decided in the scheduler.

#[macro_use]
mod patterns;

mod bounded_log;
mod clock;
mod json_file;

pub mod acp;
pub mod agent;
pub mod coverage;
pub mod engine;
pub mod environment;
mod error;
pub mod findings;
pub mod process;
pub mod proxy;
mod refusals;
mod shared_look;
pub mod testing;
pub mod tools;
mod xml;

pub use clock::now;
pub use error::Error;
pub(crate) use error::OrFailedTo;
pub use shared_look::SharedLook;
