//! The tools of tasks, with Task Master's names.

use crate::advice::FOR_AGENTS;
use crate::answer::Refusal;
use crate::server::Server;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tm_runtime::callers::refuse_to_agents;
use tm_scheduler::{Candidates, Status, Task, TaskId, next};
use tm_store::backlog::{Backlog, BacklogSource, RollUp, StatusChange, stamp};

/// So many tasks are returned at once when nothing is said.
const PAGE: usize = 50;

/// A backlog.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct OfBacklog {
    /// The folder of the project; the server's own when not given.
    pub(crate) project_root: Option<String>,
    /// The tag; the current one when not given.
    pub(crate) tag: Option<String>,
}

/// Which tasks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct GetTasks {
    #[serde(flatten)]
    backlog: OfBacklog,
    /// Only tasks with one of these statuses, with commas between.
    status: Option<String>,
    /// Whether subtasks are listed.
    with_subtasks: bool,
    /// The tasks to leave out before the first.
    offset: usize,
    /// The most tasks to return; 50 when not given.
    limit: Option<usize>,
}

/// One task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetTask {
    #[serde(flatten)]
    backlog: OfBacklog,
    /// The task or subtask, such as `3` or `3.1`; several with commas between.
    id: String,
}

/// A new status.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetTaskStatus {
    #[serde(flatten)]
    backlog: OfBacklog,
    /// The task or subtask; several with commas between.
    id: String,
    /// pending, in-progress, done, review, deferred, cancelled or blocked.
    status: String,
}

/// A task.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskView {
    /// Its id, with that of its task for a subtask.
    id: String,
    title: String,
    status: String,
    priority: String,
    /// What has to be finished before.
    dependencies: Vec<String>,
    /// What is to be done; only where one task is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// How; only where one task is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    /// How it is tested; only where one task is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_strategy: Option<String>,
    /// Its subtasks, where they are asked for.
    subtasks: Vec<Self>,
}

/// A page of tasks.
#[expect(
    clippy::struct_field_names,
    reason = "the names are those of the answer"
)]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tasks {
    tasks: Vec<TaskView>,
    tag: String,
    /// Tasks that fit, on all pages.
    total: usize,
    /// How the whole backlog stands; only in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Stats>,
    /// Where the next page begins; none on the last one.
    next_offset: Option<usize>,
}

/// How many tasks of a backlog have which status.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Stats {
    total: usize,
    completed: usize,
    in_progress: usize,
    pending: usize,
    blocked: usize,
    deferred: usize,
    cancelled: usize,
    review: usize,
    /// Finished tasks in percent.
    completion_percentage: usize,
}

impl Stats {
    fn of(tasks: &[Task]) -> Self {
        let count = |status: Status| tasks.iter().filter(|task| task.status == status).count();
        let (total, completed) = (tasks.len(), count(Status::Done));
        Self {
            total,
            completed,
            in_progress: count(Status::InProgress),
            pending: count(Status::Pending),
            blocked: count(Status::Blocked),
            deferred: count(Status::Deferred),
            cancelled: count(Status::Cancelled),
            review: count(Status::Review),
            completion_percentage: (completed * 100).checked_div(total).unwrap_or(0),
        }
    }
}

/// One task, or none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OneTask {
    /// The task to work on; none when none is ready.
    next_task: Option<TaskView>,
    tag: String,
}

/// Statuses that were written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusesSet {
    message: String,
    tasks: Vec<StatusSet>,
}

/// A status that was written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StatusSet {
    success: bool,
    task_id: String,
    old_status: String,
    new_status: String,
}

