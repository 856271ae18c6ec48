//! The tools of waves. A run is a process of its own, which outlives the call and the server.

use crate::advice::FOR_AGENTS;
use crate::answer::{Answer, Refusal, told};
use crate::arguments::{Id, Page};
use crate::autopilot::Where;
use crate::first_settings::ProjectPlace;
use crate::server::Server;
use crate::tasks::OfBacklog;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_app::{BrokenBase, Caller, PlanOrder, Project, detached, plan_document};
use tm_config::Override;
use tm_executors::agent::{LogEnd, LogReader};
use tm_runtime::callers::refuse_to_agents;
use tm_scheduler::{AtBreaker, RunId, StopMode};

/// The command of `tm` that carries out a run which outlives the server.
pub const DETACHED: &str = "detached-run";

/// A project.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct OfProject {
    /// The folder of the project; the server's own when not given.
    project_root: Option<String>,
}

/// What to plan.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Plan {
    #[serde(flatten)]
    backlog: OfBacklog,
    /// Only these tasks, and the open ones that they depend on; all when none is given.
    ids: Vec<Id>,
    /// Agents at the same time.
    max_parallel: Option<u32>,
}

/// Which part of a plan.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PlanPage {
    #[serde(flatten)]
    plan: Plan,
    #[serde(flatten)]
    page: Page,
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunWaves {
    #[serde(flatten)]
    plan: Plan,
    /// The agent, instead of the one from the settings.
    agent: Option<String>,
    /// The model, for agents that take one.
    model: Option<String>,
    /// Further attempts at a task after the first that fails.
    retries: Option<u32>,
    /// Start nothing more after this time, such as `6h`.
    deadline: Option<String>,
    /// Start nothing more once agents have reported this cost in US dollars.
    max_cost: Option<f64>,
    /// Whether to go on although the tests can't be run at the base.
    #[serde(default)]
    allow_broken_base: bool,
    /// Whether to wait for the end; the call returns as soon as the run is under way when this is false.
    #[serde(default = "yes")]
    wait: bool,
}

const fn yes() -> bool {
    true
}

/// Which part of which report.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Report {
    #[serde(flatten)]
    of: Where,
    #[serde(flatten)]
    page: Page,
}

impl RunWaves {
    /// Returns the settings that a call gives.
    fn given(&self) -> Vec<Override> {
        let given = [
            (
                "agent.default",
                "agent",
                self.agent.clone().map(Value::from),
            ),
            ("agent.model", "model", self.model.clone().map(Value::from)),
            ("waves.retries", "retries", self.retries.map(Value::from)),
            (
                "waves.deadline",
                "deadline",
                self.deadline.clone().map(Value::from),
            ),
            ("agent.max_cost", "maxCost", self.max_cost.map(Value::from)),
        ];
        let given = given.into_iter();
        let given = given.filter_map(|(key, name, value)| Some(Override::new(key, name, value?)));
        self.plan.given().into_iter().chain(given).collect()
    }
}

impl Plan {
    fn order(&self) -> PlanOrder {
        PlanOrder {
            tag: self.backlog.tag.clone(),
            only: self.ids.iter().map(|Id(id)| id.trim().into()).collect(),
            ..PlanOrder::default()
        }
    }

    fn root(&self) -> Option<&str> {
        self.backlog.project_root.as_deref()
    }

    fn given(&self) -> Vec<Override> {
        let most = self.max_parallel;
        most.map(|most| Override::new("waves.max_parallel", "maxParallel", most))
            .into_iter()
            .collect()
    }
}

