//! Lets one command at a time change the runs of a checkout. Commands are short, so the others wait.

use super::AutopilotFolder;
use crate::Error;
use crate::file_system::try_lock;
use std::fs::File;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(20);

/// The right to change the runs of a checkout; ends when dropped, or with the process.
#[derive(Debug)]
pub struct AutopilotLock {
    _file: File,
}

impl AutopilotLock {
    /// Takes the lock and waits for it as long as `patience`.
    ///
    /// # Errors
    /// Somebody else holds it all that time, or it can't be written.
    pub fn acquire(folder: &AutopilotFolder, patience: Duration) -> Result<Self, Error> {
        folder.create()?;
        let path = folder.lock_file();
        let open = tm_untrusted::append_private(&path);
        let file = open.map_err(Error::lock(&path))?;
        let tries = patience.as_millis() / PAUSE.as_millis() + 1;
        for _ in 0..tries {
            if try_lock(&file).map_err(Error::lock(&path))? {
                return Ok(Self { _file: file });
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::Busy { path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_at_a_time_changes_a_checkout() {
        let root = tempfile::tempdir().unwrap();
        let folder = AutopilotFolder::in_project(root.path());
        let held = AutopilotLock::acquire(&folder, Duration::ZERO).unwrap();
        assert!(matches!(
            AutopilotLock::acquire(&folder, Duration::ZERO),
            Err(Error::Busy { .. })
        ));
        drop(held);
        AutopilotLock::acquire(&folder, Duration::ZERO).unwrap();
    }
}
