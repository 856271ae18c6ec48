//! Trees that are to end with the tm that started them, written down so that the next one can end them when it can't.
//!
//! Agents outlive tm on purpose and are adopted; tests and hooks are worth nothing without who waits for them, and must
//! not meet those that are started again in the same worktree. A record is a file named after the process that wrote it,
//! there from before the start until all of the tree is gone. Does not know what the trees are for.

use super::{ProcessIdentity, ProcessTree};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// So long what is found gets to clean up behind itself, as git does with its locks.
const GRACE: Duration = Duration::from_secs(2);

/// The records of all trees that are under way in one project.
#[derive(Clone, Debug)]
pub struct UnderWay {
    folder: PathBuf,
}

/// One tree that is about to be started, or under way; dropping it says that nothing of it is left.
#[derive(Debug)]
pub struct TreeRecord {
    path: PathBuf,
    content: Content,
}

/// No record is longer.
const MOST_BYTES: u64 = 1024 * 1024;

/// What a record says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Content {
    version: u32,
    /// The machine: what other machines run can't be judged here.
    host: String,
    /// When it was started: nothing of before is left, and process numbers begin anew.
    boot: String,
    /// The first process, once it is known.
    leader: Option<ProcessIdentity>,
    /// The variables that all of it has.
    marks: Vec<(String, String)>,
}

impl UnderWay {
    /// Takes the folder of the records, which need not exist yet.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Writes down a tree that is about to be started, by its marks.
    ///
    /// # Errors
    /// The record can't be written; the tree must not be started then.
    pub fn begin(&self, marks: &[(String, String)]) -> Result<TreeRecord, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        fs::create_dir_all(&self.folder).map_err(|source| Error::Write { path: self.folder.clone(), source })?;
        let pid = std::process::id();
        let start_time = ProcessIdentity::of(pid).map_or(0, |own| own.start_time);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{pid}-{start_time}-{number}.json"));
        let content = Content { version: 1, host: host_name(), boot: boot(), leader: None, marks: marks.to_vec() };
        let record = TreeRecord { path, content };
        record.write()?;
        Ok(record)
    }

    /// Ends the trees whose tm is gone; returns how many processes that were. A process that has the number of one of
    /// them by now and is another is left alone, and so is what a live tm has under way.
    ///
    /// # Errors
    /// The records can't be listed.
    pub async fn end_abandoned(&self) -> Result<u32, Error> {
        let mut ended = 0;
        for path in self.abandoned()? {
            // One that says nothing is that of a process which was gone before it started anything.
            let content = tm_untrusted::read(&path, MOST_BYTES)
                .ok()
                .and_then(|bytes| serde_json::from_slice::<Content>(&bytes).ok());
            if let Some(content) = content {
                if content.host != host_name() {
                    continue;
                }
                ended += content.end().await;
            }
            // Another tm may have done the same in the same moment.
            let _gone_already = fs::remove_file(&path);
        }
        Ok(ended)
    }

    /// The records of processes that are gone.
    fn abandoned(&self) -> Result<Vec<PathBuf>, Error> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::Read { path: self.folder.clone(), source }),
        };
        let is_abandoned = |path: &PathBuf| owner(path).is_some_and(|owner| !owner.is_alive());
        Ok(entries.flatten().map(|entry| entry.path()).filter(is_abandoned).collect())
    }
}

impl TreeRecord {
    /// Adds who the first process of the tree is.
    ///
    /// # Errors
    /// The record can't be written; the tree should be ended then.
    pub fn started(&mut self, leader: ProcessIdentity) -> Result<(), Error> {
        self.content.leader = Some(leader);
        self.write()
    }

    /// Renamed into place, so that it is there whole or not at all. Not flushed: what a loss of power takes from the
    /// disk, it takes from the process table too.
    fn write(&self) -> Result<(), Error> {
        let failed = |source| Error::Write { path: self.path.clone(), source };
        let json =
            serde_json::to_vec(&self.content).map_err(|source| Error::Json { path: self.path.clone(), source })?;
        let new = self.path.with_extension("new");
        let mut file = tm_untrusted::create_anew(&new).map_err(failed)?;
        tm_faults::check("under way: rename").and_then(|()| file.write_all(&json)).map_err(failed)?;
        fs::rename(&new, &self.path).map_err(failed)
    }
}

impl Drop for TreeRecord {
    fn drop(&mut self) {
        for path in [self.path.clone(), self.path.with_extension("new")] {
            // One that stays names processes that are gone, and is removed when somebody looks.
            let _removed_later = fs::remove_file(path);
        }
    }
}

