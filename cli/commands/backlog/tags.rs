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
    Add(AddTag),
    /// Make one the current one.
    Use(UseTag),
    /// Remove one with its tasks.
    Remove(RemoveTag),
    /// Give one another name.
    Rename(RenameTag),
    /// Copy one with its tasks.
    Copy(CopyTag),
}

/// `tm tags add`.
#[derive(Args)]
pub(crate) struct AddTag {
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
}

/// `tm tags use`.
#[derive(Args)]
pub(crate) struct UseTag {
    /// Its name.
    name: String,
}

/// `tm tags remove`.
#[derive(Args)]
pub(crate) struct RemoveTag {
    /// Its name.
    name: String,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
}

/// `tm tags rename`.
#[derive(Args)]
pub(crate) struct RenameTag {
    /// Its name.
    from: String,
    /// The new name.
    to: String,
}

/// `tm tags copy`.
#[derive(Args)]
pub(crate) struct CopyTag {
    /// Its name.
    from: String,
    /// The copy's name.
    to: String,
    /// What the copy is for.
    #[arg(long, short)]
    description: Option<String>,
}

/// What is done with one tag; returns it in words.
pub(crate) trait OfTag {
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String>;
}

/// A command on one tag under the name that Task Master has for it, such as `tm add-tag`.
#[derive(Args)]
pub(crate) struct Alone<C: Args> {
    #[command(flatten)]
    command: C,
    /// The backlog file; looked for when not given.
    #[arg(long, short, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl<C: Args + OfTag> Perform for Alone<C> {
    async fn perform(self, start: &Path) -> Result {
        carried_out(self.command, start, self.file, self.json)
    }
}

fn carried_out(command: impl OfTag, start: &Path, file: Option<PathBuf>, json: bool) -> Result {
    let choice = BacklogChoice {
        backlog: file,
        ..BacklogChoice::default()
    };
    let words = command.done(start, &choice)?;
    let live_run = choice.find(start)?.live_run();
    let answer = json!({"success": true, "message": words, "live_run": live_run});
    print_either(json, &answer, || words + "\n")
}

impl Perform for TagsArguments {
    async fn perform(self, start: &Path) -> Result {
        let Self {
            file,
            json,
            command,
        } = self;
        match command {
            None | Some(TagsCommand::List) => {
                let choice = BacklogChoice {
                    backlog: file,
                    ..BacklogChoice::default()
                };
                list(&choice.find(start)?, json)
            }
            Some(TagsCommand::Add(of)) => carried_out(of, start, file, json),
            Some(TagsCommand::Use(of)) => carried_out(of, start, file, json),
            Some(TagsCommand::Remove(of)) => carried_out(of, start, file, json),
            Some(TagsCommand::Rename(of)) => carried_out(of, start, file, json),
            Some(TagsCommand::Copy(of)) => carried_out(of, start, file, json),
        }
    }
}

impl OfTag for UseTag {
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String> {
        choice
            .find(start)?
            .source
            .use_tag(&self.name.as_str().into())?;
        Ok(format!("tag {} is the current one", self.name))
    }
}

impl OfTag for AddTag {
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String> {
        let name = if self.from_branch {
            name_of_branch(start)?
        } else {
            self.name.unwrap_or_default()
        };
        let chosen = choice.find(start)?;
        let copied = match self.copy_from {
            None if self.copy_from_current => Some(chosen.read()?.tag),
            named => named.map(Tag::from),
        };
        change(&chosen, &added(&name, copied, self.description))?;
        Ok(format!("added tag {name}"))
    }
}

impl OfTag for RemoveTag {
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String> {
        let name = &self.name;
        confirm(&format!("Remove tag {name} with all its tasks?"), self.yes)?;
        let removal = Change::RemoveTag {
            name: name.as_str().into(),
        };
        change(&choice.find(start)?, &removal)?;
        Ok(format!("removed tag {name}"))
    }
}

impl OfTag for RenameTag {
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String> {
        let Self { from, to } = self;
        rename(
            &choice.find(start)?,
            from.as_str().into(),
            &to.as_str().into(),
        )?;
        Ok(format!("tag {from} is now {to}"))
    }
}

impl OfTag for CopyTag {
    fn done(self, start: &Path, choice: &BacklogChoice) -> Result<String> {
        let Self {
            from,
            to,
            description,
        } = self;
        let copied = Some(from.as_str().into());
        change(&choice.find(start)?, &added(&to, copied, description))?;
        Ok(format!("copied tag {from} to {to}"))
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
