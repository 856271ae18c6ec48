//! How many set-ups and tests run at the same time, and who is next: what lands, then work by when its agent ended, then
//! worktrees of agents, then what nobody waits for yet.
//!
//! One command has one place: whoever has one waits for no other. Does not know what is run.

use parking_lot::Mutex;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tm_scheduler::{Timestamp, words};
use tokio::sync::oneshot;

/// The places in which set-ups and tests are run, and those who wait for one.
#[derive(Clone, Debug)]
pub struct TestQueue(Arc<Mutex<Places>>);

#[derive(Debug)]
struct Places {
    all: u32,
    free: u32,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    turn: Turn,
    admitted: oneshot::Sender<Admission>,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Arc<Mutex<Places>>,
    /// Since when it is used, and by whom.
    used: Option<(Instant, Turn)>,
}

/// What is run for whom; the smaller comes first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Urgency {
    /// For a merge, which others wait for.
    Landing,
    /// For the proof of work whose agent ended at that moment.
    Proof(Timestamp),
    /// For an agent that has not begun, or somebody who calls tm.
    SetUp,
    /// For nobody yet.
    Ahead,
}

/// By what somebody is next. Those who share one are as urgent as the most urgent of them.
#[derive(Clone)]
pub struct Turn {
    urgency: Arc<Mutex<Urgency>>,
    /// For how long places were used in it.
    used: Arc<Mutex<Duration>>,
    told: Option<Told>,
}

/// Who is told when a place is waited for, and when it is there.
type Told = Arc<dyn Fn(PlaceNews) + Send + Sync>;

words! {
    /// What is told of somebody who waits.
    pub enum PlaceNews {
        /// All places are taken.
        Waits = "tests:waiting",
        /// One is there.
        GoesOn = "tests:admitted",
    }
}

impl TestQueue {
    /// Returns a queue for so many places.
    pub fn new(places: NonZeroU32) -> Self {
        Self(Arc::new(Mutex::new(Places {
            all: places.get(),
            free: places.get(),
            waiting: Vec::new(),
        })))
    }

    /// Adds places until there are so many.
    pub(crate) fn widen_to(&self, places: u32) {
        let before = {
            let mut own = self.0.lock();
            let wider = own.all.max(places);
            std::mem::replace(&mut own.all, wider)
        };
        for _ in before..places {
            // Each goes to whoever waits.
            drop(Admission::of(&self.0));
        }
    }

    /// Waits for a place.
    pub(crate) async fn admit(&self, turn: &Turn) -> Admission {
        let admitted = {
            let mut places = self.0.lock();
            if places.free > 0 {
                places.free -= 1;
                return Admission::of(&self.0).used_in(turn);
            }
            let (admits, admitted) = oneshot::channel();
            places.waiting.push(Waiting {
                turn: turn.clone(),
                admitted: admits,
            });
            admitted
        };
        turn.tell(PlaceNews::Waits);
        let admission = admitted.await;
        turn.tell(PlaceNews::GoesOn);
        let admission = admission.expect("whoever waits is given a place or goes on waiting");
        admission.used_in(turn)
    }
}

impl Admission {
    fn of(places: &Arc<Mutex<Places>>) -> Self {
        Self {
            places: Arc::clone(places),
            used: None,
        }
    }

    fn used_in(mut self, turn: &Turn) -> Self {
        self.used = Some((Instant::now(), turn.clone()));
        self
    }
}

impl Places {
    /// Takes the next one out of those who wait; of equals the one who came first.
    fn next(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.iter().enumerate();
        let next = waiting.min_by_key(|(_, waiting)| waiting.turn.urgency())?.0;
        Some(self.waiting.remove(next))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some((since, turn)) = self.used.take() {
            *turn.used.lock() += since.elapsed();
        }
        let next = {
            let mut places = self.places.lock();
            let next = places.next();
            places.free += u32::from(next.is_none());
            next
        };
        if let Some(Waiting { admitted, .. }) = next {
            // Where whoever waited has gone, the place comes back and is dropped, and so goes to the next one.
            let _dropped_again = admitted.send(Self::of(&self.places));
        }
    }
}

impl Turn {
    pub(crate) fn new(urgency: Urgency) -> Self {
        Self {
            urgency: Arc::new(Mutex::new(urgency)),
            used: Arc::default(),
            told: None,
        }
    }

    /// Has somebody told when it waits.
    pub(crate) fn telling(self, told: impl Fn(PlaceNews) + Send + Sync + 'static) -> Self {
        let told = Some(Arc::new(told) as Told);
        Self { told, ..self }
    }

    /// Returns the turn of the same one with another urgency.
    pub(crate) fn at(&self, urgency: Urgency) -> Self {
        Self {
            urgency: Arc::new(Mutex::new(urgency)),
            used: Arc::clone(&self.used),
            told: self.told.clone(),
        }
    }

    pub(crate) fn urgency(&self) -> Urgency {
        *self.urgency.lock()
    }

