//! Events of a run as lines, as cargo and nextest write theirs: a word, how long it took, the task. Pure: what happened
//! in, a line out.

use crate::words::{agent_event, ahead, resolved, stopping};
use itertools::Itertools as _;
use tm_reports::{Tone, human_duration, listed, toned};
use tm_runtime::RunEvent;
use tm_scheduler::{
    AttemptNumber, AttemptRecord, Dependants, Event, Failure, Phase, Proof, Scheduler, State,
    StopReason, TaskId, TaskView, Timestamp, counted, task_rows,
};

/// Returns the line for something that happened; `None` for what needs no line.
pub(crate) fn told(at: Timestamp, run_event: &RunEvent, scheduler: &Scheduler) -> Option<String> {
    let seen = Seen { at, scheduler };
    match run_event {
        RunEvent::Event(happened) => seen.event(happened),
        RunEvent::Warning(warning) => Some(format!("{} {warning}", toned("warning:", Tone::Weak))),
        RunEvent::Note(note) => Some(note.clone()),
        RunEvent::Setup { place, took_ms } => Some(format!(
            "{place} is set up, which took {}",
            human_duration(*took_ms)
        )),
        _ => None,
    }
}

/// A run at a moment at which something happened in it.
#[derive(Clone, Copy)]
struct Seen<'a> {
    at: Timestamp,
    scheduler: &'a Scheduler,
}

