//! Jobs that are to end with the tm that started them, written down: a file for each, named after the process that wrote
//! it, there from before the start until all of the job is gone. Knows neither engines nor what jobs are for.

use super::JobHandle;
use crate::process::ProcessIdentity;
use crate::{Error, OrFailedTo as _};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// One job that is about to be started, or goes on; dropping it says that nothing of it is left.
#[derive(Debug)]
pub(super) struct JobRecord {
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

/// No record is longer.
const MOST_BYTES: u64 = 1024 * 1024;

/// What a record says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Content {
    version: u32,
    /// The machine of the process that wrote it: whether one of another machine is alive can't be judged here.
    pub(super) host: String,
    /// The engine, by its name, and what it says of its life.
    #[serde(default = "super::handle::local")]
    pub(super) engine: String,
    pub(super) boot: String,
    /// Who the job is, once that is known.
    pub(super) leader: Option<JobHandle>,
    /// The variables that all of it has.
    pub(super) env_markers: Vec<(String, String)>,
}

impl JobRecord {
    /// Writes down what is about to be started by an engine, of which this is the name and its life.
    pub(super) fn begin(
        records: &Path,
        (engine, boot): (&str, String),
        env_markers: &[(String, String)],
    ) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        fs::create_dir_all(records).or_failed_to("write", records)?;
        let pid = std::process::id();
        let start_time = ProcessIdentity::of(pid).map_or(0, |own| own.start_time);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = records.join(format!("{pid}-{start_time}-{number}.json"));
        let content = Content {
            version: 1,
            host: host_name(),
            engine: engine.to_owned(),
            boot,
            leader: None,
            env_markers: env_markers.to_vec(),
        };
        let record = Self { path, content };
        record.write()?;
        Ok(record)
    }

    /// Adds who the job is.
    pub(super) fn started(&mut self, handle: JobHandle) -> Result<(), Error> {
        self.content.leader = Some(handle);
        self.write()
    }

    /// Renamed into place, so that it is there whole or not at all. Not flushed: what a loss of power takes from the
    /// disk, it takes from the process table too.
    fn write(&self) -> Result<(), Error> {
        let new = self.path.with_extension("new");
        let write = || -> io::Result<()> {
            let mut file = tm_untrusted::create_anew(&new)?;
            tm_faults::check("under way: rename")?;
            file.write_all(&serde_json::to_vec(&self.content)?)?;
            fs::rename(&new, &self.path)
        };
        write().or_failed_to("write", &self.path)
    }
}

impl Drop for JobRecord {
    fn drop(&mut self) {
        for path in [self.path.clone(), self.path.with_extension("new")] {
            // One that stays names processes that are gone, and is removed when somebody looks.
            let _removed_later = fs::remove_file(path);
        }
    }
}

/// The process that wrote a record, by the record's name.
fn owner(path: &Path) -> Option<ProcessIdentity> {
    let mut parts = path.file_stem()?.to_str()?.splitn(3, '-');
    Some(ProcessIdentity {
        pid: parts.next()?.parse().ok()?,
        start_time: parts.next()?.parse().ok()?,
    })
}

pub(super) fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Returns the records of processes that are gone.
pub(super) fn abandoned(records: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(records) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.or_failed_to("read", records)?,
    };
    let is_abandoned = |path: &PathBuf| owner(path).is_some_and(|owner| !owner.is_alive());
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_abandoned)
        .collect())
}

/// Returns what a record says; one that says nothing is that of a process which was gone before it started anything.
pub(super) fn read(path: &Path) -> Option<Content> {
    let bytes = tm_untrusted::read(path, MOST_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}
