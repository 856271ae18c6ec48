//! One look at something for all who ask at about the same moment.
//!
//! A look that began before a question was asked does not answer it: what came up in between may be missing there. Does
//! not know what is looked at.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;

/// The number of the first look that answers.
#[derive(Clone, Copy, Debug)]
struct Question(u64);

/// Looks, one at a time.
pub(super) struct SharedScan<Seen> {
    state: Mutex<State<Seen>>,
    over: Condvar,
}

/// The looks so far, numbered from 1.
struct State<Seen> {
    /// How many have begun.
    begun: u64,
    is_under_way: bool,
    /// The last one that came to its end.
    last: Option<(u64, Arc<Seen>)>,
}

impl<Seen> SharedScan<Seen> {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                begun: 0,
                is_under_way: false,
                last: None,
            }),
            over: Condvar::new(),
        }
    }

    /// Returns what is seen by a look that begins after this call: by `look` itself, or by that of somebody else who
    /// asked meanwhile.
    pub(super) fn next(&self, look: impl FnOnce() -> Seen) -> Arc<Seen> {
        self.answer(self.ask(), look)
    }

    /// Asks now for what is told by `answer`.
    fn ask(&self) -> Question {
        Question(self.state().begun + 1)
    }

    fn answer(&self, question: Question, look: impl FnOnce() -> Seen) -> Arc<Seen> {
        let mut state = self.state();
        loop {
            if let Some((number, seen)) = &state.last
                && *number >= question.0
            {
                return Arc::clone(seen);
            }
            if !state.is_under_way {
                break;
            }
            self.over.wait(&mut state);
        }
        state.begun += 1;
        state.is_under_way = true;
        let under_way = UnderWay {
            looks: self,
            number: state.begun,
        };
        drop(state);
        let seen = Arc::new(look());
        under_way.ended(Arc::clone(&seen));
        seen
    }

    fn state(&self) -> MutexGuard<'_, State<Seen>> {
        // Every change under the lock is done before it could panic.
        self.state.lock()
    }
}

/// A look that is under way; one that panics is over too, so that nobody waits for it.
struct UnderWay<'a, Seen> {
    looks: &'a SharedScan<Seen>,
    number: u64,
}

impl<Seen> UnderWay<'_, Seen> {
    fn ended(self, seen: Arc<Seen>) {
        self.looks.state().last = Some((self.number, seen));
    }
}

impl<Seen> Drop for UnderWay<'_, Seen> {
    fn drop(&mut self) {
        self.looks.state().is_under_way = false;
        self.looks.over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn who_asks_while_a_look_is_under_way_is_answered_by_the_next_one_and_all_by_the_same() {
        let (looks, taken) = (SharedScan::new(), AtomicU32::new(0));
        let look = || taken.fetch_add(1, Ordering::SeqCst) + 1;
        let mut questions = Vec::new();
        let first = looks.next(|| {
            questions.extend((0..8).map(|_| looks.ask()));
            look()
        });
        assert_eq!(*first, 1);
        let answers: Vec<u32> = questions
            .into_iter()
            .map(|question| *looks.answer(question, look))
            .collect();
        assert_eq!(answers, [2; 8]);
        assert_eq!(*looks.next(look), 3, "and a later question by a later look");
    }

    #[test]
    fn whoever_asks_from_many_threads_sees_what_was_there_before() {
        let (looks, there) = (SharedScan::new(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mine = there.fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(*looks.next(|| there.load(Ordering::SeqCst)) >= mine);
                    }
                });
            }
        });
    }

    #[test]
    fn a_look_that_panics_holds_up_nobody() {
        let looks: SharedScan<u32> = SharedScan::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            looks.next(|| panic!("on purpose"))
        }));
        assert!(panicked.is_err());
        assert_eq!(*looks.next(|| 7), 7);
    }
}
