//! Variables whose values commands of the user tell: asked for outside of what holds jobs, and handed to processes of their
//! kinds alone, in their environment. A value is in no argument and in no message, and in no file but the order of a job
//! for another machine until that begins; what others print of it is left out of whatever this process keeps.

use crate::Error;
use crate::process::JobKind;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A variable whose value a command tells.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Secret {
    /// The variable.
    pub name: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Where it is run.
    pub folder: PathBuf,
    /// Which processes have the variable.
    pub kinds: Vec<JobKind>,
}

/// What commands told this process.
static TOLD: Mutex<BTreeMap<Secret, String>> = Mutex::new(BTreeMap::new());

/// So long a command may take, which may ask somebody at a screen.
const LIMIT: Duration = Duration::from_mins(1);
/// So much of what it prints is read: a secret is a line.
const MOST_BYTES: u64 = 64 * 1024;

impl Secret {
    /// Asks for the value, which is known from then on.
    ///
    /// # Errors
    /// The command tells none.
    pub async fn ask(&self) -> Result<(), Error> {
        let told = self.told(LIMIT).await;
        let value = told.map_err(|source| Error::Secret {
            name: self.name.clone(),
            command: self.words(),
            source,
        })?;
        tm_untrusted::keep_secret(&value);
        TOLD.lock().insert(self.clone(), value);
        Ok(())
    }

    /// Returns the command as its user wrote it.
    pub fn words(&self) -> String {
        match self.command.as_slice() {
            [shell, flag, line] if shell == "sh" && flag == "-c" => line.clone(),
            words => words.join(" "),
        }
    }

    /// Returns the variable with its value, which is asked for where nobody has.
    pub(super) async fn variable(&self) -> Result<(OsString, OsString), Error> {
        let known = || TOLD.lock().get(self).cloned();
        let mut value = known();
        if value.is_none() {
            self.ask().await?;
            value = known();
        }
        Ok((self.name.clone().into(), value.unwrap_or_default().into()))
    }

    async fn told(&self, limit: Duration) -> io::Result<String> {
        let mut child = self.start()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let all = async { tokio::join!(beginning(stdout), beginning(stderr), child.wait()) };
        let Ok((printed, complaint, status)) = tokio::time::timeout(limit, all).await else {
            // What it started ends with it.
            let _gone = group.map(|group| kill_process_group(group, Signal::KILL));
            let words = format!("it did not end within {} seconds", limit.as_secs());
            return Err(io::Error::other(words));
        };
        if !status?.success() {
            let complaint = complaint?;
            let last = complaint.lines().rfind(|line| !line.trim().is_empty());
            let words = tm_untrusted::line(&tm_untrusted::clean(last.unwrap_or_default()), 200);
            let words = format!("it failed: {words}");
            return Err(io::Error::other(words.trim_end_matches(": ").to_owned()));
        }
        let value = printed?
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        match value.as_str() {
            "" => Err(io::Error::other("it printed nothing in its first line")),
            value if value.contains('\0') => Err(io::Error::other("no variable can hold it")),
            _ => Ok(value),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is where programs are started"
    )]
    fn start(&self) -> io::Result<tokio::process::Child> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_own = self.name.starts_with("TM_") || self.name.is_empty();
        if is_own || !self.name.bytes().all(is_letter) {
            return Err(io::Error::other(
                "programs can't be given a variable of that name",
            ));
        }
        let (program, arguments) = self.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        tm_faults::check("secret: before")?;
        tokio::process::Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }
}

async fn beginning(output: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        output.take(MOST_BYTES).read_to_end(&mut bytes).await?;
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("what it printed is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str, line: &str) -> Secret {
        Secret {
            name: name.to_owned(),
            command: ["sh", "-c", line].map(str::to_owned).to_vec(),
            folder: "/".into(),
            kinds: vec![JobKind::Agent],
        }
    }

    #[tokio::test]
    async fn the_first_line_is_the_value_and_why_there_is_none_is_said() {
        for (name, line, told) in [
            ("A", "echo ' one '; echo url: x", Ok("one")),
            ("A", "yes", Err("it failed")),
            ("A", "printf one", Ok("one")),
            ("A", "true", Err("it printed nothing in its first line")),
            (
                "A",
                "echo; echo x",
                Err("it printed nothing in its first line"),
            ),
            (
                "A",
                "echo first >&2; echo locked >&2; exit 3",
                Err("it failed: locked"),
            ),
            ("A", "printf 'a\\0b'", Err("no variable can hold it")),
            ("A", "printf '\\377'", Err("what it printed is no text")),
            (
                "A",
                "sleep 1000 & sleep 1000",
                Err("it did not end within 1 seconds"),
            ),
            (
                "TM_RUN_ID",
                "echo x",
                Err("programs can't be given a variable of that name"),
            ),
            (
                "A=B",
                "echo x",
                Err("programs can't be given a variable of that name"),
            ),
        ] {
            let limit = if line.starts_with("sleep") {
                Duration::from_secs(1)
            } else {
                LIMIT
            };
            let found = secret(name, line).told(limit).await;
            let found = found.map_err(|error| error.to_string());
            assert_eq!(
                found,
                told.map(str::to_owned).map_err(str::to_owned),
                "{line}"
            );
        }
    }

    #[tokio::test]
    async fn it_is_asked_for_once_and_anew_when_somebody_looks_and_left_out_of_texts() {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = Secret {
            folder: folder.path().to_owned(),
            ..secret("A", "echo x >> asked; echo the-value-$(wc -l < asked)")
        };
        for (number, asks) in [(1, false), (1, false), (2, true), (2, false)] {
            if asks {
                secret.ask().await.expect("told");
            }
            let (_, value) = secret.variable().await.expect("told");
            assert_eq!(value, *format!("the-value-{number}"));
        }
        assert_eq!(tm_untrusted::clean("say the-value-2!"), "say [redacted]!");
    }
}
