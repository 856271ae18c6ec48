//! Starts jobs with an engine, and writes those down that are to end with the tm that started them.
//!
//! Agents outlive tm on purpose and are adopted; tests and hooks are worth nothing without who waits for them, and must
//! not meet those that are started again in the same worktree. A record is a file named after the process that wrote it,
//! there from before the start until all of the job is gone. Does not know what the jobs are for.

use super::{Engine, Holding, Job, JobEnd, JobHandle, LocalEngine, Secret};
use crate::process::{JobKind, ProcessIdentity, TreeCommand};
use crate::refusals::{HeldJob, Printed};
use crate::{Error, OrFailedTo as _};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// So long what is found gets to clean up behind itself, as git does with its locks.
const GRACE: Duration = Duration::from_secs(2);

/// So much is looked at, at each end of a log, for what a job was refused.
const END_BYTES: u64 = 256 * 1024;

/// Where jobs of one project are started, and the records of those that go on.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The first one starts jobs; all of them know those that they have started.
    engines: Vec<Arc<dyn Engine>>,
    records: PathBuf,
    holding: Option<Arc<Holding>>,
    secrets: Arc<[Secret]>,
}

/// One job that is about to be started, or goes on; dropping it says that nothing of it is left.
#[derive(Debug)]
pub struct JobRecord {
    path: PathBuf,
    content: Content,
}

/// No record is longer.
const MOST_BYTES: u64 = 1024 * 1024;

/// What a record says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Content {
    version: u32,
    /// The machine of the process that wrote it: whether one of another machine is alive can't be judged here.
    host: String,
    /// The engine, by its name, and what it says of its life.
    #[serde(default = "super::handle::local")]
    engine: String,
    boot: String,
    /// Who the job is, once that is known.
    leader: Option<JobHandle>,
    /// The variables that all of it has.
    env_markers: Vec<(String, String)>,
}

impl Executor {
    /// Runs jobs on this machine; the folder of the records need not exist yet.
    pub fn local(records: PathBuf) -> Self {
        Self {
            engines: vec![Arc::new(LocalEngine::default())],
            records,
            holding: None,
            secrets: Arc::default(),
        }
    }

    /// Has jobs that say what they need held from now on.
    #[must_use]
    pub fn held(self, holding: Arc<Holding>) -> Self {
        let engines: Vec<Arc<dyn Engine>> = vec![Arc::new(LocalEngine {
            holding: Some(holding.clone()),
        })];
        Self {
            engines,
            holding: Some(holding),
            ..self
        }
    }

    /// Has jobs given these from now on, each to those of its kinds.
    #[must_use]
    pub fn with_secrets(self, secrets: Vec<Secret>) -> Self {
        Self {
            secrets: secrets.into(),
            ..self
        }
    }

    /// Asks anew for all that jobs are given, so that it is known before any of them is started.
    ///
    /// # Errors
    /// A command tells nothing.
    pub async fn ask_for_secrets(&self) -> Result<(), Error> {
        for secret in self.secrets() {
            secret.ask().await?;
        }
        Ok(())
    }

    /// Returns what jobs are given whose values commands tell.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Whether jobs are held that say what they need.
    pub fn holds(&self) -> bool {
        self.holding.as_deref().is_some_and(Holding::holds)
    }

    /// Returns how jobs are held, where that was asked for.
    pub fn holding(&self) -> Option<&Holding> {
        self.holding.as_deref()
    }

    /// Returns what a job that is over says that it was refused by what held it, each with the setting that opens it; what
    /// it printed is read at both ends of its logs, besides what is told of it.
    pub fn refused(&self, command: &TreeCommand, told: &str) -> Vec<String> {
        let (Some(holding), Some(needs)) = (self.holding(), &command.needs) else {
            return Vec::new();
        };
        let mut printed = told.to_owned();
        let mut logs = vec![&command.stdout, &command.stderr];
        logs.dedup();
        for log in logs {
            let is_short = tm_untrusted::size(log) <= END_BYTES;
            let ends = [
                tm_untrusted::read_beginning(log, END_BYTES),
                tm_untrusted::read_end(log, if is_short { 0 } else { END_BYTES }),
            ];
            for end in ends {
                // A log that is not there says nothing.
                printed += "\n";
                printed += &String::from_utf8_lossy(&end.unwrap_or_default());
            }
        }
        let printed = Printed::of(&printed);
        // Most say nothing of the kind, and to know what a job was given is to look at many folders.
        let said = printed.says_anything().then(|| holding.of(command));
        let Some(sandbox) = said.flatten() else {
            return Vec::new();
        };
        let home = std::env::home_dir();
        let job = HeldJob {
            sandbox: &sandbox,
            kind: needs.kind,
            folder: &command.working_folder,
            home: home.as_deref(),
        };
        job.refused(&printed)
    }

