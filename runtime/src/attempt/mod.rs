//! One attempt of an agent, whoever asks for it: a wave, a review, an iteration of a loop.

mod at_work;
mod launch;

pub(crate) use at_work::AtWork;
pub(crate) use launch::{Launch, not_started};
