//! Runs the tests: a supervised process tree with a limit, its output in files, its results read.

use super::load_errors::load_errors;
use super::{Parsed, ResultFormat, TestCommand, cargo, tap};
use crate::process::{ProcessTree, Stdin, TreeCommand};
use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tm_scheduler::{CommandEnd, Detail, TestReport};

/// So much output is read at the most, from its beginning; results beyond that make the report broken.
const OUTPUT_BYTES: u64 = 64 * 1024 * 1024;
/// So much of the end of the output is kept for people.
const TAIL_BYTES: u64 = 4 * 1024;

/// Runs the tests in `worktree` and reads their results. Raw output goes to `<scratch>/<name>.log`.
///
/// Whatever goes wrong is in the report; nothing that the command started is left when this returns.
pub async fn run_tests(command: &TestCommand, worktree: &Path, scratch: &Path, name: &str) -> TestReport {
    let log = scratch.join(format!("{name}.log"));
    // A log of an earlier, interrupted measurement must not be read as part of this one.
    if let Err(error) = remove(&log) {
        return report(
            CommandEnd::NotStarted(error.to_string()),
            Parsed::default(),
            Detail::ExitStatusOnly,
            String::new(),
        );
    }
    let end = run(command, worktree, &log).await;
    let output = beginning(&log).unwrap_or_default();
    let tail = tail(&log).unwrap_or_default();
    let is_cut = std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > OUTPUT_BYTES);
    let mut report = read_results(command.format, end, &output, tail, is_cut);
    report.load_errors = load_errors(&output, worktree);
    without_place(&mut report, worktree);
    report
}

/// Takes the worktree's path out of names: the same test is run in many worktrees.
fn without_place(report: &mut TestReport, worktree: &Path) {
    let place = format!("{}/", worktree.display());
    let named = |name: &String| name.contains(&place);
    for name in report.tests.keys().filter(|name| named(name)).cloned().collect::<Vec<_>>() {
        let short = name.replace(&place, "");
        if let Some(outcome) = report.tests.remove(&name) {
            report.tests.insert(short.clone(), outcome);
        }
        if let Some(message) = report.messages.remove(&name) {
            report.messages.insert(short, message);
        }
    }
}

fn read_results(format: ResultFormat, end: CommandEnd, output: &str, tail: String, is_cut: bool) -> TestReport {
    let parsed = match format {
        ResultFormat::Tap => Some(tap::parse(output)),
        ResultFormat::Cargo => Some(cargo::parse(output)),
        ResultFormat::Auto if tap::looks_like_tap(output) => Some(tap::parse(output)),
        ResultFormat::Auto if cargo::looks_like_cargo(output) => Some(cargo::parse(output)),
        ResultFormat::Auto | ResultFormat::ExitStatus => None,
    };
    let Some(mut parsed) = parsed else { return report(end, Parsed::default(), Detail::ExitStatusOnly, tail) };
    if is_cut {
        parsed.breaks("there is too much output");
    }
    let has_failed = parsed.tests.values().any(|outcome| *outcome == tm_scheduler::TestOutcome::Failed);
    if matches!(end, CommandEnd::Exited(Some(code)) if code != 0) && !has_failed {
        parsed.breaks("the test command fails although no test does");
    }
    report(end, parsed, Detail::PerTest, tail)
}

async fn run(command: &TestCommand, worktree: &Path, log: &Path) -> CommandEnd {
    let Some((program, arguments)) = command.argv.split_first() else {
        return CommandEnd::NotStarted("the command is empty".to_owned());
    };
    let tree_command = TreeCommand {
        program: program.clone(),
        arguments: arguments.to_vec(),
        working_folder: worktree.to_owned(),
        dropped: vec!["GIT_*".to_owned(), "TM_*".to_owned()],
        stdin: Stdin::Closed,
        stdout: log.to_owned(),
        stderr: log.to_owned(),
        marks: vec![("TM_TESTS_LOG".to_owned(), log.display().to_string())],
        ..TreeCommand::default()
    };
    let mut tree = match ProcessTree::spawn(&tree_command) {
        Ok(tree) => tree,
        Err(error) => return CommandEnd::NotStarted(error.with_causes()),
    };
    let end = match tokio::time::timeout(command.timeout, tree.wait()).await {
        Ok(Ok(status)) => CommandEnd::Exited(status.and_then(|status| status.code())),
        Ok(Err(error)) => CommandEnd::NotStarted(error.with_causes()),
        Err(_elapsed) => CommandEnd::TimedOut,
    };
    tree.kill().await;
    end
}

fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn beginning(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn report(end: CommandEnd, parsed: Parsed, detail: Detail, output_tail: String) -> TestReport {
    let failed = |name: &String| parsed.tests.get(name) == Some(&tm_scheduler::TestOutcome::Failed);
    let messages: BTreeMap<String, String> =
        parsed.messages.clone().into_iter().filter(|(name, _)| failed(name)).collect();
    TestReport {
        detail,
        messages,
        tests: parsed.tests,
        broken: parsed.broken,
        output_tail,
        ..TestReport::without_results(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn run_here(text: &str, timeout: Duration) -> TestReport {
        let folder = tempfile::tempdir().expect("a folder");
        let command = TestCommand { timeout, ..TestCommand::shell(text, None) };
        run_tests(&command, folder.path(), folder.path(), "work").await
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn tap_is_known_by_its_plan_and_read_test_by_test() {
        let report = run_here("echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1", LONG).await;
        assert_eq!((report.detail, report.tests.len(), report.broken), (Detail::PerTest, 2, None));
    }

    #[tokio::test]
    async fn other_output_leaves_the_exit_status() {
        let report = run_here("echo fine; exit 3", LONG).await;
        assert_eq!((report.detail, report.end), (Detail::ExitStatusOnly, CommandEnd::Exited(Some(3))));
        assert_eq!(report.output_tail, "fine\n");
    }

    #[tokio::test]
    async fn a_command_that_fails_without_a_failing_test_is_broken() {
        let report = run_here("echo 1..1; echo ok 1 - a; exit 1", LONG).await;
        assert!(report.broken.is_some());
    }

    #[tokio::test]
    async fn a_hanging_command_is_ended_with_all_that_it_started() {
        let report = run_here("sleep 1000 & sleep 1000", Duration::from_millis(200)).await;
        assert_eq!(report.end, CommandEnd::TimedOut);
    }

    #[tokio::test]
    async fn variables_of_git_and_tm_do_not_reach_the_tests() {
        let report = run_here("env | grep -c '^GIT_' ; exit 0", LONG).await;
        assert_eq!(report.output_tail, "0\n");
    }
}
