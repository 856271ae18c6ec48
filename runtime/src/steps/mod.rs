//! The steps of an attempt: each is one function, read from top to bottom, that ends in exactly one answer.

mod agent;
mod brief;
mod commit;
mod land;
mod prepare;
mod prove;
mod refactor;
mod release;

pub(crate) use agent::{adopt, run_agent};
pub(crate) use brief::{Brief, StepDone};
pub(crate) use commit::commit;
pub(crate) use land::land;
pub(crate) use prepare::prepare;
pub(crate) use prove::prove;
pub(crate) use refactor::refactor;
pub(crate) use release::release;

/// Runs what waits for the disk or for git away from the loop; trouble comes back in words that follow "failed to".
pub(crate) async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, String>
where
    T: Send + 'static,
    E: std::error::Error + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(words(&error)),
        Err(error) => Err(error.to_string()),
    }
}

/// An error with its causes.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut words = format!("failed to {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}
