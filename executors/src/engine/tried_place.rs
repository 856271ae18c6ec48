//! Tries whether jobs run where they are to be started, and whether what they write is seen here.

use super::{Executor, Job, Whereabouts};
use crate::process::{TreeCommand, shell_words};
use crate::{Error, OrFailedTo as _};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// What two machines write, each sees of the other within so long, or they don't share a folder that is of use.
const SEEN_WITHIN: Duration = Duration::from_mins(1);
/// So often it is looked what a job waits for.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// The answer is no longer.
const MOST_BYTES: u64 = 64 * 1024;
/// So often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What was found where jobs are started.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TriedPlace {
    /// Where the first job ran.
    pub place: String,
    /// How long it took until that began.
    pub begun_after: Duration,
    /// How long it took until it had seen what was written here, and that was seen here.
    pub seen_after: Duration,
    /// Which of the programs that were asked for are not there.
    pub missing: Vec<String>,
    /// What else is to be said of the place.
    pub told: Vec<String>,
}

impl Executor {
    /// Has a first job run that looks for programs, and writes a file once it sees one of tm's; tells what it waits for.
    /// `None` where jobs run on this machine. Paths that begin nowhere are looked for in `root`, of which the checkouts are
    /// that agents work in.
    ///
    /// # Errors
    /// It did not begin, or what it wrote is not seen here.
    pub async fn try_out(
        &self,
        programs: &[String],
        root: &Path,
        mut tell: impl FnMut(&str),
    ) -> Result<Option<TriedPlace>, Error> {
        if self.tells_of_files() {
            return Ok(None);
        }
        let place = self.temporary_folder();
        let folder = tempfile::tempdir_in(&place).or_failed_to("make a folder in", &place)?;
        let command = command(folder.path(), programs, root);
        let begins = Instant::now();
        let mut job = self.start(&command).await?;
        let has_begun = begun(&mut *job, &mut tell).await;
        let begun_after = begins.elapsed();
        let (seen, refused) = if has_begun {
            (seen(folder.path()).await, None)
        } else {
            // It is over, and why is known by then.
            match job.wait().await {
                Err(Error::Refused(words)) => (None, Some(words)),
                Ok(_) | Err(_) => (None, None),
            }
        };
        let whereabouts = job.whereabouts();
        self.end(&mut *job, Duration::ZERO, folder.path()).await;
        if let (Some(Whereabouts::On(place)), Some((seen_after, missing))) = (whereabouts, seen) {
            let name = |at: usize| programs.get(at).cloned();
            return Ok(Some(TriedPlace {
                place,
                begun_after,
                seen_after,
                missing: missing.into_iter().filter_map(name).collect(),
                told: job.told(),
            }));
        }
        let not_seen = || not_seen(&place, &job.told());
        Err(Error::NoPlace(refused.unwrap_or_else(not_seen)))
    }
}

/// Waits until a job has begun, and tells what it waits for; `false` when it never will.
async fn begun(job: &mut dyn Job, tell: &mut impl FnMut(&str)) -> bool {
    let mut told = None;
    loop {
        if let Ok(since) = tokio::time::timeout(TOLD_EVERY, job.begun()).await {
            return since.is_some();
        }
        if let Some(Whereabouts::Waiting(why)) = job.whereabouts()
            && told.as_ref() != Some(&why)
        {
            tell(&why);
            told = Some(why);
        }
    }
}

