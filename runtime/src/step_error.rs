//! Why a step could not be done: the task's own fault, or that of its surroundings.
//!
//! What the surroundings refuse, such as a full disk, says nothing about the work: the step stays to be done.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use tm_scheduler::{Answer, GateResult};
use tokio::sync::Semaphore;

/// What stood in the way of a step, in words that begin with "failed to".
#[derive(Debug, PartialEq)]
pub struct StepError {
    why: String,
    cause: Cause,
    /// A review that came to no verdict, and what it spent.
    review: Option<Box<GateResult>>,
}

/// Who is to blame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cause {
    /// The disk, a permission, a lock: the same step may go well later.
    Surroundings,
    /// Another git collected objects that nothing held yet: making them again may go well.
    Collected,
    /// What was asked for.
    Task,
}

impl StepError {
    /// Tells by an error and its causes who is to blame.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut causes = std::iter::successors(Some(error), |&error| error.source());
        let cause = causes.find_map(cause_of).unwrap_or(Cause::Task);
        Self::caused_by(cause, describe(error))
    }

    /// Returns trouble that is the task's own.
    pub(crate) fn of_task(why: impl Into<String>) -> Self {
        Self::caused_by(Cause::Task, why.into())
    }

    /// Returns trouble that somebody has to see to before anything goes on.
    pub(crate) fn of_surroundings(why: impl Into<String>) -> Self {
        Self::caused_by(Cause::Surroundings, why.into())
    }

    const fn caused_by(cause: Cause, why: String) -> Self {
        Self {
            why,
            cause,
            review: None,
        }
    }

    /// Returns the trouble with a review that it left without a verdict.
    pub(crate) fn with_review(self, review: GateResult) -> Self {
        Self {
            review: Some(Box::new(review)),
            ..self
        }
    }

    /// Returns the words that follow "failed to", as a part of another error.
    pub(crate) fn after_failed_to(&self) -> String {
        self.why.trim_start_matches("failed to ").to_owned()
    }

    /// Returns the review that it left without a verdict.
    pub(crate) fn review(&self) -> Option<&GateResult> {
        self.review.as_deref()
    }

    /// Tells whether the same step may go well later.
    pub(crate) fn is_of_surroundings(&self) -> bool {
        self.cause == Cause::Surroundings
    }

    /// Tells whether objects have to be made again.
    pub(crate) fn is_of_collected_objects(&self) -> bool {
        self.cause == Cause::Collected
    }

    /// Returns the answer to a step: that of the surroundings, or another one where they are not to blame.
    pub(crate) fn answer(self, otherwise: impl FnOnce(String) -> Answer) -> Answer {
        let Self { why, cause, review } = self;
        match (cause, review) {
            (Cause::Surroundings, Some(review)) => Answer::Unreviewed { why, review },
            (Cause::Surroundings, None) => Answer::InfrastructureFailed(why),
            (Cause::Collected | Cause::Task, _) => otherwise(why),
        }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.why)
    }
}

impl<E: StdError + 'static> From<E> for StepError {
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}

impl From<StepError> for String {
    fn from(trouble: StepError) -> Self {
        trouble.why
    }
}

fn cause_of(error: &(dyn StdError + 'static)) -> Option<Cause> {
    if let Some(error) = error.downcast_ref::<tm_worktrees::Error>() {
        let is_gone = matches!(error, tm_worktrees::Error::ObjectsNotAsNamed { .. })
            && error.is_of_collected_objects();
        return match (error.is_of_surroundings(), error.is_of_collected_objects()) {
            (true, _) if !is_gone => Some(Cause::Surroundings),
            (_, true) => Some(Cause::Collected),
            (_, false) => None,
        };
    }
    match error.downcast_ref::<crate::Error>() {
        Some(crate::Error::IntegrationMoved { .. }) => return Some(Cause::Surroundings),
        // It is transparent, so the error within it is no source of it.
        Some(crate::Error::Git(error)) => return cause_of(error),
        Some(_) | None => {}
    }
    if let Some(error) = error.downcast_ref::<tm_executors::Error>() {
        return error.is_of_surroundings().then_some(Cause::Surroundings);
    }
    let error = error.downcast_ref::<io::Error>()?;
    (!tm_untrusted::is_of_what_is_there(error)).then_some(Cause::Surroundings)
}

/// An error with its causes.
pub(crate) fn describe(error: &dyn StdError) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(format!("failed to {error}"), |words, cause| {
        format!("{words}: {cause}")
    })
}

