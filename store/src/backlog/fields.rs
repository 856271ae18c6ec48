//! Reads the fields of a task, in whatever form they come, and says what is odd about them.

use super::change::number;
use super::document::{Kind, Value};
use super::siblings::{Siblings, absolute};
use super::spellings::{Field, Likeness, Members, meant_priority, meant_status};
use super::{Backlog, Position, SourceKind, Warning};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{
    Complexity, MetadataFields, Priority, Status, Task, TaskId, TaskMetadata, TddHalf, TddMark,
    Title,
};

/// A title has so many characters at the most.
const LONGEST_TITLE: usize = 1_000;

/// Collects what is odd.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) warnings: Vec<Warning>,
    /// The node of the document that each warning is about.
    pub(super) nodes: Vec<usize>,
    /// What names look like that are not read.
    likenesses: BTreeMap<String, Option<Likeness>>,
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

    /// Adds what is odd further on.
    pub(super) fn add(&mut self, later: Self) {
        self.warnings.extend(later.warnings);
        self.nodes.extend(later.nodes);
    }

    /// Reads a value that is one task.
    pub(super) fn one(&mut self, value: Value<'_>) -> Option<Task> {
        let members = Members::of(value);
        let id = members.id()?;
        Some(self.task((value, &members), &id, None, Priority::default()))
    }

    /// Reads one task; `siblings` are given for a subtask, which has the priority of its task where it says none.
    fn task(
        &mut self,
        (value, members): (Value<'_>, &Members<'_>),
        id: &str,
        siblings: Option<Siblings<'_>>,
        priority: Priority,
    ) -> Task {
        let absolute = siblings.map_or(Cow::Borrowed(id), |all| all.id(all.own).into());
        let mut task = Task::new(&*absolute, "");
        task.priority = priority;
        task.title = self.title(value, members, &task.id);
        task.description = text(members.get(Field::Description));
        task.details = text(members.get(Field::Details));
        task.test_strategy = text(members.get(Field::TestStrategy));
        task.acceptance_criteria =
            criteria(members.get(Field::AcceptanceCriteria), &task.description);
        if let Some(category) = members.word(Field::Category) {
            task.metadata.category = Some(category);
        }
        self.standing(value, members, &mut task);
        if let Some(metadata) = members.get(Field::Metadata) {
            self.metadata(metadata, &mut task);
        }
        self.names(members, &task.id);
        self.dependencies(members, &mut task, siblings);
        if let Some(list) = members.get(Field::Subtasks) {
            self.subtasks(list, &mut task, siblings);
        }
        task
    }

    /// The title: one that is no title any more is cut, since it stands in lists, branches and subjects.
    fn title(&mut self, value: Value<'_>, members: &Members<'_>, id: &TaskId) -> Title {
        let title = shown(members.get(Field::Title));
        if title.is_empty() {
            self.warn(value, Some(id), "title", "is missing");
        }
        if title.len() <= LONGEST_TITLE {
            return Title::from(&*title);
        }
        let Some((end, _)) = title.char_indices().nth(LONGEST_TITLE) else {
            return Title::from(&*title);
        };
        let message = format!("is longer than {LONGEST_TITLE} characters; the rest is left out");
        self.warn(value, Some(id), "title", message);
        Title::from(format!("{}…", &title[..end]))
    }

    /// Status, priority and complexity.
    fn standing(&mut self, value: Value<'_>, members: &Members<'_>, task: &mut Task) {
        let id = &task.id;
        match members.text(Field::Status) {
            Some(status) => task.status = Status::from(&*status),
            None => self.warn(value, Some(id), "status", "is missing; read as `pending`"),
        }
        if let Status::Other(status) = &task.status {
            let at = members.get(Field::Status).unwrap_or(value);
            let meant = meant_status(status, SourceKind::TaskMaster);
            let perhaps = perhaps(meant.as_ref().map(Status::as_str));
            let message = format!("`{status}` is not known{perhaps}; the task is left alone");
            self.warn(at, Some(id), "status", message);
        }
        if let Some(at) = members.get(Field::Priority)
            && let Some(priority) = at.text()
        {
            let known = Priority::parse(&priority);
            task.priority = known.unwrap_or_default();
            if known.is_none() {
                let perhaps = perhaps(meant_priority(&priority).map(Priority::as_str));
                let message = format!("`{priority}` is not known{perhaps}; read as `medium`");
                self.warn(at, Some(id), "priority", message);
            }
        }
        let complexity = members.text(Field::Complexity);
        task.complexity = complexity.and_then(|text| Complexity::parse(&text));
    }

    /// Names that are not read and look like one that is, and names that stand twice.
    fn names(&mut self, members: &Members<'_>, id: &TaskId) {
        for (name, value) in &members.repeated {
            self.warn(*value, Some(id), name, "stands twice; the last one is read");
        }
        let is_empty =
            |value: Value<'_>| value.kind() == Kind::Array && value.elements().next().is_none();
        for (name, value) in members.others.iter().filter(|(_, value)| !is_empty(*value)) {
            let known = self.likenesses.get(&**name).copied();
            let likeness = known.unwrap_or_else(|| {
                let likeness = Likeness::of(name);
                self.likenesses.insert(name.to_string(), likeness);
                likeness
            });
            let Some(likeness) = likeness else { continue };
            let is_there = Field::of(likeness.name()).is_some_and(|of| members.get(of).is_some());
            if !(is_there && matches!(likeness, Likeness::OtherWord(_))) {
                let message = format!("looks like `{}` and is not read", likeness.name());
                self.warn(*value, Some(id), name, message);
            }
        }
    }

    fn metadata(&mut self, metadata: Value<'_>, task: &mut Task) {
        let members: BTreeMap<Cow<'_, str>, Value<'_>> = metadata.members().collect();
        let field = |name: &str| members.get(name)?.plain();
        for (place, name) in [
            (&mut task.details, "details"),
            (&mut task.test_strategy, "test_strategy"),
        ] {
            if place.is_empty() {
                *place = text(members.get(name).copied());
            }
        }
        if task.acceptance_criteria.is_empty() {
            let written =
                ["acceptanceCriteria", "acceptance_criteria"].map(|name| members.get(name));
            task.acceptance_criteria = criteria(written[0].or(written[1]).copied(), "");
        }
        let model = field("model").filter(|model| is_model(model));
        if let (None, Some(written)) = (&model, members.get("model")) {
            let message = "is no name of a model; it is left out";
            self.warn(*written, Some(&task.id), "metadata.model", message);
        }
        let on = field("on").map(String::into_boxed_str);
        if let (None, Some(written)) = (&on, members.get("on")) {
            let message = "is no name of a place; it is left out";
            self.warn(*written, Some(&task.id), "metadata.on", message);
        }
        let category = task.metadata.category.clone();
        task.metadata = TaskMetadata::from(MetadataFields {
            tdd: self.tdd_mark(metadata, &members, &task.id),
            group: field("task_group"),
            category: category.or_else(|| field("category")),
            feature: field("feature_name").or_else(|| field("feature")),
            uid: field("task_uid"),
            test_command: field("test_command"),
            timeout_minutes: field("timeout_minutes").and_then(|text| text.parse().ok()),
            model,
            on,
        });
        task.complexity = task
            .complexity
            .or_else(|| Complexity::parse(&field("complexity")?));
        if let Some(priority) = field("priority").and_then(|text| Priority::parse(&text)) {
            task.priority = priority;
        }
    }

    /// Which half of a pair it is marked as.
    fn tdd_mark(
        &mut self,
        metadata: Value<'_>,
        members: &BTreeMap<Cow<'_, str>, Value<'_>>,
        id: &TaskId,
    ) -> Option<TddMark> {
        let field = |name: &str| members.get(name)?.plain();
        field("tdd_mode").filter(|mode| mode == "true")?;
        let said = field("tdd_phase").unwrap_or_else(|| "nothing".to_owned());
        let Some(half) = TddHalf::of(&said) else {
            let message = format!("is `{said}`, not red or green");
            self.warn(metadata, Some(id), "metadata.tdd_phase", message);
            return None;
        };
        Some(TddMark {
            half,
            paired_task_id: field("paired_task_id").map(TaskId::from),
        })
    }

    /// A subtask's number names a sibling when there is one of that number, else a task; with a dot it is absolute.
    fn dependencies(
        &mut self,
        members: &Members<'_>,
        task: &mut Task,
        within: Option<Siblings<'_>>,
    ) {
        let mut ids = Vec::new();
        for (name, list) in &members.dependencies {
            ids.reserve_exact(list.elements().count());
            let mut push = |written| ids.push(TaskId::from(&*absolute(within, written)));
            let mut odd = |at, message| self.warn(at, Some(&task.id), name, message);
            if list.kind() == Kind::Array {
                for element in list.elements() {
                    match element.text().or_else(|| id(element)) {
                        Some(id) => push(id),
                        None => odd(element, "an entry that is no id is left out"),
                    }
                }
            } else {
                let written = between_commas(&list.text().unwrap_or_default());
                written.into_iter().map(Cow::Owned).for_each(push);
                odd(*list, "is not a list; read as ids between commas");
            }
        }
        task.dependencies = without_repeats(ids);
    }

    fn subtasks(&mut self, list: Value<'_>, task: &mut Task, within: Option<Siblings<'_>>) {
        if list.kind() != Kind::Array {
            return;
        }
        let parent = task.id.clone();
        if within.is_some() {
            if list.elements().next().is_some() {
                let message = "subtasks of a subtask are left out";
                self.warn(list, Some(&parent), "subtasks", message);
            }
            return;
        }
        if list.elements().next().is_none() {
            return;
        }
        let ids = list.elements().filter_map(id);
        let numbers: BTreeSet<String> = ids.map(|id| number(&id).to_owned()).collect();
        for value in list.elements() {
            let members = Members::of(value);
            let Some(id) = members.id() else {
                let message = "an entry without an id is left out";
                self.warn(value, Some(&parent), "subtasks", message);
                continue;
            };
            let siblings = Siblings {
                parent: parent.as_str(),
                numbers: &numbers,
                own: number(&id),
            };
            let subtask = self.task((value, &members), &id, Some(siblings), task.priority);
            task.subtasks.push(subtask);
        }
    }

    /// Puts together what was read.
    pub(super) fn backlog(
        self,
        tag: tm_scheduler::Tag,
        tags: Vec<tm_scheduler::Tag>,
        tasks: Vec<Task>,
    ) -> Backlog {
        let ids = tasks.iter().map(|task| number(task.id.as_str()));
        let highest: Option<u64> = ids.filter_map(|id| id.parse().ok()).max();
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
pub(super) fn id(value: Value<'_>) -> Option<Cow<'_, str>> {
    let id = value.get("id")?.text();
    id.filter(|id| is_id(id))
}

/// Tells whether a text names anything; one with a zero byte in it can't be told to a program.
pub(super) fn is_id(text: &str) -> bool {
    text.contains(|letter: char| !letter.is_whitespace()) && !text.contains('\0')
}

/// A few ids are compared with one another sooner than they are put in order.
const FEW: usize = 8;

/// Returns ids in their order, each once.
fn without_repeats(mut ids: Vec<TaskId>) -> Vec<TaskId> {
    let is_once = |place: usize| !ids[..place].contains(&ids[place]);
    if ids.len() > FEW || !(1..ids.len()).all(is_once) {
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
    }
    ids
}

/// Whether a text can be an argument that names a model, and no option of the agent's.
fn is_model(text: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "._:/@+[]-".contains(letter);
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.chars().all(is_fit)
}

/// What an unknown word was perhaps meant to be.
fn perhaps(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!(", perhaps `{meant}`"))
}

/// Returns the ids of a text that should have been a list.
pub(super) fn between_commas(text: &str) -> Vec<String> {
    let ids = text.split(',').map(str::trim).filter(|id| !id.is_empty());
    ids.map(ToOwned::to_owned).collect()
}

/// Returns text for people and agents.
fn text(value: Option<Value<'_>>) -> String {
    shown(value).into_owned()
}

/// Returns the same without a copy where it can: what orders a terminal about is left out, wherever it is shown later.
fn shown(value: Option<Value<'_>>) -> Cow<'_, str> {
    let Some(value) = value else {
        return Cow::Borrowed("");
    };
    let text = match value.kind() {
        Kind::Array => {
            let lines: Vec<_> = value.elements().filter_map(Value::text).collect();
            Cow::Owned(lines.join("\n"))
        }
        _ => value.text().unwrap_or_default(),
    };
    match tm_untrusted::shown(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => Cow::Owned(safe),
    }
}

/// Acceptance criteria: a list, a text of lines, or the boxes to tick in the description.
fn criteria(written: Option<Value<'_>>, description: &str) -> Vec<String> {
    if written.is_none() && description.is_empty() {
        return Vec::new();
    }
    let listed = without_bullets(text(written).lines());
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
