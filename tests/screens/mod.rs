//! What people and other programs read of a run: screens, words, reports, jobs of CI systems, traces.

mod ci_jobs;
mod commands;
mod reports;
mod settings;
mod terminals;
#[cfg(feature = "otel")]
mod traces;
mod watching;
mod words;
