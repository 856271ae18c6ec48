//! A job on another machine, as tm sees it: by the files in its folder, and by what the engine says where those say nothing.
//!
//! What a job works on is somebody else's again when one of three things is sure: a copy said that all of it is gone, its
//! engine is sure of that, or tm took the lease itself, so that no copy ever begins. Where none is, the job is out of reach.

use super::folder::{Copy, Ended, How, JobFolder, Lease, State, Wishes};
use super::told::UNHEARD_LIMIT;
use super::{Launcher, Loss, Standing};
use crate::engine::{Ending, Job, JobEnd, JobHandle, Pending, Whereabouts};
use crate::{Error, now};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tm_scheduler::{StopSignal, Timestamp};
use tokio::time::Instant;

/// The first pause between two looks at a job.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two looks at a job.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// So long a copy may take, besides what the program is given, until its answer is seen here.
const ANSWER_LIMIT: Duration = if cfg!(test) {
    Duration::from_secs(2)
} else {
    Duration::from_secs(15)
};
/// So long a copy's last word may take until it is seen here, where its engine is sure that it has ended.
const LAST_WORD_LIMIT: Duration = if cfg!(test) {
    Duration::from_millis(100)
} else {
    Duration::from_secs(10)
};
/// So long whoever drops a job waits for its end.
const DROP_LIMIT: Duration = Duration::from_secs(1);

/// What tm knows a job by.
#[derive(Deserialize, Serialize)]
pub(super) struct Known {
    /// The name of its folder.
    pub(super) folder: String,
}

/// A job on another machine. Dropping it says that it is to end.
#[derive(Debug)]
pub(super) struct RemoteJob {
    launcher: Arc<dyn Launcher>,
    folder: JobFolder,
    wishes: Wishes,
    /// What the engine said when it had the job no more.
    loss: Option<Loss>,
    /// Until when somebody has to say that it has ended, once that was asked for.
    overdue_at: Option<Instant>,
    /// Since when the engine is sure that the copy which has the job has ended.
    ended_since: Option<Instant>,
    /// Nobody who could say anything has it: no copy ever began, and none will.
    is_given_up: bool,
    /// Whether its folder was there. One that was and is not says nothing of who works where the job does.
    was_there: bool,
    ending: Option<Ending>,
    /// When the next look is due. What waits for a job is often given up and begun again, and looks no more often for that.
    look_at: Instant,
    pause: Duration,
}

/// What became of a job.
#[derive(Clone, Debug)]
enum Answer {
    /// A copy said that all of it is gone.
    Ended(Ended),
    /// The engine is sure that nothing of the copy is left that had it, which did not say how it ended.
    NothingLeft,
    /// No copy ever began, and none will.
    NeverBegan,
    /// Nobody said anything.
    Nobody,
}

impl RemoteJob {
    pub(super) fn new(launcher: Arc<dyn Launcher>, folder: JobFolder) -> Self {
        Self {
            launcher,
            wishes: folder.wishes().unwrap_or_default(),
            was_there: folder.path().exists(),
            folder,
            loss: None,
            overdue_at: None,
            ended_since: None,
            is_given_up: false,
            ending: None,
            look_at: Instant::now(),
            pause: FIRST_PAUSE,
        }
    }

    /// Waits for the next look; the longer a job goes on, the longer.
    async fn next_look(&mut self) {
        tokio::time::sleep_until(self.look_at).await;
        self.look_at = Instant::now() + self.pause;
        self.pause = (self.pause * 5 / 4).min(LONGEST_PAUSE);
    }

    fn look_soon(&mut self) {
        self.pause = FIRST_PAUSE;
        self.look_at = Instant::now();
    }

    /// What became of it, where that is known by now.
    fn answer(&self) -> Option<Answer> {
        match self.folder.state() {
            Ok(State::Ended(ended)) => return Some(Answer::Ended(ended)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.was_there => {
                return Some(Answer::Nobody);
            }
            // An earlier process removed it, of which nothing was left then; or somebody else did, and a copy goes on until it
            // finds that nobody hears of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let standing = self.launcher.standing(&self.folder);
                if self.overdue_at.is_none() && matches!(standing, Standing::Gone(_)) {
                    return Some(Answer::NeverBegan);
                }
            }
            Ok(State::Ordered | State::Running(_)) | Err(_) => {}
        }
        if self.is_given_up {
            return Some(Answer::NeverBegan);
        }
        let is_over = (self.ended_since).is_some_and(|since| since.elapsed() > LAST_WORD_LIMIT);
        if is_over {
            return Some(Answer::NothingLeft);
        }
        let is_overdue = self.overdue_at.is_some_and(|at| Instant::now() >= at);
        is_overdue.then_some(Answer::Nobody)
    }

