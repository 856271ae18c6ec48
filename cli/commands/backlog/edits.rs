//! Commands that change which tasks there are and what they depend on.

use super::{confirm, options, print_json, source, status_of, told};
use crate::arguments::{
    AddSubtask, AddTask, BacklogChoice, Dependency, EditChoice, FixDependencies, MoveTask, NewTask,
    OutputArgument, RemoveTask,
};
use crate::display::print_data;
use crate::failure::{CommandFailure, ExitCode};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tm_scheduler::{CycleRepair, Priority, Task, TaskId, repairs};
use tm_store::backlog::{Backlog, Change, Changed, Crossing};

/// Makes changes and says what they came to, in words or as one document.
fn perform(
    start: &Path,
    choice: &EditChoice,
    choose: impl Fn(&Backlog) -> Vec<Change>,
    words: impl Fn(&[TaskId]) -> String,
) -> Result<u8, CommandFailure> {
    let ids =
        change(start, choice, choose).map_err(|failure| told(Some(choice.output()), failure))?;
    match choice.output() {
        OutputArgument::Json => print_json(&json!({"success": true, "ids": ids}))?,
        OutputArgument::Text | OutputArgument::Compact => print_data(&format!("{}\n", words(&ids))),
    }
    Ok(0)
}

fn change(
    start: &Path,
    choice: &EditChoice,
    choose: impl Fn(&Backlog) -> Vec<Change>,
) -> Result<Vec<TaskId>, CommandFailure> {
    let choice = reading(choice);
    let answers = source(start, &choice)?.change(&options(&choice), choose)?;
    Ok(answers
        .into_iter()
        .flat_map(|Changed { ids }| ids)
        .collect())
}

/// The same choice in the form in which reading takes it.
pub(super) fn reading(choice: &EditChoice) -> BacklogChoice {
    BacklogChoice {
        backlog: choice.file.clone(),
        tag: choice.tag.clone(),
        project: choice.project.clone(),
    }
}

pub(crate) fn add_task(start: &Path, arguments: &AddTask) -> Result<u8, CommandFailure> {
    let Some(priority) = Priority::parse(&arguments.priority) else {
        return Err(
            CommandFailure::new(format!("read `{}` as a priority", arguments.priority))
                .hint("use one of low, medium, high, critical")
                .code(ExitCode::Usage),
        );
    };
    let mut fields = fields(&arguments.title, &arguments.new, "pending")?;
    fields.push(("priority".to_owned(), json!(priority)));
    fields.push(("subtasks".to_owned(), json!([])));
    let change = Change::AddTask { fields };
    perform(
        start,
        &arguments.choice,
        |_| vec![change.clone()],
        |ids| format!("added task {}", joined(ids)),
    )
}

pub(crate) fn add_subtask(start: &Path, arguments: &AddSubtask) -> Result<u8, CommandFailure> {
    let parent = TaskId::from(arguments.parent.as_str());
    if let Some(task) = &arguments.task_id {
        let from = TaskId::from(task.trim());
        let choose = |backlog: &Backlog| {
            let to = next_subtask(backlog, &parent);
            vec![Change::Move {
                from: from.clone(),
                to,
            }]
        };
        return perform(start, &arguments.choice, choose, |ids| {
            format!("task {from} is now subtask {}", joined(ids))
        });
    }
    let fields = fields(
        arguments.title.as_deref().unwrap_or_default(),
        &arguments.new,
        &arguments.status,
    )?;
    let change = Change::AddSubtask { parent, fields };
    perform(
        start,
        &arguments.choice,
        |_| vec![change.clone()],
        |ids| format!("added subtask {}", joined(ids)),
    )
}

/// The id that the next subtask of a task gets.
fn next_subtask(backlog: &Backlog, parent: &TaskId) -> TaskId {
    let subtasks = backlog
        .tasks
        .iter()
        .filter(|task| task.id == *parent)
        .flat_map(|task| &task.subtasks);
    let numbers =
        subtasks.filter_map(|task| task.id.as_str().rsplit('.').next()?.parse::<u64>().ok());
    TaskId::new(format!("{parent}.{}", numbers.max().unwrap_or(0) + 1))
}

