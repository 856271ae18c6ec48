//! `tm generate`: a text for each task in a file of its own, named and laid out as Task Master does it.
//!
//! The backlog is what is read; these files are for people and for agents that are told of one. What else lies under
//! their names is nobody's to write over or to remove.

use super::{BacklogChoice, Perform, ReadingOptions, warn};
use crate::environment::folder_in;
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tm_reports::laid_out;
use tm_scheduler::{Status, Tag, Task, counted, quoted};
use tm_store::atomic::replace;
use tm_store::backlog::SourceKind;
use tm_store::run::safe_name;

/// How each of these files begins.
const BEGINNING: &str = "# Task ID: ";

/// `tm generate`.
#[derive(Args)]
pub(crate) struct Generate {
    /// The folder of the files; that of Task Master's backlog, `.taskmaster/tasks` for another one.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// How it is told.
    #[command(flatten)]
    told: ReadingOptions,
}

impl Perform for Generate {
    async fn perform(self, start: &Path) -> Result {
        let chosen = self.choice.find(start)?;
        let backlog = chosen.read()?;
        warn(&backlog);
        let beside = chosen.source.path().parent();
        let folder = match (&self.output, beside) {
            (Some(output), _) => start.join(output),
            (None, Some(beside)) if chosen.source.kind() == SourceKind::TaskMaster => {
                beside.to_owned()
            }
            _ => folder_in(start, self.choice.project.as_deref()).join(".taskmaster/tasks"),
        };
        std::fs::create_dir_all(&folder)?;
        let named = |task| (name_of(task, &backlog.tag), task);
        let files: BTreeMap<String, &Task> = backlog.tasks.iter().map(named).collect();
        let gone = files_of_gone_tasks(&folder, &backlog.tag, &files)?;
        write_all(&folder, &files, &backlog.tasks)?;
        for path in &gone {
            std::fs::remove_file(path)?;
        }
        let answer = json!({"success": true, "count": files.len(), "directory": folder,
                            "orphanedFilesRemoved": gone.len()});
        self.told.print(&answer, || {
            let (written, place) = (counted(files.len(), "file"), folder.display());
            let removed = match gone.len() {
                0 => String::new(),
                count => format!(
                    "; removed {} of tasks that are gone",
                    counted(count, "file")
                ),
            };
            format!("wrote {written} into {place}{removed}\n")
        })
    }
}

/// `task_001.md`, with the tag behind the number where it is not `master`.
fn name_of(task: &Task, tag: &Tag) -> String {
    format!("task_{:0>3}{}", safe_name(&task.id), ending(tag))
}

fn ending(tag: &Tag) -> String {
    match tag.as_str() {
        "master" => ".md".to_owned(),
        other => format!("_{}.md", safe_name(&other.into())),
    }
}

fn write_all(folder: &Path, files: &BTreeMap<String, &Task>, tasks: &[Task]) -> Result<()> {
    let is_foreign = |name: &&String| {
        let path = folder.join(name);
        path.symlink_metadata().is_ok() && !is_generated(&path)
    };
    let foreign = files.keys().filter(is_foreign).collect_vec();
    if !foreign.is_empty() {
        return Err(failure!(
            "write {}: it is no file of a task that tm or Task Master wrote",
            quoted(foreign)
        )
        .hint("move it away, or name another folder with `--output DIR`"));
    }
    let done = Task::with_subtasks(tasks).filter(|task| task.status == Status::Done);
    let done = done.map(|task| &task.id).collect_vec();
    for (name, task) in files {
        let text = laid_out("backlog/file.md", &json!({"task": task, "done": done}));
        replace(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// The files of this tag whose tasks are not there any more.
fn files_of_gone_tasks(
    folder: &Path,
    tag: &Tag,
    files: &BTreeMap<String, &Task>,
) -> Result<Vec<PathBuf>> {
    let ending = ending(tag);
    let mut gone = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let number = name
            .strip_prefix("task_")
            .and_then(|rest| rest.strip_suffix(&ending));
        let is_of_tag =
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if is_of_tag && !files.contains_key(name.as_ref()) && is_generated(&entry.path()) {
            gone.push(entry.path());
        }
    }
    Ok(gone)
}

fn is_generated(path: &Path) -> bool {
    let beginning = tm_untrusted::read_beginning(path, BEGINNING.len() as u64);
    beginning.is_ok_and(|bytes| bytes == BEGINNING.as_bytes())
}
