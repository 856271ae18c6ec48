//! `tm edit`: a task as a form in the user's editor. Nothing that was typed is lost: what can't be taken is kept.

use super::edits::EditChoice;
use super::{ChosenBacklog, Perform, named, priority_of, typed};
use crate::editor::{kept, typed as typed_text};
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tm_reports::laid_out;
use tm_runtime::now;
use tm_scheduler::{Complexity, Task, TaskId};
use tm_store::backlog::{Backlog, Change, spelled, stamp};

/// `tm edit`.
#[derive(Args)]
pub(crate) struct EditTask {
    /// The task; a subtask is `<task>.<n>`.
    id: String,
    /// Take the form from this file instead of opening `$VISUAL` or `$EDITOR`.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

/// Each part of a form by its name.
type Parts = BTreeMap<&'static str, String>;

/// Names of the parts of one line, and of those of several.
const LINES: [&str; 4] = ["title", "priority", "complexity", "dependencies"];
const TEXTS: [&str; 4] = [
    "description",
    "details",
    "test strategy",
    "acceptance criteria",
];

impl Perform for EditTask {
    async fn perform(self, start: &Path) -> Result {
        let (chosen, id) = (self.choice.find(start)?, TaskId::from(self.id.trim()));
        let backlog = chosen.read()?;
        let task = found(&backlog, &id).ok_or_else(|| chosen.not_found(&backlog.tag, &[&id]))?;
        let form = form_of(task, &backlog);
        let text = typed_text(&form, self.from.as_deref(), start).await?;
        let changed = take(&chosen, &id, (&form, &text)).map_err(|failure| match self.from {
            Some(_) => failure,
            None => kept(failure, &text, &format!("tm edit {id}")),
        })?;
        let words = match changed.as_slice() {
            [] => format!("task {id} is as it was"),
            names => format!("changed {} of task {id}", names.join(", ")),
        };
        let answer = json!({"success": true, "ids": [id], "changed": changed});
        crate::display::print_either(self.choice.json, &answer, || words + "\n")
    }
}

/// Writes what differs, unless somebody else has changed the task meanwhile.
fn take(
    chosen: &ChosenBacklog,
    id: &TaskId,
    (form, text): (&str, &str),
) -> Result<Vec<&'static str>> {
    let (before, mut after) = (parts(form)?, parts(text)?);
    after.retain(|name, value| before.get(name) != Some(value));
    let fields = fields(&after)?;
    let edges = |gone: &Parts, come: &Parts| {
        let come: BTreeSet<TaskId> = ids(come).collect();
        let gone = ids(gone).filter(|on| !come.contains(on));
        gone.map(|on| (id.clone(), on)).collect_vec()
    };
    let mut changes = Vec::new();
    if !fields.is_empty() {
        let (id, note, stamp) = (id.clone(), None, stamp(now()));
        changes.push(Change::Update {
            id,
            fields,
            note,
            stamp,
        });
    }
    if after.contains_key("dependencies") {
        let (gone, come) = (edges(&before, &after), edges(&after, &before));
        changes.push(Change::RemoveDependencies { edges: gone });
        changes.push(Change::AddDependencies { edges: come });
    }
    let is_stale = RefCell::new(false);
    let choose = |backlog: &Backlog| {
        let now = found(backlog, id).map(|task| form_of(task, backlog));
        let is_same = now.as_deref() == Some(form);
        is_stale.replace(!is_same);
        if is_same { changes.clone() } else { Vec::new() }
    };
    if !changes.is_empty() {
        chosen.change(choose)?;
    }
    if is_stale.into_inner() {
        return Err(failure!(
            "change task `{id}`: somebody else has changed it meanwhile"
        ));
    }
    Ok(after.into_keys().collect())
}

fn found<'b>(backlog: &'b Backlog, id: &TaskId) -> Option<&'b Task> {
    Task::with_subtasks(&backlog.tasks).find(|task| task.id == *id)
}

fn form_of(task: &Task, backlog: &Backlog) -> String {
    laid_out(
        "backlog/form.txt",
        &json!({"task": task, "tag": backlog.tag}),
    )
}

