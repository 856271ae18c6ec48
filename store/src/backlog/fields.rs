//! Reads the fields of a task, in whatever form they come, and says what is odd about them.

use super::change::number;
use super::document::{Kind, Value};
use super::{Backlog, Position, Warning};
use std::collections::BTreeSet;
use tm_scheduler::{Complexity, Priority, Status, Task, TaskId, TddHalf, TddMark};

/// A title has so many characters at the most.
const LONGEST_TITLE: usize = 1_000;

/// The other subtasks of the same task, whose numbers name them in dependencies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Siblings<'a> {
    /// The task's id.
    pub(super) parent: &'a str,
    /// The numbers of all its subtasks.
    pub(super) numbers: &'a BTreeSet<String>,
    /// The number of the subtask itself.
    pub(super) own: &'a str,
}

impl Siblings<'_> {
    /// Returns the absolute id of a subtask.
    fn id(&self, number: &str) -> String {
        format!("{}.{number}", self.parent)
    }
}

/// Returns the id that a dependency means: a number that a sibling has names that one, all else is absolute.
pub(super) fn absolute(within: Option<Siblings<'_>>, written: String) -> String {
    match within {
        Some(siblings) if siblings.numbers.contains(&written) && written != siblings.own => {
            siblings.id(&written)
        }
        Some(_) | None => written,
    }
}

/// Collects what is odd.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) warnings: Vec<Warning>,
    /// The node of the document that each warning is about.
    pub(super) nodes: Vec<usize>,
}

impl Reader {
    pub(super) fn warn(
        &mut self,
        at: Value<'_>,
        task: Option<&TaskId>,
        field: &str,
        message: impl Into<String>,
    ) {
        self.warnings.push(Warning {
            task: task.cloned(),
            field: field.to_owned(),
            message: message.into(),
            position: None,
        });
        self.nodes.push(at.node_index());
    }

    /// Says of each warning where it stands.
    pub(super) fn place(&mut self, positions: Vec<Option<Position>>) {
        for (warning, position) in self.warnings.iter_mut().zip(positions) {
            warning.position = position;
        }
    }

    /// Reads the tasks of a list.
    pub(super) fn tasks(&mut self, list: Value<'_>) -> Vec<Task> {
        let one = |value| {
            let task = self.one(value);
            if task.is_none() {
                self.warn(value, None, "tasks", "an entry without an id is left out");
            }
            task
        };
        list.elements().filter_map(one).collect()
    }

    /// Reads a value that is one task.
    pub(super) fn one(&mut self, value: Value<'_>) -> Option<Task> {
        Some(self.task(value, &id(value)?, None))
    }

    /// Reads one task; `siblings` are given for a subtask.
    fn task(&mut self, value: Value<'_>, id: &str, siblings: Option<Siblings<'_>>) -> Task {
        let absolute = siblings.map_or_else(|| id.to_owned(), |all| all.id(all.own));
        let mut task = Task::new(absolute.as_str(), self.title(value, &absolute));
        task.description = text(value, &["description"]);
        task.details = text(value, &["details"]);
        task.test_strategy = text(value, &["testStrategy", "test_strategy"]);
        task.acceptance_criteria = criteria(value, &task.description);
        task.category = word(value, "category");
        self.standing(value, &mut task);
        self.metadata(value, &mut task);
        self.dependencies(value, &mut task, siblings);
        self.subtasks(value, &mut task, siblings);
        task
    }

    /// The title: one that is no title any more is cut, since it stands in lists, branches and subjects.
    fn title(&mut self, value: Value<'_>, id: &str) -> String {
        let title = text(value, &["title", "subject"]);
        let id = TaskId::from(id);
        if title.is_empty() {
            self.warn(value, Some(&id), "title", "is missing");
        }
        let Some((end, _)) = title.char_indices().nth(LONGEST_TITLE) else {
            return title;
        };
        let message = format!("is longer than {LONGEST_TITLE} characters; the rest is left out");
        self.warn(value, Some(&id), "title", message);
        format!("{}…", &title[..end])
    }

    /// Status, priority and complexity.
    fn standing(&mut self, value: Value<'_>, task: &mut Task) {
        let id = task.id.clone();
        match word(value, "status") {
            Some(status) => task.status = Status::from(status),
            None => self.warn(value, Some(&id), "status", "is missing; read as `pending`"),
        }
        if let Status::Other(status) = &task.status {
            let at = value.get("status").unwrap_or(value);
            let message = format!("`{status}` is not known; the task is left alone");
            self.warn(at, Some(&id), "status", message);
        }
        if let Some(at) = member(value, &["priority"])
            && let Some(priority) = at.plain()
        {
            if let Some(priority) = Priority::parse(&priority) {
                task.priority = priority;
            } else {
                let message = format!("`{priority}` is not known; read as `medium`");
                self.warn(at, Some(&id), "priority", message);
            }
        }
        let complexity = word(value, "complexity");
        task.complexity = complexity.and_then(|text| Complexity::parse(&text));
    }

