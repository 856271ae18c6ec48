//! What is seen of an agent that is under way, and when it is looked at.
//!
//! An agent that does nothing is hardly looked at: the kernel tells when its result is there, when it prints, and when it
//! renews what it keeps up to date. All the same it is looked at now and then, and often where nobody tells.

use super::file_watch::{FileWatch, Sign};
use super::output::{last_line, tail};
use super::result_file::result_now;
use super::stall::LifeWatch;
use super::stream::Listener;
use super::{AgentCommand, Progress};
use crate::bounded_log::BoundedLog;
use crate::environment::{AgentHome, SeenCopies};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use tm_scheduler::ResultFile;
use tokio::time::Instant;

/// So long after a look nobody looks again because something was printed.
const AFTER_OUTPUT: Duration = Duration::from_millis(250);
/// So long after a look nobody looks again because something was written, however often that is.
const AFTER_A_FILE: Duration = Duration::from_millis(20);
/// So long after a look there is another one although nobody told of anything.
const UNTOLD: Duration = Duration::from_secs(15);
/// So often it is looked for a result where nobody tells.
const WHERE_NOBODY_TELLS: Duration = Duration::from_millis(50);
/// So often what another machine writes is looked at, which each time asks whoever keeps the files of both.
const ELSEWHERE: Duration = Duration::from_millis(500);

/// What was seen of an agent so far.
pub(super) struct SeenAgent<'a> {
    command: &'a AgentCommand,
    pub(super) listener: Listener,
    pub(super) logs: [BoundedLog<'a>; 2],
    home: Option<&'a AgentHome>,
    /// What the agent keeps up to date in there.
    copies: SeenCopies,
    /// When there was a result.
    pub(super) result_at: Option<Instant>,
    printed: u64,
    life: LifeWatch,
    watch: FileWatch,
    /// Whether somebody tells of its result and of what it prints.
    is_told: bool,
    /// Whether the next growth of a log will be told, where anything is.
    listens_to_logs: bool,
    looked_at: Instant,
    due: Instant,
    /// How long after a look there is another one where nobody tells.
    untold: Duration,
}

/// What a look has shown.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// What it does, where it printed something.
    pub(super) progress: Option<Progress>,
    /// Whether it has been still for too long.
    pub(super) has_stalled: bool,
}

impl<'a> SeenAgent<'a> {
    /// Nothing is seen yet of an agent that is about to begin, or goes on.
    pub(super) fn new(command: &'a AgentCommand) -> Self {
        let logs = [&command.tree.stdout, &command.tree.stderr];
        let now = Instant::now();
        Self {
            command,
            listener: Listener::new(command.output, &command.tree.stdout),
            logs: logs.map(|path| BoundedLog::new(path, command.limits.log_bytes)),
            home: command.held.as_ref().map(|held| &held.home),
            copies: SeenCopies::new(),
            result_at: None,
            printed: 0,
            life: LifeWatch::new(command, now),
            watch: FileWatch::default(),
            is_told: false,
            listens_to_logs: false,
            looked_at: now,
            due: now,
            untold: if command.executor.tells_of_files() {
                WHERE_NOBODY_TELLS
            } else {
                ELSEWHERE
            },
        }
    }

    /// Has everything told of the agent from now on; the files that it prints into are there.
    pub(super) fn begin(&mut self) {
        let command = self.command;
        self.is_told = command.executor.tells_of_files()
            && self.watch.file(&command.result_file, Sign::Result)
            && self.listen_to_logs();
        for copy in self.home.into_iter().flat_map(AgentHome::kept) {
            // What nobody tells of is seen a little later.
            let _is_told = self.is_told && self.watch.file(&copy, Sign::Kept);
        }
        let now = Instant::now();
        self.life = LifeWatch::new(command, now);
        self.due = now;
    }

    /// Listens to both logs, unless that goes on; tells whether somebody tells of them.
    fn listen_to_logs(&mut self) -> bool {
        let logs = [&self.command.tree.stdout, &self.command.tree.stderr];
        self.listens_to_logs =
            self.listens_to_logs || logs.iter().all(|log| self.watch.growth(log));
        self.listens_to_logs
    }

