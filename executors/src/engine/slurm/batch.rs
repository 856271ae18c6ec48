//! Jobs that Slurm is asked for by one call: one alone, or several of the same wishes as an array. Pure but for what it
//! writes into the folders of its jobs.
//!
//! A job is found again by the last word of its comment: the name of its folder. All of an array have one comment, which
//! ends with the names of all of their folders, so the index of each leads to its own.

use super::{SlurmJobs, SlurmRequest, SlurmRequests};
use crate::engine::node::{JobDescription, JobFolder};
use crate::process::shell_quoted;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::iter;
use std::path::{Path, PathBuf};
use tm_scheduler::Complexity;

/// So many are asked for at once at most: their names have to fit into a comment, of which Slurm takes 1,024 bytes. Sites
/// that say nothing let an array have 1,000.
const MOST_JOBS: usize = 60;
/// The name of the script in the folder of the first job.
const SCRIPT: &str = "batch.sh";
/// So much of a title goes into a comment.
const MOST_OF_TITLE: usize = 100;
/// So much of all titles.
const MOST_OF_TITLES: usize = 300;

/// Jobs that one call asks for; there is at least one.
#[derive(Debug)]
pub(super) struct Batch(Vec<(JobFolder, JobDescription)>);

impl Batch {
    /// Returns what is to be sent next: the first one that is not sent yet, and those that ask for the same, so many at the
    /// most. Nobody knows what Slurm has made of doubtful ones, each of which is asked for alone.
    pub(super) fn next<'t>(
        mut unsent: impl Iterator<Item = (&'t JobFolder, &'t JobDescription, &'t OfSlurm)>,
        requests: &SlurmRequests,
        most: usize,
    ) -> Option<Self> {
        let first = unsent.next()?;
        let most = if first.2.is_doubtful {
            1
        } else {
            most.min(MOST_JOBS)
        };
        let request = requests.of(first.1.complexity);
        let alike = unsent.filter(|(_, about, more)| {
            !more.is_doubtful && requests.of(about.complexity) == request
        });
        let jobs = iter::once(first).chain(alike.take(most.saturating_sub(1)));
        Some(Self(
            jobs.map(|(job, about, _)| (job.clone(), about.clone()))
                .collect(),
        ))
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &JobFolder> {
        self.0.iter().map(|(job, _)| job)
    }

    pub(super) const fn is_array(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns the number of one of its jobs, by its index, once Slurm has given one.
    pub(super) fn number(&self, id: &str, index: usize) -> String {
        if self.is_array() {
            format!("{id}_{index}")
        } else {
            id.to_owned()
        }
    }

    /// Returns the size of their tasks, by which what they ask for is found: that of the first one, the same for all.
    pub(super) fn complexity(&self) -> Option<Complexity> {
        self.0[0].1.complexity
    }

    /// Writes what Slurm is to run.
    pub(super) fn write(&self, tm_program: &Path) -> io::Result<()> {
        let script = self.script();
        tm_untrusted::remove(&script)?;
        tm_untrusted::create_anew(&script)?.write_all(self.script_text(tm_program).as_bytes())
    }

    /// The line that has them started, once that is written.
    pub(super) fn line(&self, jobs: &SlurmJobs, request: &SlurmRequest) -> Vec<OsString> {
        let names: Vec<&str> = self.jobs().map(JobFolder::name).collect();
        let comment = format!("tm {} {}", self.titles(), names.join(","));
        // Who says what becomes of the job writes there, and the script itself opens it again: the folders of an array go one
        // by one, and of a path Slurm leaves backslashes out. What comes after a `%` is filled in.
        let output = self.first().log().display().to_string();
        let is_named = !self.is_array() && !output.contains('\\');
        let output = if is_named {
            output.replace('%', "%%")
        } else {
            "/dev/null".to_owned()
        };
        let array = self.is_array().then(|| format!("0-{}", self.0.len() - 1));
        let named = [
            ("--job-name", Some(&jobs.name)),
            ("--comment", Some(&comment)),
            ("--output", Some(&output)),
            ("--array", array.as_ref()),
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
        let folder = self.first().path();
        let common = folder.parent().filter(|_| self.is_array());
        let mut chdir = OsString::from("--chdir=");
        chdir.push(common.unwrap_or(folder));
        line.extend([chdir, self.script().into()]);
        line
    }

    pub(super) fn first(&self) -> &JobFolder {
        &self.0[0].0
    }

    fn script(&self) -> PathBuf {
        self.first().path().join(SCRIPT)
    }

    fn script_text(&self, tm_program: &Path) -> String {
        let quoted = |path: &Path| shell_quoted(&path.display().to_string());
        let chosen = |job: &JobFolder| {
            let log = job.log();
            format!("job={} log={}", quoted(job.path()), quoted(&log))
        };
        let (job, id) = if self.is_array() {
            let jobs = self.jobs().enumerate();
            let cases = jobs.map(|(index, job)| format!("{index}) {} ;;\n", chosen(job)));
            (
                format!(
                    "case \"$SLURM_ARRAY_TASK_ID\" in\n{}esac",
                    cases.collect::<String>()
                ),
                "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID",
            )
        } else {
            (chosen(self.first()), "$SLURM_JOB_ID")
        };
        format!(
            "#!/bin/sh\n{job}\nexec >> \"$log\" 2>&1\nexec {} node --job \"$job\" --id \"{id}\" --name \
             \"$SLURMD_NODENAME\" --restarts \"${{SLURM_RESTART_COUNT:-0}}\"\n",
            quoted(tm_program),
        )
    }

    /// What people who look at the queue are told.
    fn titles(&self) -> String {
        let titles: Vec<String> = self
            .0
            .iter()
            .map(|(_, about)| plain(&about.title))
            .collect();
        let mut titles = titles.join(",");
        titles.truncate(titles.floor_char_boundary(MOST_OF_TITLES));
        titles
    }
}

/// What is known of a job besides.
#[derive(Clone, Debug, Default)]
pub(super) struct OfSlurm {
    /// Its number, where that is known.
    pub(super) id: Option<String>,
    /// Whether a copy has taken it for good: then its number is the one that counts, whatever else Slurm has of it.
    pub(super) is_taken: bool,
    /// Whether Slurm was asked for it before, and nobody knows what it made of that.
    pub(super) is_doubtful: bool,
    /// So many looks in a row did not show it.
    pub(super) missed: u32,
}

/// Returns the number of the copy that has taken a job.
pub(super) fn taken_by(job: &JobFolder) -> Option<String> {
    // Whatever lies there becomes an argument of Slurm's programs.
    let copy = job.taken_by()?;
    is_number(&copy.job).then_some(copy.job)
}

/// Tells whether this is a number of a job, or of one of an array.
pub(super) fn is_number(text: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('_') {
        None => is_digits(text),
        Some((job, index)) => is_digits(job) && is_digits(index),
    }
}

/// Returns the name of the job that has this number and comment.
pub(super) fn name_of<'c>(number: &str, comment: &'c str) -> Option<&'c str> {
    let index = number.split_once('_').map(|(_, index)| index.parse());
    let mut names = comment.rsplit(' ').next()?.split(',');
    names.nth(index.unwrap_or(Ok(0)).ok()?)
}

/// Returns which argument of a site's own would have tm lose its jobs.
pub(super) fn unfit(extra: &[String]) -> Option<&str> {
    let is_unfit = |word: &&String| {
        let name = word.split('=').next().unwrap_or_default();
        let is = |long: &str, least: usize| name.len() >= least && long.starts_with(name);
        let is_short = |letter: &str| name.starts_with(letter) && !name.starts_with("--");
        is_short("-a")
            || is_short("-W")
            || is("--array", 4)
            || is("--wait", 6)
            || is("--test-only", 4)
    };
    extra.iter().find(is_unfit).map(String::as_str)
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
    use std::process::Command;

    fn jobs() -> SlurmJobs {
        SlurmJobs {
            name: "tm-shop".to_owned(),
            tm_program: "/opt/it's/tm".into(),
        }
    }

    fn job(path: &Path, title: &str) -> (JobFolder, JobDescription) {
        let about = JobDescription {
            title: title.to_owned(),
            ..JobDescription::default()
        };
        (JobFolder::at(path), about)
    }

    fn line(batch: &Batch, request: &SlurmRequest) -> String {
        let line = batch.line(&jobs(), request);
        let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
        line.join("\n")
    }

    #[test]
    fn a_job_is_asked_for_with_what_the_settings_say_and_its_folder_ends_its_comment() {
        let request = SlurmRequest {
            partition: Some("short".to_owned()),
            cpus: Some(4),
            extra: vec!["--exclusive".to_owned()],
            ..SlurmRequest::default()
        };
        let batch = Batch(vec![job(Path::new("/home/50%/job-x"), "run/a|b\n/2")]);
        assert_eq!(
            line(&batch, &request),
            "sbatch\n--parsable\n--no-requeue\n--export=ALL\n--nodes=1\n--ntasks=1\n--exclusive\n--job-name=tm-shop\n\
             --comment=tm run/a_b_/2 job-x\n--output=/home/50%%/job-x/batch.log\n--partition=short\n\
             --cpus-per-task=4\n--chdir=/home/50%/job-x\n/home/50%/job-x/batch.sh"
        );
        assert_eq!(
            batch.script_text(&jobs().tm_program),
            "#!/bin/sh\njob='/home/50%/job-x' log='/home/50%/job-x/batch.log'\nexec >> \"$log\" 2>&1\nexec \
             '/opt/it'\\''s/tm' node --job \"$job\" --id \"$SLURM_JOB_ID\" --name \"$SLURMD_NODENAME\" --restarts \"${SLURM_RESTART_COUNT:-0}\"\n"
        );
    }

    #[test]
    fn several_jobs_are_asked_for_by_one_line_and_each_is_known_by_its_index() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["job-a", "job-b's", "job-c"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::create_dir(path).expect("a folder");
        }
        let batch = Batch(paths.iter().map(|path| job(path, "run/1/1")).collect());
        let line = line(&batch, &SlurmRequest::default());
        for part in [
            "\n--comment=tm run/1/1,run/1/1,run/1/1 job-a,job-b's,job-c\n",
            "\n--array=0-2\n",
            "\n--output=/dev/null\n",
        ] {
            assert!(line.contains(part), "{line}");
        }
        batch.write(Path::new("/bin/echo")).expect("written");
        #[expect(clippy::disallowed_methods, reason = "tests start programs")]
        let output = Command::new("sh")
            .arg(paths[0].join("batch.sh"))
            .env("SLURM_ARRAY_JOB_ID", "7")
            .env("SLURM_ARRAY_TASK_ID", "1")
            .env("SLURMD_NODENAME", "n1")
            .output()
            .expect("sh");
        assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0));
        let said = std::fs::read_to_string(paths[1].join("batch.log")).expect("a log");
        let job = paths[1].display();
        assert_eq!(
            said,
            format!("node --job {job} --id 7_1 --name n1 --restarts 0\n")
        );
        assert_eq!(batch.number("7", 2), "7_2");
    }

    #[test]
    fn a_comment_stays_as_short_as_slurm_takes_it() {
        let jobs = (0..MOST_JOBS).map(|_| job(Path::new("/j/job-aBcDeF"), &"ä".repeat(300)));
        let batch = Batch(jobs.collect());
        let line = line(&batch, &SlurmRequest::default());
        let comment = line.lines().find(|word| word.starts_with("--comment="));
        let comment = comment.expect("a comment");
        assert!(
            comment.len() < 1024 && comment.ends_with(",job-aBcDeF"),
            "{comment}"
        );
    }

    #[test]
    fn each_of_an_array_is_known_by_its_index() {
        let comment = "tm run/1/1,a b job-a,job-b,job-c";
        assert_eq!(name_of("7_2", comment), Some("job-c"));
        assert_eq!(name_of("7_3", comment), None);
        assert_eq!(name_of("7", "tm run/1/1 job-a"), Some("job-a"));
    }

    #[test]
    fn what_would_have_tm_lose_its_jobs_is_told_from_what_a_site_may_want() {
        let unfit = |word: &str| unfit(&[word.to_owned()]).is_some();
        for word in [
            "--array=0-3",
            "--arr",
            "-a0-3",
            "-a",
            "--test-only",
            "-W",
            "--wait",
        ] {
            assert!(unfit(word), "{word}");
        }
        for word in [
            "--account=x",
            "-A",
            "--exclusive",
            "--constraint=a",
            "-w",
            "--wait-all-nodes=1",
            "--time-min=5",
        ] {
            assert!(!unfit(word), "{word}");
        }
    }
}
