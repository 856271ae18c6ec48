//! Holds the commands of the user's filters, which git starts on this machine: in the checkout, where agents write what such
//! a command may look for (`python -m ...`). A filter makes content of content: it reads the checkout and changes nothing.

use super::{Executor, Holding};
use crate::environment::{CommandEnvironment, EnvironmentRules};
use crate::process::{Besides, JobKind, ProcessTree, Stdin, TreeCommand};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use tm_sandbox::{Access, Level};

/// The word with which git calls tm to run the command of a filter ([`run_filter`]); not for people.
pub const FILTER: &str = "sandbox-filter";
/// The mark of what the command of one filter starts.
const MARKER: &str = "TM_FILTER_FOLDER";
/// What git tells a filter that asks git about the repository.
const OF_GIT: [&str; 2] = ["GIT_DIR", "GIT_WORK_TREE"];

/// How the commands of filters are held.
#[derive(Debug, Deserialize, Serialize)]
struct HeldFilters {
    level: Level,
    holding: Holding,
    environment: EnvironmentRules,
}

impl Executor {
    /// Returns how the commands of filters are held, for [`run_filter`]; `None` where they are not.
    pub fn held_filters(&self, environment: &EnvironmentRules) -> Option<Vec<u8>> {
        let holding = self.holding()?;
        let level = holding.level.filter(|level| *level != Level::None)?;
        let held = HeldFilters {
            level,
            holding: holding.clone(),
            environment: environment.clone(),
        };
        serde_json::to_vec(&held).ok()
    }
}

/// Runs the command of a filter, held as the file says that [`Executor::held_filters`] was written to, with the input and
/// output of this process; the first of the further words is the path that git gives it.
///
/// # Errors
/// It can't be held or started.
pub fn run_filter(held: &Path, command: &OsStr, words: &[OsString]) -> io::Result<ExitStatus> {
    let held: HeldFilters = serde_json::from_slice(&tm_untrusted::read_own(held, u64::MAX)?)?;
    let environment = CommandEnvironment::fresh_in(&std::env::temp_dir(), &held.environment)?;
    let folder = std::env::current_dir()?;
    let of_git = OF_GIT.map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let mut arguments = ["-c".into(), command.to_owned(), "sh".into()].to_vec();
    arguments.extend(words.iter().cloned());
    let besides = Besides {
        read: std::env::var_os("GIT_DIR")
            .map(of_folder)
            .unwrap_or_default(),
        ..Besides::default()
    };
    let needs = environment.needs(JobKind::Hooks, besides);
    // Nobody else has this folder.
    let own_folder = needs.own_folder.to_string_lossy().into_owned();
    let env_markers = vec![(MARKER.to_owned(), own_folder)];
    let command = TreeCommand {
        program: "sh".into(),
        arguments,
        working_folder: folder.clone(),
        inherited: environment.inherited(),
        environment: (environment.variables().into_iter())
            .chain(of_git.into_iter().flatten())
            .collect(),
        stdin: Stdin::Closed,
        env_markers: env_markers.clone(),
        needs: Some(needs),
        ..TreeCommand::default()
    };
    let holding = Holding {
        level: Some(held.level),
        ..held.holding
    };
    let mut sandbox = (holding.of(&command))
        .ok_or_else(|| io::Error::other("nothing of the sandbox works here any more"))?;
    sandbox.confinement.view.add(&folder, Access::Read);
    let mut command = command.held_beside(&sandbox).map_err(io::Error::other)?;
    let ended = command.status();
    if sandbox.stamp.is_some() {
        end_what_is_left(&env_markers)?;
    }
    ended
}

/// Ends what the command has started and left behind, where it has no space of processes of its own that ends with it.
fn end_what_is_left(env_markers: &[(String, String)]) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut left = ProcessTree::adopt(None, env_markers);
        left.end(Duration::ZERO).await;
    });
    Ok(())
}

/// What a git folder of tm's own for a checkout is made of, besides the history.
fn of_folder(git_dir: OsString) -> Vec<PathBuf> {
    let git_dir = PathBuf::from(git_dir);
    let common = git_dir.join("../../common");
    vec![git_dir, common]
}