    /// Makes it as urgent as that of somebody who waits for the same.
    pub(crate) fn hurry(&self, urgency: Urgency) {
        let mut own = self.urgency.lock();
        *own = (*own).min(urgency);
    }

    /// Returns for how long places were used in it.
    pub(crate) fn used(&self) -> Duration {
        *self.used.lock()
    }

    fn tell(&self, news: PlaceNews) {
        if let Some(told) = &self.told {
            told(news);
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (formatter.debug_tuple("Turn"))
            .field(&self.urgency())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::pin::Pin;

    type Waiter<'a> = Pin<Box<dyn Future<Output = Admission> + 'a>>;

    fn queue(places: u32) -> TestQueue {
        TestQueue::new(NonZeroU32::new(places).expect("a place"))
    }

    fn proof(at: u64) -> Turn {
        Turn::new(Urgency::Proof(Timestamp(at)))
    }

    /// Starts to wait, and is still waiting.
    fn waits<'a>(queue: &'a TestQueue, turn: &'a Turn) -> Waiter<'a> {
        let mut waiter: Waiter<'_> = Box::pin(queue.admit(turn));
        assert!((&mut waiter).now_or_never().is_none(), "all are taken");
        waiter
    }

    /// The one of them that is admitted now.
    fn admitted(waiters: &mut [Option<Waiter<'_>>]) -> Option<(usize, Admission)> {
        let mut each = waiters.iter_mut().enumerate();
        let (number, admission) = each.find_map(|(number, waiter)| {
            let admission = waiter.as_mut()?.now_or_never()?;
            Some((number, admission))
        })?;
        waiters[number] = None;
        Some((number, admission))
    }

    #[test]
    fn what_lands_is_first_then_the_oldest_work_then_set_ups_then_what_nobody_waits_for() {
        let queue = queue(1);
        let first = proof(9);
        let mut taken = queue.admit(&first).now_or_never();
        let turns = [
            Turn::new(Urgency::Ahead),
            Turn::new(Urgency::SetUp),
            proof(30),
            proof(10),
            proof(10),
            Turn::new(Urgency::Landing),
        ];
        let mut waiters: Vec<_> = turns.iter().map(|turn| Some(waits(&queue, turn))).collect();
        let mut order = Vec::new();
        for _ in &turns {
            drop(taken);
            let (number, admission) = admitted(&mut waiters).expect("the place is free");
            order.push(number);
            taken = Some(admission);
            assert!(admitted(&mut waiters).is_none(), "there is one place");
        }
        assert_eq!(order, [5, 3, 4, 2, 1, 0]);
    }

    #[test]
    fn whoever_is_hurried_by_another_one_is_as_urgent() {
        let queue = queue(1);
        let (first, other, ahead) = (proof(1), proof(5), Turn::new(Urgency::Ahead));
        let taken = queue.admit(&first).now_or_never();
        let mut waiters = [Some(waits(&queue, &other)), Some(waits(&queue, &ahead))];
        ahead.clone().hurry(Urgency::Proof(Timestamp(2)));
        ahead.hurry(Urgency::SetUp);
        drop(taken);
        assert_eq!(admitted(&mut waiters).map(|(number, _)| number), Some(1));
    }

    #[test]
    fn the_place_of_whoever_has_gone_is_the_next_ones() {
        let queue = queue(1);
        let turns = [proof(1), proof(2), proof(3), proof(4)];
        let taken = queue.admit(&turns[0]).now_or_never();
        let mut waiters: Vec<_> = turns[1..]
            .iter()
            .map(|turn| Some(waits(&queue, turn)))
            .collect();
        // Gone before it was its turn, and gone with a place that it had not taken yet.
        waiters[0] = None;
        drop(taken);
        waiters[1] = None;
        let last = admitted(&mut waiters).expect("the place is free");
        assert_eq!(last.0, 2);
        drop((waiters, last));
        assert!(queue.admit(&turns[0]).now_or_never().is_some());
    }

    #[test]
    fn who_waits_is_told_of_and_who_does_not_is_not() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&told);
        let queue = queue(1);
        let turn = proof(1).telling(move |news| hears.lock().push(news));
        let taken = queue.admit(&turn).now_or_never();
        assert_eq!(*told.lock(), []);
        let same = turn.at(Urgency::Landing);
        let mut waiters = [Some(waits(&queue, &same))];
        assert_eq!(*told.lock(), [PlaceNews::Waits]);
        drop(taken);
        assert!(admitted(&mut waiters).is_some());
        assert_eq!(*told.lock(), [PlaceNews::Waits, PlaceNews::GoesOn]);
    }

    #[test]
    fn places_that_are_added_go_to_whoever_waits() {
        let queue = queue(1);
        let turn = proof(1);
        let _taken = queue.admit(&turn).now_or_never();
        let mut waiters = [Some(waits(&queue, &turn)), Some(waits(&queue, &turn))];
        queue.widen_to(1);
        assert!(admitted(&mut waiters).is_none());
        queue.widen_to(2);
        let _first = admitted(&mut waiters).expect("a place was added");
        assert!(admitted(&mut waiters).is_none());
    }
}
