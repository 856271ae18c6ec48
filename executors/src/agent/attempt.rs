//! Sees one agent from its start to its end, and ends it where it does not end by itself.

use super::held::{begin, proxied, settled};
use super::identity::AgentIdentity;
use super::output::{last_words, refusal, tail};
use super::result_file::{check_room, read_result};
use super::seen::SeenAgent;
use super::stream::{StreamState, trouble_of_service};
use super::{AgentCommand, Progress};
use crate::engine::{Job, JobEnd, Whereabouts};
use crate::{Error, now};
use std::time::Duration;
use tm_scheduler::{
    AgentReport, Ended, OutputFormat, ResultFile, ServiceRefusal, StopMode, Timestamp,
};
use tokio::sync::watch;
use tokio::time::Instant;

/// What is told to an attempt from outside.
type Orders = watch::Receiver<Option<StopMode>>;

/// So often it is looked what an agent waits for that has no place yet.
const WAITING_TOLD_EVERY: Duration = Duration::from_secs(1);
/// A process whose end was asked for is waited for so long before it is ended.
const ASK_FOR: Duration = Duration::from_secs(5);

/// Starts an agent and sees it to its end. When this returns no process of it is left.
///
/// # Errors
/// The surroundings stood in the way, such as a full disk: the agent could not be started, not be written down, or not
/// leave a result. That says nothing of its work.
pub async fn run_attempt(
    mut command: Box<AgentCommand>,
    orders: Orders,
    progress: impl FnMut(Progress) + Send,
) -> Result<AgentReport, Error> {
    let proxy = match Box::pin(begin(&mut command)).await {
        Ok(proxy) => proxy,
        Err(error) => return settled(&mut command, Err(error), None),
    };
    let started_at = now();
    clear(&command);
    let started = Box::pin(command.executor.start(&command.tree)).await;
    // It is there for hours, and hundreds of others.
    command.tree.environment = Vec::new();
    let report = run(&command, (started, started_at), orders, progress).await;
    settled(&mut command, report, proxy.as_deref())
}

async fn run(
    command: &AgentCommand,
    (started, started_at): (Result<Box<dyn Job>, Error>, Timestamp),
    orders: Orders,
    progress: impl FnMut(Progress) + Send,
) -> Result<AgentReport, Error> {
    let attempt = Attempt::new(command, started_at);
    let mut job = match started {
        Ok(job) => job,
        Err(error) if error.is_of_surroundings() => return Err(error),
        Err(error) => {
            let ended = Ended::NotStarted(error.with_causes());
            return Ok(Box::pin(attempt.report(ended, 0)).await);
        }
    };
    if let Some(handle) = job.handle()
        && let Err(error) = AgentIdentity::new(handle, started_at.0).write(&command.identity_file)
    {
        attempt.end(&mut *job, Duration::ZERO).await;
        return Err(error);
    }
    attempt.supervise(job, None, orders, progress).await
}

/// Removes what an interrupted start of the same attempt left, so that it can't be taken for this one's.
fn clear(command: &AgentCommand) {
    let AgentCommand {
        result_file,
        identity_file,
        tree,
        ..
    } = command;
    for path in [result_file, &tree.stdout, &tree.stderr, identity_file] {
        // Nothing to remove is the common case; what can't be removed can't be written either, and that is told.
        let _nothing_there = std::fs::remove_file(path);
    }
}

/// Takes over an agent that another tm started, with the time that it has left, or finds out what it left behind.
///
/// # Errors
/// As [`run_attempt`].
pub async fn adopt_attempt(
    mut command: Box<AgentCommand>,
    orders: Orders,
    progress: impl FnMut(Progress) + Send,
) -> Result<AgentReport, Error> {
    let identity = AgentIdentity::read(&command.identity_file);
    let handle = identity.as_ref().map(|identity| &identity.handle);
    let proxy = Box::pin(proxied(&mut command, handle)).await?;
    command.tree.environment = Vec::new();
    let report = adopt(&command, identity.as_ref(), orders, progress).await;
    settled(&mut command, report, proxy.as_deref())
}

async fn adopt(
    command: &AgentCommand,
    identity: Option<&AgentIdentity>,
    orders: Orders,
    progress: impl FnMut(Progress) + Send,
) -> Result<AgentReport, Error> {
    let started_at = identity.map_or_else(now, |identity| Timestamp(identity.started_at));
    let handle = identity.map(|identity| &identity.handle);
    let attempt = Attempt::new(command, started_at);
    let marks = &command.tree.env_markers;
    let mut job = command.executor.adopt(handle, marks).await;
    if !job.is_running().await {
        // Some places know how it ended meanwhile.
        let ended = ended_by(job.wait().await);
        let leftovers = attempt.end(&mut *job, Duration::ZERO).await;
        let mut report = Box::pin(attempt.report(ended?, leftovers)).await;
        report.noticed.extend(job.told());
        report.place = job.whereabouts().and_then(Whereabouts::place);
        return Ok(report);
    }
    attempt
        .supervise(job, Some(started_at), orders, progress)
        .await
}

