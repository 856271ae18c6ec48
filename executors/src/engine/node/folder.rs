//! The folder of one job, which tm and the node both see: by the files in it, and by nothing else, the two know of each
//! other. Knows neither who starts jobs nor what a job is.
//!
//! Each file but the order has one writer and is replaced as a whole, so whoever reads it reads all of what was true at one
//! moment. They are there from the beginning: that a file has come into being is what file systems of many machines tell
//! last.

use super::VERSION;
use crate::{Error, OrFailedTo as _, json_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_scheduler::StopSignal;

/// No such file is longer.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// So much of what is printed is looked at.
const LOG_TAIL: u64 = 4 * 1024;

/// What the names of folders of jobs begin with.
const JOB: &str = "job-";
/// What the names of folders begin with that are being removed.
const OVER: &str = "over-";
/// What is to be run; gone once somebody has begun to, since secrets are in it.
const ORDER: &str = "order.json";
/// Whose the job is: a name that one file gets, and no second one.
const LEASE: &str = "lease.json";
/// How it stands; written by whoever has the lease.
const STATE: &str = "state.json";
/// What tm wants of it.
const WISHES: &str = "wishes.json";
/// What it is called, by whom it is found again.
const LABEL: &str = "label.json";
/// What copies that came too late leave.
const SECOND: &str = "second-";

/// The folder of one job.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct JobFolder(PathBuf);

/// One start of a job on a node, as who started it calls it.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub struct Copy {
    /// The job, as its engine calls it.
    pub job: String,
    /// The node, as its engine calls it.
    pub node: String,
    /// How often the engine had started it before.
    pub restarts: u32,
    /// The process.
    pub pid: u32,
    /// The version of tm there; empty where it does not say.
    #[serde(default)]
    pub version: String,
}

/// Whose a job is, for good.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Lease {
    /// This copy's, which alone may touch what the job works on.
    Copy(Copy),
    /// Nobody's any more: tm gave it up before any copy had it.
    GivenUp,
}

/// How a job stands.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Nobody has begun with it, as far as is told.
    Ordered,
    /// It runs on a node.
    Running(Running),
    /// All of it is gone.
    Ended(Ended),
}

/// A job that runs.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(super) struct Running {
    pub(super) copy: Copy,
    /// So many milliseconds by now. Clocks of two machines differ, so a moment would say less.
    pub(super) ran_ms: u64,
    /// Goes up as long as its node is well.
    pub(super) beats: u64,
}

/// A job of which nothing is left.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(super) struct Ended {
    pub(super) copy: Copy,
    pub(super) how: How,
    /// Processes besides the program that had to be ended.
    pub(super) leftovers: u32,
    /// What the node has to say of how it went, for people.
    #[serde(default)]
    pub(super) told: Vec<String>,
}

/// How a program ended on a node.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Killed,
    /// It never ran; holds why.
    NotStarted(String),
    /// It never ran, and what it is has no part in that: its node could not hold it, or had no room; holds why.
    NotHeld(String),
    /// Nobody can tell: it could not be held, or not be watched; holds why.
    Lost(String),
    /// The engine took its place away.
    Evicted,
}

/// What tm wants of a job.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
pub(super) struct Wishes {
    /// So often it was asked to stop, and how the last time.
    pub(super) asked: u32,
    pub(super) signal: StopSignal,
    /// It is to be ended, with so much time for itself.
    pub(super) end: Option<Duration>,
}

/// By what a job is found again.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(super) struct Label {
    /// The engine that has it, by its name.
    pub(super) engine: String,
    /// The marks of its command.
    pub(super) env_markers: Vec<(String, String)>,
    /// Its program, as people know it.
    pub(super) program: String,
    /// Where it works.
    pub(super) working_folder: String,
}

impl JobFolder {
    /// Makes the folder of a new job, below that of all of them.
    pub(super) fn new(jobs: &Path, label: &Label) -> Result<Self, Error> {
        fs::create_dir_all(jobs).or_failed_to("make", jobs)?;
        let made = tempfile::Builder::new().prefix(JOB).tempdir_in(jobs);
        let folder = Self(made.or_failed_to("make a folder in", jobs)?.keep());
        let made = folder
            .replace(LABEL, label)
            .and_then(|()| folder.replace(WISHES, &Wishes::default()))
            .and_then(|()| folder.replace(STATE, &State::Ordered));
        if let Err(error) = made {
            folder.remove();
            return Err(error);
        }
        Ok(folder)
    }