/// What a new task says.
fn fields(
    title: &str,
    new: &NewTask,
    status: &str,
) -> Result<Vec<(String, Value)>, CommandFailure> {
    if title.trim().is_empty() {
        return Err(CommandFailure::new("add a task without a title")
            .hint("add `--title`")
            .code(ExitCode::Usage));
    }
    let ids = new
        .dependencies
        .iter()
        .map(|id| id.trim())
        .filter(|id| !id.is_empty());
    let dependencies: Vec<Value> = ids.map(|id| spelled(&TaskId::from(id))).collect();
    let mut fields = vec![
        ("title".to_owned(), json!(title)),
        ("description".to_owned(), json!(new.description)),
        (
            "details".to_owned(),
            json!(new.details.clone().unwrap_or_default()),
        ),
        ("status".to_owned(), json!(status_of(status)?)),
        ("dependencies".to_owned(), json!(dependencies)),
    ];
    if let Some(strategy) = &new.test_strategy {
        fields.push(("testStrategy".to_owned(), json!(strategy)));
    }
    Ok(fields)
}

/// An id as a number, where it is one.
pub(super) fn spelled(id: &TaskId) -> Value {
    id.as_str()
        .parse::<u64>()
        .map_or_else(|_| json!(id), |number| json!(number))
}

pub(crate) fn remove_task(start: &Path, arguments: &RemoveTask) -> Result<u8, CommandFailure> {
    let ids: Vec<TaskId> = arguments
        .id
        .iter()
        .map(|id| TaskId::from(id.trim()))
        .collect();
    let words = joined(&ids);
    confirm(&format!("Remove {words}?"), arguments.yes)?;
    let change = Change::Remove { ids };
    perform(
        start,
        &arguments.choice,
        |_| vec![change.clone()],
        |_| format!("removed {words}"),
    )
}

pub(crate) fn move_task(start: &Path, arguments: &MoveTask) -> Result<u8, CommandFailure> {
    let ids = |words: &[String]| {
        words
            .iter()
            .map(|id| TaskId::from(id.trim()))
            .collect::<Vec<_>>()
    };
    let (from, to) = (ids(&arguments.from), ids(&arguments.to));
    if arguments.to_tag.is_none() && from.len() != to.len() {
        let what = format!("move {} tasks to {} ids", from.len(), to.len());
        return Err(CommandFailure::new(what)
            .hint("name as many with `--to` as with `--from`")
            .code(ExitCode::Usage));
    }
    let choose = |backlog: &Backlog| match &arguments.to_tag {
        None => from
            .iter()
            .zip(&to)
            .map(|(from, to)| Change::Move {
                from: from.clone(),
                to: to.clone(),
            })
            .collect(),
        Some(tag) => {
            let crossing = if arguments.ignore_dependencies {
                Crossing::Drop
            } else {
                Crossing::Refuse
            };
            let ids = if arguments.with_dependencies {
                with_dependencies(backlog, &from)
            } else {
                from.clone()
            };
            vec![Change::MoveToTag {
                ids,
                tag: tag.as_str().into(),
                crossing,
            }]
        }
    };
    let choice = EditChoice {
        file: arguments.choice.file.clone(),
        tag: arguments
            .from_tag
            .clone()
            .or_else(|| arguments.choice.tag.clone()),
        project: arguments.choice.project.clone(),
        json: arguments.choice.json,
    };
    let words = |ids: &[TaskId]| match &arguments.to_tag {
        Some(tag) => format!("moved {} to tag {tag}", joined(ids)),
        None => format!("moved {} to {}", joined(&from), joined(ids)),
    };
    perform(start, &choice, choose, words)
}

