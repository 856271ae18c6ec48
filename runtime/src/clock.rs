//! Makes the clock one that never goes back.

pub use tm_executors::now;
use tm_scheduler::Timestamp;

/// A clock that goes on where the system's is set back, so that pauses and deadlines of a run last as long as they
/// should. Where the system's is set forward, or the machine slept, it follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadyClock {
    /// What the system's clock said last.
    last: Timestamp,
    /// How far this one is ahead of it, in milliseconds.
    ahead_ms: u64,
}

impl SteadyClock {
    /// Returns a clock that begins now, or at that moment when the system's clock has been set back since.
    pub(crate) fn not_before(moment: Timestamp) -> Self {
        let mut clock = Self {
            last: moment,
            ahead_ms: 0,
        };
        clock.at(now());
        clock
    }

    /// Returns the time now.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.at(now())
    }

    /// Returns a moment of the system's clock as this one has it.
    pub(crate) const fn of(self, moment: Timestamp) -> Timestamp {
        moment.plus(self.ahead_ms)
    }

    const fn at(&mut self, system: Timestamp) -> Timestamp {
        self.ahead_ms = self.ahead_ms.saturating_add(self.last.since(system));
        self.last = system;
        system.plus(self.ahead_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let mut clock = SteadyClock {
            last: Timestamp(1_000),
            ahead_ms: 0,
        };
        let told: Vec<u64> = [1_010, 1_020, 500, 510, 600, 50, 60]
            .into_iter()
            .map(|system| clock.at(Timestamp(system)).0)
            .collect();
        assert_eq!(told, [1_010, 1_020, 1_020, 1_030, 1_120, 1_120, 1_130]);
    }

    #[test]
    fn a_machine_that_slept_is_followed() {
        let mut clock = SteadyClock {
            last: Timestamp(1_000),
            ahead_ms: 5,
        };
        assert_eq!(clock.at(Timestamp(90_000)), Timestamp(90_005));
        assert_eq!(clock.of(Timestamp(100_000)), Timestamp(100_005));
    }

    #[test]
    fn a_journal_of_the_future_is_gone_on_with_at_its_last_moment() {
        let future = now().plus(86_400_000);
        let mut clock = SteadyClock::not_before(future);
        assert!(clock.now() >= future && clock.now().since(future) < 60_000);
    }
}
