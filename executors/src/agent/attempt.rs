//! Sees one agent from its start to its end, and ends it where it does not end by itself.

use super::bounded::BoundedLog;
use super::identity::AgentIdentity;
use super::output::{last_line, last_words, refusal, tail};
use super::result_file::MOST_RESULT_BYTES;
use super::stall::signs_of_life;
use super::stream::{Listener, StreamState};
use super::{AgentCommand, Progress, RefusalPatterns, parse_result};
use crate::Error;
use crate::engine::{Job, JobEnd};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tm_scheduler::{
    AgentReport, Ended, OutputFormat, ResultFile, ServiceRefusal, StopMode, Timestamp,
};
use tokio::sync::watch;
use tokio::time::Instant;

/// How often output and the result file are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A result file that can't be read is read again after these pauses, about two seconds in all.
const REREAD_AFTER: [u64; 7] = [10, 20, 40, 80, 160, 320, 1_280];
/// So much has to go onto the disk for a result.
const PROBE_BYTES: usize = 64 * 1024;
/// A process whose end was asked for is waited for so long before it is ended.
const ASK_FOR: Duration = Duration::from_secs(5);

/// Starts an agent and sees it to its end. When this returns no process of it is left.
///
/// # Errors
/// The surroundings stood in the way, such as a full disk: the agent could not be started, not be written down, or not
/// leave a result. That says nothing of its work.
pub async fn run_attempt(
    command: AgentCommand,
    orders: watch::Receiver<Option<StopMode>>,
    progress: impl FnMut(Progress) + Send,
) -> Result<AgentReport, Error> {
    let started_at = now();
    clear(&command);
    let mut job = match command.executor.start(&command.tree).await {
        Ok(job) => job,
        Err(error) if error.is_of_surroundings() => return Err(error),
        Err(error) => {
            let listener = listener(&command);
            return Ok(report(
                &command,
                started_at,
                Ended::NotStarted(error.with_causes()),
                0,
                listener,
            )
            .await);
        }
    };
    if let Some(handle) = job.handle()
        && let Err(error) = AgentIdentity::new(handle, started_at.0).write(&command.identity_file)
    {
        job.end(Duration::ZERO).await;
        return Err(error);
    }
    let deadline = Instant::now() + command.limits.timeout;
    let report = supervise(&command, job, started_at, deadline, orders, progress).await;
    with_room_for_a_result(&command, report)
}

/// Takes over an agent that another tm started, with the time that it has left, or finds out what it left behind.
///
/// # Errors
/// As [`run_attempt`].
pub async fn adopt_attempt(
    command: AgentCommand,
    orders: watch::Receiver<Option<StopMode>>,
    progress: impl FnMut(Progress) + Send,
) -> Result<AgentReport, Error> {
    let identity = AgentIdentity::read(&command.identity_file);
    let started_at = identity
        .as_ref()
        .map_or_else(now, |identity| Timestamp(identity.started_at));
    let handle = identity.as_ref().map(|identity| &identity.handle);
    let mut job = command
        .executor
        .adopt(handle, &command.tree.env_markers)
        .await;
    if !job.is_running().await {
        let leftovers = job.end(Duration::ZERO).await.leftovers;
        return Ok(report(
            &command,
            started_at,
            Ended::Lost,
            leftovers,
            listener(&command),
        )
        .await);
    }
    let left = command
        .limits
        .timeout
        .saturating_sub(Duration::from_millis(now().since(started_at)));
    let report = supervise(
        &command,
        job,
        started_at,
        Instant::now() + left,
        orders,
        progress,
    )
    .await;
    with_room_for_a_result(&command, report)
}

/// Takes no agent for one that left no result when nobody could have written one.
fn with_room_for_a_result(
    command: &AgentCommand,
    report: AgentReport,
) -> Result<AgentReport, Error> {
    if matches!(report.result, ResultFile::Claimed(_)) {
        return Ok(report);
    }
    let folder = command.result_file.parent().unwrap_or(Path::new("."));
    let written = tempfile::tempfile_in(folder).and_then(|mut file| {
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    });
    match written.map_err(|source| Error::Write {
        path: command.result_file.clone(),
        source,
    }) {
        Err(error) if error.is_of_surroundings() => Err(error),
        Ok(()) | Err(_) => Ok(report),
    }
}