#[tool_router(router = task_tools, vis = "pub(crate)")]
impl Server {
    #[tool(
        name = "get_tasks",
        description = "List the tasks of the backlog, page by page.",
        annotations(read_only_hint = true)
    )]
    async fn get_tasks(
        &self,
        Parameters(call): Parameters<GetTasks>,
    ) -> Result<Json<Tasks>, Refusal> {
        self.json(move |server| {
            let (_, backlog) = server.read(&call.backlog)?;
            let is_wanted = |statuses: &str, status: &Status| {
                let mut statuses = statuses.split(',').map(|text| Status::from(text.trim()));
                statuses.any(|wanted| wanted == *status)
            };
            let wanted = call.status.as_deref();
            let fits = |task: &&Task| wanted.is_none_or(|wanted| is_wanted(wanted, &task.status));
            let fitting: Vec<&Task> = backlog.tasks.iter().filter(fits).collect();
            let limit = call.limit.unwrap_or(PAGE).max(1);
            let depth = if call.with_subtasks {
                Depth::Subtasks
            } else {
                Depth::Alone
            };
            let page = fitting.iter().skip(call.offset).take(limit);
            let end = call.offset.saturating_add(limit);
            Ok::<_, Refusal>(Tasks {
                tasks: page.map(|task| view(task, depth)).collect(),
                tag: backlog.tag.to_string(),
                total: fitting.len(),
                stats: Some(Stats::of(&backlog.tasks)),
                next_offset: (end < fitting.len()).then_some(end),
            })
        })
        .await
    }

    #[tool(
        name = "get_task",
        description = "Return a task or subtask in full, or several.",
        annotations(read_only_hint = true)
    )]
    async fn get_task(
        &self,
        Parameters(call): Parameters<GetTask>,
    ) -> Result<Json<Tasks>, Refusal> {
        self.json(move |server| {
            let (_, backlog) = server.read(&call.backlog)?;
            let view_of = |id| {
                let found = Task::with_subtasks(&backlog.tasks).find(|task| task.id == id);
                let unknown = || Refusal::of_words(&format!("find the task `{id}`"), None);
                let task = found.ok_or_else(unknown)?;
                Ok::<_, Refusal>(view(task, Depth::Everything))
            };
            let tasks: Vec<TaskView> = ids(&call.id).map(view_of).collect::<Result<_, _>>()?;
            Ok::<_, Refusal>(Tasks {
                total: tasks.len(),
                tasks,
                tag: backlog.tag.to_string(),
                stats: None,
                next_offset: None,
            })
        })
        .await
    }

    #[tool(
        name = "next_task",
        description = "Return the task to work on next: ready, most urgent, with the fewest dependencies. \
                       Subtasks of tasks that are in progress come first.",
        annotations(read_only_hint = true)
    )]
    async fn next_task(
        &self,
        Parameters(call): Parameters<OfBacklog>,
    ) -> Result<Json<OneTask>, Refusal> {
        self.json(move |server| {
            let (_, backlog) = server.read(&call)?;
            let found = next(&backlog.tasks, Candidates::Open);
            Ok::<_, Refusal>(OneTask {
                next_task: found.map(|task| view(task, Depth::Everything)),
                tag: backlog.tag.to_string(),
            })
        })
        .await
    }

    #[tool(
        name = "set_task_status",
        description = "Set the status of tasks or subtasks, all of them or none.",
        annotations(idempotent_hint = true)
    )]
    async fn set_task_status(
        &self,
        Parameters(call): Parameters<SetTaskStatus>,
    ) -> Result<Json<StatusesSet>, Refusal> {
        self.json(move |server| server.set_statuses(&call)).await
    }
}

impl Server {
    fn read(&self, of: &OfBacklog) -> Result<(BacklogSource, Backlog), Refusal> {
        let project = self.project(of.project_root.as_deref())?;
        Ok(project.backlog(of.tag.as_deref().map(Into::into).as_ref())?)
    }

    fn set_statuses(&self, call: &SetTaskStatus) -> Result<StatusesSet, Refusal> {
        let status = Status::from(call.status.as_str());
        if let Status::Other(unknown) = &status {
            let known: Vec<&str> = Status::KNOWN.iter().map(Status::as_str).collect();
            let hint = format!("there are {}", known.join(", "));
            let words = format!("set the status `{unknown}`");
            return Err(Refusal::of_words(&words, Some(&hint)));
        }
        let (source, backlog) = self.read(&call.backlog)?;
        let folders = || {
            let root = self.folder(call.backlog.project_root.as_deref());
            let backlog = source.path().canonicalize().ok();
            let beside = backlog.and_then(|path| Some(path.parent()?.to_owned()));
            std::iter::once(root).chain(beside).collect()
        };
        refuse_to_agents("set_task_status", folders)
            .map_err(|refused| Refusal::new(&refused, Some(FOR_AGENTS)))?;
        let change = |id| StatusChange {
            id,
            status: status.clone(),
        };
        let changes: Vec<StatusChange> = ids(&call.id).map(change).collect();
        let now = stamp(tm_runtime::now());
        let outcomes = source.set_statuses(&backlog.tag, &changes, RollUp::Parents, Some(&now))?;
        let set = outcomes.into_iter().map(|outcome| StatusSet {
            success: true,
            task_id: outcome.id.to_string(),
            old_status: outcome.old.to_string(),
            new_status: outcome.new.to_string(),
        });
        let tasks: Vec<StatusSet> = set.collect();
        Ok(StatusesSet {
            message: format!("{} statuses are set", tasks.len()),
            tasks,
        })
    }
}

fn ids(text: &str) -> impl Iterator<Item = TaskId> {
    let ids = text.split(',').map(str::trim);
    ids.filter(|id| !id.is_empty()).map(TaskId::from)
}

/// How much of a task is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Depth {
    Alone,
    Subtasks,
    Everything,
}

fn view(task: &Task, depth: Depth) -> TaskView {
    let text = |text: &str| (depth == Depth::Everything).then(|| text.to_owned());
    let subtasks = task.subtasks.iter().filter(|_| depth != Depth::Alone);
    TaskView {
        id: task.id.to_string(),
        title: task.title.clone(),
        status: task.status.to_string(),
        priority: task.priority.as_str().to_owned(),
        dependencies: task.dependencies.iter().map(ToString::to_string).collect(),
        description: text(&task.description),
        details: text(&task.details),
        test_strategy: text(&task.test_strategy),
        subtasks: subtasks.map(|subtask| view(subtask, depth)).collect(),
    }
}