/// Takes a form apart: lines `name: value`, then the texts, each below its name.
fn parts(form: &str) -> Result<Parts> {
    let wrong = |why: String| {
        failure!("the form can't be read: {why}").usage("`tm edit ID` shows how it is laid out")
    };
    let mut parts = Parts::new();
    let mut part = None;
    for (number, line) in form.lines().enumerate() {
        let name = line.strip_prefix("== ").map(str::trim);
        let header = name.and_then(|name| TEXTS.into_iter().find(|known| *known == name));
        if let Some(name) = header {
            if parts.insert(name, String::new()).is_some() {
                return Err(wrong(format!("`== {name}` stands twice")));
            }
            part = Some(name);
        } else if let Some(text) = part.and_then(|name| parts.get_mut(name)) {
            text.extend([line, "\n"]);
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            let known = line.split_once(':').and_then(|(name, value)| {
                let name = LINES.into_iter().find(|known| *known == name.trim())?;
                Some((name, value.trim().to_owned()))
            });
            let line = number + 1;
            let (name, value) =
                known.ok_or_else(|| wrong(format!("line {line} is no `name: value`")))?;
            if parts.insert(name, value).is_some() {
                return Err(wrong(format!("`{name}` stands twice")));
            }
        }
    }
    let mut all = LINES.into_iter().chain(TEXTS);
    if let Some(name) = all.find(|name| !parts.contains_key(name)) {
        return Err(wrong(format!("`{name}` is missing")));
    }
    for name in TEXTS {
        let text = parts.entry(name).or_default();
        *text = text.trim_matches('\n').trim_end().to_owned();
    }
    Ok(parts)
}

/// The fields that these parts mean.
fn fields(parts: &Parts) -> Result<Vec<(String, Value)>> {
    let mut fields = Vec::new();
    for (name, text) in parts {
        fields.push(match *name {
            "title" if text.is_empty() => {
                return Err(failure!("a title is required").usage("say it behind `title:`"));
            }
            "priority" => ("priority", json!(priority_of(text)?)),
            "complexity" if text.is_empty() => ("complexity", Value::Null),
            "complexity" if Complexity::parse(text).is_none() => {
                let hint = "use XS, S, M, L, XL or a number from 1 to 10";
                return Err(failure!("`{text}` is no complexity").usage(hint));
            }
            "complexity" => ("complexity", spelled(text)),
            "dependencies" => continue,
            "test strategy" => ("testStrategy", json!(text)),
            "acceptance criteria" => {
                let criteria = text
                    .lines()
                    .map(|line| line.trim().trim_start_matches("- "));
                let criteria = criteria.filter(|line| !line.is_empty());
                ("acceptanceCriteria", json!(criteria.collect_vec()))
            }
            other => (other, json!(text)),
        });
    }
    Ok(named(fields))
}

fn ids(parts: &Parts) -> impl Iterator<Item = TaskId> {
    let words = parts.get("dependencies").map_or("", String::as_str);
    let words = words.split(',').map(ToOwned::to_owned).collect_vec();
    typed(&words).map(TaskId::from).collect_vec().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_it_was_written_and_odd_ones_are_refused() {
        let mut task = Task::new("3", "Title: with a colon # and more");
        task.description = "one\n\n# two\n== three".to_owned();
        task.dependencies = vec!["1".into(), "2.1".into()];
        let form = laid_out("backlog/form.txt", &json!({"task": task, "tag": "master"}));
        let read = parts(&form).expect("a form");
        assert_eq!(read["title"], *task.title);
        assert_eq!(read["description"], task.description);
        assert_eq!(ids(&read).collect_vec(), task.dependencies);
        for (from, to) in [
            ("title:", "titel:"),
            ("== details", ""),
            ("== details", "== description"),
            ("priority: medium", "priority: medium\nx"),
        ] {
            let odd = form.replacen(from, to, 1);
            assert!(parts(&odd).is_err(), "{odd}");
        }
    }
}
