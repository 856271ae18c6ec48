//! Finds the landing with which tests begin to fail, by halves. Knows no tests, and nothing of what landed.

/// How far a search among landings has come, the oldest of them the first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FirstFailing {
    /// With so many of them the tests pass.
    passes: usize,
    /// With so many of them they fail.
    fails: usize,
}

impl FirstFailing {
    /// Begins to search among so many landings: without any the tests pass, with all of them they fail.
    pub const fn among(landings: usize) -> Self {
        Self {
            passes: 0,
            fails: landings,
        }
    }

    /// Returns with how many of the landings to run the tests next; `None` when it is known where they begin to fail.
    pub const fn next(self) -> Option<usize> {
        let between = self.fails.saturating_sub(self.passes);
        if between > 1 {
            Some(self.passes + between / 2)
        } else {
            None
        }
    }

    /// Takes in what the tests say with so many of the landings.
    #[must_use]
    pub const fn with(self, landings: usize, do_fail: bool) -> Self {
        if do_fail {
            Self {
                fails: landings,
                ..self
            }
        } else {
            Self {
                passes: landings,
                ..self
            }
        }
    }

    /// Returns the number of the landing with which they begin to fail, as far as it is known: the first one has 1.
    pub const fn number(self) -> usize {
        self.fails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_landing_that_fails_is_found_in_as_many_runs_as_halving_takes() {
        for landings in 1..=70_usize {
            for first in 1..=landings {
                let (mut search, mut runs) = (FirstFailing::among(landings), 0);
                while let Some(number) = search.next() {
                    search = search.with(number, number >= first);
                    runs += 1;
                }
                assert_eq!(search.number(), first, "of {landings}");
                let most = landings.next_power_of_two().ilog2();
                assert!(runs <= most, "{runs} for {first} of {landings}");
            }
        }
    }

    #[test]
    fn what_is_found_fails_and_what_is_before_it_passes_whatever_comes_and_goes() {
        let fails = [false, true, false, true, true, false, true];
        let mut search = FirstFailing::among(6);
        while let Some(number) = search.next() {
            search = search.with(number, fails[number]);
        }
        let found = search.number();
        assert!(fails[found] && !fails[found - 1], "{found}");
    }
}
