//! What is to be started, and where its input and output are.
//!
//! Output goes straight into files, never through this process, so that a program outlives tm unharmed.

use super::beginning::Beginning;
use super::{Needs, ProcessIdentity};
use crate::{Error, OrFailedTo as _};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use tm_sandbox::Sandbox;
use tm_scheduler::Complexity;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// What a program reads.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
pub enum Stdin {
    /// Nothing: the first read finds the end.
    #[default]
    Closed,
    /// This file, from its beginning.
    File(#[serde(with = "any_path")] PathBuf),
}

/// What a program has of this process's environment.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub enum Inherited {
    /// All but these: names, or beginnings that end with `*`.
    AllBut(Vec<String>),
    /// Nothing.
    Nothing,
}

impl Default for Inherited {
    fn default() -> Self {
        Self::AllBut(Vec::new())
    }
}

/// Bytes at the end of a log in which the last line is looked for.
const LAST_WORDS: u64 = 4 * 1024;

/// A program to start as the root of a process tree.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct TreeCommand {
    /// The program: a path, or a name to look for in `PATH`.
    pub program: OsString,
    /// Its arguments, passed as they are; no shell sees them.
    pub arguments: Vec<OsString>,
    /// The folder it works in.
    #[serde(with = "any_path")]
    pub working_folder: PathBuf,
    /// What it has of this process's environment.
    pub inherited: Inherited,
    /// Variables to set on top of that.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads.
    pub stdin: Stdin,
    /// Where its output goes, appended.
    #[serde(with = "any_path")]
    pub stdout: PathBuf,
    /// Where its error output goes, appended; may be the same file.
    #[serde(with = "any_path")]
    pub stderr: PathBuf,
    /// Variables that are set and make every descendant known as part of this tree, such as `TM_RUN_ID`; together
    /// they must be unlike those of any other tree.
    pub env_markers: Vec<(String, String)>,
    /// What it is and needs, for whoever holds it; without it, it is not held.
    pub needs: Option<Needs>,
    /// Whether it reads and writes what this process does, and only its errors go into a file: that of the command of a filter,
    /// which git waits for.
    #[serde(skip)]
    pub passes_through: bool,
    /// How large its task is, for a place that gives more to larger ones.
    #[serde(skip)]
    pub complexity: Option<Complexity>,
    /// How it is held, said by whoever starts it; without it, it may do what whoever runs tm may.
    #[serde(skip)]
    pub sandbox: Option<Arc<Sandbox>>,
}

impl TreeCommand {
    /// Starts the program in a process group of its own; what is held tells of its beginning.
    pub(crate) fn spawn(&self) -> Result<(Child, ProcessIdentity, Option<Beginning>), Error> {
        let told = match &self.sandbox {
            Some(_) if cfg!(target_os = "linux") => {
                Some(Beginning::new().map_err(|source| self.not_started(source))?)
            }
            Some(_) | None => None,
        };
        let (beginning, told) = told.unzip();
        tm_untrusted::open_up_if_closed(&self.working_folder);
        let mut command = self.prepare(told.as_ref())?;
        let spawned = match &self.sandbox {
            Some(sandbox) => {
                let runtime = Handle::current();
                let spawn = move || {
                    let _within = runtime.enter();
                    command.spawn()
                };
                tm_sandbox::start(sandbox, spawn).flatten()
            }
            None => command.spawn(),
        };
        let child = spawned.map_err(|source| self.not_started(source))?;
        let pid = child
            .id()
            .ok_or_else(|| self.not_started(std::io::Error::other("it has no process number")))?;
        // A child that ended already is still there until it is waited for, so this can't miss it.
        let identity = ProcessIdentity::of(pid)
            .ok_or_else(|| Error::of_watching(pid, std::io::ErrorKind::NotFound.into()))?;
        Ok((child, identity, beginning))
    }