/// Why the wait for an agent is over.
enum Over {
    /// It ended.
    Ended(JobEnd),
    TimedOut,
    Stalled,
    Lingered,
    Stopped,
}

async fn supervise(
    command: &AgentCommand,
    mut job: Box<dyn Job>,
    started_at: Timestamp,
    deadline: Instant,
    mut orders: watch::Receiver<Option<StopMode>>,
    progress: impl FnMut(Progress) + Send,
) -> AgentReport {
    let mut listener = listener(command);
    let over = wait(
        command,
        &mut *job,
        deadline,
        &mut orders,
        &mut listener,
        progress,
    )
    .await;
    let (ended, leftovers) = match over {
        Over::Ended(end) => {
            let leftovers = job.end(Duration::ZERO).await.leftovers;
            let ended = if end == JobEnd::Unknown {
                Ended::Lost
            } else {
                Ended::Exited(end.code())
            };
            (ended, leftovers)
        }
        Over::TimedOut => (Ended::TimedOut, stop(command, &mut *job).await),
        Over::Stalled => (Ended::Stalled, stop(command, &mut *job).await),
        Over::Lingered => (Ended::Lingered, stop(command, &mut *job).await),
        // TERM to its whole tree would end the program before its turn can be cancelled.
        Over::Stopped if command.output == OutputFormat::Acp => {
            (Ended::Killed, stop(command, &mut *job).await)
        }
        Over::Stopped => (
            Ended::Killed,
            job.end(ASK_FOR.min(command.limits.grace)).await.leftovers,
        ),
    };
    report(command, started_at, ended, leftovers, listener).await
}

/// Waits for whatever comes first.
async fn wait(
    command: &AgentCommand,
    job: &mut dyn Job,
    deadline: Instant,
    orders: &mut watch::Receiver<Option<StopMode>>,
    listener: &mut Listener,
    mut progress: impl FnMut(Progress) + Send,
) -> Over {
    let mut looks = tokio::time::interval(POLL_INTERVAL);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut logs = logs(command);
    let mut signs = signs_of_life(command);
    let mut alive_at = Instant::now();
    let mut printed = 0;
    let mut result_at: Option<Instant> = None;
    let mut stop_at: Option<Instant> = None;
    loop {
        let grace_ends = result_at.map(|at| at + command.limits.grace);
        tokio::select! {
            biased;
            end = job.wait() => return Over::Ended(end.unwrap_or(JobEnd::Unknown)),
            () = until(Some(deadline)) => return Over::TimedOut,
            () = until(grace_ends) => return Over::Lingered,
            () = until(stop_at) => return Over::Stopped,
            Ok(()) = orders.changed() => match *orders.borrow_and_update() {
                None => {}
                Some(StopMode::Gently) => stop_at = Some(Instant::now() + command.limits.grace),
                Some(StopMode::Now) => return Over::Stopped,
            },
            _ = looks.tick() => {
                result_at = result_at.or_else(|| has_result(command).then(Instant::now));
                for log in &mut logs {
                    log.keep_within(&command.executor);
                }
                let size = tm_untrusted::size(&command.tree.stdout);
                if size != printed {
                    printed = size;
                    alive_at = Instant::now();
                    let heard = listener.listen(now());
                    progress(Progress { last_line: line_of(heard, command), tokens: heard.tokens });
                }
                let Some(stall) = command.limits.stall else { continue };
                if alive_at.elapsed() >= stall {
                    let now_signs = signs_of_life(command);
                    if now_signs == signs {
                        return Over::Stalled;
                    }
                    signs = now_signs;
                    alive_at = Instant::now();
                }
            }
        }
    }
}

fn listener(command: &AgentCommand) -> Listener {
    Listener::new(command.output, &command.tree.stdout)
}

fn logs(command: &AgentCommand) -> [BoundedLog; 2] {
    [&command.tree.stdout, &command.tree.stderr]
        .map(|path| BoundedLog::new(path, command.limits.log_bytes))
}