    /// Waits until it is known what became of it. A job that its engine has no more is asked to end.
    async fn over(&mut self) -> Answer {
        loop {
            self.next_look().await;
            if let Some(answer) = self.answer() {
                return answer;
            }
            if self.ended_since.is_none() && self.loss.is_some() && self.has_ended() {
                self.ended_since = Some(Instant::now());
            }
            if self.loss.is_none()
                && let Standing::Gone(loss) = self.launcher.standing(&self.folder)
            {
                self.loss = Some(loss);
                if self.was_there {
                    self.ask_for_end(Duration::ZERO);
                }
            }
        }
    }

    /// Tells whether the engine is sure that nothing is left of the copy that has the job.
    fn has_ended(&self) -> bool {
        match self.folder.lease() {
            Some(Lease::Copy(copy)) => self.launcher.has_ended(&copy),
            Some(Lease::GivenUp) | None => false,
        }
    }

    /// Has no copy begin any more, and the one end that has begun.
    fn ask_for_end(&mut self, grace: Duration) {
        let given_up = self.folder.take_lease(&Lease::GivenUp);
        self.is_given_up = given_up.unwrap_or(false);
        if self.is_given_up {
            self.folder.remove_order();
        } else {
            self.wishes.end = Some(grace);
            // A copy that can't be told is out of reach.
            let _is_not_told = self.folder.set_wishes(&self.wishes);
        }
        self.overdue_at = Some(Instant::now() + grace + ANSWER_LIMIT);
        self.look_soon();
    }

    /// Returns how a job ended that a copy tells of, or why that says nothing.
    async fn end_of(&mut self, how: How) -> Result<JobEnd, Error> {
        match how {
            // It did so by itself, whatever the engine says.
            How::Exited(code) => {
                self.loss = None;
                Ok(JobEnd::Exited(code))
            }
            How::NotStarted(why) => Err(self.not_started(&why)),
            How::NotHeld(why) => Err(Error::Hold {
                program: self.label().0,
                why,
            }),
            How::Lost(why) => Err(Error::Lost(why)),
            How::Killed if self.loss.is_none() => Ok(JobEnd::Killed),
            How::Killed => Ok(self.lost()),
            How::Evicted => {
                self.learn_loss().await;
                Ok(self.lost())
            }
        }
    }

    /// Waits until the engine says why it took the place away.
    async fn learn_loss(&mut self) {
        let give_up_at = *self.overdue_at.get_or_insert(Instant::now() + ANSWER_LIMIT);
        while self.loss.is_none() && Instant::now() < give_up_at {
            if let Standing::Gone(loss) = self.launcher.standing(&self.folder) {
                self.loss = Some(loss);
            }
            self.next_look().await;
        }
    }

    const fn lost(&self) -> JobEnd {
        match self.loss {
            Some(Loss::TimedOut(_)) => JobEnd::TimedOut,
            Some(Loss::Lost(_) | Loss::Refused(_)) | None => JobEnd::Unknown,
        }
    }

    async fn end_all(&mut self, grace: Duration) -> Ending {
        if !self.was_there {
            // A copy that finds that nobody hears of it ends itself, and then its engine has it no more.
            let over = self.over();
            let over = tokio::time::timeout(UNHEARD_LIMIT + ANSWER_LIMIT, over).await;
            self.launcher.cancel(&self.folder);
            return match over {
                Ok(_) => Ending::Gone(0),
                Err(_) => Ending::OutOfReach,
            };
        }
        if self.answer().is_none() {
            self.ask_for_end(grace);
        }
        let mut answer = self.over().await;
        if let Answer::Ended(ended) = answer {
            self.launcher.forget(&self.folder);
            return Ending::Gone(ended.leftovers);
        }
        self.launcher.cancel(&self.folder);
        if matches!(answer, Answer::Nobody) {
            // A copy that its engine ends says so too, where it still can.
            self.overdue_at = Some(Instant::now() + ANSWER_LIMIT);
            answer = self.over().await;
        }
        match answer {
            Answer::Ended(ended) => Ending::Gone(ended.leftovers),
            Answer::NothingLeft | Answer::NeverBegan => Ending::Gone(0),
            Answer::Nobody => Ending::OutOfReach,
        }
    }

    fn end_at_once(&mut self) -> Ending {
        if self.answer().is_none() {
            self.ask_for_end(Duration::ZERO);
        }
        let until = Instant::now() + DROP_LIMIT;
        while self.answer().is_none() && Instant::now() < until {
            std::thread::sleep(FIRST_PAUSE);
        }
        self.launcher.cancel(&self.folder);
        match self.answer() {
            Some(Answer::Ended(_) | Answer::NothingLeft | Answer::NeverBegan) => Ending::Gone(0),
            Some(Answer::Nobody) | None => Ending::OutOfReach,
        }
    }

