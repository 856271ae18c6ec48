//! `tm demo`: makes a small repository with a backlog and runs it with recorded agents, the very way that any run goes.

use super::Perform;
use super::plan::PlanChoice;
use super::run::RunArguments;
use crate::failure::Result;
use clap::Args;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// A file of the demo's repository.
type DemoFile = (&'static str, &'static str);

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../demo/", $folder, $name)))),*]
    };
}

const FILES: [DemoFile; 5] = files![
    "repository/":
    "README.md",
    "run-tests.sh",
    "bin/greet",
    "t/check.sh",
    "t/greet.t",
];

const BACKLOG: &str = include_str!("../demo/tasks.json");

const RECORDINGS: [DemoFile; 18] = files![
    "recordings/":
    "1+red.1.patch",
    "1.1.patch",
    "2+red.1.patch",
    "2.1.patch",
    "3+red.1.patch",
    "3.1.patch",
    "4+red.1.patch",
    "4.1.patch",
    "4.2.patch",
    "5+red.1.patch",
    "5.1.patch",
    "6+red.1.patch",
    "6.1.patch",
    "7+red.1.patch",
    "7.1.patch",
    "8+red.1.patch",
    "8.1.patch",
    "9.1.patch",
];

/// `tm demo`.
#[derive(Args)]
pub(crate) struct Demo {
    /// The folder to make; a temporary one when not given.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Agents at the same time.
    #[arg(long, short = 'j', value_name = "N", default_value = "5")]
    max_parallel: NonZeroU32,
}

impl Perform for Demo {
    async fn perform(self, _: &Path) -> Result {
        let folder = match &self.folder {
            Some(folder) => new_folder(folder)?,
            None => tempfile::TempDir::with_prefix("tm-demo-")?.keep(),
        };
        fill(&folder)?;
        tm_worktrees::create_repository(&folder, "Start of the demo")?;
        let place = folder.display();
        say!("a repository with a backlog of 9 tasks is in {place}\n");
        let run = RunArguments::unasked(PlanChoice::with_slots(self.max_parallel));
        let code = Box::pin(run.perform(&folder)).await?;
        say!("\nlook around: cd {place}");
        say!("  tm waves report                 the summary again");
        say!("  tm waves logs 4 --attempt 1     the attempt that its tests refused");
        say!("  tm worktrees diff 5             what a task changed");
        Ok(code)
    }
}

fn fill(folder: &Path) -> Result<()> {
    let own = folder.join(".taskmaster");
    let recordings = own.join("recordings");
    write_all(folder, &FILES)?;
    write_all(&recordings, &RECORDINGS)?;
    // A text in JSON is one in YAML, whatever is in it.
    let recordings = serde_json::json!(recordings);
    let settings = format!(
        "# Agents of the demo play recordings.\nagent:\n  default: replay\nagents:\n  replay:\n    env:\n      TM_REPLAY_DIR: {recordings}\n"
    );
    write(&own.join("tasks/tasks.json"), BACKLOG)?;
    write(&own.join("tm.yaml"), &settings)
}

fn write_all(folder: &Path, files: &[DemoFile]) -> Result<()> {
    files
        .iter()
        .try_for_each(|(path, text)| write(&folder.join(path), text))
}

fn new_folder(folder: &Path) -> Result<PathBuf> {
    if !is_free(folder) {
        let place = folder.display();
        return Err(failure!("make the demo in `{place}`: it is not empty")
            .hint("name a folder that is not there"));
    }
    std::fs::create_dir_all(folder)?;
    Ok(folder.canonicalize()?)
}

fn is_free(folder: &Path) -> bool {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Writes a file, in folders that are made for it.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(tm_store::atomic::replace(path, text.as_bytes())?)
}
