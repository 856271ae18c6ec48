//! Works on the parts of something at the same time, and gives what comes of them away in their order.
//!
//! What a part comes to is small and soon gone: its memory is used again for later ones. Does not know what is done.

use std::iter;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does `work` on each part, on as many threads as there are processors, and gives what comes of it to `take`.
///
/// # Errors
/// The first one of `take`, which is given nothing any more then.
pub(super) fn in_order<P: Send, T: Send, E>(
    parts: Vec<P>,
    work: impl Fn(P) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let helpers = 1..processors.min(parts.len());
    let (senders, receivers): (Vec<_>, Vec<_>) = parts.iter().map(|_| channel()).unzip();
    let left = Mutex::new(parts.into_iter().zip(senders));
    let next = || {
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        left.next()
    };
    let one = || {
        let (part, sender) = next()?;
        // Nobody listens any more where one was refused.
        sender.send(work(part)).ok()
    };
    thread::scope(|scope| {
        for _ in helpers {
            // Where there are no more threads, fewer do it.
            let helping = || while one().is_some() {};
            drop(thread::Builder::new().spawn_scoped(scope, helping));
        }
        for receiver in receivers {
            let made = loop {
                match receiver.try_recv() {
                    Ok(made) => break made,
                    // Somebody is at it: the next one meanwhile.
                    Err(_) if one().is_some() => {}
                    Err(_) => break receiver.recv().expect("who takes a part sends something"),
                }
            };
            take(made).inspect_err(|_| iter::from_fn(next).for_each(drop))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_of_parts_is_given_away_in_their_order_whoever_is_done_first() {
        let work = |part: u32| {
            let long = (0..part % 7 * 1_000).fold(part, u32::rotate_left);
            (part, long)
        };
        let mut taken = Vec::new();
        let done = in_order((0..500).collect(), work, |(part, _)| {
            taken.push(part);
            Ok::<(), ()>(())
        });
        assert_eq!(done, Ok(()));
        assert!(taken.into_iter().eq(0..500));
    }

    #[test]
    fn nothing_is_given_away_behind_the_first_one_that_is_refused() {
        let mut taken = 0;
        let done = in_order(
            (0..500).collect(),
            |part: u32| part,
            |part| {
                taken += 1;
                if part == 20 { Err(part) } else { Ok(()) }
            },
        );
        assert_eq!((done, taken), (Err(20), 21));
    }
}