/// An agent under way.
struct Attempt<'a> {
    command: &'a AgentCommand,
    started_at: Timestamp,
    // The same for as long as it is there, while futures have room for what they are given twice.
    seen: Box<SeenAgent<'a>>,
}

impl<'a> Attempt<'a> {
    fn new(command: &'a AgentCommand, started_at: Timestamp) -> Self {
        Self {
            command,
            started_at,
            seen: Box::new(SeenAgent::new(command)),
        }
    }

    async fn supervise(
        mut self,
        mut job: Box<dyn Job>,
        started_before: Option<Timestamp>,
        mut orders: Orders,
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<AgentReport, Error> {
        let ended = match begun(&mut *job, &mut orders, &mut progress).await {
            Some(since) => {
                let passed = since.or(started_before).map_or(0, |at| now().since(at));
                let limit = self.command.limits.timeout;
                let left = limit.saturating_sub(Duration::from_millis(passed));
                let deadline = Instant::now() + left;
                self.wait(&mut *job, deadline, orders, progress).await
            }
            None => Ok(Ended::Killed),
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                self.end(&mut *job, Duration::ZERO).await;
                return Err(error);
            }
        };
        let leftovers = match ended {
            Ended::Exited(_) | Ended::Lost | Ended::NotStarted(_) => {
                self.end(&mut *job, Duration::ZERO).await
            }
            // TERM to its whole tree would end a program that speaks the protocol before its turn can be cancelled.
            Ended::Killed if self.command.output != OutputFormat::Acp => {
                self.end(&mut *job, self.patience()).await
            }
            Ended::Killed | Ended::TimedOut | Ended::Stalled | Ended::Lingered => {
                self.stop(&mut *job).await
            }
        };
        let command = self.command;
        let mut report = Box::pin(self.report(ended, leftovers)).await;
        report.noticed.extend(job.told());
        report.place = job.whereabouts().and_then(Whereabouts::place);
        check_room(command, &report)?;
        Ok(report)
    }

    async fn end(&self, job: &mut dyn Job, grace: Duration) -> u32 {
        let folder = &self.command.tree.working_folder;
        self.command.executor.end(job, grace, folder).await
    }

