//! The tools of waves. A run is a process of its own, which outlives the call and the server.

use crate::advice::FOR_AGENTS;
use crate::answer::{Answer, Refusal, told};
use crate::autopilot::Where;
use crate::server::Server;
use crate::tasks::OfBacklog;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use tm_app::{BrokenBase, Caller, PlanOrder, Project, detached, plan_json};
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
    ids: Vec<String>,
    /// Agents at the same time.
    max_parallel: Option<u32>,
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunWaves {
    #[serde(flatten)]
    plan: Plan,
    /// The agent, instead of the one from the settings.
    agent: Option<String>,
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

impl Plan {
    fn order(&self) -> PlanOrder {
        PlanOrder {
            tag: self.backlog.tag.clone(),
            only: self.ids.iter().map(|id| id.trim().into()).collect(),
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
        description = "Show the waves in which the backlog would be run, and run nothing.",
        annotations(read_only_hint = true)
    )]
    async fn waves_plan(&self, Parameters(plan): Parameters<Plan>) -> Answer {
        self.answer(move |server| {
            let project = server.waves(plan.root(), plan.given())?.for_looking();
            let planned = tm_app::plan(&project, &plan.order())?;
            Ok::<_, Refusal>(plan_json(&project, &planned)?)
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
        let RunWaves {
            plan,
            agent,
            allow_broken_base,
            wait,
        } = run;
        let started = self.blocking(move |server| {
            server.refuse_agents("waves_run", plan.root())?;
            let mut given = plan.given();
            given.extend(agent.map(|agent| Override::new("agent.default", "agent", agent)));
            let project = server.waves(plan.root(), given)?;
            let broken = BrokenBase::allowed_if(allow_broken_base);
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
        match refusal {
            Some(document) => Err(Refusal::of(document)),
            None => {
                self.answer(move |_| summary(&project, id.as_ref().map(RunId::as_str)))
                    .await
            }
        }
    }

    #[tool(
        name = "waves_status",
        description = "Tell how a run of waves stands, live or over.",
        annotations(read_only_hint = true)
    )]
    async fn waves_status(&self, Parameters(of): Parameters<Where>) -> Answer {
        self.summary(of).await
    }

    #[tool(
        name = "waves_report",
        description = "Return the report of a run of waves.",
        annotations(read_only_hint = true)
    )]
    async fn waves_report(&self, Parameters(of): Parameters<Where>) -> Answer {
        self.summary(of).await
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

    async fn summary(&self, of: Where) -> Answer {
        self.answer(move |server| {
            let project = server.waves(of.project_root.as_deref(), Vec::new())?;
            summary(&project, of.run_id.as_deref())
        })
        .await
    }
}

fn summary(project: &Project, run: Option<&str>) -> Result<Value, Refusal> {
    Ok(json!(tm_app::status(project, run)?.1))
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