/// Writes down which of its words after the first are no programs there, by their numbers, since a name may be of several
/// lines. `command -v` also knows words of the shell, and takes what can't be started. It ends by itself where nobody waits
/// for it any more.
const SCRIPT: &str = r#"
root=$1; shift
is_program() { [ -f "$1" ] && [ -x "$1" ]; }
is_there() {
    case $1 in
    /*) is_program "$1"; return ;;
    */*) is_program "$root/$1"; return ;;
    esac
    rest=$PATH:
    while [ "$rest" ]; do
        folder=${rest%%:*}
        rest=${rest#*:}
        case $folder in /*) ;; *) folder=$root/$folder ;; esac
        if is_program "$folder/$1"; then return; fi
    done
    return 1
}
number=0
for program; do is_there "$program" || echo $number; number=$((number + 1)); done > missing
i=0; until [ -e here ] || [ $i = 3000 ]; do sleep 0.02; i=$((i + 1)); done
mv missing there
"#;

fn command(folder: &Path, programs: &[String], root: &Path) -> TreeCommand {
    let (program, mut arguments) = shell_words(SCRIPT);
    arguments.extend(["sh".into(), root.into()]);
    arguments.extend(programs.iter().map(Into::into));
    TreeCommand {
        program,
        arguments,
        working_folder: folder.to_owned(),
        stdout: folder.join("log"),
        stderr: folder.join("log"),
        env_markers: vec![("TM_TRIAL".to_owned(), folder.display().to_string())],
        ..TreeCommand::default()
    }
}

/// Writes what the job waits for, and waits for what it writes then: the numbers of the programs that are missing.
async fn seen(folder: &Path) -> Option<(Duration, Vec<usize>)> {
    let begins = Instant::now();
    tm_untrusted::create_anew(&folder.join("here")).ok()?;
    loop {
        if let Ok(missing) = tm_untrusted::read(&folder.join("there"), MOST_BYTES) {
            let missing = String::from_utf8_lossy(&missing);
            return Some((
                begins.elapsed(),
                missing.lines().flat_map(str::parse).collect(),
            ));
        }
        if begins.elapsed() > SEEN_WITHIN {
            return None;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn not_seen(place: &Path, told: &[String]) -> String {
    let told = if told.is_empty() {
        "nothing of it was seen here".to_owned()
    } else {
        told.join("; ")
    };
    format!(
        "{told}. Nodes have to see `{}` as this machine does, and have the same tm at the same path, or where the \
         settings say",
        place.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::run_within;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    /// Writes a file, and has it be a program or none.
    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    fn file(path: &Path, mode: u32) {
        fs::write(path, "#!/bin/sh\n").expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    /// Which programs the first job does not find.
    async fn missing(root: &Path, search_path: &str, programs: &[&str]) -> Vec<usize> {
        let folder = tempfile::tempdir().expect("a folder");
        let programs: Vec<String> = programs.iter().map(|&name| name.to_owned()).collect();
        let mut command = command(folder.path(), &programs, root);
        command.environment = vec![("PATH".into(), search_path.into())];
        tm_untrusted::create_anew(&folder.path().join("here")).expect("made");
        let ended = run_within(&command, SEEN_WITHIN).await.expect("it runs");
        assert!(ended.is_some_and(|status| status.success()));
        fs::remove_file(folder.path().join("here")).expect("removed");
        seen(folder.path()).await.expect("an answer").1
    }

    #[tokio::test]
    async fn only_what_could_be_started_in_a_checkout_is_a_program() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        for folder in ["bin/folder", "tools"] {
            fs::create_dir_all(at(folder)).expect("made");
        }
        for program in ["bin/agent", "bin/two\nlines", "tools/agent.bin", "in-root"] {
            file(&at(program), 0o755);
        }
        file(&at("bin/data"), 0o644);
        let search_path = format!("{}:/usr/bin:/bin", at("bin").display());
        let absolute = at("bin/agent").display().to_string();
        let found = ["agent", "two\nlines", "./tools/agent.bin", &absolute, "sh"];
        let none: [usize; 0] = [];
        assert_eq!(missing(root.path(), &search_path, &found).await, none);
        let not_found = [
            "data",
            "folder",
            "if",
            "cd",
            "-v",
            "",
            "no\nagent",
            "./agent",
            "in-root",
            "./data",
        ];
        let all: Vec<usize> = (0..not_found.len()).collect();
        assert_eq!(missing(root.path(), &search_path, &not_found).await, all);
        let from_root = format!("{search_path}:");
        assert_eq!(missing(root.path(), &from_root, &["in-root"]).await, none);
    }
}
