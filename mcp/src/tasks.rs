//! The tools of tasks, with Task Master's names.

use crate::advice::FOR_AGENTS;
use crate::answer::{Answer, Refusal};
use crate::arguments::{Id, Page};
use crate::server::Server;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tm_runtime::callers::refuse_to_agents;
use tm_scheduler::{Candidates, Status, Task, TaskId, next};
use tm_store::backlog::{Backlog, BacklogSource, RollUp, StatusChange, StatusOutcome, stamp};

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
    #[serde(flatten)]
    page: Page,
}

/// One task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetTask {
    #[serde(flatten)]
    backlog: OfBacklog,
    /// The task or subtask, such as `3` or `3.1`; several with commas between.
    id: Id,
}

/// A new status.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetTaskStatus {
    #[serde(flatten)]
    backlog: OfBacklog,
    /// The task or subtask; several with commas between.
    id: Id,
    /// pending, in-progress, done, review, deferred, cancelled or blocked.
    status: String,
}

#[tool_router(router = task_tools, vis = "pub(crate)")]
impl Server {
    #[tool(
        name = "get_tasks",
        description = "List the tasks of the backlog, page by page.",
        annotations(read_only_hint = true)
    )]
    async fn get_tasks(&self, Parameters(call): Parameters<GetTasks>) -> Answer {
        self.answer(move |server| {
            let (_, backlog) = server.read(&call.backlog)?;
            let is_wanted = |statuses: &str, status: &Status| {
                let mut statuses = statuses.split(',').map(|text| Status::from(text.trim()));
                statuses.any(|wanted| wanted == *status)
            };
            let wanted = call.status.as_deref();
            let fits = |task: &&Task| wanted.is_none_or(|wanted| is_wanted(wanted, &task.status));
            let fitting: Vec<&Task> = backlog.tasks.iter().filter(fits).collect();
            let depth = if call.with_subtasks {
                Depth::Subtasks
            } else {
                Depth::Alone
            };
            let (page, next) = call.page.of(fitting.iter().map(|task| view(task, depth)));
            Ok::<_, Refusal>(json!({
                "tasks": page,
                "tag": backlog.tag,
                "total": fitting.len(),
                "stats": stats(&backlog.tasks),
                "nextOffset": next,
            }))
        })
        .await
    }

    #[tool(
        name = "get_task",
        description = "Return a task or subtask in full, or several; `nextId` is the first that the answer has no room for.",
        annotations(read_only_hint = true)
    )]
    async fn get_task(&self, Parameters(call): Parameters<GetTask>) -> Answer {
        self.answer(move |server| {
            let (_, backlog) = server.read(&call.backlog)?;
            let view_of = |id| {
                let found = Task::with_subtasks(&backlog.tasks).find(|task| task.id == id);
                let unknown = || {
                    let words = format!("find the task `{id}` in `{}`", backlog.tag);
                    Refusal::of_words(&words, Some("`get_tasks` lists what there is"))
                };
                let task = found.ok_or_else(unknown)?;
                Ok::<_, Refusal>(view(task, Depth::Everything))
            };
            let tasks: Vec<Value> = ids(&call.id.0).map(view_of).collect::<Result<_, _>>()?;
            let (page, next) = Page::default().of(tasks.iter());
            Ok::<_, Refusal>(
                json!({"total": tasks.len(), "tasks": page, "tag": backlog.tag,
                                    "nextId": next.map(|next| &tasks[next]["id"])}),
            )
        })
        .await
    }

    #[tool(
        name = "next_task",
        description = "Return the task to work on next: ready, most urgent, with the fewest dependencies. \
                       Subtasks of tasks that are in progress come first.",
        annotations(read_only_hint = true)
    )]
    async fn next_task(&self, Parameters(call): Parameters<OfBacklog>) -> Answer {
        self.answer(move |server| {
            let (_, backlog) = server.read(&call)?;
            let found = next(&backlog.tasks, Candidates::Open);
            let found = found.map(|task| view(task, Depth::Everything));
            Ok::<_, Refusal>(json!({"nextTask": found, "tag": backlog.tag}))
        })
        .await
    }

    #[tool(
        name = "set_task_status",
        description = "Set the status of tasks or subtasks, all of them or none.",
        annotations(idempotent_hint = true)
    )]
    async fn set_task_status(&self, Parameters(call): Parameters<SetTaskStatus>) -> Answer {
        self.answer(move |server| server.set_statuses(&call)).await
    }
}

impl Server {
    fn read(&self, of: &OfBacklog) -> Result<(BacklogSource, Backlog), Refusal> {
        let project = self.project(of.project_root.as_deref())?;
        Ok(project.backlog(of.tag.as_deref().map(Into::into).as_ref())?)
    }

    fn set_statuses(&self, call: &SetTaskStatus) -> Result<Value, Refusal> {
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
        let changes: Vec<StatusChange> = ids(&call.id.0).map(change).collect();
        let now = stamp(tm_runtime::now());
        let outcomes =
            source.set_statuses(&backlog.tag, &changes, RollUp::Relatives, Some(&now))?;
        let set = |StatusOutcome { id, old, new }: StatusOutcome| json!({"success": true, "taskId": id, "oldStatus": old, "newStatus": new});
        let message = format!("{} statuses are set", outcomes.len());
        let (tasks, _) = Page::default().of(outcomes.into_iter().map(set));
        Ok(json!({"message": message, "tasks": tasks}))
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

/// How many tasks of a backlog have which status.
fn stats(tasks: &[Task]) -> Value {
    let count = |status: Status| tasks.iter().filter(|task| task.status == status).count();
    let (total, completed) = (tasks.len(), count(Status::Done));
    json!({
        "total": total,
        "completed": completed,
        "inProgress": count(Status::InProgress),
        "pending": count(Status::Pending),
        "blocked": count(Status::Blocked),
        "deferred": count(Status::Deferred),
        "cancelled": count(Status::Cancelled),
        "review": count(Status::Review),
        "completionPercentage": (completed * 100).checked_div(total).unwrap_or(0),
    })
}

/// A task; a subtask has the id of its task in its own. The first of many subtasks, and the id of the one that is next.
fn view(task: &Task, depth: Depth) -> Value {
    let told: &[Task] = match depth {
        Depth::Alone => &[],
        Depth::Subtasks | Depth::Everything => &task.subtasks,
    };
    let (subtasks, next) = Page::default().of(told.iter().map(|subtask| view(subtask, depth)));
    let mut view = json!({
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "priority": task.priority,
        "dependencies": task.dependencies,
        "subtasks": subtasks,
    });
    if let Some(next) = next {
        view["nextId"] = json!(told[next].id);
    }
    if depth == Depth::Everything {
        view["description"] = json!(task.description);
        view["details"] = json!(task.details);
        view["testStrategy"] = json!(task.test_strategy);
    }
    view
}
