//! A program that is nobody's tree: it goes on when its handle is dropped, and when this process ends.
//!
//! For tm itself, which looks after the processes that it starts.

use super::TreeCommand;
use crate::Error;
use std::process::ExitStatus;
use tokio::process::Child;

/// A program in a process group of its own.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    pid: u32,
}

impl Detached {
    /// Starts a program; must be called within a tokio runtime.
    ///
    /// # Errors
    /// It could not be started.
    pub fn spawn(command: &TreeCommand) -> Result<Self, Error> {
        let (child, identity, _) = command.spawn()?;
        Ok(Self {
            child,
            pid: identity.pid,
        })
    }

    /// Returns its process number.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until it has ended, and returns how. May be dropped and called again.
    ///
    /// # Errors
    /// It can't be watched.
    pub async fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.child
            .wait()
            .await
            .map_err(|source| Error::of_watching(self.pid, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::shell_words;
    use std::path::Path;

    fn command(folder: &Path, text: &str) -> TreeCommand {
        let (program, arguments) = shell_words(text);
        let log = folder.join("log");
        let (stdout, stderr) = (log.clone(), log);
        TreeCommand {
            program,
            arguments,
            working_folder: folder.to_owned(),
            stdout,
            stderr,
            ..TreeCommand::default()
        }
    }

    #[tokio::test]
    async fn a_program_outlives_its_handle() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("go");
        let made = Detached::spawn(&command(folder.path(), "mkfifo go"))
            .expect("started")
            .wait()
            .await
            .expect("ended");
        assert!(made.success());
        drop(
            Detached::spawn(&command(
                folder.path(),
                "read word < go; echo \"$word\" > go",
            ))
            .expect("started"),
        );
        tokio::task::spawn_blocking(move || {
            let mut pipe = std::fs::OpenOptions::new()
                .write(true)
                .open(&fifo)
                .expect("somebody reads");
            std::io::Write::write_all(&mut pipe, b"on\n").expect("written");
            drop(pipe);
            assert_eq!(
                std::fs::read_to_string(&fifo).expect("somebody writes"),
                "on\n"
            );
        })
        .await
        .expect("no panic");
    }
}