/// Does what waits for git or the disk for no more than a moment, without leaving the task; the others of its thread go on
/// elsewhere.
pub(crate) fn briefly<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, StepError>
where
    StepError: From<E>,
{
    let done = tokio::task::block_in_place(|| catch_unwind(AssertUnwindSafe(work)));
    let done = done.map_err(|panic| StepError::of_task(words_of_panic(panic.as_ref())));
    Ok(done??)
}

/// What a panic says; what was under way is lost, and what it worked on may be an agent's.
pub(crate) fn words_of_panic(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("tm broke off: {}", words.unwrap_or("without a word"))
}

/// Runs what waits for the disk or for git away from the loop.
pub(crate) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, StepError>
where
    T: Send + 'static,
    E: StdError + Send + 'static,
{
    Ok(in_background(work).await??)
}

/// So much waits for the disk or for git at the same time for each processor, within these bounds, however many agents begin
/// or end in one moment: more would be no faster and take a thread each, which keeps memory for as long as the process lives.
const PLACES_A_PROCESSOR: usize = 2;
const PLACES: RangeInclusive<usize> = 4..=48;
/// So many threads there are besides, so that what is brief, and what gives a worktree back, never waits for it.
const FURTHER_THREADS: usize = 6;

fn places_in_background() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors * PLACES_A_PROCESSOR).clamp(*PLACES.start(), *PLACES.end())
}

/// Returns how many threads of a process may wait for git or the disk at the most: a run has as many with 500 agents as
/// with 20.
pub fn threads_that_wait() -> usize {
    places_in_background() + FURTHER_THREADS
}

/// Runs what waits for the disk or for git away from the loop, and returns what it came to, unless that broke off.
pub(crate) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StepError> {
    static FREE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(places_in_background()));
    // It is never closed.
    let place = FREE.acquire().await;
    let done = tokio::task::spawn_blocking(work).await;
    drop(place);
    done.map_err(|error| StepError::of_task(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(message: &str) -> StepError {
        StepError::of(&tm_worktrees::Error::Git {
            command: "x".to_owned(),
            message: message.to_owned(),
        })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_breaks_off_fails_as_an_error_does() {
        let broken = |of: usize| briefly(|| Ok::<_, io::Error>([1, 2][of]));
        assert_eq!(broken(1).map_err(|error| error.why), Ok(2));
        let error = broken(7).expect_err("out of bounds");
        assert!(
            error.why.contains("tm broke off: index out of bounds") && error.cause == Cause::Task,
            "{error:?}"
        );
    }

    #[test]
    fn a_full_disk_is_nobodys_fault_and_a_missing_branch_is() {
        let cause = |trouble: StepError| trouble.cause;
        assert_eq!(
            cause(git(
                "fatal: unable to write new_index file: No space left on device"
            )),
            Cause::Surroundings
        );
        let within = crate::Error::Git(tm_worktrees::Error::Git {
            command: "x".to_owned(),
            message: "fatal: sha1 file write error: No space left on device".to_owned(),
        });
        assert_eq!(cause(StepError::of(&within)), Cause::Surroundings);
        assert_eq!(
            cause(git(
                "fatal: Unable to create '/r/.git/index.lock': File exists."
            )),
            Cause::Surroundings
        );
        assert_eq!(
            cause(git("error: insufficient permission for adding an object")),
            Cause::Surroundings
        );
        assert_eq!(
            cause(git(
                "error: invalid object 100644 abc for 'a'\nfatal: git-write-tree: error building trees"
            )),
            Cause::Collected
        );
        assert_eq!(
            cause(git("fatal: a branch named 'x' already exists")),
            Cause::Task
        );
        assert_eq!(
            cause(git("hook: Permission denied")),
            Cause::Task,
            "what a hook says is no business of tm's"
        );
        let store = |kind: io::ErrorKind| tm_store::Error::Write {
            path: "f".into(),
            source: kind.into(),
        };
        assert_eq!(
            cause(StepError::of(&store(io::ErrorKind::StorageFull))),
            Cause::Surroundings
        );
        assert_eq!(
            cause(StepError::of(&store(io::ErrorKind::ReadOnlyFilesystem))),
            Cause::Surroundings
        );
        for of_what_is_there in [
            io::ErrorKind::NotFound,
            io::ErrorKind::NotADirectory,
            io::ErrorKind::DirectoryNotEmpty,
            io::ErrorKind::InvalidFilename,
        ] {
            let trouble = StepError::of(&store(of_what_is_there));
            assert_eq!(cause(trouble), Cause::Task, "{of_what_is_there}");
        }
    }
}