impl Seen<'_> {
    fn event(self, event: &Event) -> Option<String> {
        self.run_event(event)
            .or_else(|| self.attempt_event(event))
            .or_else(|| agent_event(event))
            .or_else(|| self.task_event(event))
    }

    fn run_event(self, event: &Event) -> Option<String> {
        Some(match event {
            Event::RunStarted {
                waves,
                max_parallel,
                ..
            } => {
                let (tasks, _) = self.counts();
                let (tasks, waves) = (counted(tasks, "task"), counted(*waves, "wave"));
                let agents = counted(*max_parallel, "agent");
                format!("{tasks} in {waves}, at most {agents} at the same time")
            }
            Event::RunResumed { under_way, .. } => {
                let (tasks, landed) = self.counts();
                let attempts = counted(*under_way, "attempt");
                let tasks = counted(tasks, "task");
                format!("taken up: {landed} of {tasks} landed, {attempts} under way")
            }
            Event::WaveOpened { wave, .. } => format!("wave {wave} begins: {}", self.wave(*wave)),
            Event::RunPaused { why: None } => {
                "paused; nothing more is started until `tm waves resume`".to_owned()
            }
            Event::RunPaused { why: Some(why) } => {
                format!("paused, nothing more is started until `tm waves resume`: {why}")
            }
            Event::RunContinued => "the run goes on after the pause".to_owned(),
            Event::LandingBehind { queued } => format!(
                "{queued} tasks wait for their proof or to land; nothing more is started until half of that is done"
            ),
            Event::LandingCaughtUp => "landing has caught up; tasks are started again".to_owned(),
            Event::RunStopping { why } => format!("{}{}", stopping(*why), self.dearest(*why)),
            Event::RunEnded { status, .. } => format!("the run is {}", status.as_str()),
            _ => return None,
        })
    }

    /// Who reported most of a spent budget: it is an agent's word, and may be beyond all sense.
    fn dearest(self, why: StopReason) -> String {
        let dearest = self.scheduler.dearest_attempt();
        let Some((task, attempt)) = dearest.filter(|_| why == StopReason::Budget) else {
            return String::new();
        };
        let (tokens, cost_usd) = attempt.spent();
        let cost = cost_usd.map(|cost| format!("${cost:.2}"));
        let tokens = tokens.map(|tokens| counted(tokens.total(), "token"));
        let reported = cost.into_iter().chain(tokens).join(" and ");
        let number = attempt.number;
        format!("; most was reported by attempt {number} at `{task}`: {reported}")
    }

    /// Tasks as people count them, and those that have landed.
    fn counts(self) -> (usize, usize) {
        let views = self.scheduler.tasks().collect_vec();
        let rows = task_rows(&views);
        let is_landed = |view: &TaskView<'_>| matches!(view.state, State::Landed { .. });
        let landed = rows.iter().filter(|row| row.halves().all(is_landed));
        (rows.len(), landed.count())
    }

    /// What a wave is made of.
    fn wave(self, wave: u32) -> String {
        let in_it = self
            .scheduler
            .tasks()
            .filter(|view| view.placed.wave == wave);
        let phases = in_it.map(|view| view.placed.task.phase).sorted();
        let counts = phases.dedup_with_count().map(|(count, phase)| {
            let tasks = counted(count, "task");
            match phase {
                Phase::Red => format!("RED of {tasks}"),
                Phase::Green => format!("GREEN of {tasks}"),
                Phase::None => tasks,
            }
        });
        counts.collect_vec().join(", ")
    }

    fn attempt_event(self, event: &Event) -> Option<String> {
        Some(match event {
            Event::AttemptStarted { task, attempt, .. } => {
                let tries = if *attempt == AttemptNumber(1) {
                    String::new()
                } else {
                    format!(", attempt {attempt}")
                };
                let words = format!("{}{tries}", self.half(task));
                line("START", Tone::Quiet, None, &words)
            }
            Event::AttemptEnded {
                task,
                attempt,
                failure: Some(failure),
                reason,
            } => {
                let words = format!("{}: {}", self.half(task), because(*failure, reason));
                let attempts = self.view(task).map_or(&[][..], |view| view.attempts);
                let ended = attempts.iter().find(|record| record.number == *attempt);
                let took = ended.map(|record| self.at.since(record.started_at));
                line(&format!("TRY {attempt} FAIL"), Tone::Bad, took, &words)
            }
            Event::CommitCreated { task, .. } => {
                let last = self.last(task);
                let proof = last.and_then(AttemptRecord::proof).map(Proof::describe);
                let words = std::iter::once(self.half(task)).chain(proof).join(": ");
                let took = last.map(|last| self.at.since(last.started_at));
                line("DONE", Tone::Good, took, &words)
            }
            Event::RefactorEnded {
                task,
                dropped: None,
                ..
            } => line("IMPROVED", Tone::Good, None, &self.half(task)),
            Event::RefactorEnded {
                task,
                dropped: Some(why),
                ..
            } => line(
                "KEPT",
                Tone::Quiet,
                None,
                &format!("{} as it was: {why}", self.half(task)),
            ),
            _ => return None,
        })
    }

    fn task_event(self, event: &Event) -> Option<String> {
        let plain = |word: &str, tone, words: String| Some(line(word, tone, None, &words));
        match event {
            Event::TaskWaiting { task, failure, .. } => plain(
                "WAIT",
                Tone::Quiet,
                format!("{} before the next attempt: {failure}", self.half(task)),
            ),
            Event::TaskOverBudget { task } => plain(
                "BUDGET",
                Tone::Weak,
                format!(
                    "{} has spent it; no further attempt is started",
                    self.half(task)
                ),
            ),
            Event::ConflictAhead { task, files, with } => {
                let with = with.iter().map(|id| self.shown(id)).collect_vec();
                plain(
                    "CONFLICT",
                    Tone::Weak,
                    format!("{} {}", self.half(task), ahead(files, &with)),
                )
            }
            Event::TaskLanded {
                task, resolution, ..
            } => {
                // Its GREEN lands with it.
                let is_red = self.view(task)?.placed.task.shown_id() != task;
                let how = resolution.map_or("", resolved);
                let words = format!("{}{how}", self.whole(task));
                (!is_red).then(|| line("PASS", Tone::Good, self.took(task), &words))
            }
            Event::TaskFailed {
                task,
                failure,
                reason,
            } => {
                let words = format!("{}: {}", self.half(task), because(*failure, reason));
                Some(line("FAIL", Tone::Bad, self.took(task), &words))
            }
            Event::TaskBlocked { task, by } => {
                let words = self.blocked(task, by)?;
                plain("BLOCKED", Tone::Weak, words)
            }
            Event::TaskStopping { task, why } => {
                plain("STOP", Tone::Weak, format!("{}: {why}", self.half(task)))
            }
            Event::TaskSkipped { task, dependants } => {
                let rest = match dependants {
                    Dependants::Blocked => "",
                    Dependants::Released => "; what depends on it goes on without it",
                };
                plain("SKIP", Tone::Weak, format!("{}{rest}", self.half(task)))
            }
            Event::TaskReopened { task } => plain(
                "AGAIN",
                Tone::Busy,
                format!("{} is taken in again", self.half(task)),
            ),
            Event::TaskUnblocked { task } => plain(
                "AGAIN",
                Tone::Busy,
                format!("{} is blocked no more", self.half(task)),
            ),
            Event::TaskAdded { task, wave, .. } => plain(
                "ADDED",
                Tone::Busy,
                format!("{} in wave {wave}", self.half(task)),
            ),
            _ => None,
        }
    }

    /// A pair is told of once, by its RED where that can't be done either.
    fn blocked(&self, task: &TaskId, by: &[TaskId]) -> Option<String> {
        let own = self.shown(task);
        let by = by.iter().map(|id| self.shown(id));
        let by = by.filter(|id| *id != own).unique().join(", ");
        let is_told = by.is_empty() || self.is_told_of_red(task);
        (!is_told).then(|| format!("{}, by {by}", self.whole(task)))
    }

    fn view(&self, task: &TaskId) -> Option<TaskView<'_>> {
        self.scheduler.task(task)
    }

    fn last(&self, task: &TaskId) -> Option<&AttemptRecord> {
        self.view(task)?.attempts.last()
    }

    /// The id by which people know a task.
    fn shown<'a>(&'a self, task: &'a TaskId) -> &'a TaskId {
        let known = self.scheduler.task(task);
        known.map_or(task, |view| view.placed.task.shown_id())
    }

    /// A task as people know it.
    fn whole(self, task: &TaskId) -> String {
        let title = self.view(task).map(|view| listed(&view.placed.task.title));
        format!("{} {}", self.shown(task), title.unwrap_or_default())
    }

    /// Half of a pair, or a task.
    fn half(self, task: &TaskId) -> String {
        let task_name = self.whole(task);
        match self.view(task).map(|view| view.placed.task.phase) {
            Some(Phase::Red) => format!("{task_name} (RED)"),
            Some(Phase::Green) => format!("{task_name} (GREEN)"),
            Some(Phase::None) | None => task_name,
        }
    }

    /// Milliseconds since the first attempt at a task, its RED's included.
    fn took(self, task: &TaskId) -> Option<u64> {
        let view = self.view(task)?;
        let partner = view.placed.task.pair.as_ref().and_then(|id| self.view(id));
        let halves = std::iter::once(view).chain(partner);
        let first = halves
            .filter_map(|half| Some(half.attempts.first()?.started_at))
            .min();
        first.map(|first| self.at.since(first))
    }

    /// Whether a GREEN's RED can't be done either.
    fn is_told_of_red(self, task: &TaskId) -> bool {
        let task = self.view(task).map(|view| &view.placed.task);
        let green = task.filter(|task| task.phase == Phase::Green);
        let red = green.and_then(|green| self.view(green.pair.as_ref()?));
        red.is_some_and(|red| matches!(red.state, State::Blocked { .. }))
    }
}

/// A line about a task: a word, how long it took, what there is to say.
fn line(word: &str, tone: Tone, took: Option<u64>, words: &str) -> String {
    let took = took.map_or_else(String::new, |took| format!("[{:>7}]", seconds(took)));
    format!("{} {took:9} {words}", toned(&format!("{word:>10}"), tone))
}

/// Milliseconds as `2.1s`, or `3m 05s` where that is more than a minute.
fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..60_000 => format!("{}.{}s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => human_duration(milliseconds),
    }
}

/// Why an attempt failed.
fn because(failure: Failure, reason: &str) -> String {
    if reason.is_empty() {
        failure.to_string()
    } else {
        format!("{failure}: {reason}")
    }
}
