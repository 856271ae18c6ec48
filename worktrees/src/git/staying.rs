//! A git that stays, and does one thing after the other as it is told by its stdin: what would take a process each time
//! takes one for all.

use super::doubted::Tried;
use super::{Git, unexpected};
use crate::{Error, OrFailedTo as _, Result};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Those that were started and have not been told to end.
static STAYING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Returns the numbers of the processes of git that this process keeps, which no program that it ran has left behind.
pub fn staying_processes() -> BTreeSet<u32> {
    STAYING.lock().clone()
}

/// A git that waits to be told what to do; dropping it lets it end.
#[derive(Debug)]
pub(crate) struct StayingGit {
    child: Child,
    /// What it is told; `None` once it is to end.
    told: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
    complaints: File,
    tried: Tried,
    words: Vec<String>,
}

impl Git {
    /// Starts the call, which has its input later.
    pub(crate) fn staying(mut self) -> Result<StayingGit> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let complaints = temporary()?;
        let stderr = complaints
            .try_clone()
            .or_failed_to("write to", temporary_folder())?;
        let tried = Tried::of(&self.command, &self.folder);
        let command = self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.stderr(stderr).spawn();
        let mut child = started.map_err(|source| self.not_started(source))?;
        STAYING.lock().insert(child.id());
        let (told, said) = child.stdin.take().zip(child.stdout.take()).expect("pipes");
        Ok(StayingGit {
            child,
            told: Some(told),
            said: BufReader::new(said),
            complaints,
            tried,
            words: self.words,
        })
    }
}

impl StayingGit {
    /// Tells it something.
    pub(crate) fn tell(&mut self, request: &[u8]) -> Result<()> {
        let told = self.told.as_mut().map_or_else(
            || Err(io::ErrorKind::BrokenPipe.into()),
            |told| told.write_all(request),
        );
        told.map_err(|error| self.failed(&error))
    }

    /// Tells it to change something, and hears that it has.
    pub(crate) fn changes(&mut self, request: &[u8], done: &[&str]) -> Result<()> {
        tm_faults::check("git: before").map_err(|error| self.failed(&error))?;
        self.tell(request)?;
        for expected in done {
            let line = self.line()?;
            if line != expected.as_bytes() {
                return Err(unexpected(&self.words, &line));
            }
        }
        tm_faults::point("git: after");
        Ok(())
    }

    /// Returns the next line that it says, without its end.
    pub(crate) fn line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let read = self.said.read_until(b'\n', &mut line);
        match read {
            Ok(_) if line.pop() == Some(b'\n') => Ok(line),
            Ok(_) => Err(self.failed(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Returns the next bytes that it says.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let read = self.said.read_exact(&mut bytes);
        read.map_err(|error| self.failed(&error)).map(|()| bytes)
    }

    /// What git said of its end, else how it was noticed.
    fn failed(&mut self, noticed: &io::Error) -> Error {
        self.end();
        let mut said = String::new();
        let read = self.complaints.rewind();
        let _as_far_as_it_can_be_read =
            read.and_then(|()| self.complaints.read_to_string(&mut said));
        let message = match said.trim_end() {
            "" => format!("it ended: {noticed}"),
            said => self.tried.doubt(said.to_owned()),
        };
        Error::Git {
            command: self.words.join(" "),
            message,
        }
    }

    /// Nothing more is told: it ends what it is at.
    fn end(&mut self) {
        self.told = None;
        // As long as nobody has waited for it, its number is nobody else's.
        STAYING.lock().remove(&self.child.id());
        let _nobody_waits_for_it_twice = self.child.wait();
    }
}

impl Drop for StayingGit {
    fn drop(&mut self) {
        self.end();
    }
}

fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

fn temporary() -> Result<File> {
    tempfile::tempfile().or_failed_to("write to", temporary_folder())
}
