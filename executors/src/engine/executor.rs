//! Starts jobs with an engine, and writes those down that are to end with the tm that started them.
//!
//! Agents outlive tm on purpose and are adopted; tests and hooks are worth nothing without who waits for them, and must
//! not meet those that are started again in the same worktree. Does not know what the jobs are for.

use super::job_record::{JobRecord, abandoned, host_name, read};
use super::{Ending, Engine, Holding, Job, JobEnd, JobHandle, LocalEngine, Secret};
use crate::Error;
use crate::bounded_log::LogsOfJob;
use crate::process::{JobKind, TreeCommand};
use crate::refusals::{HeldJob, Printed};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    /// Where jobs work that could not be reached when they were to end.
    out_of_reach: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Where temporary files of jobs are, where that is not where the system of this machine keeps them.
    temporary: Option<PathBuf>,
}

impl Executor {
    /// Runs jobs on this machine; the folder of the records need not exist yet.
    pub fn local(records: PathBuf) -> Self {
        Self {
            engines: vec![Arc::new(LocalEngine::default())],
            records,
            holding: None,
            secrets: Arc::default(),
            out_of_reach: Arc::default(),
            temporary: None,
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

    /// Returns the same, for a further engine.
    pub fn shared_holding(&self) -> Option<Arc<Holding>> {
        self.holding.clone()
    }

    /// Returns what a job that is over says that it was refused by what held it, each with the setting that opens it; what
    /// it printed is read at both ends of its logs, besides what is told of it.
    pub fn refused(&self, command: &TreeCommand, told: &str) -> Vec<String> {
        self.says_refused(command, told)
            .map_or_else(Vec::new, |printed| self.what_was_refused(command, &printed))
    }

    /// Returns what a job that is over printed, where something in it may say that it was refused something. Most say nothing
    /// of the kind, and to know what a job was given is to look at many folders.
    pub(crate) fn says_refused(&self, command: &TreeCommand, told: &str) -> Option<Printed> {
        if self.holding().is_none() || command.needs.is_none() {
            return None;
        }
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
        Some(Printed::of(&printed)).filter(Printed::says_anything)
    }

    /// Returns what of that was refused by what held the job.
    pub(crate) fn what_was_refused(&self, command: &TreeCommand, printed: &Printed) -> Vec<String> {
        let sandbox = self.holding().and_then(|holding| holding.of(command));
        let (Some(sandbox), Some(needs)) = (sandbox, &command.needs) else {
            return Vec::new();
        };
        let home = std::env::home_dir();
        let job = HeldJob {
            sandbox: &sandbox,
            needs,
            folder: &command.working_folder,
            home: home.as_deref(),
        };
        job.refused(printed)
    }

    /// Returns the same with another one of its engines starting jobs; the one so far where it has none of that name.
    #[must_use]
    pub fn starting_on(&self, engine: &str) -> Self {
        let mut same = self.clone();
        if let Some(at) = (same.engines.iter()).position(|known| known.name() == engine) {
            same.engines[..=at].rotate_right(1);
        }
        same
    }

    /// Has another engine besides; jobs are started where they were.
    #[must_use]
    pub fn knowing(mut self, engine: Arc<dyn Engine>) -> Self {
        self.engines.push(engine);
        self
    }

    /// Returns what is in the way of all jobs of an engine at the moment.
    pub fn trouble(&self) -> Option<String> {
        self.engines.iter().find_map(|engine| engine.trouble())
    }

    /// Waits until nothing is left to be taken away of jobs that are over.
    pub async fn settled(&self) {
        for engine in &self.engines {
            engine.settled().await;
        }
    }

    /// Ends whatever is left of jobs on other machines, whoever started them: for when none is to go on.
    pub async fn clear(&self) {
        for engine in &self.engines {
            engine.clear().await;
        }
    }

    /// Tells whether jobs of an earlier process may go on, on other machines.
    pub fn has_jobs(&self) -> bool {
        self.engines.iter().any(|engine| engine.has_jobs())
    }

    /// Has temporary files of jobs in this folder from now on, which exists, and which all machines see that run them.
    #[must_use]
    pub fn with_temporary_folder(self, temporary: PathBuf) -> Self {
        Self {
            temporary: Some(temporary),
            ..self
        }
    }

    /// Returns where temporary files of jobs are.
    pub fn temporary_folder(&self) -> PathBuf {
        self.temporary.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Starts a job that outlives this process, whose handle the caller writes down.
    ///
    /// # Errors
    /// It could not be started, or what it is to be given not be had.
    pub async fn start(&self, command: &TreeCommand) -> Result<Box<dyn Job>, Error> {
        let folder = &command.working_folder;
        if self.is_out_of_reach(folder) {
            let folder = folder.display();
            return Err(Error::Lost(format!(
                "another one may still work in `{folder}`"
            )));
        }
        // Of what is not held only agents say nothing of what they are.
        let kind = (command.needs.as_ref()).map_or(JobKind::Agent, |needs| needs.kind);
        let mut command = Cow::Borrowed(command);
        for secret in self.secrets.iter() {
            if secret.kinds.contains(&kind) {
                let variable = Box::pin(secret.variable()).await?;
                command.to_mut().environment.push(variable);
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

    /// Ends what is left of a job that works in a folder; returns how many processes that were besides its program.
    pub(crate) async fn end(&self, job: &mut dyn Job, grace: Duration, folder: &Path) -> u32 {
        match job.end(grace).await {
            Ending::Gone(left) => left,
            Ending::OutOfReach => {
                self.out_of_reach.lock().insert(folder.to_owned());
                0
            }
        }
    }

    /// Tells whether a job may go on in this folder that nobody could reach: nobody else may work there.
    pub fn is_out_of_reach(&self, folder: &Path) -> bool {
        self.out_of_reach.lock().contains(folder)
    }

    /// Runs a job to its end, or until the limit, from when it began; `None` when it was ended then, or since
    /// it printed more than can be kept within bounds. Of its logs head and tail stay. Nothing of it is left
    /// afterwards, whatever becomes of this process: it is written down as long as anything of it may be there.
    ///
    /// # Errors
    /// It could not be written down, started or watched, or its place was lost.
    pub async fn run(
        &self,
        command: &TreeCommand,
        limit: Duration,
    ) -> Result<Option<JobEnd>, Error> {
        // Dropped after the job.
        let mut record = self.record_of(self.engine(), &command.env_markers)?;
        let mut job = self.start(command).await?;
        let mut logs = LogsOfJob::new(&command.stdout, &command.stderr);
        let ended = match job.handle().map_or(Ok(()), |handle| record.started(handle)) {
            Ok(()) => {
                job.begun().await;
                let ended = tokio::time::timeout(limit, job.wait());
                let give_back = |log: &Path, part| self.give_back(log, part);
                let ended = logs.kept_until(ended, give_back).await;
                ended.and_then(Result::ok).transpose()
            }
            Err(error) => Err(error),
        };
        let folder = &command.working_folder;
        self.end(&mut *job, Duration::ZERO, folder).await;
        logs.close();
        let ended = ended?;
        if ended != Some(JobEnd::Unknown) {
            command.add_to_log(&job.told());
        }
        match ended {
            Some(JobEnd::Unknown) => Err(Error::Lost(job.told().join("; "))),
            Some(JobEnd::TimedOut) => Ok(None),
            ended => Ok(ended),
        }
    }

    /// Tells whether the kernel of this machine sees what jobs write, so that it can tell of their files.
    pub(crate) fn tells_of_files(&self) -> bool {
        self.is_here(None)
    }

    /// Tells whether a job runs on this machine; without a handle, whether one would that is started.
    pub(crate) fn is_here(&self, handle: Option<&JobHandle>) -> bool {
        let engine = handle.and_then(|handle| self.engine_named(handle.engine()));
        engine.unwrap_or_else(|| self.engine()).writes_here()
    }

    /// Gives the room of a part of a log back while a job appends to it.
    ///
    /// # Errors
    /// That can't be done where jobs are started.
    pub fn give_back(&self, log: &Path, part: Range<u64>) -> io::Result<()> {
        self.engine().give_back(log, part)
    }

    fn record_of(
        &self,
        engine: &dyn Engine,
        env_markers: &[(String, String)],
    ) -> Result<JobRecord, Error> {
        JobRecord::begin(&self.records, (engine.name(), engine.epoch()), env_markers)
    }

    /// Ends the jobs whose tm is gone; returns how many processes that were. A process that has the number of one of
    /// them by now and is another is left alone, and so is what a live tm has started.
    ///
    /// # Errors
    /// The records can't be listed.
    pub async fn end_abandoned(&self) -> Result<u32, Error> {
        let mut ended = 0;
        for path in abandoned(&self.records)? {
            if let Some(content) = read(&path) {
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
}

/// Ends a job with its program; returns how many processes that were.
pub(crate) async fn end_all(mut job: Box<dyn Job>, grace: Duration) -> u32 {
    let was_running = job.is_running().await;
    match job.end(grace).await {
        Ending::Gone(left) => left + u32::from(was_running),
        Ending::OutOfReach => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{ProcessIdentity, shell_words};
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

    fn record_in(
        executor: &Executor,
        env_markers: &[(String, String)],
    ) -> Result<JobRecord, Error> {
        executor.record_of(&LocalEngine::default(), env_markers)
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
        let mut record = record_in(&executor, &env_markers).expect("written");
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
        abandon(record_in(&executor, &env_markers).expect("written"));
        assert!(executor.end_abandoned().await.expect("listed") >= 2);
        assert!(!is_alive(&leader));
    }

    #[tokio::test]
    async fn what_is_torn_or_of_another_machine_or_another_boot_ends_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = Executor::local(folder.path().join("records"));
        let own = ProcessIdentity::of(std::process::id()).expect("this process");
        let own = JobHandle::new("local", &own);
        let mut elsewhere = record_in(&executor, &[]).expect("written");
        elsewhere.content.host = "elsewhere".to_owned();
        elsewhere.started(own.clone()).expect("written");
        let elsewhere = abandon(elsewhere);
        let mut long_ago = record_in(&executor, &[]).expect("written");
        long_ago.content.boot = "long ago".to_owned();
        long_ago.started(own).expect("written");
        let long_ago = abandon(long_ago);
        let torn = abandon(record_in(&executor, &[]).expect("written"));
        fs::File::create(&torn).expect("emptied");
        assert_eq!(executor.end_abandoned().await.expect("listed"), 0);
        assert!(elsewhere.exists() && !long_ago.exists() && !torn.exists());
    }

    #[test]
    fn a_record_goes_with_its_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = Executor::local(folder.path().to_owned());
        let record = record_in(&executor, &[]).expect("written");
        assert_eq!(records(folder.path()), 1);
        drop(record);
        assert_eq!(records(folder.path()), 0);
    }

    #[test]
    fn a_job_is_where_its_engine_is_and_a_new_one_where_jobs_are_started() {
        use crate::engine::node::{RemoteEngine, tests::Loopback};
        let folder = tempfile::tempdir().expect("a folder");
        let nodes = Arc::new(Loopback::default());
        let nodes = RemoteEngine::new(nodes, folder.path().join("jobs"), None);
        let here = Executor::local(folder.path().to_owned()).knowing(Arc::new(nodes));
        let there = here.starting_on("loopback");
        let [local, remote] =
            ["local", "loopback"].map(|engine| JobHandle::new(engine, &serde_json::json!({})));
        for (executor, is_here) in [(here, true), (there, false)] {
            assert_eq!(executor.is_here(None), is_here);
            assert!(executor.is_here(Some(&local)));
            assert!(!executor.is_here(Some(&remote)));
        }
    }
}