impl Content {
    async fn end(&self) -> u32 {
        if self.boot != boot() {
            return 0;
        }
        let was_alive = self.leader.is_some_and(ProcessIdentity::is_alive);
        let leftovers = ProcessTree::adopt(self.leader, &self.marks).terminate(GRACE).await.leftovers;
        leftovers + u32::from(was_alive)
    }
}

/// The process that wrote a record, by the record's name.
fn owner(path: &Path) -> Option<ProcessIdentity> {
    let mut parts = path.file_stem()?.to_str()?.splitn(3, '-');
    Some(ProcessIdentity { pid: parts.next()?.parse().ok()?, start_time: parts.next()?.parse().ok()? })
}

/// What tells one start of the machine from another, where the system says so (Linux).
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{TreeCommand, shell_words};
    use tokio::process::Child;

    /// A program of no tree, as those of an earlier tm are, that waits for ever; one of its processes left its session.
    fn waiting(folder: &Path) -> (Child, ProcessIdentity, Vec<(String, String)>) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let marks = vec![("TM_UNDER_WAY_TEST".to_owned(), folder.display().to_string())];
        let (program, arguments) = shell_words("setsid sleep 1000 & echo on > ready; sleep 1000");
        let log = folder.join("log");
        mknodat(CWD, folder.join("ready"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
        let command = TreeCommand {
            program,
            arguments,
            working_folder: folder.to_owned(),
            stdout: log.clone(),
            stderr: log,
            marks: marks.clone(),
            ..TreeCommand::default()
        };
        let (child, leader) = command.spawn().expect("started");
        drop(fs::read(folder.join("ready")).expect("it starts"));
        (child, leader, marks)
    }

    fn records(folder: &Path) -> usize {
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// The record of a tree, as if a process that is gone had written it.
    fn abandon(record: TreeRecord) -> PathBuf {
        let name = record.path.file_name().and_then(|name| name.to_str()).expect("a name");
        let (_own_pid, rest) = name.split_once('-').expect("two numbers");
        let old = record.path.with_file_name(format!("4194304-{rest}"));
        fs::rename(&record.path, &old).expect("renamed");
        drop(record);
        old
    }

    #[tokio::test]
    async fn a_tree_whose_tm_is_gone_is_ended_and_one_of_a_live_tm_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let under_way = UnderWay::new(folder.path().join("records"));
        assert_eq!(under_way.end_abandoned().await.expect("nothing yet"), 0);
        let (_child, leader, marks) = waiting(folder.path());
        let mut record = under_way.begin(&marks).expect("written");
        record.started(leader).expect("written");
        assert_eq!(under_way.end_abandoned().await.expect("listed"), 0);
        assert!(leader.is_alive(), "its tm is alive");
        abandon(record);
        assert!(under_way.end_abandoned().await.expect("listed") >= 1);
        assert!(!leader.is_alive());
        assert_eq!(records(&folder.path().join("records")), 0);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_tree_that_had_just_been_started_is_found_by_its_marks() {
        let folder = tempfile::tempdir().expect("a folder");
        let under_way = UnderWay::new(folder.path().join("records"));
        let (_child, leader, marks) = waiting(folder.path());
        abandon(under_way.begin(&marks).expect("written"));
        assert!(under_way.end_abandoned().await.expect("listed") >= 2);
        assert!(!leader.is_alive());
    }

    #[tokio::test]
    async fn what_is_torn_or_of_another_machine_or_another_boot_ends_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let under_way = UnderWay::new(folder.path().join("records"));
        let own = ProcessIdentity::of(std::process::id()).expect("this process");
        let mut elsewhere = under_way.begin(&[]).expect("written");
        elsewhere.content.host = "elsewhere".to_owned();
        elsewhere.started(own).expect("written");
        let elsewhere = abandon(elsewhere);
        let mut long_ago = under_way.begin(&[]).expect("written");
        long_ago.content.boot = "long ago".to_owned();
        long_ago.started(own).expect("written");
        let long_ago = abandon(long_ago);
        let torn = abandon(under_way.begin(&[]).expect("written"));
        fs::File::create(&torn).expect("emptied");
        assert_eq!(under_way.end_abandoned().await.expect("listed"), 0);
        assert!(elsewhere.exists() && !long_ago.exists() && !torn.exists());
    }

    #[test]
    fn a_record_goes_with_its_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = UnderWay::new(folder.path().to_owned()).begin(&[]).expect("written");
        assert_eq!(records(folder.path()), 1);
        drop(record);
        assert_eq!(records(folder.path()), 0);
    }
}
