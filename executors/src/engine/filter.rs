//! Holds the commands of the user's filters, which git starts on this machine: in the checkout, where agents write what such
//! a command may look for (`python -m ...`). A filter makes content of content: it reads the checkout, changes nothing, ends
//! within the time of tests, and with the tm for which git works.

use super::{Engine as _, Holding, JobEnd, LocalEngine};
use crate::Error;
use crate::bounded_log::LogsOfJob;
use crate::environment::{CommandEnvironment, EnvironmentRules};
use crate::process::{
    JobKind, Needs, ProcessIdentity, RunningProgram, TreeCommand, lineage, running, send,
};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, future, io};
use tm_sandbox::Level;
use tokio::signal::unix::{SignalKind, signal};

/// The word with which git calls tm to run the command of a filter ([`run_filter`]); not for people.
pub const FILTER: &str = "sandbox-filter";
/// Begins what a filter says among what git says, so that nobody takes it for git's words.
const FILTER_SAYS: &str = "filter: ";
/// The mark of what the command of one filter starts.
const MARKER: &str = "TM_FILTER_FOLDER";
/// What git tells a filter that asks git about the repository.
const OF_GIT: [&str; 2] = ["GIT_DIR", "GIT_WORK_TREE"];
/// Folders that programs look for in the user's home where no variable says something else.
const OF_HOME: &str = "XDG_";
/// So much of the end of what a filter says is told.
const SAID_BYTES: u64 = 16 * 1024;
/// The exit code of a filter that was ended, as of `timeout`.
const ENDED: i32 = 124;

/// How the commands of filters are held.
#[derive(Debug, Deserialize, Serialize)]
struct HeldFilters {
    level: Level,
    holding: Holding,
    environment: EnvironmentRules,
    limit: Duration,
    /// What a git is told that a filter asks, in the place of the user's own settings.
    settings: String,
}

impl Holding {
    /// Returns how the commands of filters are held, how long one may take, and which settings a git has that one asks, for
    /// [`run_filter`]; `None` where nothing is held.
    ///
    /// # Errors
    /// They are to be held, and nothing holds them here, or it can't be written down.
    pub fn of_filters(
        &self,
        environment: &EnvironmentRules,
        limit: Duration,
        settings: &str,
    ) -> io::Result<Option<Vec<u8>>> {
        let level = self.level.ok_or_else(|| {
            io::Error::other(format!("no sandbox works here: {}", self.describe()))
        })?;
        if level == Level::None {
            return Ok(None);
        }
        let held = HeldFilters {
            level,
            holding: self.clone(),
            environment: environment.clone(),
            limit,
            settings: settings.to_owned(),
        };
        Ok(Some(serde_json::to_vec(&held)?))
    }
}

/// Runs the command of a filter with the input and output of this process, held as the file says that
/// [`Holding::of_filters`] was written to; returns its exit code. The path is the one that git gives it. What it says goes
/// to the errors of this process, each line behind `filter: `.
///
/// # Errors
/// It can't be held or started.
pub async fn run_filter(held: &Path, command: &OsStr, path: Option<&OsString>) -> io::Result<i32> {
    let told: HeldFilters = serde_json::from_slice(&tm_untrusted::read_own(held, u64::MAX)?)?;
    let environment = CommandEnvironment::fresh_in(&env::temp_dir(), &told.environment)?;
    let holding = Holding {
        level: Some(told.level),
        ..told.holding
    };
    let command = path.map_or_else(|| command.to_owned(), |path| with_path(command, path));
    let command = tree_command(&command, &environment, (&holding, &told.settings))?;
    let ended = ended(&command, &holding, told.limit).await;
    let said = tm_untrusted::read_end(&command.stderr, SAID_BYTES).unwrap_or_default();
    for line in String::from_utf8_lossy(&said).lines() {
        tell(line);
    }
    let (end, told) = ended.map_err(io::Error::other)?;
    for line in told {
        tell(&line);
    }
    Ok(match end {
        Some(JobEnd::Exited(code)) => code,
        Some(JobEnd::Killed | JobEnd::TimedOut | JobEnd::Unknown) => {
            tell("it was killed by a signal");
            ENDED
        }
        None => {
            tell("it was ended: it took longer than `test.timeout`, or its tm stops or is gone");
            ENDED
        }
    })
}

#[expect(clippy::print_stderr, reason = "git hands on what a filter says there")]
fn tell(line: &str) {
    eprintln!("{FILTER_SAYS}{line}");
}

