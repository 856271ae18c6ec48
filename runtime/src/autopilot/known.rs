//! Which runs there are in a checkout: those that notes tell of, then what pointers name beside them.
//!
//! Pointers and states may lie in the checkout, where whoever drives a run can take them away or put anything in their place;
//! what can't be read there keeps nobody from a run, nor from giving it up.

use super::error::Error;
use super::note::Notes;
use itertools::Itertools as _;
use std::cmp::Reverse;
use tm_store::autopilot::{AutopilotFolder, CurrentRun};

/// The runs of one checkout.
#[derive(Debug)]
pub(super) struct KnownRuns {
    /// Those that tm began, then those that the checkout alone tells of; of both, the one to go on with first.
    pub(super) runs: Vec<CurrentRun>,
    /// Why pointers can't be read.
    pub(super) unreadable: Vec<tm_store::Error>,
}

impl KnownRuns {
    /// Returns those of a checkout: `own` is where its settings have them.
    pub(super) fn of(own: AutopilotFolder, notes: &Notes) -> Result<Self, Error> {
        let noted: Vec<CurrentRun> = notes
            .begun()?
            .into_iter()
            .map(|note| note.current)
            .collect();
        let (mut named, mut unreadable) = (Vec::new(), Vec::new());
        for folder in with_noted(own, notes)? {
            let (runs, not_read) = folder.current_runs();
            let is_there = |run: &CurrentRun| folder.has_state(&run.run_id);
            named.extend(runs.into_iter().filter(is_there));
            unreadable.extend(not_read);
        }
        named.retain(|run| noted.iter().all(|noted| noted.run_id != run.run_id));
        let runs = sorted(noted).chain(sorted(named)).collect();
        Ok(Self { runs, unreadable })
    }
}

fn sorted(runs: Vec<CurrentRun>) -> impl Iterator<Item = CurrentRun> {
    let latest_first = |run: &CurrentRun| (run.status, Reverse(run.start_time.clone()));
    runs.into_iter().sorted_by_cached_key(latest_first)
}

/// Returns the places of the runs of a checkout: where its settings say, and where runs have begun.
pub(super) fn with_noted(
    own: AutopilotFolder,
    notes: &Notes,
) -> Result<Vec<AutopilotFolder>, Error> {
    let noted = notes.all()?.into_iter().map(|note| note.folder);
    Ok([own].into_iter().chain(noted).unique().collect())
}
