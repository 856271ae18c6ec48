//! The tools of waves. The `tm` program itself does the work, as a process of its own, and answers in JSON.

use crate::answer::Refusal;
use crate::going::{Going, Looking, tell};
use crate::server::Server;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::ffi::OsString;

/// A project, and a run of waves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfWaves {
    /// The folder of the project; the server's own when not given.
    #[serde(default)]
    project_root: Option<String>,
    /// The run; the live or last one when not given.
    #[serde(default)]
    run_id: Option<String>,
}

/// A project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfProject {
    /// The folder of the project; the server's own when not given.
    #[serde(default)]
    project_root: Option<String>,
}

/// What to plan.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// The folder of the project; the server's own when not given.
    #[serde(default)]
    project_root: Option<String>,
    /// The tag; the current one when not given.
    #[serde(default)]
    tag: Option<String>,
    /// Only these tasks, and the open ones that they depend on; all when none is given.
    #[serde(default)]
    ids: Vec<String>,
    /// Agents at the same time.
    #[serde(default)]
    max_parallel: Option<u32>,
}

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunWaves {
    #[serde(flatten)]
    plan: Plan,
    /// The agent, instead of the one from the settings.
    #[serde(default)]
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
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        // With `=`, so that no value is ever taken for an option.
        arguments.extend(self.tag.as_ref().map(|tag| format!("--tag={tag}").into()));
        arguments.extend(self.ids.iter().map(|id| format!("--id={id}").into()));
        arguments.extend(self.max_parallel.map(|most| format!("--max-parallel={most}").into()));
        arguments
    }
}

#[tool_router(router = waves_tools, vis = "pub(crate)")]
impl Server {
    #[tool(
        name = "waves_plan",
        description = "Show the waves in which the backlog would be run, and run nothing.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn waves_plan(&self, Parameters(plan): Parameters<Plan>) -> Result<CallToolResult, Refusal> {
        let mut arguments: Vec<OsString> = vec!["plan".into(), "--format=json".into()];
        arguments.extend(plan.arguments());
        Looking::new(self, plan.project_root.as_deref(), arguments)?.document().await
    }

    #[tool(
        name = "waves_run",
        description = "Run the backlog in waves of agents and return the report. May take hours; progress is told to \
                       clients that ask for it. The run goes on when the call is cancelled or the client goes away: \
                       `waves_status` tells how it stands, `waves_stop` stops it. With `wait` false the call returns \
                       as soon as the run is under way. A run that was cut off is taken up by the next call.",
        annotations(read_only_hint = false, destructive_hint = false, open_world_hint = true)
    )]
    async fn waves_run(
        &self,
        Parameters(run): Parameters<RunWaves>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Refusal> {
        let mut arguments: Vec<OsString> = vec!["run".into(), "--yes".into(), "--json".into()];
        arguments.extend(run.plan.arguments());
        arguments.extend(run.agent.as_ref().map(|agent| format!("--agent={agent}").into()));
        arguments.extend(run.allow_broken_base.then(|| "--allow-broken-base".into()));
        let root = run.plan.project_root.as_deref();
        let mut going = Going::start(self, root, arguments)?;
        let id = going.under_way().await?;
        match (id, run.wait) {
            (Some(id), false) => Ok(CallToolResult::structured(json!({
                "success": true, "run_id": id, "status": "running",
                "message": "the run is under way; `waves_status` tells how it stands, `waves_stop` stops it"
            }))),
            (Some(id), true) => {
                let activity = going.activity(&id)?;
                tokio::select! {
                    ended = going.ended() => ended?,
                    () = tell(&activity, &context) => {}
                    () = context.ct.cancelled() => {
                        return Err(Refusal::words("wait for the run: the call was cancelled, the run goes on", None));
                    }
                }
                self.report(root, Some(id.as_str())).await
            }
            // It ended before anybody could see it.
            (None, _) => self.report(root, None).await,
        }
    }

    #[tool(
        name = "waves_status",
        description = "Tell how a run of waves stands, live or over.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn waves_status(&self, Parameters(of): Parameters<OfWaves>) -> Result<CallToolResult, Refusal> {
        self.look("status", of.project_root.as_deref(), of.run_id.as_deref()).await
    }

    #[tool(
        name = "waves_report",
        description = "Return the report of a run of waves.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn waves_report(&self, Parameters(of): Parameters<OfWaves>) -> Result<CallToolResult, Refusal> {
        self.report(of.project_root.as_deref(), of.run_id.as_deref()).await
    }

    #[tool(
        name = "waves_stop",
        description = "Ask the live run of waves to stop: agents get the grace period, everything is saved.",
        annotations(read_only_hint = false, destructive_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    async fn waves_stop(&self, Parameters(of): Parameters<OfProject>) -> Result<CallToolResult, Refusal> {
        let words = Looking::new(self, of.project_root.as_deref(), vec!["stop".into()])?.complaints().await?;
        Ok(CallToolResult::structured(json!({"success": true, "message": words.trim()})))
    }
}

impl Server {
    async fn report(&self, root: Option<&str>, run: Option<&str>) -> Result<CallToolResult, Refusal> {
        self.look("report", root, run).await
    }

    async fn look(&self, what: &str, root: Option<&str>, run: Option<&str>) -> Result<CallToolResult, Refusal> {
        let mut arguments: Vec<OsString> = vec![what.into(), "--json".into()];
        if let Some(run) = run {
            arguments.extend(["--".into(), run.into()]);
        }
        Looking::new(self, root, arguments)?.document().await
    }
}
