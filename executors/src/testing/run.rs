//! Runs the tests: a supervised process tree with a limit, its output in files, its results read.

use super::asking::{Asked, Expected, ask};
use super::closure::folders;
use super::command::RESULTS_VARIABLE;
use super::load_errors::{load_errors, mistakes};
use super::results::{self, SetAside, Written};
use super::{Parsed, TestCommand, reading};
use crate::Error;
use crate::coverage;
use crate::engine::Executor;
use crate::environment::{CommandEnvironment, PrivateFolder};
use crate::process::{Besides, JobKind, Stdin, TreeCommand};
use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tm_scheduler::{CommandEnd, Detail, TestOutcome, TestReport};
use tokio::task::block_in_place;

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
    /// Where they are started.
    pub executor: &'a Executor,
    /// Variables of the place, on top of those of the command.
    pub variables: &'a [(OsString, OsString)],
    /// What the command is given besides.
    pub besides: &'a Besides,
}

/// Runs the tests and reads their results. Raw output goes to `<scratch>/<name>.log`.
///
/// What goes wrong with the command is in the report; nothing that it started is left when this returns. What a tm that is
/// gone left running of its tests is ended before.
///
/// # Errors
/// It could not be started for a reason that has nothing to do with what is tested ([`Error::is_of_surroundings`]).
pub async fn run_tests(
    command: &TestCommand,
    place: TestPlace<'_>,
    name: &str,
) -> Result<TestReport, Error> {
    let log = place.scratch.join(format!("{name}.log"));
    // Nothing of before may write into the log, the results or the worktree any more.
    place.executor.end_abandoned().await?;
    // A log of an earlier, interrupted measurement must not be read as part of this one.
    let prepared =
        tm_untrusted::remove(&log).and_then(|()| block_in_place(|| Prepared::new(command, place)));
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let end = CommandEnd::NotStarted(error.to_string());
            return Ok(TestReport::without_results(end));
        }
    };
    let started = SystemTime::now();
    let tree_command = prepared.tree_command(place, &log);
    let end = match run(&tree_command, command.timeout, place.executor).await {
        Ok(end) => end,
        Err(error) if error.is_of_surroundings() => {
            prepared.set_aside.put_back();
            return Err(error);
        }
        Err(error) => CommandEnd::NotStarted(error.with_causes()),
    };
    // However long that takes, signals and limits of others are heard.
    let ran = Ran {
        command,
        place,
        prepared,
        tree_command,
        started,
    };
    Ok(block_in_place(|| ran.told(end)))
}

/// A run of the tests that has ended.
struct Ran<'a> {
    command: &'a TestCommand,
    place: TestPlace<'a>,
    prepared: Prepared,
    tree_command: TreeCommand,
    started: SystemTime,
}

impl Ran<'_> {
    /// Reads what it left.
    fn told(self, end: CommandEnd) -> TestReport {
        let Self {
            command,
            place,
            prepared,
            tree_command,
            started,
        } = self;
        let log = &tree_command.stdout;
        let look = || reading::beginning(log, OUTPUT_BYTES).unwrap_or_default();
        let printed = OnceCell::new();
        let written = Written {
            worktree: place.worktree,
            file: &prepared.file(),
            output: &|| &printed.get_or_init(look).0,
        };
        let mut parsed = results::read(command, &prepared.asked.expected, &written);
        prepared.set_aside.put_back();
        let (output, is_cut) = printed.into_inner().unwrap_or_else(look);
        if let Some(parsed) = parsed.as_mut().filter(|_| is_cut) {
            parsed.breaks("there is too much output");
        }
        let mut report = report(end, parsed);
        report.coverage = coverage::read(place.worktree, started);
        report.output_tail = reading::end(log, TAIL_BYTES).unwrap_or_default();
        let messages: Vec<&str> = report.messages.values().map(String::as_str).collect();
        report.refused = place.executor.refused(&tree_command, &messages.join("\n"));
        // Some frameworks say why a file can't be loaded in their results only.
        let said = report
            .messages
            .values()
            .fold(output, |said, message| said + "\n" + message);
        let folders = folders(command, place.worktree);
        report.load_errors = load_errors(&said, &folders);
        report.mistakes = mistakes(&said, &folders);
        report
            .messages
            .values_mut()
            .for_each(|message| *message = tm_untrusted::clean(message));
        without_place(&mut report, place.worktree);
        report
    }
}

/// Everything that one run of the tests has for itself.
struct Prepared {
    environment: CommandEnvironment,
    asked: Asked,
    set_aside: SetAside,
    /// Holds the results; its name can't be guessed, and is what a report is called.
    results: PrivateFolder,
}

impl Prepared {
    fn new(command: &TestCommand, place: TestPlace<'_>) -> std::io::Result<Self> {
        let (worktree, temporary) = (place.worktree, place.executor.temporary_folder());
        let environment = CommandEnvironment::fresh_in(&temporary, &command.environment)?;
        let results = PrivateFolder::new_in(&temporary)?;
        let asked = ask(command, worktree, &environment, &results_file(&results));
        let set_aside = SetAside::new(command, worktree)?;
        Ok(Self {
            environment,
            asked,
            set_aside,
            results,
        })
    }