/// Asks the agent to stop as it likes to be asked, then ends what is left of it.
async fn stop(command: &AgentCommand, job: &mut dyn Job) -> u32 {
    job.signal(command.polite_stop);
    let patience = ASK_FOR.min(command.limits.grace);
    // Whether it listened or not, what is left is ended.
    let _listened = tokio::time::timeout(patience, job.wait()).await;
    job.end(patience).await.leftovers
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn has_result(command: &AgentCommand) -> bool {
    matches!(result_now(&command.result_file), ResultFile::Claimed(_))
}

/// Removes what an interrupted start of the same attempt left, so that it can't be taken for this one's.
fn clear(command: &AgentCommand) {
    for path in [
        &command.result_file,
        &command.tree.stdout,
        &command.tree.stderr,
        &command.identity_file,
    ] {
        // Nothing to remove is the common case; what can't be removed can't be written either, and that is told.
        let _nothing_there = std::fs::remove_file(path);
    }
}

/// What people see of an agent: what it says, or the last line of one that prints lines.
fn line_of(heard: &StreamState, command: &AgentCommand) -> Option<String> {
    match &heard.line {
        Some(line) => Some(line.clone()),
        None if heard.prints_events => None,
        None => last_line(&tail(&command.tree.stdout)),
    }
}

async fn report(
    command: &AgentCommand,
    started_at: Timestamp,
    ended: Ended,
    leftovers: u32,
    listener: Listener,
) -> AgentReport {
    let result = read_result(&command.result_file).await;
    let heard = listener.finish(now());
    let (stdout, stderr) = (tail(&command.tree.stdout), tail(&command.tree.stderr));
    let printed = last_words(&stdout, &stderr);
    for log in logs(command) {
        // A log that can't be shortened is long, and nothing else.
        let _stays_long = log.close();
    }
    let last_words = if heard.prints_events {
        last_words(&heard.closing_words(), &stderr)
    } else {
        printed.clone()
    };
    AgentReport {
        refusal: refusal_of(&heard, &ended, &printed, command),
        result,
        tokens: heard.tokens,
        cost_usd: heard.cost_usd,
        last_words,
        leftovers,
        noticed: heard
            .refused_tools
            .iter()
            .map(|tool| format!("a tool call was refused to it: {tool}"))
            .collect(),
        ..AgentReport::new(command.agent.clone(), started_at, now(), ended)
    }
}

/// Tells a refusal by what the agent's events say of it, else by the words of what it printed.
///
/// A program that has events tells of limits in them alone: what else it prints may be a tool's output, or what its model
/// says. Only of credentials for which it can't even begin it speaks before all events.
fn refusal_of(
    heard: &StreamState,
    ended: &Ended,
    printed: &str,
    command: &AgentCommand,
) -> Option<ServiceRefusal> {
    if heard.refusal.is_some() {
        return heard.refusal.clone();
    }
    if matches!(
        ended,
        Ended::TimedOut | Ended::Stalled | Ended::Exited(None)
    ) && heard.waits_behind.is_some()
    {
        return heard.waits_behind.clone();
    }
    let succeeded = matches!(ended, Ended::Exited(Some(0)) | Ended::Lingered);
    if succeeded {
        return None;
    }
    let patterns = &command.refusal_patterns;
    match (command.output.has_events(), heard.prints_events) {
        (false, _) => refusal(printed, patterns),
        (true, true) => None,
        (true, false) => {
            let of_credentials = RefusalPatterns {
                rate_limited: Vec::new(),
                auth: patterns.auth.clone(),
            };
            refusal(printed, &of_credentials)
        }
    }
}

/// Reads the result file; one that is empty or can't be read is read again, since it may be on its way over a network.
async fn read_result(path: &Path) -> ResultFile {
    let mut pauses = REREAD_AFTER.into_iter();
    loop {
        let found = result_now(path);
        match (&found, pauses.next()) {
            (ResultFile::Malformed(_), Some(pause)) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            _ => return found,
        }
    }
}

/// What is in the place of the result file now. An agent can put anything there; nothing of it is waited for.
fn result_now(path: &Path) -> ResultFile {
    match tm_untrusted::read(path, MOST_RESULT_BYTES) {
        Ok(bytes) => parse_result(&String::from_utf8_lossy(&bytes))
            .map_or_else(ResultFile::Malformed, ResultFile::Claimed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ResultFile::Missing,
        Err(error) => ResultFile::Malformed(error.to_string()),
    }
}

fn now() -> Timestamp {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}
