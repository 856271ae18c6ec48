//! `tm waves logs`: an attempt in words: what its agent said and complained about, why it failed, what its tests printed.

use super::Perform;
use crate::display::{print_data, print_text};
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_app::KnownRun;
use tm_executors::agent::{LogEnd, LogReader, spoken};
use tm_reports::{Tone, toned};
use tm_runtime::{Replayed, replay};
use tm_scheduler::{AttemptNumber, AttemptRecord, Phase, Proof, TaskId, TaskView};
use tm_store::run::AttemptDirectory;

/// How often a log that is followed is read again.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);
/// So much of the end of what an agent complained about, or tests printed, is shown.
const MOST_PRINTED: u64 = 16 * 1024 * 1024;
/// How the logs of test runs begin that people ask for: of the work, of the work once more, of what it was merged to.
const TEST_RUNS: [&str; 3] = ["work", "again", "landing"];

/// `tm waves logs`.
#[derive(Args)]
pub(crate) struct LogsArguments {
    /// The task; `ID:red` is the half of a pair that writes its tests, `ID` the other one as soon as it was started.
    #[arg(value_name = "ID")]
    task: String,
    /// The attempt; the last one when not given.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// The run; the live or last one when not given.
    #[arg(long)]
    run: Option<String>,
    /// Go on until the attempt is over.
    #[arg(long, short)]
    follow: bool,
    /// What the test command printed about the attempt's work, instead.
    #[arg(long, conflicts_with_all = ["raw", "follow"])]
    tests: bool,
    /// What the agent printed, as it printed it, and nothing else.
    #[arg(long)]
    raw: bool,
}

impl Perform for LogsArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let KnownRun {
            directory,
            replayed,
        } = project.replayed(self.run.as_deref())?;
        let view = self.asked_for(&replayed)?;
        let task = &view.placed.task.id;
        let last = view.attempts.last().map(|record| record.number);
        let Some(attempt) = self.attempt.map(AttemptNumber).or(last) else {
            return Err(failure!(
                "show what `{task}` printed: it has not been started"
            ));
        };
        let printed = directory.attempt(task, attempt);
        if self.tests {
            return print_tests(&printed, task, attempt);
        }
        let mut log = LogReader::new(printed.stdout());
        while self.follow && !has_ended(&directory.journal(), task, attempt) {
            self.print_fresh(&mut log, LogEnd::Growing)?;
            std::thread::sleep(FOLLOW_EVERY);
        }
        self.print_fresh(&mut log, LogEnd::Final)?;
        if !self.raw {
            print_under("stderr", &read(&printed.stderr()));
            let now = replay(&directory.journal())?;
            let view = now.scheduler.task(task);
            if let Some(record) = view.and_then(|view| record_of(&view, attempt)) {
                print_end(record);
            }
        }
        Ok(0)
    }
}

impl LogsArguments {
    /// The half of the task that is asked for.
    fn asked_for<'r>(&self, replayed: &'r Replayed) -> Result<TaskView<'r>> {
        let (id, scheduler) = (TaskId::from(self.task.as_str()), &replayed.scheduler);
        let Some(view) = scheduler.task(&id) else {
            let run = &replayed.header.run_id;
            return Err(failure!("find the task `{id}` in the run {run}")
                .hint("`tm waves status` lists its tasks; the tests of a pair are `ID:red`"));
        };
        let task = &view.placed.task;
        let is_new_green = task.phase == Phase::Green && view.attempts.is_empty();
        let red = task.pair.as_ref().filter(|_| is_new_green);
        Ok(red.and_then(|red| scheduler.task(red)).unwrap_or(view))
    }

    /// Prints what has been added to a log since: whole lines while it grows, so that nothing is taken apart that has to
    /// be left out.
    fn print_fresh(&self, log: &mut LogReader, end: LogEnd) -> Result<()> {
        loop {
            let text = log
                .read(end)
                .map_err(|error| failure!("read what it printed: {error}"))?;
            if text.is_empty() {
                return Ok(());
            }
            let text = tm_untrusted::clean(&text);
            if self.raw {
                print_data(&text);
            } else {
                print_data(
                    &text
                        .lines()
                        .flat_map(spoken)
                        .map(|line| line + "\n")
                        .join(""),
                );
            }
        }
    }
}

fn read(log: &Path) -> String {
    let end = tm_untrusted::read_end(log, MOST_PRINTED).unwrap_or_default();
    tm_untrusted::clean(&String::from_utf8_lossy(&end))
}

/// Prints a text under a heading, where there is one.
fn print_under(heading: &str, text: &str) {
    if !text.trim().is_empty() {
        print_text(&format!("\n{}", toned(heading, Tone::Strong)));
        print_data(&format!("{}\n", text.trim_end()));
    }
}

/// Says how an attempt ended.
fn print_end(record: &AttemptRecord) {
    let number = record.number;
    let heading = match (record.failure(), record.proof().map(Proof::describe)) {
        (Some(failure), _) => toned(&format!("attempt {number} failed: {failure}"), Tone::Bad),
        (None, Some(proof)) => toned(&format!("attempt {number}: {proof}"), Tone::Good),
        (None, None) => return,
    };
    print_text(&format!("\n{heading}"));
    let evidence = tm_untrusted::clean(record.evidence());
    if !evidence.is_empty() {
        print_data(&format!("{}\n", evidence.trim_end()));
    }
}

fn print_tests(printed: &AttemptDirectory, task: &TaskId, attempt: AttemptNumber) -> Result {
    let entries = std::fs::read_dir(printed.path()).into_iter().flatten();
    let logs = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        let place = TEST_RUNS.iter().position(|name| stem.starts_with(name));
        place
            .filter(|_| is_log)
            .map(|place| (place, stem.to_owned()))
    };
    let logs = logs.filter_map(|path| Some((named(&path)?, path))).sorted();
    let logs = logs.collect_vec();
    if logs.is_empty() {
        return Err(failure!(
            "show what the tests of `{task}` printed: none were run in attempt {attempt}"
        )
        .hint(format!("`tm waves logs {task}` shows what its agent said")));
    }
    for ((_, name), path) in &logs {
        if logs.len() > 1 {
            print_text(&toned(&format!("tests of the {name}"), Tone::Strong));
        }
        print_data(&read(path));
    }
    Ok(0)
}

fn has_ended(journal: &Path, task: &TaskId, attempt: AttemptNumber) -> bool {
    let Ok(replayed) = replay(journal) else {
        return true;
    };
    let view = replayed.scheduler.task(task);
    let record = view.and_then(|view| record_of(&view, attempt));
    let is_done = record.is_none_or(|record| record.report().is_some());
    is_done || replayed.scheduler.ended().is_some()
}

fn record_of<'r>(view: &TaskView<'r>, attempt: AttemptNumber) -> Option<&'r AttemptRecord> {
    view.attempts.iter().find(|record| record.number == attempt)
}