    /// Waits for whatever comes first, and returns why the agent is over, or has to be; an error where none could begin.
    async fn wait(
        &mut self,
        job: &mut dyn Job,
        deadline: Instant,
        mut orders: Orders,
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<Ended, Error> {
        let grace = self.command.limits.grace;
        self.seen.begin();
        let mut stop_at = None;
        loop {
            let ends = Ends {
                deadline,
                lingers_at: self.seen.result_at.map(|at| at + grace),
                stop_at,
            };
            tokio::select! {
                biased;
                end = job.wait() => return ended_by(end),
                () = tokio::time::sleep_until(ends.first()) => {
                    if let Some(ended) = ends.come_by(Instant::now()) {
                        return Ok(ended);
                    }
                }
                Ok(()) = orders.changed() => match *orders.borrow_and_update() {
                    None => {}
                    Some(StopMode::Gently) => stop_at = Some(Instant::now() + grace),
                    Some(StopMode::Now) => return Ok(Ended::Killed),
                },
                look = self.seen.next() => {
                    if let Some(told) = look.progress {
                        progress(told);
                    }
                    if look.has_stalled {
                        return Ok(Ended::Stalled);
                    }
                }
            }
        }
    }

    fn patience(&self) -> Duration {
        ASK_FOR.min(self.command.limits.grace)
    }

    /// Asks the agent to stop as it likes to be asked, then ends what is left of it.
    async fn stop(&self, job: &mut dyn Job) -> u32 {
        job.signal(self.command.polite_stop);
        // Whether it listened or not, what is left is ended.
        let _listened = tokio::time::timeout(self.patience(), job.wait()).await;
        self.end(job, self.patience()).await
    }

    async fn report(self, ended: Ended, leftovers: u32) -> AgentReport {
        let command = self.command;
        // Of one that may go on nothing is believed that it writes.
        let is_out_of_reach = (command.executor).is_out_of_reach(&command.tree.working_folder);
        let (ended, result) = if is_out_of_reach {
            (Ended::Lost, ResultFile::Missing)
        } else {
            (ended, read_result(&command.result_file).await)
        };
        let heard = self.seen.listener.finish(now());
        let (stdout, stderr) = (tail(&command.tree.stdout), tail(&command.tree.stderr));
        let printed = last_words(&stdout, &stderr);
        for log in self.seen.logs {
            // A log that can't be shortened is long, and nothing else.
            let _stays_long = log.close();
        }
        let refused = heard.refused_tools.iter();
        // An exit code of 0 says that all is well, and nobody would look at what it said.
        let ends_well = matches!(ended, Ended::Exited(Some(0)) | Ended::Lingered);
        let gave_up = heard.error().filter(|_| ends_well);
        AgentReport {
            refusal: refusal_of(&heard, &ended, [&printed, &stderr], command),
            result,
            tokens: heard.tokens,
            cost_usd: heard.cost_usd,
            last_words: if heard.prints_events {
                last_words(&heard.closing_words(), &stderr)
            } else {
                printed
            },
            leftovers,
            noticed: refused
                .map(|tool| format!("a tool call was refused to it: {tool}"))
                .chain(gave_up.map(|error| format!("it gave up: {error}")))
                .collect(),
            ..AgentReport::new(command.agent.clone(), self.started_at, now(), ended)
        }
    }
}

fn ended_by(end: Result<JobEnd, Error>) -> Result<Ended, Error> {
    Ok(match end {
        Err(error @ (Error::Refused(_) | Error::Hold { .. })) => return Err(error),
        Ok(end @ (JobEnd::Exited(_) | JobEnd::Killed)) => Ended::Exited(end.code()),
        Ok(JobEnd::TimedOut) => Ended::TimedOut,
        Err(error @ Error::Start { .. }) => Ended::NotStarted(error.with_causes()),
        Ok(JobEnd::Unknown) | Err(_) => Ended::Lost,
    })
}

/// Waits until the agent runs, and returns since when; `None` when it is to be stopped before.
async fn begun(
    job: &mut dyn Job,
    orders: &mut Orders,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Option<Option<Timestamp>> {
    let mut told = None;
    let mut tell = |job: &dyn Job| {
        let whereabouts = job.whereabouts();
        if whereabouts.is_some() && whereabouts != told {
            told.clone_from(&whereabouts);
            progress(Progress {
                whereabouts,
                ..Progress::default()
            });
        }
    };
    loop {
        tokio::select! {
            biased;
            since = job.begun() => {
                tell(job);
                return Some(since);
            }
            () = tokio::time::sleep(WAITING_TOLD_EVERY) => tell(job),
            Ok(()) = orders.changed() => if orders.borrow_and_update().is_some() {
                return None;
            },
        }
    }
}

/// When an agent is ended that does not end by itself. One timer is enough for all of it.
struct Ends {
    deadline: Instant,
    /// Where it has left its result.
    lingers_at: Option<Instant>,
    /// Where it was told to stop.
    stop_at: Option<Instant>,
}

impl Ends {
    fn first(&self) -> Instant {
        let others = [self.lingers_at, self.stop_at].into_iter().flatten();
        others.fold(self.deadline, Instant::min)
    }

    /// Returns how it is ended at a moment, where it is.
    fn come_by(&self, now: Instant) -> Option<Ended> {
        let has_come = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if self.deadline <= now {
            Some(Ended::TimedOut)
        } else if has_come(self.lingers_at) {
            Some(Ended::Lingered)
        } else {
            has_come(self.stop_at).then_some(Ended::Killed)
        }
    }
}

/// Tells a refusal by what the agent's events say of it, else by the words of what it printed.
///
/// A program that has events tells of limits in them alone: what else it prints may be a tool's output, or what its model
/// says. Only of credentials for which it can't even begin it speaks before all events, and of trouble with its service that
/// it asks again and again on standard error, where that was its last word.
fn refusal_of(
    heard: &StreamState,
    ended: &Ended,
    [printed, stderr]: [&str; 2],
    command: &AgentCommand,
) -> Option<ServiceRefusal> {
    if heard.refusal.is_some() {
        return heard.refusal.clone();
    }
    let got_no_further = matches!(
        ended,
        Ended::TimedOut | Ended::Stalled | Ended::Exited(None)
    );
    if got_no_further && heard.waits_behind.is_some() {
        return heard.waits_behind.clone();
    }
    if got_no_further && command.output.has_events() && stderr_is_newer(command) {
        return stderr.lines().next_back().and_then(trouble_of_service);
    }
    if matches!(ended, Ended::Exited(Some(0)) | Ended::Lingered) {
        return None;
    }
    let patterns = &command.refusal_patterns;
    match (command.output.has_events(), heard.prints_events) {
        (false, _) => refusal(printed, &patterns.rate_limited, &patterns.auth),
        (true, true) => None,
        (true, false) => refusal(printed, &[], &patterns.auth),
    }
}

/// Whether nothing was printed after what stands on standard error.
fn stderr_is_newer(command: &AgentCommand) -> bool {
    let [stdout, stderr] = [&command.tree.stdout, &command.tree.stderr]
        .map(|path| path.symlink_metadata().and_then(|log| log.modified()).ok());
    stderr > stdout
}
