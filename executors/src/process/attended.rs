//! Programs beside the agents: one that a person attends to, and one that has a limit.

use super::{ProcessTree, TreeCommand};
use crate::{Error, OrFailedTo as _};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// Runs a program at the terminal of this process, for a person to use.
///
/// # Errors
/// It could not be started.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where programs are started"
)]
pub async fn run_attended(
    program: &str,
    arguments: &[&str],
    folder: &Path,
) -> Result<ExitStatus, Error> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).current_dir(folder);
    command
        .kill_on_drop(true)
        .status()
        .await
        .map_err(Error::not_started(program.as_ref(), folder))
}

/// Runs a program to its end, or until the limit; `None` when it was ended then. Nothing of it is left afterwards.
///
/// # Errors
/// It could not be started or watched.
pub async fn run_within(
    command: &TreeCommand,
    limit: Duration,
) -> Result<Option<ExitStatus>, Error> {
    let mut tree = ProcessTree::spawn(command)?;
    let ended = tokio::time::timeout(limit, tree.wait()).await;
    tree.end(Duration::ZERO).await;
    ended.unwrap_or(Ok(None))
}

/// What is read of a program's output, in bytes; it is for a few lines.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;

/// What became of a program that was asked something.
#[derive(Debug)]
pub struct Captured {
    /// How it ended; `None` when it was ended at its limit.
    pub status: Option<ExitStatus>,
    /// What it wrote to its output.
    pub stdout: String,
    /// What it wrote to its error output.
    pub stderr: String,
}

impl Captured {
    /// Whether it ended by itself, and well.
    pub fn has_succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a program as [`run_within`] does and returns what it wrote; where its output goes and by what it is known is
/// seen to here.
///
/// # Errors
/// It could not be started or watched, or its output not be read.
pub async fn run_captured(command: TreeCommand, limit: Duration) -> Result<Captured, Error> {
    let folder = tempfile::tempdir().or_failed_to("open", &std::env::temp_dir())?;
    let command = TreeCommand {
        stdout: folder.path().join("stdout"),
        stderr: folder.path().join("stderr"),
        env_markers: vec![("TM_CALL".to_owned(), folder.path().display().to_string())],
        ..command
    };
    let status = run_within(&command, limit).await?;
    let said = |path: &Path| {
        let bytes = tm_untrusted::read_beginning(path, MOST_OUTPUT).or_failed_to("read", path)?;
        Ok::<_, Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Captured {
        status,
        stdout: said(&command.stdout)?,
        stderr: said(&command.stderr)?,
    })
}

/// Returns a word as the shell reads it: in quotation marks where it is not plain.
pub(crate) fn shell_quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=/.,:".contains(letter);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the words of a command as `sh` runs it.
pub fn shell_words(command: &str) -> (OsString, Vec<OsString>) {
    ("sh".into(), vec!["-c".into(), command.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(folder: &Path, text: &str) -> TreeCommand {
        let (program, arguments) = shell_words(text);
        let log = folder.join("log");
        let env_markers = vec![("TM_ATTENDED_TEST".to_owned(), folder.display().to_string())];
        TreeCommand {
            program,
            arguments,
            working_folder: folder.to_owned(),
            stdout: log.clone(),
            stderr: log,
            env_markers,
            ..TreeCommand::default()
        }
    }

    #[tokio::test]
    async fn a_program_has_its_exit_code_or_is_ended_at_its_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = async |text: &str, limit| {
            let ended = run_within(&command(folder.path(), text), limit)
                .await
                .expect("started");
            ended.and_then(|status| status.code())
        };
        assert_eq!(
            run("echo hello; exit 3", Duration::from_mins(1)).await,
            Some(3)
        );
        assert_eq!(run("sleep 1000", Duration::from_millis(50)).await, None);
        assert_eq!(
            std::fs::read_to_string(folder.path().join("log")).expect("a log"),
            "hello\n"
        );
        let asked = TreeCommand {
            env_markers: Vec::new(),
            ..command(folder.path(), "echo here; echo there >&2")
        };
        let captured = run_captured(asked, Duration::from_mins(1)).await;
        let captured = captured.expect("started");
        assert!(captured.has_succeeded());
        assert_eq!(
            (captured.stdout, captured.stderr),
            ("here\n".to_owned(), "there\n".to_owned())
        );
        run_within(
            &TreeCommand {
                program: "/nowhere".into(),
                ..command(folder.path(), "")
            },
            Duration::from_mins(1),
        )
        .await
        .expect_err("there is no such program");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn whoever_holds_a_program_is_left_to_end_by_itself_and_others_are_ended() {
        let minute = Duration::from_mins(1);
        let a_while = "i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done";
        let for_ever = "while :; do :; done";
        // What another program has left is that one's to end.
        let elsewhere = tempfile::tempdir().expect("a folder");
        let leaves = "mkfifo begun; (setsid sh -c 'echo > begun; exec sleep 1000' &); read _ < begun; exec sleep 1000";
        let mut other = ProcessTree::spawn(&command(elsewhere.path(), leaves)).expect("started");
        let has_ended = async |name: &str, goes_on: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            // Goes on after the program has ended and that was noticed, and starts no process of its own.
            let after = format!(
                "echo > begun; while kill -0 $0 2> /dev/null; do :; done; {goes_on}; echo > ended"
            );
            let text = format!(
                "mkfifo begun; ln -s /bin/sh {name}; ./{name} -c '{after}' $$ & read _ < begun"
            );
            let ended = run_within(&command(folder.path(), &text), minute).await;
            assert!(
                ended
                    .expect("started")
                    .is_some_and(|status| status.success())
            );
            folder.path().join("ended").exists()
        };
        assert!(!has_ended("other", for_ever).await);
        // An orphan of another test may be taken for one of this program's in the moment in which nobody can say whose it
        // is; then all are ended.
        let mut is_left_alone = false;
        for _ in 0..5 {
            is_left_alone |= has_ended("bwrap", a_while).await;
        }
        assert!(is_left_alone);
        assert_eq!(other.end(Duration::ZERO).await, 1, "what it left");
    }
}
