//! Everything a run leaves on disk: project folder, lock, run directory, journal.
