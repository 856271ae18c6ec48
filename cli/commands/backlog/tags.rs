//! `tm tags`: the tags of a file, and which one is current.

use super::{BacklogChoice, ChosenBacklog, Perform, confirm};
use crate::display::{print_answer, print_either};
use crate::failure::Result;
use crate::words::is_of_name;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_runtime::now;
use tm_scheduler::{Status, Tag, ready};
use tm_store::backlog::{Backlog, Change, stamp};
use tm_worktrees::Repository;

/// `tm tags`.
#[derive(Args)]
pub(crate) struct TagsArguments {
    /// What to do; lists them when not given.
    #[command(subcommand)]
    command: Option<TagsCommand>,
    /// The backlog file; looked for when not given.
    #[arg(long, short, global = true, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long, global = true)]
    json: bool,
}

/// What is done with tags.
#[derive(Subcommand)]
enum TagsCommand {
    /// List them, with how many tasks each has.
    List,
    /// Add one.
    Add {
        /// Its name.
        #[arg(required_unless_present = "from_branch")]
        name: Option<String>,
        /// What it is for.
        #[arg(long, short)]
        description: Option<String>,
        /// The tag whose tasks it gets.
        #[arg(long, value_name = "TAG", conflicts_with = "copy_from_current")]
        copy_from: Option<String>,
        /// Give it the tasks of the current tag.
        #[arg(long)]
        copy_from_current: bool,
        /// Name it after the branch that is checked out.
        #[arg(long, conflicts_with = "name")]
        from_branch: bool,
    },
    /// Make one the current one.
    Use {
        /// Its name.
        name: String,
    },
    /// Remove one with its tasks.
    Remove {
        /// Its name.
        name: String,
        /// Don't ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Give one another name.
    Rename {
        /// Its name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Copy one with its tasks.
    Copy {
        /// Its name.
        from: String,
        /// The copy's name.
        to: String,
        /// What the copy is for.
        #[arg(long)]
        description: Option<String>,
    },
}

impl Perform for TagsArguments {
    async fn perform(self, start: &Path) -> Result {
        let choice = BacklogChoice {
            backlog: self.file,
            ..BacklogChoice::default()
        };
        match self.command {
            None | Some(TagsCommand::List) => list(&choice.find(start)?, self.json),
            Some(command) => {
                let words = command.done(start, &choice)?;
                let answer = json!({"success": true, "message": words});
                print_either(self.json, &answer, || words + "\n")
            }
        }
    }
}

impl TagsCommand {
    /// Does what is asked for and returns it in words.
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String> {
        let find = || choice.find(start);
        Ok(match self {
            Self::List => String::new(),
            Self::Use { name } => {
                find()?.source.use_tag(&name.as_str().into())?;
                format!("tag {name} is the current one")
            }
            Self::Add {
                name,
                description,
                copy_from,
                copy_from_current,
                from_branch,
            } => {
                let name = if from_branch {
                    name_of_branch(start)?
                } else {
                    name.unwrap_or_default()
                };
                let chosen = find()?;
                let copied = match copy_from {
                    None if copy_from_current => Some(chosen.read()?.tag),
                    named => named.map(Tag::from),
                };
                change(&chosen, &added(&name, copied, description))?;
                format!("added tag {name}")
            }
            Self::Remove { name, yes } => {
                confirm(&format!("Remove tag {name} with all its tasks?"), yes)?;
                let removal = Change::RemoveTag {
                    name: name.as_str().into(),
                };
                change(&find()?, &removal)?;
                format!("removed tag {name}")
            }
            Self::Rename { from, to } => {
                rename(&find()?, from.as_str().into(), &to.as_str().into())?;
                format!("tag {from} is now {to}")
            }
            Self::Copy {
                from,
                to,
                description,
            } => {
                let copied = Some(from.as_str().into());
                change(&find()?, &added(&to, copied, description))?;
                format!("copied tag {from} to {to}")
            }
        })
    }
}

fn added(name: &str, copy_of: Option<Tag>, description: Option<String>) -> Change {
    Change::AddTag {
        name: name.into(),
        copy_of,
        description,
        stamp: stamp(now()),
    }
}

fn change(chosen: &ChosenBacklog, change: &Change) -> Result<()> {
    // What can't be read is told as such.
    chosen.read()?;
    chosen.change(|_| vec![change.clone()]).map(drop)
}

/// What was current stays current under its new name.
fn rename(chosen: &ChosenBacklog, from: Tag, name: &Tag) -> Result<()> {
    let is_current = chosen.read()?.tag == from;
    let to = name.clone();
    change(chosen, &Change::RenameTag { from, to })?;
    if is_current {
        chosen.source.use_tag(name)?;
    }
    Ok(())
}

/// The branch that is checked out, in the letters that a tag may have.
fn name_of_branch(start: &Path) -> Result<String> {
    Ok(Repository::discover(start)?
        .head()?
        .branch
        .ok_or_else(|| {
            failure!("name a tag after the branch: none is checked out")
                .hint("name it, as in `tm tags add NAME`")
        })?
        .replace(|letter| !is_of_name(letter), "-")
        .chars()
        .take(50)
        .collect())
}

fn list(chosen: &ChosenBacklog, json: bool) -> Result {
    let snapshot = chosen.source.snapshot()?;
    let tag = snapshot.read(&chosen.options)?.tag;
    let entry = |backlog: Backlog| {
        let Backlog {
            tag: name, tasks, ..
        } = backlog;
        let done = tasks.iter().filter(|task| task.status == Status::Done);
        json!({"name": name, "isCurrent": name == tag, "taskCount": tasks.len(),
               "completedTasks": done.count(), "readyTasks": ready(&tasks).len()})
    };
    let each = snapshot.read_all(&chosen.options)?.into_iter();
    let entries: Vec<Value> = each.map(entry).collect();
    let answer = json!({"tags": entries, "currentTag": tag, "totalTags": entries.len()});
    print_answer(json, &answer, "backlog/tags.txt")
}
