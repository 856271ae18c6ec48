//! One attempt of an agent, whoever asks for it: a wave, a review, an iteration of a loop.

mod concurrent;
mod runner;

pub(crate) use concurrent::ConcurrentAttempts;
pub(crate) use runner::{Attempt, AttemptRunner, Ran, Start, Workplace};
pub(crate) use runner::{Launch, not_started};
