//! Reads and writes every durable file: backlog, journal, lock, run directory.
//!
//! Knows formats and durability; decides nothing about a run.

/// Makes methods that return the paths of files, or folders, in a folder.
macro_rules! files {
    ($($(#[$doc:meta])* $method:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        pub fn $method(&self) -> PathBuf {
            crate::file_system::joined(&self.path, $name)
        }
    )*};
}

pub mod atomic;
pub mod autopilot;
pub mod backlog;
mod error;
mod file_system;
pub mod run;
pub mod settings;

pub use error::Error;
