//! Who a process is: its number together with the moment it was started, because numbers are used again.

use super::{signal, system};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// So often it is looked whether a process has ended whose end nobody tells.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// One process for good: no later process is ever equal to it, as long as the machine is up.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process number.
    pub pid: u32,
    /// When it was started: clock ticks since boot on Linux, the date and time as one number elsewhere.
    pub start_time: u64,
}

impl ProcessIdentity {
    /// Returns who has this number now, `None` when nobody has.
    pub fn of(pid: u32) -> Option<Self> {
        system::process(pid).map(|process| process.identity)
    }

    /// Tells whether the process still runs; one that ended and was not reaped does not.
    pub fn is_alive(self) -> bool {
        system::process(self.pid)
            .is_some_and(|process| process.identity == self && process.is_running())
    }

    /// Waits until the process has ended, whoever started it.
    pub(crate) async fn ended(self) {
        if let Some(end) = signal::end_of(self) {
            // Whoever can't be waited for is looked at.
            let _told = end.readable().await;
        }
        while self.is_alive() {
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_itself() {
        let identity = ProcessIdentity::of(std::process::id()).unwrap();
        assert!(identity.is_alive());
        assert_eq!(ProcessIdentity::of(identity.pid), Some(identity));
    }

    #[test]
    fn same_number_with_another_start_is_somebody_else() {
        let identity = ProcessIdentity::of(std::process::id()).unwrap();
        let other = ProcessIdentity {
            start_time: identity.start_time + 1,
            ..identity
        };
        assert!(!other.is_alive());
    }
}
