//! Reads every kind of backlog into one model and writes back only what changed.