    /// Returns the program, and the folder where it works.
    fn label(&self) -> (String, String) {
        self.folder.label().map_or_else(
            || ("the program".to_owned(), String::new()),
            |label| (label.program, label.working_folder),
        )
    }

    fn not_started(&self, why: &str) -> Error {
        let (program, folder) = self.label();
        let source = io::Error::other(why.to_owned());
        Error::not_started(program.as_ref(), Path::new(&folder))(source)
    }
}

impl Job for RemoteJob {
    fn handle(&self) -> Option<JobHandle> {
        let folder = self.folder.name().to_owned();
        Some(JobHandle::new(self.launcher.name(), &Known { folder }))
    }

    fn is_running(&self) -> Pending<'_, bool> {
        Box::pin(async {
            let state = self.folder.state();
            let is_given_up = self.folder.lease() == Some(Lease::GivenUp);
            matches!(state, Ok(State::Ordered | State::Running(_))) && !is_given_up
        })
    }

    fn begun(&mut self) -> Pending<'_, Option<Timestamp>> {
        Box::pin(async {
            loop {
                self.next_look().await;
                if let Ok(State::Running(running)) = self.folder.state() {
                    return Some(Timestamp(now().0.saturating_sub(running.ran_ms)));
                }
                let is_gone = matches!(self.launcher.standing(&self.folder), Standing::Gone(_));
                if is_gone || self.answer().is_some() {
                    return None;
                }
            }
        })
    }

    fn wait(&mut self) -> Pending<'_, Result<JobEnd, Error>> {
        Box::pin(async {
            match self.over().await {
                Answer::Ended(ended) => self.end_of(ended.how).await,
                Answer::NothingLeft | Answer::NeverBegan | Answer::Nobody => match &self.loss {
                    Some(Loss::Refused(words)) => Err(Error::Refused(words.clone())),
                    Some(Loss::TimedOut(_) | Loss::Lost(_)) | None => Ok(self.lost()),
                },
            }
        })
    }

    fn signal(&self, signal: StopSignal) {
        let known = self.folder.wishes().unwrap_or_default();
        let wishes = Wishes {
            asked: known.asked + 1,
            signal,
            ..known
        };
        // It is ended without having been asked then.
        let _is_not_told = self.folder.set_wishes(&wishes);
    }

    fn end(&mut self, grace: Duration) -> Pending<'_, Ending> {
        Box::pin(async move {
            let ending = match self.ending {
                Some(known) => known,
                None => self.end_all(grace).await,
            };
            self.ending = Some(ending);
            ending
        })
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        let on = |copy: Copy| {
            let (engine, noun) = (self.launcher.name(), self.launcher.noun());
            Whereabouts::On(format!("{} ({engine} {noun} {})", copy.node, copy.job))
        };
        match self.folder.state().ok()? {
            State::Running(running) => Some(on(running.copy)),
            State::Ended(ended) => Some(on(ended.copy)),
            State::Ordered => match self.launcher.standing(&self.folder) {
                Standing::Waiting(why) => Some(Whereabouts::Waiting(why)),
                Standing::Running | Standing::Gone(_) => None,
            },
        }
    }

    fn told(&self) -> Vec<String> {
        let loss = self.loss.iter().map(|loss| match loss {
            Loss::TimedOut(words) | Loss::Refused(words) | Loss::Lost(words) => words.clone(),
        });
        let second = self.folder.second_copies();
        let second = second.into_iter().map(|copy| {
            let (job, node) = (copy.job, copy.node);
            let noun = self.launcher.noun();
            format!("a second copy of it was started on `{node}` ({noun} {job}) and ended itself")
        });
        let lost = (self.ending == Some(Ending::OutOfReach)).then(|| {
            "nobody could be reached who knows whether it goes on: where it worked is not used again".to_owned()
        });
        let printed = self.loss.as_ref().and_then(|_| self.folder.last_printed());
        let printed = printed.map(|line| format!("what started it says: {line}"));
        let of_node = match self.folder.state() {
            Ok(State::Ended(ended)) => ended.told,
            _ => Vec::new(),
        };
        let told = loss.chain(printed).chain(second).chain(lost);
        told.chain(self.folder.other_version())
            .chain(of_node)
            .collect()
    }
}

impl Drop for RemoteJob {
    fn drop(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(self.end_at_once());
        }
        if matches!(self.ending, Some(Ending::Gone(_))) {
            self.folder.remove();
        }
    }
}