    /// Names a folder that was made before.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Returns those that are below the folder of all jobs.
    pub(super) fn all(jobs: &Path) -> impl Iterator<Item = Self> + use<> {
        called(jobs, JOB).map(Self)
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns its name, which no other one below the same folder has.
    pub fn name(&self) -> &str {
        let name = self.0.file_name().and_then(|name| name.to_str());
        name.unwrap_or_default()
    }

    pub(super) fn label(&self) -> Option<Label> {
        self.read(LABEL).ok()
    }

    /// Writes what is to be run, for its owner's eyes alone.
    pub(super) fn order(&self, order: &impl Serialize) -> Result<(), Error> {
        self.replace(ORDER, order)
    }

    /// Returns what is to be run, which nobody can read any more afterwards.
    pub(super) fn take_order<Order: DeserializeOwned>(&self) -> io::Result<Order> {
        let order = self.read(ORDER)?;
        fs::remove_file(self.0.join(ORDER))?;
        Ok(order)
    }

    /// Takes the job, for good; `false` when somebody else has it.
    ///
    /// A file gets a second name, which one machine's system decides for all, and which fails where the name is taken.
    pub(super) fn take_lease(&self, lease: &Lease) -> Result<bool, Error> {
        let wanted = self.0.join(LEASE);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
            serde_json::to_writer(&mut file, lease)?;
            file.as_file().sync_all()?;
            match fs::hard_link(file.path(), &wanted) {
                Ok(()) => Ok(true),
                // Over a network it may have been done although the answer says that it was not.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    Ok(self.lease().is_some_and(|taken| taken == *lease))
                }
                Err(error) => Err(error),
            }
        };
        write().or_failed_to("take", &wanted)
    }

    /// Returns the copy that has taken it.
    pub(crate) fn taken_by(&self) -> Option<Copy> {
        match self.lease()? {
            Lease::Copy(copy) => Some(copy),
            Lease::GivenUp => None,
        }
    }

    pub(super) fn lease(&self) -> Option<Lease> {
        self.read(LEASE).ok()
    }

    /// Says that a copy came too late, for whoever reports of the job.
    pub(super) fn leave_word(&self, copy: &Copy) -> Result<(), Error> {
        // Processes of several containers have the same number.
        let (job, restarts, pid) = (&copy.job, copy.restarts, copy.pid);
        self.replace(&format!("{SECOND}{job}-{restarts}-{pid}.json"), copy)
    }

    /// Returns the copies that came too late.
    pub(super) fn second_copies(&self) -> Vec<Copy> {
        let mut names: Vec<String> = tm_untrusted::entries(&self.0)
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with(SECOND))
            .collect();
        names.sort();
        let copies = names.iter().map(|name| self.read(name));
        copies.filter_map(io::Result::ok).collect()
    }

    /// Tells whether a copy has begun with it, as far as is told.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self.state(), Ok(State::Ordered))
    }

    pub(super) fn state(&self) -> io::Result<State> {
        self.read(STATE)
    }

    pub(super) fn set_state(&self, state: &State) -> Result<(), Error> {
        self.replace(STATE, state)
    }

    pub(super) fn wishes(&self) -> io::Result<Wishes> {
        self.read(WISHES)
    }

    pub(super) fn set_wishes(&self, wishes: &Wishes) -> Result<(), Error> {
        self.replace(WISHES, wishes)
    }

    /// Says so where tm on the node is another one than here.
    pub(super) fn other_version(&self) -> Option<String> {
        let (State::Running(Running { copy, .. }) | State::Ended(Ended { copy, .. })) =
            self.state().ok()?
        else {
            return None;
        };
        let (there, here) = (copy.version, VERSION);
        let is_other = !there.is_empty() && there != here;
        is_other.then(|| {
            format!(
                "tm on `{}` has version {there}, and here it has {here}",
                copy.node
            )
        })
    }

    /// Returns the file for what whoever starts the job has to say.
    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("batch.log")
    }

    /// Returns the last line of that.
    pub(super) fn last_printed(&self) -> Option<String> {
        let end = tm_untrusted::read_end(&self.log(), LOG_TAIL).ok()?;
        let text = tm_untrusted::clean(&String::from_utf8_lossy(&end));
        let mut lines = text.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty())?;
        Some(tm_untrusted::line(last, 300))
    }

    /// Removes the order of a job that nobody begins with any more.
    pub(super) fn remove_order(&self) {
        // Whoever began has removed it.
        let _nothing_there = fs::remove_file(self.0.join(ORDER));
    }

    /// Removes the folder. It is put aside first, so that none is left by half: a copy that comes meanwhile finds nothing to
    /// do, and one that runs can't say that it is well any more, and ends itself.
    pub(super) fn remove(&self) {
        let aside = (self.0).with_file_name(format!("{OVER}{}", self.name()));
        let removed =
            fs::rename(&self.0, &aside).and_then(|()| tm_untrusted::remove_folder(&aside));
        // What stays is swept later.
        tracing::debug!(?removed, job = self.name(), "the folder of a job");
    }

    /// Removes what is left of folders whose removal was broken off.
    pub(super) fn sweep(jobs: &Path) {
        for over in called(jobs, OVER) {
            let _stays = tm_untrusted::remove_folder(&over);
        }
    }

    fn read<Content: DeserializeOwned>(&self, name: &str) -> io::Result<Content> {
        let bytes = tm_untrusted::read(&self.0.join(name), MOST_BYTES)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    fn replace(&self, name: &str, content: &impl Serialize) -> Result<(), Error> {
        json_file::write(&self.0.join(name), content, "job: rename")
    }
}

/// Returns what is in a folder whose name begins so.
fn called(folder: &Path, beginning: &'static str) -> impl Iterator<Item = PathBuf> + use<> {
    let is_called = move |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(beginning.as_bytes())
    };
    tm_untrusted::entries(folder)
        .filter(is_called)
        .map(|entry| entry.path())
}
