//! What people see while a loop goes on: a spinner a tag on a terminal, lines without one, nothing for programs.

use crate::display::{Output, print_line};
use crate::screen::clock;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;
use tm_reports::{human_duration, iteration_line};
use tm_runtime::loops::{LoopEvent, TaggedLoopEvent};
use tm_scheduler::{Tag, Timestamp};

/// How much of what agents print is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Talk {
    /// Each line as it comes.
    Everything,
    /// Their final messages.
    FinalMessages,
    /// Nothing.
    Nothing,
}

/// How a loop is shown.
#[derive(Debug)]
pub(crate) struct LoopDisplay {
    began: Timestamp,
    output: Output,
    talk: Talk,
    tags: usize,
    bars: Option<MultiProgress>,
    spinners: BTreeMap<Tag, ProgressBar>,
}

impl LoopDisplay {
    /// Chooses by what is asked for and by what stderr is.
    pub(crate) fn new(output: Output, talk: Talk, tags: usize, began: Timestamp) -> Self {
        let is_live =
            output == Output::People && talk != Talk::Everything && std::io::stderr().is_terminal();
        Self {
            began,
            output,
            talk,
            tags,
            bars: is_live.then(MultiProgress::new),
            spinners: BTreeMap::new(),
        }
    }

    /// Shows one thing that happened.
    pub(crate) fn told(&mut self, told: &TaggedLoopEvent) {
        match (&told.event, self.output) {
            (LoopEvent::Warning { message }, Output::Json) => {
                say!("warning: {message}");
            }
            (_, Output::Json) => {}
            (LoopEvent::Output(line), Output::People) => self.printed(&told.tag, line),
            (event, Output::People) => {
                self.move_spinner(&told.tag, event);
                for line in self.lines(event) {
                    self.say(told.at, &told.tag, &line);
                }
            }
        }
    }

    fn printed(&self, tag: &Tag, line: &str) {
        if self.talk == Talk::Everything {
            say!("{}  | {line}", self.label(tag));
        } else if let Some(spinner) = self.spinners.get(tag) {
            spinner.set_message(format!("{}{} · {line}", self.label(tag), spinner.prefix()));
        }
    }

    fn move_spinner(&mut self, tag: &Tag, event: &LoopEvent) {
        let Some(bars) = &self.bars else { return };
        if let Some(old) = self.spinners.remove(tag) {
            old.finish_and_clear();
        }
        let what = match event {
            LoopEvent::IterationStarted {
                iteration, last, ..
            } => format!("iteration {iteration} of {last}"),
            LoopEvent::Verifying { command } => format!("running `{command}`"),
            LoopEvent::Waiting {
                failure: Some(failure),
                ..
            } => format!("waiting: {}", failure.as_str()),
            LoopEvent::Waiting { failure: None, .. } => "pausing".to_owned(),
            LoopEvent::Started { .. }
            | LoopEvent::Output(_)
            | LoopEvent::IterationEnded { .. }
            | LoopEvent::Ended { .. }
            | LoopEvent::Warning { .. } => return,
        };
        let spinner = bars.add(ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}");
        spinner.set_style(
            style
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .tick_chars("|/-\\ "),
        );
        spinner.set_message(format!("{}{what}", self.label(tag)));
        spinner.set_prefix(what);
        spinner.enable_steady_tick(Duration::from_millis(250));
        self.spinners.insert(tag.clone(), spinner);
    }

    /// The lines of an event that stay on the screen.
    fn lines(&self, event: &LoopEvent) -> Vec<String> {
        match event {
            LoopEvent::Started {
                prompt,
                iterations,
                branch,
                ..
            } => {
                let place = branch
                    .as_ref()
                    .map_or_else(String::new, |branch| format!(" on `{branch}`"));
                vec![format!(
                    "loop of up to {iterations} iterations of `{prompt}`{place}"
                )]
            }
            LoopEvent::IterationStarted { .. } if self.bars.is_some() => Vec::new(),
            LoopEvent::IterationStarted {
                iteration,
                last,
                attempt: 1,
            } => {
                vec![format!("iteration {iteration} of {last} started")]
            }
            LoopEvent::IterationStarted {
                iteration,
                last,
                attempt,
            } => {
                vec![format!(
                    "iteration {iteration} of {last} started again (try {attempt})"
                )]
            }
            LoopEvent::IterationEnded { record } => {
                let mut lines = vec![format!("iteration {}", iteration_line(record).trim_start())];
                if self.talk == Talk::FinalMessages {
                    lines.extend(
                        record
                            .final_message
                            .lines()
                            .map(|line| format!("    {line}")),
                    );
                }
                lines
            }
            LoopEvent::Waiting {
                until,
                failure: Some(failure),
            } => {
                let pause = human_duration(until.since(tm_runtime::now()));
                vec![format!("waiting {pause} because of {}", failure.as_str())]
            }
            LoopEvent::Warning { message } => vec![format!("warning: {message}")],
            LoopEvent::Verifying { command } if self.bars.is_none() => {
                vec![format!("running `{command}`")]
            }
            LoopEvent::Verifying { .. }
            | LoopEvent::Waiting { failure: None, .. }
            | LoopEvent::Output(_)
            | LoopEvent::Ended { .. } => Vec::new(),
        }
    }

    fn label(&self, tag: &Tag) -> String {
        if self.tags > 1 {
            format!("[{tag}] ")
        } else {
            String::new()
        }
    }

    fn say(&self, at: Timestamp, tag: &Tag, line: &str) {
        let line = format!(
            "[{}] {}{line}",
            clock(at.since(self.began)),
            self.label(tag)
        );
        match &self.bars {
            Some(bars) => bars.suspend(|| print_line(&line)),
            None => print_line(&line),
        }
    }

    /// Clears what moves.
    pub(crate) fn finish(&mut self) {
        for spinner in self.spinners.values() {
            spinner.finish_and_clear();
        }
    }
}