    fn prepare(&self, told: Option<&OwnedFd>) -> Result<Command, Error> {
        let mut command = if let Some(sandbox) = &self.sandbox {
            self.held(sandbox, told)?
        } else {
            self.unheld()
        };
        command
            .current_dir(&self.working_folder)
            .process_group(0)
            .envs(self.env_markers.clone())
            .stderr(open_log(&self.stderr)?);
        if self.passes_through {
            command.stdin(Stdio::inherit()).stdout(Stdio::inherit());
        } else {
            command.stdin(self.input()?).stdout(open_log(&self.stdout)?);
        }
        Ok(command)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is a part of the one place that starts trees"
    )]
    fn unheld(&self) -> Command {
        let found = self.found();
        let mut command = Command::new(found.as_deref().unwrap_or(Path::new(&self.program)));
        command.arg0(&self.program).args(&self.arguments);
        match &self.inherited {
            Inherited::Nothing => _ = command.env_clear(),
            Inherited::AllBut(dropped) => {
                for (name, _) in std::env::vars_os().filter(|(name, _)| is_named(dropped, name)) {
                    command.env_remove(name);
                }
            }
        }
        command.envs(self.environment.clone());
        command
    }

    /// What starts the program held. Whoever holds it would be started even where the program is not there, so that is
    /// looked for before.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is a part of the one place that starts trees"
    )]
    fn held(&self, sandbox: &Sandbox, told: Option<&OwnedFd>) -> Result<Command, Error> {
        let program = which::which_in(&self.program, self.search_path(), &self.working_folder)
            .map_err(|_| self.not_started(std::io::ErrorKind::NotFound.into()))?;
        let mut line = vec![program.into_os_string()];
        line.extend(self.arguments.iter().cloned());
        let mut line = tm_sandbox::line(sandbox, line, told.map(AsRawFd::as_raw_fd))
            .map_err(|source| self.not_started(source))?
            .into_iter();
        let mut command = Command::new(line.next().unwrap_or_default());
        let all = self.all_variables(&[]).into_iter();
        let given = all.map(|(name, value)| (tm_sandbox::given_name(&name), value));
        command.args(line).env_clear().envs(given);
        Ok(command)
    }

    /// Returns where the shell is. A name that has to be looked up in another `PATH` than tm's own is started by a fork of
    /// tm, which copies its page tables, and that takes longer than a short test; a path is not. Other names stay names: a
    /// lookup also runs scripts that name no interpreter, which a path does not.
    fn found(&self) -> Option<PathBuf> {
        if self.program != "sh" {
            return None;
        }
        which::which_in("sh", Some(self.search_path()?), &self.working_folder).ok()
    }

    /// Adds what its place has to say to what it complained about itself.
    pub(crate) fn add_to_log(&self, told: &[String]) {
        if told.is_empty() {
            return;
        }
        let lines = format!("\ntm: {}\n", told.join("\ntm: "));
        let written = tm_untrusted::append(&self.stderr)
            .and_then(|mut log| std::io::Write::write_all(&mut log, lines.as_bytes()));
        if let Err(error) = written {
            tracing::warn!(?error, lines, "this is not in a log");
        }
    }

    /// Returns the command with every variable spelled out that it would have here but for those that are named, so that it
    /// has them elsewhere.
    pub(crate) fn with_all_variables(&self, unlike: &[&str]) -> Self {
        Self {
            inherited: Inherited::Nothing,
            environment: self.all_variables(unlike),
            ..self.clone()
        }
    }

    fn all_variables(&self, unlike: &[&str]) -> Vec<(OsString, OsString)> {
        let mut all = match &self.inherited {
            Inherited::Nothing => Vec::new(),
            Inherited::AllBut(dropped) => std::env::vars_os()
                .filter(|(name, _)| !is_named(dropped, name) && !is_named(unlike, name))
                .collect(),
        };
        all.extend(self.environment.iter().cloned());
        all
    }

    /// Where the program finds others.
    pub(crate) fn search_path(&self) -> Option<OsString> {
        let is_path = |(name, _): &&(OsString, OsString)| name == "PATH";
        let of_tm = || {
            (self.inherited != Inherited::Nothing)
                .then(|| std::env::var_os("PATH"))
                .flatten()
        };
        self.environment
            .iter()
            .rfind(is_path)
            .map(|(_, path)| path.clone())
            .or_else(of_tm)
    }

    /// Opens what the program reads. One that is held gets a copy: what a process has open it can open again, and change
    /// where that lies outside of what it sees.
    fn input(&self) -> Result<Stdio, Error> {
        let Stdin::File(path) = &self.stdin else {
            return Ok(Stdio::null());
        };
        let opened = tm_untrusted::open(path).and_then(|file| match &self.sandbox {
            Some(_) => sealed(file),
            None => Ok(file),
        });
        opened.map(Stdio::from).or_failed_to("open", path)
    }

    /// What became of the program when it has not begun: what was to hold it has said why, as the last thing in its log.
    pub(crate) fn not_held(&self) -> Error {
        let said = tm_untrusted::read_end(&self.stderr, LAST_WORDS).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        self.not_held_since(last.unwrap_or("nothing was said").trim())
    }

    /// The program was not to begin unheld.
    pub(crate) fn not_held_since(&self, why: &str) -> Error {
        Error::Hold {
            program: self.program.to_string_lossy().into_owned(),
            why: why.to_owned(),
        }
    }

    /// Names the folder instead of the program when it is the folder that is missing.
    pub(crate) fn not_started(&self, source: std::io::Error) -> Error {
        if self.working_folder.is_dir() {
            Error::not_started(&self.program, &self.working_folder)(source)
        } else {
            Error::failed_to("open", &self.working_folder, source)
        }
    }
}

/// A path in a document, whatever bytes it has.
mod any_path {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

/// Copies a file into memory, where nobody changes it any more.
#[cfg(target_os = "linux")]
fn sealed(mut file: File) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Before Linux 6.3 there is no flag for what is no program, and from then on one without it may be refused.
    let made = memfd_create("tm-input", flags | MemfdFlags::NOEXEC_SEAL);
    let mut copy = File::from(made.or_else(|_| memfd_create("tm-input", flags))?);
    io::copy(&mut file, &mut copy)?;
    copy.rewind()?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&copy, seals)?;
    Ok(copy)
}

/// What holds programs here goes by rights and not by what is open.
#[cfg(not(target_os = "linux"))]
fn sealed(file: File) -> io::Result<File> {
    Ok(file)
}

/// The log of what nobody wants to read; any other device is refused.
const NOWHERE: &str = "/dev/null";

fn open_log(path: &Path) -> Result<Stdio, Error> {
    if path == Path::new(NOWHERE) {
        return Ok(Stdio::null());
    }
    tm_untrusted::append(path)
        .map(Stdio::from)
        .or_failed_to("open", path)
}

/// Tells whether a variable is among those that are named: by their names, or by beginnings that end with `*`.
pub(crate) fn is_named(patterns: &[impl AsRef<str>], name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    patterns
        .iter()
        .map(AsRef::as_ref)
        .any(|pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning.as_bytes()),
            None => name == pattern.as_bytes(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_dropped_by_name_and_by_beginning() {
        let patterns = ["AWS_*".to_owned(), "TOKEN".to_owned()];
        let dropped: Vec<&str> = ["AWS_KEY", "TOKEN", "TOKENS", "MY_AWS_KEY"]
            .into_iter()
            .filter(|name| is_named(&patterns, OsStr::new(name)))
            .collect();
        assert_eq!(dropped, ["AWS_KEY", "TOKEN"]);
    }
}
