//! One look at something for all who ask at about the same moment.
//!
//! A look that began before a question was asked does not answer it: what came up in between may be missing there. Does
//! not know what is looked at. Whoever waits takes up no thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Nobody waits longer than this for a look to begin.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Looks, one at a time, numbered from 1.
#[derive(Debug)]
pub struct SharedLook<Seen> {
    /// How many have begun.
    begun: AtomicU64,
    /// The last one that came to its end; held while one is under way.
    last: Mutex<Option<Last<Seen>>>,
    /// So many times as long as a look took the next one waits.
    rests: u32,
}

/// A look that came to its end.
#[derive(Debug)]
struct Last<Seen> {
    number: u64,
    seen: Option<Arc<Seen>>,
    /// No other begins before.
    rested: Instant,
}

impl<Seen> Default for SharedLook<Seen> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Seen> SharedLook<Seen> {
    /// Nobody has looked yet.
    pub const fn new() -> Self {
        Self {
            begun: AtomicU64::new(0),
            last: Mutex::const_new(None),
            rests: 0,
        }
    }

    /// The same with so many times as long between two looks as the first of them took: where many ask one after the
    /// other, looking takes no more than its share.
    #[must_use]
    pub const fn resting(mut self, times: u32) -> Self {
        self.rests = times;
        self
    }

    /// Returns what is seen by a look that begins after this call: by `look` itself, or by that of somebody else who asked
    /// meanwhile; `None` where that saw nothing.
    pub async fn next(&self, look: impl Future<Output = Option<Seen>>) -> Option<Arc<Seen>> {
        let first = self.begun.load(Ordering::SeqCst) + 1;
        let mut last = self.last.lock().await;
        if let Some(last) = &*last {
            if last.number >= first {
                return last.seen.clone();
            }
            sleep_until(last.rested).await;
        }
        let (number, begun) = (
            self.begun.fetch_add(1, Ordering::SeqCst) + 1,
            Instant::now(),
        );
        let seen = look.await.map(Arc::new);
        *last = Some(Last {
            number,
            seen: seen.clone(),
            rested: Instant::now() + (begun.elapsed() * self.rests).min(LONGEST_REST),
        });
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[tokio::test]
    async fn who_asks_while_a_look_is_under_way_is_answered_by_the_next_one_and_all_by_the_same() {
        let (looks, taken) = (Arc::new(SharedLook::new()), Arc::new(AtomicU32::new(0)));
        let ask = || {
            let (looks, taken) = (Arc::clone(&looks), Arc::clone(&taken));
            tokio::spawn(async move {
                let look = async {
                    let number = taken.fetch_add(1, Ordering::SeqCst) + 1;
                    tokio::task::yield_now().await;
                    Some(number)
                };
                looks.next(look).await.as_deref().copied()
            })
        };
        let asked: Vec<_> = (0..8).map(|_| ask()).collect();
        let mut answers = Vec::new();
        for answer in asked {
            answers.push(answer.await.expect("no panic").expect("seen"));
        }
        assert_eq!(answers, [1, 2, 2, 2, 2, 2, 2, 2]);
        let later = ask().await.expect("no panic");
        assert_eq!(later, Some(3), "and a later question by a later look");
    }

    #[tokio::test]
    async fn a_look_rests_as_long_as_it_is_to_and_answers_all_who_asked_meanwhile() {
        let looks = SharedLook::<[Instant; 2]>::new().resting(4);
        let look = || async {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(5) {
                tokio::task::yield_now().await;
            }
            Some([begun, Instant::now()])
        };
        let (one, two, three) =
            tokio::join!(looks.next(look()), looks.next(look()), looks.next(look()));
        let [one, two, three] = [one, two, three].map(|seen| *seen.expect("seen"));
        assert!(two[0] - one[1] >= (one[1] - one[0]) * 4);
        assert_eq!(two, three);
    }

    #[tokio::test]
    async fn a_look_that_is_given_up_holds_up_nobody() {
        let looks = SharedLook::<u32>::default();
        tokio::select! {
            biased;
            _ = looks.next(std::future::pending()) => unreachable!("it never ends"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(looks.next(async { Some(7) }).await.as_deref(), Some(&7));
    }
}
