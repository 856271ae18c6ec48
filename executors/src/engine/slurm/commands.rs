//! The command lines by which Slurm is asked, and what its refusals mean. Pure but for [`ask`], which runs them.

use super::queue::COLUMNS;
use super::{SlurmJobs, SlurmRequest};
use crate::Error;
use crate::engine::node::JobFolder;
use crate::process::{Captured, Inherited, TreeCommand, is_named, run_captured, shell_quoted};
use std::ffi::OsString;
use std::path::Path;
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
/// So much of a title goes into a comment.
const MOST_OF_TITLE: usize = 100;
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
        "squeue", "-h", "--me", "-t", "all", "-n", &jobs.name, "-o", COLUMNS,
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

/// The line that has a job started; its script is in its folder.
pub(super) fn sbatch(
    jobs: &SlurmJobs,
    request: &SlurmRequest,
    job: &JobFolder,
    title: &str,
) -> Vec<OsString> {
    let comment = format!("tm {} {}", plain(title), job.name());
    let output = job.log();
    // What comes after a `%` is filled in.
    let output = output.display().to_string().replace('%', "%%");
    let named = [
        ("--job-name", Some(&jobs.name)),
        ("--comment", Some(&comment)),
        ("--output", Some(&output)),
        ("--partition", request.partition.as_ref()),
        ("--account", request.account.as_ref()),
        ("--qos", request.qos.as_ref()),
        ("--time", request.time.as_ref()),
        ("--mem", request.mem.as_ref()),
        ("--gres", request.gres.as_ref()),
    ];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    let cpus = request.cpus.map(|cpus| format!("--cpus-per-task={cpus}"));
    let fixed = [
        "sbatch",
        "--parsable",
        "--no-requeue",
        "--export=ALL",
        "--nodes=1",
        "--ntasks=1",
    ];
    let mut line: Vec<OsString> = fixed.map(OsString::from).to_vec();
    line.extend(
        // What comes later counts, and tm knows its jobs by what it says of them.
        (request.extra.iter().cloned())
            .chain(named)
            .chain(cpus)
            .map(OsString::from),
    );
    let mut chdir = OsString::from("--chdir=");
    chdir.push(job.path());
    line.extend([chdir, job.path().join(SCRIPT).into()]);
    line
}

/// The name of the script in the folder of a job.
pub(super) const SCRIPT: &str = "batch.sh";

/// What a node runs.
pub(super) fn script(tm_program: &Path, job: &JobFolder) -> String {
    format!(
        "#!/bin/sh\nexec {} node --job {} --id \"$SLURM_JOB_ID\" --name \"$SLURMD_NODENAME\" --restarts \
         \"${{SLURM_RESTART_COUNT:-0}}\"\n",
        shell_quoted(&tm_program.display().to_string()),
        shell_quoted(&job.path().display().to_string()),
    )
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

/// A title without what would make a comment hard to read.
fn plain(title: &str) -> String {
    let is_odd = |character: char| character.is_control() || character == '|';
    let title: String = title.chars().take(MOST_OF_TITLE).collect();
    title.replace(is_odd, "_")
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

    #[test]
    fn a_job_is_asked_for_with_what_the_settings_say_and_its_folder_ends_its_comment() {
        let jobs = SlurmJobs {
            name: "tm-shop".to_owned(),
            tm_program: "/opt/it's/tm".into(),
        };
        let request = SlurmRequest {
            partition: Some("short".to_owned()),
            cpus: Some(4),
            extra: vec!["--exclusive".to_owned()],
            ..SlurmRequest::default()
        };
        let job = JobFolder::at(Path::new("/home/50%/job-x"));
        let line = sbatch(&jobs, &request, &job, "run/a|b\n/2");
        let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(
            line.join("\n"),
            "sbatch\n--parsable\n--no-requeue\n--export=ALL\n--nodes=1\n--ntasks=1\n--exclusive\n--job-name=tm-shop\n\
             --comment=tm run/a_b_/2 job-x\n--output=/home/50%%/job-x/batch.log\n--partition=short\n\
             --cpus-per-task=4\n--chdir=/home/50%/job-x\n/home/50%/job-x/batch.sh"
        );
        assert!(
            script(&jobs.tm_program, &job)
                .contains(r"exec '/opt/it'\''s/tm' node --job '/home/50%/job-x' ")
        );
    }
}
