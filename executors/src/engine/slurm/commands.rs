//! The command lines by which Slurm is asked, and what its refusals mean. Pure but for [`ask`], which runs them.

use super::SlurmJobs;
use super::queue::COLUMNS;
use crate::Error;
use crate::process::{Captured, Inherited, TreeCommand, is_named, run_captured};
use std::ffi::OsString;
use std::time::Duration;

/// So long one question to Slurm may take; its own limits are shorter.
const LIMIT: Duration = Duration::from_mins(1);
/// Variables that Slurm's programs have of tm's; others of their own would change what they print. `sbatch` hands its own to
/// the job, which has all that it needs in its order.
const PASSED: [&str; 12] = [
    "HOME",
    "KRB5CCNAME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SBATCH_ACCOUNT",
    "SBATCH_PARTITION",
    "SBATCH_QOS",
    "SLURM_CLUSTERS",
    "SLURM_CONF",
    "USER",
    "XDG_RUNTIME_DIR",
];
/// Words of what passes, whatever else is said with it: who vouches for tm's user is away, or nobody answers.
const PASSING: [&str; 9] = [
    "munge",
    "Munge",
    "authentication",
    "credential",
    "Unable to contact",
    "timed out",
    "Connection",
    "connection",
    "temporarily",
];
/// Words of refusals that stay refusals however often one asks.
const FOR_GOOD: [&str; 13] = [
    "Unable to open file",
    "nvalid",
    "unrecognized option",
    "not permitted",
    "denied",
    "not available",
    "More processors requested",
    "No such file",
    "No partition specified",
    "not found",
    "can not be satisfied",
    "cannot be satisfied",
    "exceeds",
];

/// What `sbatch` said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Submitted {
    /// The job has this number.
    Job(String),
    /// It is refused whenever it is asked for; holds the words.
    Refused(String),
    /// Slurm can't be asked now, or has no room; holds the words.
    Later(String),
}

/// Runs one of Slurm's programs.
///
/// # Errors
/// It can't be started, or its output not be read.
pub(super) async fn ask(line: Vec<OsString>) -> Result<Captured, Error> {
    // The variable by which the call is known must not become one of the job's: it would be taken for a part of the call.
    let own: [OsString; 3] = ["-u".into(), "TM_CALL".into(), "--".into()];
    let environment = std::env::vars_os().filter(|(name, _)| is_named(&PASSED, name));
    let command = TreeCommand {
        program: "env".into(),
        arguments: own.into_iter().chain(line).collect(),
        working_folder: "/".into(),
        inherited: Inherited::Nothing,
        environment: environment.collect(),
        ..TreeCommand::default()
    };
    run_captured(command, LIMIT).await
}

/// The line that asks how all jobs of a project stand, those that ended a little while ago included.
pub(super) fn squeue(jobs: &SlurmJobs) -> Vec<OsString> {
    let words = [
        "squeue", "-h", "-r", "--me", "-t", "all", "-n", &jobs.name, "-o", COLUMNS,
    ];
    words.map(OsString::from).to_vec()
}

/// The lines that ask for the state of a job that left the queue, one after the other.
pub(super) fn states(id: &str) -> [Vec<OsString>; 2] {
    let shown = ["scontrol", "show", "job", id];
    let accounted = ["sacct", "-n", "-P", "-X", "-o", "State", "-j", id];
    [
        shown.map(OsString::from).to_vec(),
        accounted.map(OsString::from).to_vec(),
    ]
}

pub(super) fn scancel(ids: &[String]) -> Vec<OsString> {
    std::iter::once("scancel")
        .chain(ids.iter().map(String::as_str))
        .map(OsString::from)
        .collect()
}

/// Returns what `sbatch` said.
pub(super) fn submitted(said: &Captured) -> Submitted {
    if said.has_succeeded() {
        // Plugins of a site may print something besides.
        let number = |line: &str| {
            let id = line.split(';').next().unwrap_or_default().trim();
            let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| id.to_owned())
        };
        if let Some(id) = said.stdout.lines().rev().find_map(number) {
            return Submitted::Job(id);
        }
    }
    let words = words(said);
    let says = |known: &[&str]| known.iter().any(|known| words.contains(known));
    if says(&FOR_GOOD) && !says(&PASSING) {
        Submitted::Refused(words)
    } else {
        Submitted::Later(words)
    }
}

/// What a program of Slurm's complained about, in a line.
pub(super) fn words(said: &Captured) -> String {
    let lines = said.stderr.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    match (lines.as_slice(), said.status) {
        ([], None) => "no answer in a minute".to_owned(),
        ([], Some(status)) => status.to_string(),
        (lines, _) => tm_untrusted::line(&lines.join("; "), 300),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    fn said(code: i32, stdout: &str, stderr: &str) -> Captured {
        Captured {
            status: Some(ExitStatus::from_raw(code << 8)),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn what_is_refused_for_good_is_told_from_what_may_go_well_later() {
        let refused = |words: &str| matches!(submitted(&said(1, "", words)), Submitted::Refused(_));
        for words in [
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
            "sbatch: error: Invalid generic resource (gres) specification",
            "sbatch: unrecognized option '--nonsense'",
            "env: 'sbatch': No such file or directory",
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
        ] {
            assert!(refused(words), "{words}");
        }
        for words in [
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
            "sbatch: error: Batch job submission failed: Slurm temporarily unable to accept job, sleeping and retrying",
            "sbatch: error: AssocMaxSubmitJobLimit",
            "sbatch: error: Munge encode failed: Failed to access \"/run/munge.socket\": No such file or directory",
            "sbatch: error: Batch job submission failed: Invalid authentication credential",
        ] {
            assert!(!refused(words), "{words}");
        }
        assert_eq!(
            submitted(&said(0, "warning of a plugin\n123;cluster\n", "")),
            Submitted::Job("123".to_owned())
        );
        assert_eq!(
            submitted(&said(0, "124\nyour account has 3 hours left\n", "")),
            Submitted::Job("124".to_owned())
        );
    }
}
