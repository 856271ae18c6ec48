//! What a copy says of itself. Its end is the last of it, whatever else is being said at that moment.

use super::folder::{JobFolder, State};
use crate::Error;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// So long a copy tries to say how it ended; one that can't say that it is well for so long ends itself: tm may have given
/// it up.
pub(super) const UNHEARD_LIMIT: Duration = Duration::from_secs(30);
/// The pause between two tries.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// What is said in the folder of a job. A file system of many machines may keep whoever writes for as long as it likes, so
/// nobody waits for the lock without end.
#[derive(Clone, Debug)]
pub(super) struct Told {
    folder: JobFolder,
    has_ended: Arc<Mutex<bool>>,
}

impl Told {
    pub(super) fn new(folder: &JobFolder) -> Self {
        Self {
            folder: folder.clone(),
            has_ended: Arc::default(),
        }
    }

    pub(super) const fn folder(&self) -> &JobFolder {
        &self.folder
    }

    /// Says that it is well, unless it has said that it is over; tells whether that could be said.
    pub(super) fn is_well(&self, running: &State) -> bool {
        let has_ended = self.has_ended.lock();
        !*has_ended && self.folder.set_state(running).is_ok()
    }

    /// Says how it ended; tried for a while, since tm can't use what the job worked on before it knows.
    ///
    /// # Errors
    /// It could not be said.
    pub(super) async fn ended(&self, ended: &State) -> Result<(), Error> {
        let give_up_at = Instant::now() + UNHEARD_LIMIT;
        loop {
            match self.try_to_end(ended) {
                // Nobody waits for it any more.
                Err(_) if !self.folder.path().exists() => return Ok(()),
                Err(_) if Instant::now() < give_up_at => tokio::time::sleep(TRY_EVERY).await,
                said => return said,
            }
        }
    }

    fn try_to_end(&self, ended: &State) -> Result<(), Error> {
        let busy = || Error::Lost("what was said before is not written yet".to_owned());
        let mut has_ended = self.has_ended.try_lock().ok_or_else(busy)?;
        *has_ended = true;
        self.folder.set_state(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder::{Copy, Ended, How, Label, Running};
    use super::*;

    #[tokio::test]
    async fn that_it_is_well_is_not_said_over_its_end_and_its_end_waits_for_what_is_being_said() {
        let jobs = tempfile::tempdir().expect("a folder");
        let folder = JobFolder::new(
            jobs.path(),
            &Label {
                engine: "loopback".to_owned(),
                env_markers: Vec::new(),
                program: "sh".to_owned(),
                working_folder: "/".to_owned(),
            },
        )
        .expect("made");
        let copy = Copy {
            job: "1".to_owned(),
            node: "n1".to_owned(),
            restarts: 0,
            pid: 1,
            version: String::new(),
        };
        let running = State::Running(Running {
            copy: copy.clone(),
            ran_ms: 0,
            beats: 1,
        });
        let ended = State::Ended(Ended {
            copy,
            how: How::Exited(0),
            leftovers: 0,
            told: Vec::new(),
        });
        let told = Told::new(&folder);
        assert!(told.is_well(&running));
        let being_said = told.has_ended.lock();
        assert!(told.try_to_end(&ended).is_err());
        drop(being_said);
        told.ended(&ended).await.expect("said");
        assert!(!told.is_well(&running));
        assert_eq!(folder.state().expect("a state"), ended);
    }
}