    fn file(&self) -> PathBuf {
        results_file(&self.results)
    }

    fn tree_command(&self, place: TestPlace<'_>, log: &Path) -> TreeCommand {
        let mut argv = self.asked.argv.iter().cloned();
        let mut besides = place.besides.clone();
        besides.write.push(self.results.path().to_owned());
        let of_place = place.variables.iter().cloned();
        TreeCommand {
            program: argv.next().unwrap_or_default(),
            arguments: argv.collect(),
            working_folder: place.worktree.to_owned(),
            inherited: self.environment.inherited(),
            environment: self.variables().into_iter().chain(of_place).collect(),
            stdin: Stdin::Closed,
            stdout: log.to_owned(),
            stderr: log.to_owned(),
            env_markers: vec![("TM_TESTS_LOG".to_owned(), log.display().to_string())],
            needs: Some(self.environment.needs(JobKind::Tests, besides)),
            ..TreeCommand::default()
        }
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = self.environment.variables();
        variables.extend(self.asked.variables.iter().cloned());
        // Only who may write there is told where.
        if matches!(self.asked.expected, Expected::OneOf(_)) {
            variables.push((RESULTS_VARIABLE.into(), self.file().into()));
        }
        variables
    }
}

fn results_file(folder: &PrivateFolder) -> PathBuf {
    folder.path().join("results")
}

/// Takes the worktree's path out of names: the same test is run in many worktrees.
fn without_place(report: &mut TestReport, worktree: &Path) {
    let place = format!("{}/", worktree.display());
    let named = |name: &String| name.contains(&place);
    for name in report
        .tests
        .keys()
        .filter(|name| named(name))
        .cloned()
        .collect::<Vec<_>>()
    {
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
    command: &TreeCommand,
    limit: Duration,
    executor: &Executor,
) -> Result<CommandEnd, Error> {
    if command.program.is_empty() {
        return Ok(CommandEnd::NotStarted("the command is empty".to_owned()));
    }
    let end = executor.run(command, limit).await?;
    Ok(end.map_or(CommandEnd::TimedOut, |end| CommandEnd::Exited(end.code())))
}

fn report(end: CommandEnd, parsed: Option<Parsed>) -> TestReport {
    let Some(mut parsed) = parsed else {
        return TestReport::without_results(end);
    };
    let has_failed = parsed
        .tests
        .values()
        .any(|outcome| *outcome == TestOutcome::Failed);
    if matches!(end, CommandEnd::Exited(Some(code)) if code != 0) && !has_failed {
        parsed.breaks("the test command fails although no test does");
    }
    let failed = |name: &String| parsed.tests.get(name) == Some(&TestOutcome::Failed);
    let messages = parsed
        .messages
        .into_iter()
        .filter(|(name, _)| failed(name))
        .collect();
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
        let command = TestCommand {
            timeout,
            ..TestCommand::shell(text, None)
        };
        let executor = Executor::local(folder.path().join("under-way"));
        let place = TestPlace {
            worktree: folder.path(),
            scratch: folder.path(),
            executor: &executor,
            variables: &[],
            besides: &Besides::default(),
        };
        let report = run_tests(&command, place, "work").await;
        report.expect("room for it")
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test(flavor = "multi_thread")]
    async fn tap_is_known_by_its_plan_and_read_test_by_test() {
        let report = run_here("echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1", LONG).await;
        assert_eq!(
            (report.detail, report.tests.len(), report.broken),
            (Detail::PerTest, 2, None)
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn other_output_leaves_the_exit_status() {
        let report = run_here("echo fine; exit 3", LONG).await;
        assert_eq!(
            (report.detail, report.end),
            (Detail::ExitStatusOnly, CommandEnd::Exited(Some(3)))
        );
        assert_eq!(report.output_tail, "fine\n");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_command_that_fails_without_a_failing_test_is_broken() {
        let report = run_here("echo 1..1; echo ok 1 - a; exit 1", LONG).await;
        assert!(report.broken.is_some());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_hanging_command_is_ended_with_all_that_it_started() {
        let report = run_here("sleep 1000 & sleep 1000", Duration::from_millis(200)).await;
        assert_eq!(report.end, CommandEnd::TimedOut);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg(target_os = "linux")]
    async fn tests_that_print_much_take_little_room_and_have_no_results() {
        // They end when some of it was given back, while they go on.
        let printing = "echo 1..1; echo ok 1; head -c 100000000 /dev/zero; echo the end
            until [ $(stat -Lc %b /proc/self/fd/2) -lt 170000 ]; do sleep 0.01; done";
        let report = run_here(printing, Duration::from_secs(20)).await;
        assert_eq!(report.end, CommandEnd::Exited(Some(0)));
        assert_eq!(report.broken.as_deref(), Some("there is too much output"));
        assert!(report.output_tail.ends_with("the end\n"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn variables_of_git_and_tm_do_not_reach_the_tests() {
        let report = run_here("env | grep -c '^GIT_' ; exit 0", LONG).await;
        assert_eq!(report.output_tail, "0\n");
    }
}
