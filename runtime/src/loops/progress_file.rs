//! The memory of a loop: a text file that agents read and append to, with a header and a footer for each loop.
//!
//! tm appends only, and never changes what is there.

use super::LoopState;
use std::fmt::Write as _;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use tm_scheduler::iteration::{Iteration, IterationRecord, IterationStatus, LoopStatus};
use tm_scheduler::{Timestamp, one_line};
use tm_store::backlog::stamp;

/// So much of its end is shown to an agent.
const TAIL_BYTES: u64 = 12 * 1024;

/// The progress file.
#[derive(Debug)]
pub struct ProgressFile {
    path: PathBuf,
}

/// What its header says of a loop.
#[derive(Debug)]
pub struct LoopHeader<'a> {
    /// When it began.
    pub started_at: Timestamp,
    /// The preset, or the path of the prompt.
    pub prompt: String,
    /// How many iterations it may use.
    pub iterations: u32,
    /// The tag, when one was asked for.
    pub tag: Option<&'a str>,
    /// The iteration in which the loop before was cut off, when it was.
    pub cut_off: Option<u32>,
}

impl ProgressFile {
    /// Takes its place; it need not exist.
    pub const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its length in bytes, 0 where there is none.
    pub fn length(&self) -> u64 {
        tm_untrusted::size(&self.path)
    }

    /// Returns its end, from the beginning of a line.
    pub fn tail(&self) -> io::Result<String> {
        let bytes = match tm_untrusted::read_end(&self.path, TAIL_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let whole_lines = if (bytes.len() as u64) < TAIL_BYTES {
            &*text
        } else {
            text.split_once('\n').map_or("", |(_, rest)| rest)
        };
        Ok(whole_lines.trim().to_owned())
    }

    /// Appends the header of a loop; makes the file and its folder where they are missing.
    pub fn begin(&self, header: &LoopHeader<'_>) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut text = format!(
            "# Loop progress\n# Started: {}\n# Preset: {}\n# Max iterations: {}\n",
            stamp(header.started_at),
            header.prompt,
            header.iterations
        );
        if let Some(tag) = header.tag {
            let _ = writeln!(text, "# Tag: {tag}");
        }
        if let Some(iteration) = header.cut_off {
            let _ = writeln!(
                text,
                "# Goes on after: iteration {iteration}, which was cut off"
            );
        }
        self.append(&format!("{text}\n---\n\n"))
    }

    /// Appends what an iteration came to, unless the agent wrote about it itself and nothing went wrong.
    pub(super) fn entry(&self, record: &IterationRecord, length_before: u64) -> io::Result<()> {
        let wrote_itself = self.length() > length_before;
        let went_well = matches!(
            record.status,
            IterationStatus::Success | IterationStatus::Complete
        );
        if wrote_itself && went_well {
            return Ok(());
        }
        self.append(&entry(record))
    }

    /// Appends that a loop was cut off.
    pub(super) fn cut_off(&self, state: &LoopState, at: Timestamp) -> io::Result<()> {
        let what = match (state.iteration, state.is_under_way) {
            (0, _) => "Loop cut off before its first iteration".to_owned(),
            (iteration, true) => format!("Iteration {iteration}: cut off"),
            (iteration, false) => format!("Loop cut off after iteration {iteration}"),
        };
        self.append(&format!(
            "## {what}\n- tm was killed, as was seen at {}\n\n",
            stamp(at)
        ))
    }

    /// Appends the footer of a loop.
    pub(super) fn end(
        &self,
        machine: &Iteration,
        status: LoopStatus,
        reason: &str,
        at: Timestamp,
    ) -> io::Result<()> {
        self.append(&format!(
            "---\n# Loop ended: {}\n- Total iterations: {}\n- Tasks completed: {}\n- Final status: {status}\n- Reason: \
             {}\n\n",
            stamp(at),
            machine.iterations(),
            machine.tasks_completed(),
            one_line(reason)
        ))
    }

    /// Writes at the end, on a line of its own, and through to the disk.
    fn append(&self, text: &str) -> io::Result<()> {
        let mut file = tm_untrusted::append(&self.path)?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::Start(length - 1))?;
            file.read_exact(&mut last)?;
        }
        let separator = if last == [b'\n'] { "" } else { "\n" };
        file.write_all(format!("{separator}{text}").as_bytes())?;
        file.sync_all()
    }
}

