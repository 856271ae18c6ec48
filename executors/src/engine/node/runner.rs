//! What runs on a node: one copy of a job takes its lease, starts it as on any machine, says how it goes and does what tm
//! wants of it, until nothing of it is left. Knows no engine but the one of its own machine.

use super::folder::{Copy, Ended, How, JobFolder, Lease, Running, State, Wishes};
use super::order::Order;
use super::told::{Told, UNHEARD_LIMIT};
use crate::Error;
use crate::engine::{Ending, Engine as _, Job, JobEnd, JobProxy, LocalEngine, ProxyFolder};
use std::sync::Arc;
use std::time::Duration;
use tm_scheduler::milliseconds;
use tokio::sync::watch;
use tokio::time::Instant;

/// So often it is looked what tm wants.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// So often a copy says that it is well.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// An engine that takes a place away tells everybody there at once: a program that failed is asked so long afterwards
/// whether it was that.
const EVICTION_IS_TOLD_WITHIN: Duration = Duration::from_millis(500);
/// The same of a program that succeeded: one whose own programs were ended may go on as though they had done their work.
const EVICTION_IS_TOLD_SOON: Duration = Duration::from_millis(50);
/// A copy that was stopped for a while, and goes on, has so long to say that it is well.
const LAST_CHANCE: Duration = Duration::from_secs(2);
/// So long the program has for itself when the engine takes the place away.
const EVICTION_GRACE: Duration = Duration::from_secs(1);

/// What became of a copy of a job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CopyEnd {
    /// It ran the job to its end, which is told in the job's folder.
    Done,
    /// Another one has the job, or nobody wants it any more: this one has touched nothing.
    Second,
}

/// Runs a job on this machine, unless another copy has it; `evicted` comes when the engine wants the place back.
///
/// # Errors
/// The folder can't be used. Nothing of the job runs.
pub async fn run_copy(
    folder: &JobFolder,
    copy: Copy,
    evicted: impl Future<Output = ()>,
) -> Result<CopyEnd, Error> {
    match folder.take_lease(&Lease::Copy(copy.clone())) {
        Ok(true) => {}
        // A job that is over has no folder.
        Err(_) if !folder.path().exists() => return Ok(CopyEnd::Second),
        Err(error) => return Err(error),
        Ok(false) => {
            folder.leave_word(&copy)?;
            return Ok(CopyEnd::Second);
        }
    }
    let told = Told::new(folder);
    let started = start(folder).await;
    let (how, leftovers, words) = match started {
        Ok((job, proxy)) => {
            let (how, left, mut words) = see_to_its_end(job, &told, &copy, evicted).await;
            words.extend(proxy.as_ref().and_then(JobProxy::told));
            (how, left, words)
        }
        Err(how) => (how, 0, Vec::new()),
    };
    let ended = State::Ended(Ended {
        copy,
        how,
        leftovers,
        told: words,
    });
    told.ended(&ended).await?;
    Ok(CopyEnd::Done)
}

/// Starts the job, and what it needs beside it for as long as it runs.
async fn start(folder: &JobFolder) -> Result<(Box<dyn Job>, Option<JobProxy>), How> {
    let order = folder.take_order::<Order>();
    let unreadable = |error| How::NotStarted(format!("the order can't be read: {error}"));
    let (mut command, holding) = (order.map_err(unreadable)?.here()).map_err(How::NotStarted)?;
    let proxy = JobProxy::start(&mut command, holding.as_ref(), ProxyFolder::Temporary).await;
    let proxy = proxy.map_err(|error| How::NotHeld(error.with_causes()))?;
    let engine = LocalEngine {
        holding: holding.map(Arc::new),
    };
    let started = engine.start(&command).await;
    let job = started.map_err(|error| match error {
        Error::Hold { why, .. } => How::NotHeld(why),
        other if other.is_of_surroundings() => How::NotHeld(other.with_causes()),
        // Whoever reads it says what was to be started, and where.
        Error::Start { source, .. } => How::NotStarted(source.to_string()),
        other => How::NotStarted(other.with_causes()),
    })?;
    Ok((job, proxy))
}