/// The tasks and all that they depend on, directly or not, in the order of the backlog.
fn with_dependencies(backlog: &Backlog, from: &[TaskId]) -> Vec<TaskId> {
    let task_of = |id: &TaskId| TaskId::from(id.as_str().split('.').next().unwrap_or_default());
    let by_id: BTreeMap<&TaskId, &Task> =
        backlog.tasks.iter().map(|task| (&task.id, task)).collect();
    let mut wanted = BTreeSet::new();
    let mut left: Vec<TaskId> = from.to_vec();
    while let Some(id) = left.pop() {
        let Some(task) = by_id.get(&id).filter(|task| wanted.insert(task.id.clone())) else {
            continue;
        };
        let all = std::iter::once(*task).chain(&task.subtasks);
        left.extend(all.flat_map(|task| &task.dependencies).map(task_of));
    }
    let known = backlog
        .tasks
        .iter()
        .map(|task| task.id.clone())
        .filter(|id| wanted.contains(id));
    // An id that is not there is refused by name.
    known
        .chain(from.iter().filter(|id| !by_id.contains_key(id)).cloned())
        .collect()
}

pub(crate) fn add_dependency(start: &Path, arguments: &Dependency) -> Result<u8, CommandFailure> {
    let (task, dependency) = ends(arguments);
    let change = Change::AddDependency {
        task: task.clone(),
        dependency: dependency.clone(),
    };
    let words = |ids: &[TaskId]| match ids {
        [] => format!("{task} depends on {dependency} already"),
        _ => format!("{task} depends on {dependency}"),
    };
    perform(start, &arguments.choice, |_| vec![change.clone()], words)
}

pub(crate) fn remove_dependency(
    start: &Path,
    arguments: &Dependency,
) -> Result<u8, CommandFailure> {
    let edge = ends(arguments);
    let choice = reading(&arguments.choice);
    let backlog = source(start, &choice)?.read(&options(&choice))?;
    let mut all = backlog
        .tasks
        .iter()
        .flat_map(|task| std::iter::once(task).chain(&task.subtasks));
    if !all.any(|task| task.id == edge.0 && task.dependencies.contains(&edge.1)) {
        let what = format!("find a dependency of `{}` on `{}`", edge.0, edge.1);
        let missing = CommandFailure::new(what)
            .hint(format!("`tm show {}` lists what it depends on", edge.0));
        return Err(told(Some(arguments.choice.output()), missing));
    }
    let words = format!("{} no longer depends on {}", edge.0, edge.1);
    let change = Change::RemoveDependencies { edges: vec![edge] };
    perform(
        start,
        &arguments.choice,
        |_| vec![change.clone()],
        |_| words.clone(),
    )
}

fn ends(arguments: &Dependency) -> (TaskId, TaskId) {
    (
        TaskId::from(arguments.id.trim()),
        TaskId::from(arguments.depends_on.trim()),
    )
}

pub(crate) fn fix_dependencies(
    start: &Path,
    arguments: &FixDependencies,
) -> Result<u8, CommandFailure> {
    let found = RefCell::new(Vec::new());
    let choose = |backlog: &Backlog| {
        let repairs = repairs(&backlog.tasks, CycleRepair::Cut);
        let edges = repairs.iter().map(|(edge, _)| edge.clone()).collect();
        found.replace(repairs);
        // Even without an edge to remove, repeated ones go.
        vec![Change::RemoveDependencies { edges }]
    };
    let output = arguments.choice.output();
    change(start, &arguments.choice, choose).map_err(|failure| told(Some(output), failure))?;
    let repairs = found.into_inner();
    if output == OutputArgument::Json {
        let entry = |((task, dependency), problem): &((TaskId, TaskId), tm_scheduler::Problem)| json!({"task": task, "removed": dependency, "reason": problem.to_string()});
        print_json(
            &json!({"success": true, "removed": repairs.iter().map(entry).collect::<Vec<_>>()}),
        )?;
        return Ok(0);
    }
    for ((task, dependency), problem) in &repairs {
        print_data(&format!(
            "{task} no longer depends on {dependency}: {problem}\n"
        ));
    }
    if repairs.is_empty() {
        print_data("nothing had to be removed\n");
    }
    Ok(0)
}

fn joined(ids: &[TaskId]) -> String {
    let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    ids.join(", ")
}
