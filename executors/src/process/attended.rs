//! Programs beside the agents: one that a person attends to, and one that has a limit.

use super::{ProcessTree, TreeCommand};
use crate::Error;
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
    command
        .args(arguments)
        .current_dir(folder)
        .kill_on_drop(true);
    let started = |source| Error::Start {
        program: program.to_owned(),
        working_folder: folder.to_owned(),
        source,
    };
    command.status().await.map_err(started)
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
    tree.kill().await;
    match ended {
        Ok(status) => status,
        Err(_elapsed) => Ok(None),
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
}