    /// Has another engine start jobs from now on; what the engines so far have started is still known.
    #[must_use]
    pub fn with_engine(mut self, engine: Arc<dyn Engine>) -> Self {
        self.engines.insert(0, engine);
        self
    }

    /// Starts a job that outlives this process, whose handle the caller writes down.
    ///
    /// # Errors
    /// It could not be started, or what it is to be given not be had.
    pub async fn start(&self, command: &TreeCommand) -> Result<Box<dyn Job>, Error> {
        // Of what is not held only agents say nothing of what they are.
        let kind = (command.needs.as_ref()).map_or(JobKind::Agent, |needs| needs.kind);
        let mut command = command.clone();
        for secret in self.secrets.iter() {
            if secret.kinds.contains(&kind) {
                command.environment.push(Box::pin(secret.variable()).await?);
            }
        }
        self.engine().start(&command).await
    }

    /// Takes over a job that an earlier process started; with no handle, whatever has the marks of its command.
    pub async fn adopt(
        &self,
        handle: Option<&JobHandle>,
        env_markers: &[(String, String)],
    ) -> Box<dyn Job> {
        let engine = handle.and_then(|handle| self.engine_named(handle.engine()));
        let handle = handle.filter(|_| engine.is_some());
        engine
            .unwrap_or_else(|| self.engine())
            .adopt(handle, env_markers)
            .await
    }

    /// Runs a job to its end, or until the limit; `None` when it was ended then. Nothing of it is left afterwards,
    /// whatever becomes of this process: it is written down as long as anything of it may be there.
    ///
    /// # Errors
    /// It could not be written down, started or watched.
    pub async fn run(
        &self,
        command: &TreeCommand,
        limit: Duration,
    ) -> Result<Option<JobEnd>, Error> {
        // Dropped after the job.
        let mut record = self.record_of(self.engine(), &command.env_markers)?;
        let mut job = self.start(command).await?;
        let ended = match job.handle().map_or(Ok(()), |handle| record.started(handle)) {
            Ok(()) => tokio::time::timeout(limit, job.wait())
                .await
                .ok()
                .transpose(),
            Err(error) => Err(error),
        };
        job.end(Duration::ZERO).await;
        ended
    }

    /// Tells whether the kernel of this machine sees what jobs write, so that it can tell of their files.
    pub(crate) fn tells_of_files(&self) -> bool {
        self.engines.iter().all(|engine| engine.writes_here())
    }

    /// Gives the room of a part of a log back while a job appends to it.
    ///
    /// # Errors
    /// That can't be done where jobs are started.
    pub fn give_back(&self, log: &Path, part: Range<u64>) -> io::Result<()> {
        self.engine().give_back(log, part)
    }

    /// Writes down what a program of tm's is about to start on this machine, as git does with hooks, by its marks.
    ///
    /// # Errors
    /// The record can't be written; the program must not be started then.
    pub fn record(&self, env_markers: &[(String, String)]) -> Result<JobRecord, Error> {
        self.record_of(&LocalEngine::default(), env_markers)
    }

    fn record_of(
        &self,
        engine: &dyn Engine,
        env_markers: &[(String, String)],
    ) -> Result<JobRecord, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        fs::create_dir_all(&self.records).or_failed_to("write", &self.records)?;
        let pid = std::process::id();
        let start_time = ProcessIdentity::of(pid).map_or(0, |own| own.start_time);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self
            .records
            .join(format!("{pid}-{start_time}-{number}.json"));
        let (engine, boot) = (engine.name().to_owned(), engine.epoch());
        let content = Content {
            version: 1,
            host: host_name(),
            engine,
            boot,
            leader: None,
            env_markers: env_markers.to_vec(),
        };
        let record = JobRecord { path, content };
        record.write()?;
        Ok(record)
    }

    /// Ends the jobs whose tm is gone; returns how many processes that were. A process that has the number of one of
    /// them by now and is another is left alone, and so is what a live tm has started.
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
                let Some(engine) = self
                    .engine_named(&content.engine)
                    .filter(|_| content.host == host_name())
                else {
                    continue;
                };
                if content.boot == engine.epoch() {
                    let job = engine
                        .adopt(content.leader.as_ref(), &content.env_markers)
                        .await;
                    ended += end_all(job, GRACE).await;
                }
            }
            // Another tm may have done the same in the same moment.
            let _gone_already = fs::remove_file(&path);
        }
        Ok(ended)
    }

    fn engine(&self) -> &dyn Engine {
        &*self.engines[0]
    }

    fn engine_named(&self, name: &str) -> Option<&dyn Engine> {
        self.engines
            .iter()
            .map(|engine| &**engine)
            .find(|engine| engine.name() == name)
    }

    /// The records of processes that are gone.
    fn abandoned(&self) -> Result<Vec<PathBuf>, Error> {
        let entries = match fs::read_dir(&self.records) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.or_failed_to("read", &self.records)?,
        };
        let is_abandoned = |path: &PathBuf| owner(path).is_some_and(|owner| !owner.is_alive());
        Ok(entries
            .flatten()
            .map(|entry| entry.path())
            .filter(is_abandoned)
            .collect())
    }
}