    fn metadata(&mut self, value: Value<'_>, task: &mut Task) {
        let Some(metadata) = member(value, &["metadata"]) else {
            return;
        };
        let field = |name: &str| word(metadata, name);
        for (place, name) in [
            (&mut task.details, "details"),
            (&mut task.test_strategy, "test_strategy"),
        ] {
            if place.is_empty() {
                *place = text(metadata, &[name]);
            }
        }
        if task.acceptance_criteria.is_empty() {
            task.acceptance_criteria = criteria(metadata, "");
        }
        task.category = task.category.take().or_else(|| field("category"));
        task.feature = field("feature_name").or_else(|| field("feature"));
        task.uid = field("task_uid");
        task.group = field("task_group");
        task.test_command = field("test_command");
        task.timeout_minutes = field("timeout_minutes").and_then(|text| text.parse().ok());
        task.complexity = task
            .complexity
            .or_else(|| Complexity::parse(&field("complexity")?));
        if let Some(priority) = field("priority").and_then(|text| Priority::parse(&text)) {
            task.priority = priority;
        }
        if field("tdd_mode").as_deref() != Some("true") {
            return;
        }
        let said = field("tdd_phase").unwrap_or_else(|| "nothing".to_owned());
        let Some(half) = TddHalf::of(&said) else {
            let message = format!("is `{said}`, not red or green");
            return self.warn(metadata, Some(&task.id), "metadata.tdd_phase", message);
        };
        task.tdd = Some(TddMark {
            half,
            paired_task_id: field("paired_task_id").map(TaskId::from),
        });
    }

    /// A subtask's number names a sibling when there is one of that number, else a task; with a dot it is absolute.
    fn dependencies(&mut self, value: Value<'_>, task: &mut Task, within: Option<Siblings<'_>>) {
        let Some(list) = member(value, &["dependencies", "blockedBy"]) else {
            return;
        };
        let mut written = Vec::new();
        let mut odd = |at, message| self.warn(at, Some(&task.id), "dependencies", message);
        if list.kind() == Kind::Array {
            for element in list.elements() {
                match element.plain() {
                    Some(id) => written.push(id),
                    None => odd(element, "an entry that is no id is left out"),
                }
            }
        } else {
            written = between_commas(&list.plain().unwrap_or_default());
            odd(list, "is not a list; read as ids between commas");
        }
        let mut seen = BTreeSet::new();
        let ids = written.into_iter().map(|written| absolute(within, written));
        let new = ids.filter(|id| seen.insert(id.clone()));
        task.dependencies.extend(new.map(TaskId::from));
    }

    fn subtasks(&mut self, value: Value<'_>, task: &mut Task, within: Option<Siblings<'_>>) {
        let Some(list) = member(value, &["subtasks"]).filter(|list| list.kind() == Kind::Array)
        else {
            return;
        };
        let parent = task.id.clone();
        if within.is_some() {
            if list.elements().next().is_some() {
                let message = "subtasks of a subtask are left out";
                self.warn(list, Some(&parent), "subtasks", message);
            }
            return;
        }
        let ids = list.elements().filter_map(id);
        let numbers: BTreeSet<String> = ids.map(|id| number(&id).to_owned()).collect();
        for value in list.elements() {
            let Some(id) = id(value) else {
                let message = "an entry without an id is left out";
                self.warn(value, Some(&parent), "subtasks", message);
                continue;
            };
            let siblings = Siblings {
                parent: parent.as_str(),
                numbers: &numbers,
                own: number(&id),
            };
            let mut subtask = self.task(value, &id, Some(siblings));
            if member(value, &["priority"]).is_none() {
                subtask.priority = task.priority;
            }
            task.subtasks.push(subtask);
        }
    }

    /// Keeps the tasks of a group.
    pub(super) fn backlog(
        self,
        tag: tm_scheduler::Tag,
        tags: Vec<tm_scheduler::Tag>,
        mut tasks: Vec<Task>,
        group: Option<&str>,
    ) -> Backlog {
        let ids = tasks.iter().map(|task| number(task.id.as_str()));
        let highest: Option<u64> = ids.filter_map(|id| id.parse().ok()).max();
        if let Some(group) = group {
            tasks.retain(|task| task.group.as_deref() == Some(group));
        }
        Backlog {
            tag,
            tags,
            tasks,
            warnings: self.warnings,
            next_number: highest.unwrap_or(0).saturating_add(1),
        }
    }
}

/// Returns the id of an entry as it is written: `1.10` stays `1.10`.
pub(super) fn id(value: Value<'_>) -> Option<String> {
    let id = value.get("id")?.plain();
    id.filter(|id| !id.trim().is_empty())
}

/// Returns the first member of one of these names that is not null.
pub(super) fn member<'d>(value: Value<'d>, names: &[&str]) -> Option<Value<'d>> {
    let mut members = names.iter().filter_map(|name| value.get(name));
    members.find(|value| value.kind() != Kind::Null)
}

/// Returns a member that is a plain value.
pub(super) fn word(value: Value<'_>, name: &str) -> Option<String> {
    value.get(name)?.plain()
}

/// Returns the ids of a text that should have been a list.
pub(super) fn between_commas(text: &str) -> Vec<String> {
    let ids = text.split(',').map(str::trim).filter(|id| !id.is_empty());
    ids.map(ToOwned::to_owned).collect()
}

/// Returns text for people and agents: what orders a terminal about is left out, wherever it is shown later.
fn text(value: Value<'_>, names: &[&str]) -> String {
    let Some(value) = member(value, names) else {
        return String::new();
    };
    let lines: Vec<String> = match value.kind() {
        Kind::Array => value.elements().filter_map(Value::plain).collect(),
        _ => value.plain().into_iter().collect(),
    };
    tm_untrusted::shown(&lines.join("\n")).into_owned()
}

/// Acceptance criteria: a list, a text of lines, or the boxes to tick in the description.
fn criteria(value: Value<'_>, description: &str) -> Vec<String> {
    let written = text(value, &["acceptanceCriteria", "acceptance_criteria"]);
    let listed = without_bullets(written.lines());
    if !listed.is_empty() {
        return listed;
    }
    let lines = description.lines();
    without_bullets(lines.filter_map(|line| line.trim().strip_prefix("- [ ]")))
}

fn without_bullets<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let lines = lines.map(|line| line.trim().trim_start_matches(['-', '*', '•']).trim());
    let told = lines.filter(|line| !line.is_empty());
    told.map(ToOwned::to_owned).collect()
}