    /// Waits until it is time to look, and looks. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Look {
        loop {
            let due = self.life.due().map_or(self.due, |due| due.min(self.due));
            tokio::select! {
                biased;
                signs = self.watch.next() => {
                    let now = Instant::now();
                    self.hear(&signs, now);
                    if self.due <= now {
                        return self.look(now);
                    }
                }
                () = tokio::time::sleep_until(due) => return self.look(Instant::now()),
            }
        }
    }

    /// Has the next look come earlier where that is told to be worth it.
    fn hear(&mut self, signs: &BTreeSet<Sign>, now: Instant) {
        for sign in signs {
            let pause = match sign {
                Sign::Result if self.result_at.is_some() => continue,
                Sign::Result | Sign::Kept => AFTER_A_FILE,
                Sign::Output => {
                    // One growth is told, and no other until somebody listens again.
                    self.listens_to_logs = false;
                    AFTER_OUTPUT
                }
            };
            self.due = self.due.min(now.max(self.looked_at + pause));
        }
    }

    fn look(&mut self, now: Instant) -> Look {
        self.look_for_result(now);
        if !self.is_told && now < self.looked_at + AFTER_OUTPUT {
            self.due = now + self.untold;
            return Look::default();
        }
        self.looked_at = now;
        // Before anything is read, so that what is printed meanwhile is told.
        self.is_told = self.is_told && self.listen_to_logs();
        self.due = now + [self.untold, UNTOLD][usize::from(self.is_told)];
        if let Some(home) = self.home {
            home.keep_up(&mut self.copies);
        }
        let sizes = self.logs.each_ref().map(BoundedLog::size);
        for (log, size) in self.logs.iter_mut().zip(sizes) {
            let executor = &self.command.executor;
            log.keep_within(size, |log, part| executor.give_back(log, part));
        }
        let progress = self.progress(now, sizes[0]);
        let has_stalled = self
            .life
            .has_stalled(self.command, (now, SystemTime::now()));
        Look {
            progress,
            has_stalled,
        }
    }

    fn look_for_result(&mut self, now: Instant) {
        let has_result = || {
            let result = result_now(&self.command.result_file);
            matches!(result, ResultFile::Claimed(_))
        };
        self.result_at = self.result_at.or_else(|| has_result().then_some(now));
    }

    /// Returns what the agent does, where it printed something: where its log has another size.
    fn progress(&mut self, now: Instant, size: u64) -> Option<Progress> {
        let stdout = &self.command.tree.stdout;
        if size == self.printed {
            return None;
        }
        self.printed = size;
        self.life.seen_alive(now);
        let heard = self.listener.listen(crate::now());
        // What it says, or the last line of one that prints lines.
        let last_line = match &heard.line {
            None if !heard.prints_events => last_line(&tail(stdout)),
            line => line.clone(),
        };
        Some(Progress {
            last_line,
            tokens: heard.tokens,
            whereabouts: None,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::tests::Scene;
    use super::*;
    use std::fs::File;

    const SECOND: Duration = Duration::from_secs(1);

    fn seen(scene: &Scene) -> SeenAgent<'_> {
        for log in [&scene.command.tree.stdout, &scene.command.tree.stderr] {
            File::create(log).expect("a log");
        }
        let mut seen = SeenAgent::new(&scene.command);
        seen.begin();
        seen
    }

    #[tokio::test]
    async fn a_silent_agent_is_looked_at_rarely_and_one_of_which_something_is_told_soon() {
        let scene = Scene::new("");
        let mut seen = seen(&scene);
        let now = Instant::now();
        assert!(seen.look(now).progress.is_none());
        assert_eq!(seen.due, now + UNTOLD);
        assert!(seen.listens_to_logs);
        seen.hear(&[Sign::Output].into(), now);
        assert_eq!(seen.due, now + AFTER_OUTPUT);
        assert!(!seen.listens_to_logs, "it is told once");
        seen.look(now);
        assert!(seen.listens_to_logs);
        seen.hear(&[Sign::Output].into(), now + SECOND);
        assert_eq!(seen.due, now + SECOND, "it has been silent before");
        for sign in [Sign::Result, Sign::Kept] {
            seen.look(now);
            seen.hear(&[sign].into(), now + SECOND);
            assert_eq!(seen.due, now + SECOND);
            seen.look(now);
            seen.hear(&[sign].into(), now);
            assert_eq!(seen.due, now + AFTER_A_FILE, "however often it is written");
        }
        seen.result_at = Some(now);
        seen.look(now);
        seen.hear(&[Sign::Result].into(), now + SECOND);
        assert_eq!(seen.due, now + UNTOLD, "that there is one is known");
    }

    #[tokio::test]
    async fn where_nobody_tells_a_result_is_looked_for_often_and_the_rest_as_often_as_it_is_told_elsewhere()
     {
        let scene = Scene::new("");
        let mut seen = seen(&scene);
        seen.is_told = false;
        let begun = Instant::now() + SECOND;
        seen.look(begun);
        #[expect(clippy::disallowed_methods, reason = "as an agent writes")]
        std::fs::write(&scene.command.tree.stdout, "line\n").expect("written");
        for number in 1..=5 {
            let now = begun + WHERE_NOBODY_TELLS * number;
            assert_eq!(seen.due, now);
            let look = seen.look(now);
            assert_eq!(look.progress.is_some(), now >= begun + AFTER_OUTPUT);
        }
    }
}
