//! Jobs that Slurm is asked for by one call: one alone, or several of the same wishes as an array. Pure but for what it
//! writes into the folders of its jobs.
//!
//! A job is found again by the last word of its comment: the name of its folder, or for one of an array, all of which have
//! one comment, that of the first one's folder with its own index.

use super::{SlurmJobs, SlurmRequest};
use crate::engine::node::{JobDescription, JobFolder};
use crate::process::shell_quoted;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tm_scheduler::Complexity;

/// So many are asked for at once at most. Sites that say nothing let an array have 1,000.
pub(super) const MOST_JOBS: usize = 100;
/// The name of the script in the folder of the first job.
const SCRIPT: &str = "batch.sh";
/// The name of the file that says as which one of an array a job was asked for.
const ARRAY: &str = "array";
/// So much of a title goes into a comment.
const MOST_OF_TITLE: usize = 100;
/// So much of the titles of an array; Slurm takes 1,024 bytes of a comment.
const MOST_OF_TITLES: usize = 700;
/// No such file is longer.
const MOST_BYTES: u64 = 1024;

/// Jobs that one call asks for; there is at least one.
#[derive(Debug)]
pub(super) struct Batch(Vec<(JobFolder, JobDescription)>);

impl Batch {
    pub(super) const fn new(jobs: Vec<(JobFolder, JobDescription)>) -> Self {
        Self(jobs)
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

    /// Returns the name of one of its jobs, by its index, where they are asked for as an array.
    pub(super) fn name_in_array(&self, index: usize) -> Option<String> {
        let name = || name_in_array(self.first().name(), &index.to_string());
        self.is_array().then(name)
    }

    /// Returns the size of their tasks, by which what they ask for is found: that of the first one, the same for all.
    pub(super) fn complexity(&self) -> Option<Complexity> {
        self.0[0].1.complexity
    }

    /// Writes what Slurm is to run, and for each job of an array as which one it is known.
    pub(super) fn write(&self, tm_program: &Path) -> io::Result<()> {
        for (index, job) in self.jobs().enumerate() {
            if let Some(name) = self.name_in_array(index) {
                replace(&job.path().join(ARRAY), &name)?;
            }
        }
        replace(&self.script(), &self.script_text(tm_program))
    }

    /// The line that has them started, once that is written.
    pub(super) fn line(&self, jobs: &SlurmJobs, request: &SlurmRequest) -> Vec<OsString> {
        let comment = format!("tm {} {}", self.titles(), self.first().name());
        // What comes after a `%` is filled in. The folders of an array go one by one, so each job opens its own log.
        let output = if self.is_array() {
            "/dev/null".to_owned()
        } else {
            self.first().log().display().to_string().replace('%', "%%")
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
        let node = format!(
            "exec {} node --job \"$job\" --id \"$id\" --name \"$SLURMD_NODENAME\" --restarts \
             \"${{SLURM_RESTART_COUNT:-0}}\"\n",
            quoted(tm_program),
        );
        if !self.is_array() {
            let job = quoted(self.first().path());
            return format!("#!/bin/sh\njob={job}\nid=\"$SLURM_JOB_ID\"\n{node}");
        }
        let of_index = |(index, job): (usize, &JobFolder)| {
            let log = job.log();
            format!(
                "{index}) job={} log={} ;;\n",
                quoted(job.path()),
                quoted(&log)
            )
        };
        let cases: String = self.jobs().enumerate().map(of_index).collect();
        format!(
            "#!/bin/sh\ncase \"$SLURM_ARRAY_TASK_ID\" in\n{cases}esac\n\
             id=\"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"\nexec >> \"$log\" 2>&1\n{node}"
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
    /// Its name as one of an array, where it was asked for as that.
    pub(super) array: Option<String>,
    /// Whether Slurm was asked for it before, and nobody knows what it made of that.
    pub(super) is_doubtful: bool,
    /// So many looks in a row did not show it.
    pub(super) missed: u32,
}

impl OfSlurm {
    /// Returns what is told of a job that an earlier process has sent.
    pub(super) fn told(job: &JobFolder) -> Self {
        let array = tm_untrusted::read(&job.path().join(ARRAY), MOST_BYTES);
        Self {
            // Long after Slurm's queue has forgotten a job it is known by its number.
            id: job.taken_by().map(|copy| copy.job),
            // One that was never part of an array has no such file.
            array: (array.ok()).and_then(|bytes| String::from_utf8(bytes).ok()),
            ..Self::default()
        }
    }

    /// Returns the names under which Slurm may have it.
    pub(super) fn names(&self, job: &JobFolder) -> Vec<String> {
        let own = std::iter::once(job.name().to_owned());
        own.chain(self.array.clone()).collect()
    }
}

/// Returns how one of an array is known, by the name of the folder of the first one.
pub(super) fn name_in_array(first: &str, index: &str) -> String {
    format!("{first}_{index}")
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    tm_untrusted::remove(path)?;
    tm_untrusted::create_anew(path)?.write_all(text.as_bytes())
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
        let batch = Batch::new(vec![job(Path::new("/home/50%/job-x"), "run/a|b\n/2")]);
        assert_eq!(
            line(&batch, &request),
            "sbatch\n--parsable\n--no-requeue\n--export=ALL\n--nodes=1\n--ntasks=1\n--exclusive\n--job-name=tm-shop\n\
             --comment=tm run/a_b_/2 job-x\n--output=/home/50%%/job-x/batch.log\n--partition=short\n\
             --cpus-per-task=4\n--chdir=/home/50%/job-x\n/home/50%/job-x/batch.sh"
        );
        assert_eq!(
            batch.script_text(&jobs().tm_program),
            "#!/bin/sh\njob='/home/50%/job-x'\nid=\"$SLURM_JOB_ID\"\nexec '/opt/it'\\''s/tm' node --job \"$job\" --id \
             \"$id\" --name \"$SLURMD_NODENAME\" --restarts \"${SLURM_RESTART_COUNT:-0}\"\n"
        );
    }

    #[test]
    fn several_jobs_are_asked_for_by_one_line_and_each_is_known_by_its_index() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["job-a", "job-b's", "job-c"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::create_dir(path).expect("a folder");
        }
        let batch = Batch::new(paths.iter().map(|path| job(path, "run/1/1")).collect());
        let line = line(&batch, &SlurmRequest::default());
        for part in [
            "\n--comment=tm run/1/1,run/1/1,run/1/1 job-a\n",
            "\n--array=0-2\n",
            "\n--output=/dev/null\n",
        ] {
            assert!(line.contains(part), "{line}");
        }
        batch.write(Path::new("/bin/echo")).expect("written");
        let known: Vec<_> = batch
            .jobs()
            .filter_map(|job| OfSlurm::told(job).array)
            .collect();
        assert_eq!(known, ["job-a_0", "job-a_1", "job-a_2"]);
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
        let jobs = (0..MOST_JOBS).map(|_| job(Path::new("/j/job-x"), &"ä".repeat(300)));
        let batch = Batch::new(jobs.collect());
        let line = line(&batch, &SlurmRequest::default());
        let comment = line.lines().find(|word| word.starts_with("--comment="));
        let comment = comment.expect("a comment");
        assert!(
            comment.len() < 1024 && comment.ends_with(" job-x"),
            "{comment}"
        );
    }
}