/// Ends a job with its program; returns how many processes that were.
pub(crate) async fn end_all(mut job: Box<dyn Job>, grace: Duration) -> u32 {
    let was_running = job.is_running().await;
    job.end(grace).await + u32::from(was_running)
}

impl JobRecord {
    /// Adds who the job is.
    fn started(&mut self, handle: JobHandle) -> Result<(), Error> {
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

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::shell_words;
    use tokio::process::Child;

    /// A program of no tree, as those of an earlier tm are, that waits for ever; one of its processes left its session.
    fn waiting(folder: &Path) -> (Child, JobHandle, Vec<(String, String)>) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let env_markers = vec![("TM_RECORD_TEST".to_owned(), folder.display().to_string())];
        let (program, arguments) = shell_words("setsid sleep 1000 & echo on > ready; sleep 1000");
        let log = folder.join("log");
        mknodat(
            CWD,
            folder.join("ready"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a pipe");
        let command = TreeCommand {
            program,
            arguments,
            working_folder: folder.to_owned(),
            stdout: log.clone(),
            stderr: log,
            env_markers: env_markers.clone(),
            ..TreeCommand::default()
        };
        let (child, leader, _) = command.spawn().expect("started");
        drop(fs::read(folder.join("ready")).expect("it starts"));
        (child, JobHandle::new("local", &leader), env_markers)
    }

    fn is_alive(handle: &JobHandle) -> bool {
        handle
            .job::<ProcessIdentity>()
            .expect("its number")
            .is_alive()
    }

    fn records(folder: &Path) -> usize {
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// The record of a tree, as if a process that is gone had written it.
    fn abandon(record: JobRecord) -> PathBuf {
        let name = record
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let (_own_pid, rest) = name.split_once('-').expect("two numbers");
        let old = record.path.with_file_name(format!("4194304-{rest}"));
        fs::rename(&record.path, &old).expect("renamed");
        drop(record);
        old
    }

    #[tokio::test]
    async fn a_tree_whose_tm_is_gone_is_ended_and_one_of_a_live_tm_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = Executor::local(folder.path().join("records"));
        assert_eq!(executor.end_abandoned().await.expect("nothing yet"), 0);
        let (_child, leader, env_markers) = waiting(folder.path());
        let mut record = executor.record(&env_markers).expect("written");
        record.started(leader.clone()).expect("written");
        assert_eq!(executor.end_abandoned().await.expect("listed"), 0);
        assert!(is_alive(&leader), "its tm is alive");
        abandon(record);
        assert!(executor.end_abandoned().await.expect("listed") >= 1);
        assert!(!is_alive(&leader));
        assert_eq!(records(&folder.path().join("records")), 0);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_tree_that_had_just_been_started_is_found_by_its_marks() {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = Executor::local(folder.path().join("records"));
        let (_child, leader, env_markers) = waiting(folder.path());
        abandon(executor.record(&env_markers).expect("written"));
        assert!(executor.end_abandoned().await.expect("listed") >= 2);
        assert!(!is_alive(&leader));
    }

    #[tokio::test]
    async fn what_is_torn_or_of_another_machine_or_another_boot_ends_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = Executor::local(folder.path().join("records"));
        let own = ProcessIdentity::of(std::process::id()).expect("this process");
        let own = JobHandle::new("local", &own);
        let mut elsewhere = executor.record(&[]).expect("written");
        elsewhere.content.host = "elsewhere".to_owned();
        elsewhere.started(own.clone()).expect("written");
        let elsewhere = abandon(elsewhere);
        let mut long_ago = executor.record(&[]).expect("written");
        long_ago.content.boot = "long ago".to_owned();
        long_ago.started(own).expect("written");
        let long_ago = abandon(long_ago);
        let torn = abandon(executor.record(&[]).expect("written"));
        fs::File::create(&torn).expect("emptied");
        assert_eq!(executor.end_abandoned().await.expect("listed"), 0);
        assert!(elsewhere.exists() && !long_ago.exists() && !torn.exists());
    }

    #[test]
    fn a_record_goes_with_its_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = Executor::local(folder.path().to_owned())
            .record(&[])
            .expect("written");
        assert_eq!(records(folder.path()), 1);
        drop(record);
        assert_eq!(records(folder.path()), 0);
    }
}
