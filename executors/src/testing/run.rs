//! Runs the tests: a supervised process tree with a limit, its output in files, its results read.

use super::command::RESULTS_VARIABLE;
use super::load_errors::load_errors;
use super::results::{self, SetAside};
use super::{Parsed, TestCommand};
use crate::Error;
use crate::coverage;
use crate::process::{ProcessTree, Stdin, TreeCommand, TreeRecord, UnderWay};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tm_scheduler::{CommandEnd, Detail, TestOutcome, TestReport};

/// So much output is read at the most, from its beginning; results beyond that make the report broken.
const OUTPUT_BYTES: u64 = 64 * 1024 * 1024;
/// So much of the end of the output is kept for people.
const TAIL_BYTES: u64 = 4 * 1024;

/// Where tests are run.
#[derive(Clone, Copy, Debug)]
pub struct TestPlace<'a> {
    /// What is tested, and the folder in which the command works.
    pub worktree: &'a Path,
    /// The folder for raw output and results.
    pub scratch: &'a Path,
    /// Where the run is written down as long as it goes on.
    pub under_way: &'a UnderWay,
}

/// Runs the tests and reads their results. Raw output goes to `<scratch>/<name>.log`.
///
/// Whatever goes wrong is in the report; nothing that the command started is left when this returns. What a tm that is
/// gone left running of its tests is ended before.
pub async fn run_tests(command: &TestCommand, place: TestPlace<'_>, name: &str) -> TestReport {
    let TestPlace { worktree, scratch, under_way } = place;
    let log = scratch.join(format!("{name}.log"));
    let results_file = scratch.join(format!("{name}.results"));
    // Nothing of before may write into the log, the results or the worktree any more.
    if let Err(error) = under_way.end_abandoned().await {
        return TestReport::without_results(CommandEnd::NotStarted(error.with_causes()));
    }
    // A log of an earlier, interrupted measurement must not be read as part of this one.
    let set_aside = remove(&log).and_then(|()| SetAside::new(command, worktree, &results_file));
    let set_aside = match set_aside {
        Ok(set_aside) => set_aside,
        Err(error) => return TestReport::without_results(CommandEnd::NotStarted(error.to_string())),
    };
    let started = SystemTime::now();
    let end = match run(command, worktree, &log, &results_file, under_way).await {
        Ok(end) => end,
        Err(error) => CommandEnd::NotStarted(error.with_causes()),
    };
    let output = beginning(&log).unwrap_or_default();
    let is_cut = std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > OUTPUT_BYTES);
    let mut parsed = results::read(command, worktree, &results_file, &output);
    set_aside.put_back();
    if let Some(parsed) = parsed.as_mut().filter(|_| is_cut) {
        parsed.breaks("there is too much output");
    }
    let mut report = report(end, parsed);
    report.coverage = coverage::read(worktree, started);
    report.output_tail = tail(&log).unwrap_or_default();
    // Some frameworks say why a file can't be loaded in their results only.
    let said = report.messages.values().fold(output, |said, message| said + "\n" + message);
    report.load_errors = load_errors(&said, worktree);
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

async fn run(
    command: &TestCommand,
    worktree: &Path,
    log: &Path,
    results_file: &Path,
    under_way: &UnderWay,
) -> Result<CommandEnd, Error> {
    let Some((program, arguments)) = command.argv.split_first() else {
        return Ok(CommandEnd::NotStarted("the command is empty".to_owned()));
    };
    let tree_command = TreeCommand {
        program: program.clone(),
        arguments: arguments.to_vec(),
        working_folder: worktree.to_owned(),
        dropped: vec!["GIT_*".to_owned(), "TM_*".to_owned()],
        environment: vec![
            (RESULTS_VARIABLE.into(), results_file.into()),
            // Python takes bytecode for fresh by whole seconds and size; worktrees change faster than that.
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        ],
        stdin: Stdin::Closed,
        stdout: log.to_owned(),
        stderr: log.to_owned(),
        marks: vec![("TM_TESTS_LOG".to_owned(), log.display().to_string())],
    };
    // Dropped after the tree: as long as anything of it may be left, it is written down.
    let mut record = under_way.begin(&tree_command.marks)?;
    let mut tree = ProcessTree::spawn(&tree_command)?;
    let end = see_to_the_end(&mut tree, &mut record, command.timeout).await;
    tree.kill().await;
    end
}

async fn see_to_the_end(tree: &mut ProcessTree, record: &mut TreeRecord, limit: Duration) -> Result<CommandEnd, Error> {
    if let Some(leader) = tree.leader() {
        record.started(leader)?;
    }
    match tokio::time::timeout(limit, tree.wait()).await {
        Ok(status) => Ok(CommandEnd::Exited(status?.and_then(|status| status.code()))),
        Err(_elapsed) => Ok(CommandEnd::TimedOut),
    }
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

fn report(end: CommandEnd, parsed: Option<Parsed>) -> TestReport {
    let Some(mut parsed) = parsed else { return TestReport::without_results(end) };
    let has_failed = parsed.tests.values().any(|outcome| *outcome == TestOutcome::Failed);
    if matches!(end, CommandEnd::Exited(Some(code)) if code != 0) && !has_failed {
        parsed.breaks("the test command fails although no test does");
    }
    let failed = |name: &String| parsed.tests.get(name) == Some(&TestOutcome::Failed);
    let messages = parsed.messages.into_iter().filter(|(name, _)| failed(name)).collect();
    TestReport {
        detail: Detail::PerTest,
        messages,
        tests: parsed.tests,
        broken: parsed.broken,
        ..TestReport::without_results(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run_here(text: &str, timeout: Duration) -> TestReport {
        let folder = tempfile::tempdir().expect("a folder");
        let command = TestCommand { timeout, ..TestCommand::shell(text, None) };
        let under_way = UnderWay::new(folder.path().join("under-way"));
        let place = TestPlace { worktree: folder.path(), scratch: folder.path(), under_way: &under_way };
        run_tests(&command, place, "work").await
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