/// Why a job is over, or has to be.
enum Over {
    /// Its program has ended.
    Ended(JobEnd),
    /// How it ended can't be told; holds why.
    Lost(String),
    /// tm wants it to end, with so much time for itself.
    Wanted(Duration),
    /// The engine wants its place back.
    Evicted,
    /// Nobody hears of it.
    Unheard,
}

async fn see_to_its_end(
    mut job: Box<dyn Job>,
    told: &Told,
    copy: &Copy,
    evicted: impl Future<Output = ()>,
) -> (How, u32, Vec<String>) {
    let over = wait(&mut *job, told, copy, evicted).await;
    let (how, grace) = match over {
        Over::Ended(JobEnd::Exited(code)) => (How::Exited(code), Duration::ZERO),
        Over::Ended(JobEnd::Killed | JobEnd::TimedOut | JobEnd::Unknown) => {
            (How::Killed, Duration::ZERO)
        }
        Over::Lost(why) => (How::Lost(why), Duration::ZERO),
        Over::Wanted(grace) => (How::Killed, grace),
        Over::Evicted => (How::Evicted, EVICTION_GRACE),
        Over::Unheard => (How::Evicted, Duration::ZERO),
    };
    let left = match job.end(grace).await {
        Ending::Gone(left) => left,
        Ending::OutOfReach => 0,
    };
    (how, left, job.told())
}

async fn wait(
    job: &mut dyn Job,
    told: &Told,
    copy: &Copy,
    evicted: impl Future<Output = ()>,
) -> Over {
    let mut evicted = std::pin::pin!(evicted);
    let mut heard = correspond(told.clone(), copy.clone());
    let mut asked = 0;
    loop {
        let unheard_at = heard.borrow_and_update().at + UNHEARD_LIMIT;
        tokio::select! {
            biased;
            () = &mut evicted => return Over::Evicted,
            end = job.wait() => {
                let end = match end {
                    Ok(end) => end,
                    Err(error) => return Over::Lost(error.with_causes()),
                };
                let within = match end {
                    JobEnd::Exited(0) => EVICTION_IS_TOLD_SOON,
                    _ => EVICTION_IS_TOLD_WITHIN,
                };
                return match tokio::time::timeout(within, evicted).await {
                    Ok(()) => Over::Evicted,
                    Err(_) => Over::Ended(end),
                };
            }
            () = tokio::time::sleep_until(unheard_at) => {
                let is_well = |heard: &Heard| heard.at + UNHEARD_LIMIT > Instant::now();
                let heard_again = heard.wait_for(is_well);
                if !matches!(tokio::time::timeout(LAST_CHANCE, heard_again).await, Ok(Ok(_))) {
                    return Over::Unheard;
                }
            }
            changed = heard.changed() => {
                if changed.is_err() {
                    return Over::Unheard;
                }
                let wishes = heard.borrow_and_update().wishes.clone();
                if let Some(grace) = wishes.end {
                    return Over::Wanted(grace);
                }
                if wishes.asked > asked {
                    asked = wishes.asked;
                    job.signal(wishes.signal);
                }
            }
        }
    }
}

/// What was heard of tm, and when it last heard of the copy.
#[derive(Clone, Debug)]
struct Heard {
    wishes: Wishes,
    at: Instant,
}

/// Says again and again that a copy is well, and reads what tm wants, for as long as somebody listens. A thread of its own
/// does, since a file system of many machines may make whoever asks it wait for ever.
fn correspond(told: Told, copy: Copy) -> watch::Receiver<Heard> {
    let begun = Instant::now();
    let (sender, receiver) = watch::channel(Heard {
        wishes: Wishes::default(),
        at: begun,
    });
    let mut running = Running {
        copy,
        ran_ms: 0,
        beats: 0,
    };
    let mut due = begun;
    std::thread::spawn(move || {
        while !sender.is_closed() {
            let now = Instant::now();
            let mut heard = sender.borrow().clone();
            if now >= due {
                running.beats += 1;
                running.ran_ms = milliseconds(now - begun);
                if told.is_well(&State::Running(running.clone())) {
                    heard.at = now;
                    due = now + BEAT_EVERY;
                }
            }
            // What can't be read now is read the next time.
            heard.wishes = told.folder().wishes().unwrap_or(heard.wishes);
            sender.send_replace(heard);
            std::thread::sleep(LOOK_EVERY);
        }
    });
    receiver
}
