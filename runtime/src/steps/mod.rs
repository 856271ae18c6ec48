//! The steps of an attempt: each is one function, read from top to bottom, that ends in exactly one answer.

mod agent;
mod brief;
mod commit;
mod gates;
mod history;
mod kept;
mod land;
mod merge;
mod prepare;
mod prove;
mod refactor;
mod release;
mod review;
mod trailers;

pub(crate) use agent::{adopt, run_agent};
pub(crate) use brief::{Brief, StepDone};
pub(crate) use commit::commit;
pub(crate) use land::{Landed, judged_merge, land};
pub(crate) use prepare::prepare;
pub(crate) use prove::prove;
pub(crate) use refactor::refactor;
pub(crate) use release::release;

use crate::trouble::Trouble;
pub(crate) use crate::trouble::words;

/// Runs what waits for the disk or for git away from the loop.
pub(crate) async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, Trouble>
where
    T: Send + 'static,
    E: std::error::Error + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Trouble::of(&error)),
        Err(error) => Err(Trouble::of_task(error.to_string())),
    }
}
