//! `tm tags`: the tags of a file, and which one is current.

use super::{confirm, options, print_json, source, told};
use crate::arguments::{BacklogChoice, OutputArgument, TagsArguments, TagsCommand};
use crate::display::print_data;
use crate::failure::CommandFailure;
use serde_json::{Value, json};
use std::path::Path;
use tm_runtime::now;
use tm_scheduler::{Status, Tag, ready};
use tm_store::backlog::{Change, ReadOptions, stamp};
use tm_worktrees::Repository;

pub(crate) fn tags(start: &Path, arguments: &TagsArguments) -> Result<u8, CommandFailure> {
    let choice = BacklogChoice {
        backlog: arguments.file.clone(),
        tag: None,
        project: None,
    };
    let Some(command) = &arguments.command else {
        return list(start, &choice, arguments.json);
    };
    let output = arguments.json.then_some(OutputArgument::Json);
    let words = perform(start, &choice, command, arguments.json)
        .map_err(|failure| told(output, failure))?;
    match (words, arguments.json) {
        (None, _) => {}
        (Some(words), false) => print_data(&format!("{words}\n")),
        (Some(words), true) => print_json(&json!({"success": true, "message": words}))?,
    }
    Ok(0)
}

/// Does what is asked for and returns it in words; nothing where it has been printed.
fn perform(
    start: &Path,
    choice: &BacklogChoice,
    command: &TagsCommand,
    json: bool,
) -> Result<Option<String>, CommandFailure> {
    let tag = |name: &str| Tag::from(name);
    let add = |name: &str, copy_of: Option<&str>, description: Option<&String>| Change::AddTag {
        name: tag(name),
        copy_of: copy_of.map(tag),
        description: description.cloned(),
        stamp: stamp(now()),
    };
    let (change, words) = match command {
        TagsCommand::List => return list(start, choice, json).map(|_| None),
        TagsCommand::Use { name } => {
            source(start, choice)?.use_tag(&tag(name))?;
            return Ok(Some(format!("tag {name} is the current one")));
        }
        TagsCommand::Add {
            name,
            description,
            copy_from,
            copy_from_current,
            from_branch,
        } => {
            let name = if *from_branch {
                name_of_branch(start)?
            } else {
                name.clone().unwrap_or_default()
            };
            let current = source(start, choice)?.read(&options(choice))?.tag;
            let copied = copy_from
                .as_deref()
                .or_else(|| copy_from_current.then_some(current.as_str()));
            (
                add(&name, copied, description.as_ref()),
                format!("added tag {name}"),
            )
        }
        TagsCommand::Remove { name, yes } => {
            confirm(&format!("Remove tag {name} with all its tasks?"), *yes)?;
            (
                Change::RemoveTag { name: tag(name) },
                format!("removed tag {name}"),
            )
        }
        TagsCommand::Rename { from, to } => (
            Change::RenameTag {
                from: tag(from),
                to: tag(to),
            },
            format!("tag {from} is now {to}"),
        ),
        TagsCommand::Copy {
            from,
            to,
            description,
        } => (
            add(to, Some(from), description.as_ref()),
            format!("copied tag {from} to {to}"),
        ),
    };
    let source = source(start, choice)?;
    let current = source.read(&options(choice))?.tag;
    source.change(&options(choice), |_| vec![change.clone()])?;
    // What was current stays current under its new name.
    if let TagsCommand::Rename { from, to } = command
        && current.as_str() == from
    {
        source.use_tag(&tag(to))?;
    }
    Ok(Some(words))
}

/// The branch that is checked out, in the letters that a tag may have.
fn name_of_branch(start: &Path) -> Result<String, CommandFailure> {
    let head = Repository::discover(start)?.head()?;
    let branch = head.branch.ok_or_else(|| {
        CommandFailure::new("name a tag after the branch: none is checked out")
            .hint("name it, as in `tm tags add NAME`")
    })?;
    let sound = |letter: char| {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') {
            letter
        } else {
            '-'
        }
    };
    Ok(branch.chars().map(sound).take(50).collect())
}

fn list(start: &Path, choice: &BacklogChoice, json: bool) -> Result<u8, CommandFailure> {
    let source = source(start, choice)?;
    let current = source.read(&options(choice))?;
    let mut entries: Vec<Value> = Vec::new();
    for tag in &current.tags {
        let backlog = source.read(&ReadOptions {
            tag: Some(tag.clone()),
            ..ReadOptions::default()
        })?;
        let done = backlog
            .tasks
            .iter()
            .filter(|task| task.status == Status::Done)
            .count();
        entries.push(
            json!({"name": tag, "isCurrent": *tag == current.tag, "taskCount": backlog.tasks.len(),
                            "completedTasks": done, "readyTasks": ready(&backlog.tasks).len()}),
        );
    }
    if json {
        print_json(
            &json!({"tags": entries, "currentTag": current.tag, "totalTags": entries.len()}),
        )?;
        return Ok(0);
    }
    for entry in &entries {
        let mark = if entry["isCurrent"] == true { "*" } else { " " };
        let name = entry["name"].as_str().unwrap_or_default();
        let (all, done, ready) = (
            &entry["taskCount"],
            &entry["completedTasks"],
            &entry["readyTasks"],
        );
        print_data(&format!(
            "{mark} {name:24} {all} tasks, {done} done, {ready} ready\n"
        ));
    }
    Ok(0)
}
