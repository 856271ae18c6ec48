//! `tm tags`: the tags of a file, and which one is current.

use super::{BacklogChoice, ChosenBacklog, Perform, confirm, of_tag, told};
use crate::display::print_json;
use crate::failure::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_runtime::now;
use tm_scheduler::{Status, Tag, ready};
use tm_store::backlog::{Change, stamp};
use tm_worktrees::Repository;

/// `tm tags`.
#[derive(Args)]
pub(crate) struct TagsArguments {
    /// What to do; lists them when not given.
    #[command(subcommand)]
    command: Option<TagsCommand>,
    /// The backlog file; looked for when not given.
    #[arg(long, short = 'f', global = true, value_name = "PATH")]
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
        #[arg(long, short = 'd')]
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
        #[arg(long, short = 'y')]
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
            None => list(&choice.find(start)?, self.json),
            Some(TagsCommand::List) => {
                let listed = choice
                    .find(start)
                    .and_then(|chosen| list(&chosen, self.json));
                told(self.json, listed)
            }
            Some(command) => {
                let words = told(self.json, command.done(start, &choice))?;
                if self.json {
                    return print_json(&json!({"success": true, "message": words}));
                }
                data!("{words}\n");
                Ok(0)
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
                let current = chosen.read()?.tag;
                let copied = copy_from
                    .map(Tag::from)
                    .or(copy_from_current.then_some(current));
                change(&chosen, &added(&name, copied, description))?;
                format!("added tag {name}")
            }
            Self::Remove { name, yes } => {
                confirm(&format!("Remove tag {name} with all its tasks?"), yes)?;
                change(
                    &find()?,
                    &Change::RemoveTag {
                        name: name.as_str().into(),
                    },
                )?;
                format!("removed tag {name}")
            }
            Self::Rename { from, to } => {
                rename(&find()?, from.as_str().into(), to.as_str().into())?;
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
    chosen
        .source
        .change(&chosen.options, |_| vec![change.clone()])?;
    Ok(())
}

/// What was current stays current under its new name.
fn rename(chosen: &ChosenBacklog, from: Tag, to: Tag) -> Result<()> {
    let is_current = chosen.read()?.tag == from;
    let named = to.clone();
    change(chosen, &Change::RenameTag { from, to })?;
    if is_current {
        chosen.source.use_tag(&named)?;
    }
    Ok(())
}

/// The branch that is checked out, in the letters that a tag may have.
fn name_of_branch(start: &Path) -> Result<String> {
    let branch = Repository::discover(start)?.head()?.branch.ok_or_else(|| {
        failure!("name a tag after the branch: none is checked out")
            .hint("name it, as in `tm tags add NAME`")
    })?;
    let is_unsound = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_');
    Ok(branch.replace(is_unsound, "-").chars().take(50).collect())
}

fn list(chosen: &ChosenBacklog, json: bool) -> Result {
    let current = chosen.read()?;
    let mut entries: Vec<Value> = Vec::new();
    for tag in &current.tags {
        let tasks = chosen.source.read(&of_tag(tag))?.tasks;
        let done = tasks.iter().filter(|task| task.status == Status::Done);
        entries.push(
            json!({"name": tag, "isCurrent": *tag == current.tag, "taskCount": tasks.len(),
                            "completedTasks": done.count(), "readyTasks": ready(&tasks).len()}),
        );
    }
    if json {
        let total = entries.len();
        return print_json(
            &json!({"tags": entries, "currentTag": current.tag, "totalTags": total}),
        );
    }
    for entry in &entries {
        let mark = if entry["isCurrent"] == true { "*" } else { " " };
        let name = entry["name"].as_str().unwrap_or_default();
        let [all, done, ready] =
            ["taskCount", "completedTasks", "readyTasks"].map(|count| &entry[count]);
        data!("{mark} {name:24} {all} tasks, {done} done, {ready} ready\n");
    }
    Ok(0)
}