#[tool_router(router = waves_tools, vis = "pub(crate)")]
impl Server {
    #[tool(
        name = "waves_plan",
        description = "Show the waves in which the backlog would be run, page by page, and run nothing.",
        annotations(read_only_hint = true)
    )]
    async fn waves_plan(&self, Parameters(call): Parameters<PlanPage>) -> Answer {
        self.answer(move |server| {
            let plan = &call.plan;
            let project = server.waves(plan.root(), plan.given())?.for_looking();
            let planned = tm_app::plan(&project, &plan.order())?;
            let mut document = json!(plan_document(&project, &planned)?);
            document["wave_count"] = json!(planned.plan.waves().len());
            if let Some(tasks) = document["tasks"].as_array_mut() {
                tasks.sort_by_key(|task| task["wave"].as_u64());
            }
            call.page.cut(&mut document, "tasks");
            Ok::<_, Refusal>(document)
        })
        .await
    }

    #[tool(
        name = "waves_run",
        description = "Run the backlog in waves of agents and return the report. May take hours; progress is told to \
                       clients that ask for it. The run goes on when the call is cancelled or the client goes away: \
                       `waves_status` tells how it stands, `waves_stop` stops it. With `wait` false the call returns \
                       as soon as the run is under way. A run that was cut off is taken up by the next call.",
        annotations(open_world_hint = true)
    )]
    async fn waves_run(
        &self,
        Parameters(run): Parameters<RunWaves>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let wait = run.wait;
        let started = self.blocking(move |server| {
            let plan = &run.plan;
            server.refuse_agents("waves_run", plan.root())?;
            let given = run.given();
            let project = server.waves(plan.root(), given.clone())?;
            let settings = &project.loaded.settings;
            let place = ProjectPlace {
                root: project.root().to_owned(),
                common_dir: project.directory.repository().map(Path::to_owned),
            };
            let first = &server.first_settings;
            first.assert_same(place, settings, &given)?;
            let broken = BrokenBase::allowed_if(run.allow_broken_base);
            let program = (server.place.program.as_path(), DETACHED);
            let going = detached::start(&project, program, plan.order(), broken)?;
            Ok::<_, Refusal>((project, going))
        });
        let (project, mut going) = started.await?;
        let id = going.under_way().await?;
        if let (Some(id), false) = (&id, wait) {
            return Ok(CallToolResult::structured(json!({
                "success": true, "run_id": id, "status": "running",
                "message": "the run is under way; `waves_status` tells how it stands, `waves_stop` stops it"
            })));
        }
        let activity = match &id {
            Some(id) => Some(going.activity(id)?),
            None => None,
        };
        let refusal = tokio::select! {
            refusal = told(&context, events(activity), going.ended()) => refusal?,
            () = context.ct.cancelled() => {
                return Err(Refusal::of_words("wait for the run: the call was cancelled, the run goes on", None));
            }
        };
        if let Some(document) = refusal {
            return Err(Refusal::of(document));
        }
        let run = id.as_ref().map(RunId::to_string);
        self.answer(move |_| report(&project, run.as_deref(), &Page::default()))
            .await
    }

    #[tool(
        name = "waves_status",
        description = "Tell in short how a run of waves stands, live or over: sums, and by pages the tasks that have not \
                       landed.",
        annotations(read_only_hint = true)
    )]
    async fn waves_status(&self, Parameters(call): Parameters<Report>) -> Answer {
        self.answer(move |server| {
            let project = server.waves(call.of.project_root.as_deref(), Vec::new())?;
            standing(&project, call.of.run_id.as_deref(), &call.page)
        })
        .await
    }

    #[tool(
        name = "waves_report",
        description = "Return the report of a run of waves: every task by pages, with its attempts and their evidence.",
        annotations(read_only_hint = true)
    )]
    async fn waves_report(&self, Parameters(call): Parameters<Report>) -> Answer {
        self.answer(move |server| {
            let project = server.waves(call.of.project_root.as_deref(), Vec::new())?;
            report(&project, call.of.run_id.as_deref(), &call.page)
        })
        .await
    }

    #[tool(
        name = "waves_stop",
        description = "Ask the live run of waves to stop: agents get the grace period, everything is saved.",
        annotations(destructive_hint = true, idempotent_hint = true)
    )]
    async fn waves_stop(&self, Parameters(of): Parameters<OfProject>) -> Answer {
        self.answer(move |server| {
            let root = of.project_root.as_deref();
            server.refuse_agents("waves_stop", root)?;
            let reply = tm_app::stop(&server.waves(root, Vec::new())?, StopMode::Gently)?;
            Ok::<_, Refusal>(json!({"success": reply.ok, "message": reply.message}))
        })
        .await
    }
}

impl Server {
    /// Opens the project that a call names for waves; nobody is told what people would be.
    fn waves(&self, root: Option<&str>, given: Vec<Override>) -> Result<Project, Refusal> {
        let caller = Caller {
            tell: |_| {},
            at_breaker: AtBreaker::Stop,
        };
        Ok(Project::open(&self.folder(root), given, caller)?)
    }

    fn refuse_agents(&self, what: &'static str, root: Option<&str>) -> Result<(), Refusal> {
        let refused = refuse_to_agents(what, || vec![self.folder(root)]);
        refused.map_err(|refused| Refusal::new(&refused, Some(FOR_AGENTS)))
    }
}

/// Returns the whole report, but for what is on other pages.
fn report(project: &Project, run: Option<&str>, page: &Page) -> Result<Value, Refusal> {
    let mut report = json!(tm_app::status(project, run)?.1);
    page.cut(&mut report, "tasks");
    Ok(report)
}

/// Returns how a run stands: its sums, and the tasks that have not landed.
fn standing(project: &Project, run: Option<&str>, page: &Page) -> Result<Value, Refusal> {
    let summary = tm_app::status(project, run)?.1;
    let open = summary.tasks.iter().filter(|task| !task.landed);
    let open = open.map(|task| {
        json!({"id": task.id, "title": task.title, "state": task.state, "attempts": task.attempts.len(),
               "failure": task.failure, "reason": task.reason, "blocked_by": task.blocked_by})
    });
    let mut standing = json!({
        "run_id": summary.run_id, "status": summary.status, "exit_code": summary.exit_code, "wall_ms": summary.wall_ms,
        "integration_branch": summary.integration_branch, "totals": summary.totals, "walls": summary.walls,
        "broken_by": summary.broken_by, "trouble": summary.trouble, "not_landed": open.collect::<Value>(),
    });
    page.cut(&mut standing, "not_landed");
    Ok(standing)
}

/// Tells of a run how many events there have been and what the last one was, whenever there are new ones.
fn events(activity: Option<PathBuf>) -> impl FnMut() -> Option<(f64, String)> {
    let mut log = activity.map(LogReader::new);
    let mut count = 0_u32;
    move || {
        let (log, mut event) = (log.as_mut()?, None);
        // A long log is given in parts.
        while let Ok(fresh) = log.read(LogEnd::Growing)
            && let Some(last) = fresh.lines().last()
        {
            event = serde_json::from_str::<Value>(last).ok();
            count += u32::try_from(fresh.lines().count()).ok()?;
        }
        let event = event?;
        let words = [&event["event"], &event["task"]].map(|part| part.as_str().unwrap_or_default());
        Some((f64::from(count), words.join(" ").trim().to_owned()))
    }
}
