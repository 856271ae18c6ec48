//! What people see while a loop goes on: a spinner a tag on a terminal, lines without one, nothing for programs.

use crate::display::{Output, print_line, stamped};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;
use tm_reports::{human_duration, iteration_line};
use tm_runtime::loops::{LoopEvent, TaggedLoopEvent};
use tm_scheduler::iteration::IterationRecord;
use tm_scheduler::{Tag, Timestamp, counted};

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
    spinners: Option<Spinners>,
}

impl LoopDisplay {
    /// Chooses by what is asked for and by what stderr is.
    pub(crate) fn new(output: Output, talk: Talk, tags: usize, began: Timestamp) -> Self {
        let is_quiet = output == Output::People && talk != Talk::Everything;
        let is_live = is_quiet && io::stderr().is_terminal();
        Self {
            began,
            output,
            talk,
            tags,
            spinners: is_live.then(Spinners::default),
        }
    }

    /// Shows one thing that happened.
    pub(crate) fn told(&mut self, told: &TaggedLoopEvent) {
        match (&told.event, self.output) {
            (LoopEvent::Warning { message }, Output::Json) => say!("warning: {message}"),
            (_, Output::Json) => {}
            (LoopEvent::Output(line), Output::People) => self.printed(&told.tag, line),
            (_, Output::People) => self.happened(told),
        }
    }

    fn happened(&mut self, TaggedLoopEvent { at, tag, event }: &TaggedLoopEvent) {
        let label = self.label(tag);
        if let Some(spinners) = &mut self.spinners {
            spinners.put(tag, &label, under_way(event));
        }
        for line in self.lines(event) {
            self.print(&stamped(self.began, *at, &format!("{label}{line}")));
        }
    }

    fn print(&self, line: &str) {
        match &self.spinners {
            Some(spinners) => spinners.bars.suspend(|| print_line(line)),
            None => print_line(line),
        }
    }

    fn printed(&self, tag: &Tag, line: &str) {
        let label = self.label(tag);
        if self.talk == Talk::Everything {
            say!("{label}  | {line}");
        } else if let Some(spinner) = self.spinner(tag) {
            spinner.set_message(format!("{label}{} · {line}", spinner.prefix()));
        }
    }

    fn spinner(&self, tag: &Tag) -> Option<&ProgressBar> {
        self.spinners.as_ref()?.by_tag.get(tag)
    }

    /// The lines of an event that stay on the screen.
    fn lines(&self, event: &LoopEvent) -> Vec<String> {
        let is_live = self.spinners.is_some();
        match event {
            LoopEvent::IterationStarted { .. } | LoopEvent::Verifying { .. } if is_live => vec![],
            LoopEvent::IterationEnded { record } => self.ended(record),
            event => line(event).into_iter().collect(),
        }
    }

    fn ended(&self, record: &IterationRecord) -> Vec<String> {
        let mut lines = vec![format!("iteration {}", iteration_line(record).trim_start())];
        if self.talk == Talk::FinalMessages {
            let said = record.final_message.lines();
            lines.extend(said.map(|line| format!("    {line}")));
        }
        lines
    }

    fn label(&self, tag: &Tag) -> String {
        if self.tags > 1 {
            format!("[{tag}] ")
        } else {
            String::new()
        }
    }

    /// Clears what moves.
    pub(crate) fn finish(&mut self) {
        self.spinners
            .iter()
            .flat_map(|all| all.by_tag.values())
            .for_each(ProgressBar::finish_and_clear);
    }
}

/// A spinner for each tag, as long as something goes on there.
#[derive(Debug, Default)]
struct Spinners {
    bars: MultiProgress,
    by_tag: BTreeMap<Tag, ProgressBar>,
}

impl Spinners {
    /// Says what goes on in a tag now.
    fn put(&mut self, tag: &Tag, label: &str, what: Option<String>) {
        if let Some(old) = self.by_tag.remove(tag) {
            old.finish_and_clear();
        }
        let Some(what) = what else { return };
        let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}")
            .expect("the template is well formed");
        let spinner = self.bars.add(ProgressBar::new_spinner());
        spinner.set_style(style.tick_chars("|/-\\ "));
        spinner.set_message(format!("{label}{what}"));
        spinner.set_prefix(what);
        spinner.enable_steady_tick(Duration::from_millis(250));
        self.by_tag.insert(tag.clone(), spinner);
    }
}

/// What goes on after an event.
fn under_way(event: &LoopEvent) -> Option<String> {
    Some(match event {
        LoopEvent::IterationStarted {
            iteration, last, ..
        } => format!("iteration {iteration} of {last}"),
        LoopEvent::Verifying { command } => format!("running `{command}`"),
        LoopEvent::Waiting { failure, .. } => match failure {
            Some(failure) => format!("waiting: {}", failure.as_str()),
            None => "pausing".to_owned(),
        },
        LoopEvent::Started { .. }
        | LoopEvent::Output(_)
        | LoopEvent::IterationEnded { .. }
        | LoopEvent::Ended { .. }
        | LoopEvent::Warning { .. } => return None,
    })
}

/// The line of an event of which one is enough.
fn line(event: &LoopEvent) -> Option<String> {
    Some(match event {
        LoopEvent::Started {
            prompt,
            iterations,
            branch,
            sandbox,
            ..
        } => {
            let held = sandbox
                .as_ref()
                .map(|held| format!("; sandbox: {held}"))
                .unwrap_or_default();
            let place = branch
                .as_ref()
                .map(|branch| format!(" on `{branch}`"))
                .unwrap_or_default();
            let most = counted(*iterations, "iteration");
            format!("loop of up to {most} of `{prompt}`{place}{held}")
        }
        LoopEvent::IterationStarted {
            iteration,
            last,
            attempt: 1,
        } => format!("iteration {iteration} of {last} started"),
        LoopEvent::IterationStarted {
            iteration,
            last,
            attempt,
        } => format!("iteration {iteration} of {last} started again (try {attempt})"),
        LoopEvent::Waiting { until, failure } => {
            let pause = human_duration(until.since(tm_runtime::now()));
            format!("waiting {pause} because of {}", failure.as_ref()?.as_str())
        }
        LoopEvent::Warning { message } => format!("warning: {message}"),
        LoopEvent::Verifying { command } => format!("running `{command}`"),
        LoopEvent::IterationEnded { .. } | LoopEvent::Output(_) | LoopEvent::Ended { .. } => {
            return None;
        }
    })
}