fn tree_command(
    command: &OsStr,
    environment: &CommandEnvironment,
    (holding, settings): (&Holding, &str),
) -> io::Result<TreeCommand> {
    let of_git = OF_GIT.map(|name| Some((OsString::from(name), env::var_os(name)?)));
    // What its user names is there, and found under its name.
    let home = env::var_os("HOME").map(PathBuf::from);
    let of_home = (home.iter()).map(|home| (OsString::from("HOME"), home.clone().into()));
    let is_of_home = |name: &OsStr| name == "HOME" || name.to_string_lossy().starts_with(OF_HOME);
    let variables = environment.variables().into_iter();
    let mut besides = holding.named_in(&command.to_string_lossy());
    besides.read.extend(of_folder());
    let needs = Needs {
        only_reads: true,
        ..environment.needs(JobKind::Hooks, besides)
    };
    let said = needs.own_folder.join("said");
    let gitconfig = needs.own_folder.join("gitconfig");
    tm_untrusted::append(&gitconfig)?.write_all(settings.as_bytes())?;
    Ok(TreeCommand {
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into()],
        working_folder: env::current_dir()?,
        inherited: environment.inherited(),
        environment: variables
            .filter(|(name, _)| !is_of_home(name))
            .chain(of_home)
            .chain(of_git.into_iter().flatten())
            .chain([("GIT_CONFIG_GLOBAL".into(), gitconfig.into())])
            .collect(),
        stderr: said,
        // Nobody else has this folder.
        env_markers: vec![(
            MARKER.to_owned(),
            needs.own_folder.to_string_lossy().into_owned(),
        )],
        passes_through: true,
        needs: Some(needs),
        ..TreeCommand::default()
    })
}

/// Runs the command until it ends, or until it has to; nothing of it is left then.
async fn ended(
    command: &TreeCommand,
    holding: &Holding,
    limit: Duration,
) -> Result<(Option<JobEnd>, Vec<String>), Error> {
    let engine = LocalEngine {
        holding: Some(Arc::new(holding.clone())),
    };
    let mut job = engine.start(command).await?;
    let mut logs = LogsOfJob::new(&command.stderr, &command.stderr);
    let give_back = |log: &Path, part| engine.give_back(log, part);
    let ended = tokio::select! {
        ended = logs.kept_until(tokio::time::timeout(limit, job.wait()), give_back) => {
            ended.and_then(Result::ok).transpose()
        }
        () = tm_is_gone() => Ok(None),
        () = is_asked_to_stop() => Ok(None),
    };
    job.end(Duration::ZERO).await;
    Ok((ended?, job.told()))
}

/// Returns when somebody asks this process to stop: the tm for which git works, where that is to stop at once.
async fn is_asked_to_stop() {
    match signal(SignalKind::terminate()) {
        Ok(mut asked) => _ = asked.recv().await,
        Err(_) => future::pending().await,
    }
}

/// Ends the filters that git runs for this process: whoever stops at once can't wait for them.
pub fn end_filters() {
    let is_filter = |program: &RunningProgram| {
        let word = program.arguments.first();
        word.is_some_and(|word| word == FILTER) && is_for_this(program.identity.pid)
    };
    let own = env::current_exe().unwrap_or_default();
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    for program in running(&[&name]).into_iter().filter(is_filter) {
        send(program.identity, Signal::TERM);
    }
}

fn is_for_this(pid: u32) -> bool {
    let own = std::process::id();
    lineage(pid).iter().any(|above| above.identity.pid == own)
}

/// Returns when the tm is gone for which git works; never where there is none.
async fn tm_is_gone() {
    match nearest_tm() {
        Some(tm) => tm.ended().await,
        None => future::pending().await,
    }
}

fn nearest_tm() -> Option<ProcessIdentity> {
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = program(std::process::id())?;
    let above = lineage(std::process::id()).into_iter().skip(1);
    let mut above = above.map(|ancestor| ancestor.identity);
    above.find(|identity| program(identity.pid).as_ref() == Some(&own))
}

/// What a git folder of tm's own for a checkout is made of, besides the history.
fn of_folder() -> impl Iterator<Item = PathBuf> {
    let git_dir = env::var_os("GIT_DIR").map(PathBuf::from);
    let common = git_dir.as_ref().map(|folder| folder.join("../../common"));
    git_dir.into_iter().chain(common)
}

/// Puts a path into a command as git does: `%f` is the path, quoted for a shell, and `%%` is `%`.
fn with_path(command: &OsStr, path: &OsStr) -> OsString {
    let mut whole = Vec::new();
    let mut letters = command.as_bytes().iter().copied().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            (b'%', Some(b'f')) => {
                whole.push(b'\'');
                for letter in path.as_bytes() {
                    match letter {
                        b'\'' | b'!' => whole.extend([b'\'', b'\\', *letter, b'\'']),
                        letter => whole.push(*letter),
                    }
                }
                whole.push(b'\'');
            }
            (b'%', Some(b'%')) => whole.push(b'%'),
            (letter, _) => {
                whole.push(letter);
                continue;
            }
        }
        letters.next();
    }
    OsString::from_vec(whole)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_is_put_into_a_command_as_git_does() {
        let with_path = |command: &str, path: &str| {
            let whole = super::with_path(command.as_ref(), path.as_ref());
            whole.into_string().expect("a text")
        };
        let with = |command| with_path(command, "it's");
        assert_eq!(with("clean %f"), r"clean 'it'\''s'");
        assert_eq!(
            with("sh -c 'echo %f; cat' 100%% %x %"),
            r"sh -c 'echo 'it'\''s'; cat' 100% %x %"
        );
        assert_eq!(with_path("%f", "a!b"), r"'a'\!'b'");
    }
}
