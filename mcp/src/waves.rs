//! The tools of waves. The `tm` program itself does the work, as a process of its own, and answers in JSON.

use crate::answer::Refusal;
use crate::server::Server;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ProgressNotificationParam};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_within};

/// So long a call may take that only looks.
const LOOKING: Duration = Duration::from_mins(2);
/// So long a run may take; it has limits of its own.
const RUNNING: Duration = Duration::from_hours(24 * 7);
/// How often a client that wants to know is told how a run goes.
const TELL_EVERY: Duration = Duration::from_secs(1);

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
}

impl Plan {
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        // With `=`, so that no value is ever taken for an option.
        arguments.extend(self.tag.as_ref().map(|tag| format!("--tag={tag}").into()));
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
        let text = Call::new(self, plan.project_root.as_deref(), arguments)?.answer(LOOKING).await?;
        document(&text)
    }

    #[tool(
        name = "waves_run",
        description = "Run the backlog in waves of agents and return the report. May take hours; progress is told to \
                       clients that ask for it. A run that is cut off is taken up by the next call.",
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
        let root = run.plan.project_root.as_deref();
        let call = Call::new(self, root, arguments)?;
        let stdout = call.stdout();
        tokio::select! {
            answer = call.answer_whatever_the_code(RUNNING) => answer?,
            () = tell(&stdout, &context) => unreachable!("telling never ends"),
        };
        let report = vec!["report".into(), "--json".into()];
        document(&Call::new(self, root, report)?.answer(LOOKING).await?)
    }

    #[tool(
        name = "waves_status",
        description = "Tell how a run of waves stands, live or over.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn waves_status(&self, Parameters(of): Parameters<OfWaves>) -> Result<CallToolResult, Refusal> {
        self.look(&of, "status").await
    }

    #[tool(
        name = "waves_report",
        description = "Return the report of a run of waves.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn waves_report(&self, Parameters(of): Parameters<OfWaves>) -> Result<CallToolResult, Refusal> {
        self.look(&of, "report").await
    }

    #[tool(
        name = "waves_stop",
        description = "Ask the live run of waves to stop: agents get the grace period, everything is saved.",
        annotations(read_only_hint = false, destructive_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    async fn waves_stop(&self, Parameters(of): Parameters<OfWaves>) -> Result<CallToolResult, Refusal> {
        Call::new(self, of.project_root.as_deref(), vec!["stop".into()])?.answer(LOOKING).await?;
        Ok(CallToolResult::structured(json!({"success": true, "message": "a live run was asked to stop"})))
    }
}

impl Server {
    async fn look(&self, of: &OfWaves, what: &str) -> Result<CallToolResult, Refusal> {
        let mut arguments: Vec<OsString> = vec![what.into(), "--json".into()];
        if let Some(run) = &of.run_id {
            arguments.extend(["--".into(), run.into()]);
        }
        document(&Call::new(self, of.project_root.as_deref(), arguments)?.answer(LOOKING).await?)
    }
}

fn document(text: &str) -> Result<CallToolResult, Refusal> {
    serde_json::from_str(text).map(CallToolResult::structured).map_err(|error| Refusal::new(&error, None))
}

/// A call of `tm waves`, with a folder for what it prints.
struct Call {
    command: TreeCommand,
    folder: tempfile::TempDir,
}

impl Call {
    fn new(server: &Server, root: Option<&str>, arguments: Vec<OsString>) -> Result<Self, Refusal> {
        let folder = tempfile::tempdir().map_err(|error| Refusal::new(&error, None))?;
        let command = TreeCommand {
            program: server.place.program.clone().into(),
            arguments: [vec!["waves".into()], arguments].concat(),
            working_folder: server.folder(root),
            stdout: folder.path().join("stdout"),
            stderr: folder.path().join("stderr"),
            ..TreeCommand::default()
        };
        Ok(Self { command, folder })
    }

    fn stdout(&self) -> PathBuf {
        self.folder.path().join("stdout")
    }

    /// Runs it and returns what it printed; what it complained about where it failed.
    async fn answer(&self, limit: Duration) -> Result<String, Refusal> {
        let code = self.run(limit).await?;
        if code == Some(0) { self.printed() } else { Err(self.refusal()) }
    }

    /// As `answer`, for a run, whose own failures are in its report.
    async fn answer_whatever_the_code(&self, limit: Duration) -> Result<String, Refusal> {
        match self.run(limit).await? {
            Some(0 | 3 | 6 | 130) => self.printed(),
            _ => Err(self.refusal()),
        }
    }

    async fn run(&self, limit: Duration) -> Result<Option<i32>, Refusal> {
        let status = run_within(&self.command, limit).await.map_err(|error| Refusal::new(&error, None))?;
        Ok(status.and_then(|status| status.code()))
    }

    fn printed(&self) -> Result<String, Refusal> {
        std::fs::read_to_string(self.stdout()).map_err(|error| Refusal::new(&error, None))
    }

    fn refusal(&self) -> Refusal {
        let words = std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
        let line = |start: &str| words.lines().find_map(|line| line.strip_prefix(start)).map(ToOwned::to_owned);
        let error = line("error: ").unwrap_or_else(|| "failed to run `tm waves`".to_owned());
        Refusal::of(json!({"success": false, "error": error, "suggestion": line("hint: ")}))
    }
}

/// Tells a client that asked for it how many events there have been and what the last one was, for ever.
async fn tell(stdout: &Path, context: &RequestContext<RoleServer>) {
    let token = context.meta.get_progress_token();
    let mut told = 0;
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        let Some(token) = token.clone() else { continue };
        let text = std::fs::read_to_string(stdout).unwrap_or_default();
        let count = text.matches('\n').count();
        if count > told {
            told = count;
            let event: Value =
                text.lines().nth(count - 1).and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
            let words = [&event["event"], &event["task"]].map(|part| part.as_str().unwrap_or_default().to_owned());
            let number = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
            let progress =
                ProgressNotificationParam::new(token, number).with_message(words.join(" ").trim().to_owned());
            // A client that does not listen is told again next time.
            let _told_next_time = context.peer.notify_progress(progress).await;
        }
    }
}