fn entry(record: &IterationRecord) -> String {
    let mut text = format!(
        "## Iteration {}: {} ({} s)\n- {}\n",
        record.iteration,
        record.status.as_str(),
        record.duration_ms / 1_000,
        one_line(&record.message)
    );
    for shift in &record.tasks {
        let word = |status: &Option<tm_scheduler::Status>| match status {
            Some(status) => status.to_string(),
            None => "(none)".to_owned(),
        };
        let _ = writeln!(
            text,
            "- Task {}: {} -> {}",
            shift.task,
            word(&shift.from),
            word(&shift.to)
        );
    }
    for (id, subject) in &record.work.commits {
        let _ = writeln!(text, "- Commit {id}: {}", one_line(subject));
    }
    if record.work.files > 0 {
        let work = &record.work;
        let _ = writeln!(
            text,
            "- Files: {} changed, +{} -{} lines",
            work.files, work.insertions, work.deletions
        );
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::iteration::{StatusShift, WorkChanges};

    fn header() -> LoopHeader<'static> {
        LoopHeader {
            started_at: Timestamp(0),
            prompt: "default".to_owned(),
            iterations: 10,
            tag: Some("backend"),
            cut_off: Some(3),
        }
    }

    fn record(status: IterationStatus) -> IterationRecord {
        IterationRecord {
            iteration: 4,
            attempt: 1,
            status,
            failure: None,
            message: "7 done;\n1 commit".to_owned(),
            final_message: String::new(),
            claim: None,
            task_id: Some("7".into()),
            tasks: vec![StatusShift {
                task: "7".into(),
                from: Some("pending".into()),
                to: Some("done".into()),
            }],
            work: WorkChanges {
                commits: vec![("abc".into(), "add it".into())],
                files: 2,
                insertions: 5,
                deletions: 1,
                uncommitted: 0,
                unseen: None,
                refused: None,
            },
            verified: None,
            started_at: Timestamp(0),
            duration_ms: 65_000,
            tokens: None,
            cost_usd: None,
        }
    }

    fn file() -> (tempfile::TempDir, ProgressFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = ProgressFile::new(folder.path().join(".taskmaster/loop-progress.txt"));
        (folder, file)
    }

    #[test]
    fn the_file_is_made_with_a_header_and_grows() {
        let (_folder, file) = file();
        assert_eq!(
            (file.tail().expect("nothing"), file.length()),
            (String::new(), 0)
        );
        file.begin(&header()).expect("written");
        file.entry(&record(IterationStatus::Success), file.length())
            .expect("written");
        let text = "# Loop progress\n# Started: 1970-01-01T00:00:00.000Z\n# Preset: default\n# Max iterations: 10\n\
                    # Tag: backend\n# Goes on after: iteration 3, which was cut off\n\n---\n\n\
                    ## Iteration 4: success (65 s)\n- 7 done; 1 commit\n- Task 7: pending -> done\n\
                    - Commit abc: add it\n- Files: 2 changed, +5 -1 lines\n\n";
        assert_eq!(std::fs::read_to_string(file.path()).expect("a file"), text);
    }

    #[test]
    fn tm_writes_no_entry_where_the_agent_did_unless_something_went_wrong() {
        let (_folder, file) = file();
        file.begin(&header()).expect("written");
        let before = file.length();
        file.append("I did it.").expect("written");
        let after = file.length();
        file.entry(&record(IterationStatus::Success), before)
            .expect("nothing");
        assert_eq!(file.length(), after);
        file.entry(&record(IterationStatus::Error), before)
            .expect("written");
        let tail = file.tail().expect("a tail");
        assert!(tail.contains("I did it.\n## Iteration 4: error"), "{tail}");
    }

    #[test]
    fn the_end_of_a_long_file_begins_with_a_whole_line() {
        let (_folder, file) = file();
        file.begin(&header()).expect("written");
        file.append(&"ünïcödé line\n".repeat(4_000))
            .expect("written");
        let tail = file.tail().expect("a tail");
        assert!(
            tail.len() < 13_000 && tail.starts_with("ünïcödé line\n"),
            "{}",
            &tail[..40]
        );
    }
}
