//! The tools of autopilot: the same steps as `tm autopilot` on the command line.

use crate::answer::{Refusal, blocking, told};
use crate::server::Server;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tm_runtime::autopilot::{
    Cleanup, CommitRequest, Committed, CompleteRequest, Completed, Ended, FinalizeRequest, Force,
    NextAction, StartRequest, Started, StatusView, abort, commit, complete, finalize, next, pause,
    preview, resume, start, status,
};
use tm_runtime::preflight::BrokenBase;
use tm_scheduler::RunId;
use tm_scheduler::autopilot::{TddPhase, TestCounts};
use tokio::runtime::Handle;

/// What takes long in a call.
pub(crate) const TESTS: &str = "the tests are run";

/// A project.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Where {
    /// The folder of the project; the server's own when not given.
    #[serde(default)]
    pub(crate) project_root: Option<String>,
    /// The run; the current one when not given.
    #[serde(default)]
    pub(crate) run_id: Option<String>,
}

impl Where {
    pub(crate) fn run(&self) -> Option<RunId> {
        self.run_id.as_deref().map(RunId::from)
    }
}

/// What to begin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    /// The task, such as `1`; its subtasks are worked on in order.
    task_id: String,
    /// The folder of the project; the server's own when not given.
    #[serde(default)]
    project_root: Option<String>,
    /// The tag; the current one when not given.
    #[serde(default)]
    tag: Option<String>,
    /// The branch; one by the project's pattern when not given.
    #[serde(default)]
    branch: Option<String>,
    /// Tries at GREEN before the run is paused.
    #[serde(default)]
    max_attempts: Option<u32>,
    /// Start over an unfinished run, which is paused, and over open dependencies.
    #[serde(default)]
    force: bool,
    /// Start although the tests can't be run there, so that nothing can be proven.
    #[serde(default)]
    allow_broken_base: bool,
    /// Say what would be done, and do nothing.
    #[serde(default)]
    dry_run: bool,
    /// Branch and tries, in another place.
    #[serde(default)]
    options: Option<StartOptions>,
}

/// Branch and tries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StartOptions {
    /// The branch.
    #[serde(default)]
    branch: Option<String>,
    /// Tries at GREEN before the run is paused.
    #[serde(default)]
    max_attempts: Option<u32>,
}

/// Counts of tests as they are reported.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Counts {
    /// Tests that passed.
    #[serde(default)]
    passed: u64,
    /// Tests that failed.
    #[serde(default)]
    failed: u64,
    /// Tests that were skipped.
    #[serde(default)]
    skipped: u64,
    /// Tests in all; the sum when not given.
    #[serde(default)]
    total: Option<u64>,
}

impl From<Counts> for TestCounts {
    fn from(counts: Counts) -> Self {
        let sum = Self::of(counts.passed, counts.failed, counts.skipped);
        Self {
            total: counts.total.unwrap_or(sum.total),
            ..sum
        }
    }
}

/// A phase that is reported on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PhaseName {
    #[serde(alias = "RED")]
    Red,
    #[serde(alias = "GREEN")]
    Green,
}

/// A report.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompletePhase {
    #[serde(flatten)]
    place: Where,
    /// The phase; the one under way when not given.
    #[serde(default)]
    phase: Option<PhaseName>,
    /// The subtask; the one under way when not given.
    #[serde(default)]
    subtask_id: Option<String>,
    /// The counts that the test command printed.
    #[serde(default)]
    test_results: Option<Counts>,
    /// The coverage in percent.
    #[serde(default)]
    coverage: Option<f64>,
    /// Files that were changed; looked up when not given.
    #[serde(default)]
    files: Vec<String>,
}

/// A commit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Commit {
    #[serde(flatten)]
    place: Where,
    /// The subtask; the one under way when not given.
    #[serde(default)]
    subtask_id: Option<String>,
    /// Commit these files alone.
    #[serde(default)]
    files: Vec<String>,
    /// The words of the message; trailers are added.
    #[serde(default, alias = "customMessage")]
    message: Option<String>,
}

/// The end of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finalize {
    #[serde(flatten)]
    place: Where,
    /// The counts of the whole suite; tm runs it when they are not given.
    #[serde(default)]
    test_results: Option<Counts>,
    /// The coverage in percent.
    #[serde(default)]
    coverage: Option<f64>,
}

/// A run that is given up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Abort {
    #[serde(flatten)]
    place: Where,
    /// Remove branch and state as well; the commits stay under `refs/tm/salvage/`.
    #[serde(default)]
    cleanup: bool,
}

/// How the current run stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    /// Whether there is a run to tell of.
    active: bool,
    /// The run.
    #[serde(flatten)]
    run: Option<StatusView>,
}

#[tool_router(router = autopilot_tools, vis = "pub(crate)")]
impl Server {
    #[tool(
        name = "autopilot_start",
        description = "Begin a run of a task: a branch of its own, then RED, GREEN and COMMIT of each subtask. \
                       Returns what is to be done next.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    async fn autopilot_start(
        &self,
        Parameters(start_call): Parameters<Start>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Started>, Refusal> {
        let server = self.clone();
        let work = blocking(move || {
            let project = server.project(start_call.project_root.as_deref())?;
            let options = start_call.options.as_ref();
            let request = StartRequest {
                task: start_call.task_id.clone(),
                tag: start_call.tag.as_deref().map(Into::into),
                branch: start_call
                    .branch
                    .clone()
                    .or_else(|| options?.branch.clone()),
                max_attempts: start_call.max_attempts.or_else(|| options?.max_attempts),
                broken: BrokenBase::allowed_if(start_call.allow_broken_base),
                force: if start_call.force {
                    Force::Yes
                } else {
                    Force::No
                },
            };
            if start_call.dry_run {
                preview(&project, &request)
            } else {
                Handle::current().block_on(start(&project, &request))
            }
        });
        told(&context, TESTS, work).await.map(Json)
    }

    #[tool(
        name = "autopilot_next",
        description = "Tell what is to be done next, with the subtask, its context and instructions.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn autopilot_next(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<NextAction>, Refusal> {
        let server = self.clone();
        blocking(move || {
            next(
                &server.project(place.project_root.as_deref())?,
                place.run().as_ref(),
            )
        })
        .await
        .map(Json)
    }

    #[tool(
        name = "autopilot_complete_phase",
        description = "Report how the tests went after RED or GREEN. A report that does not allow the next step is \
                       answered with what to do.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    async fn autopilot_complete_phase(
        &self,
        Parameters(report): Parameters<CompletePhase>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Completed>, Refusal> {
        let server = self.clone();
        let work = blocking(move || {
            let request = CompleteRequest {
                run: report.place.run(),
                phase: report.phase.map(|phase| match phase {
                    PhaseName::Red => TddPhase::Red,
                    PhaseName::Green => TddPhase::Green,
                }),
                subtask: report.subtask_id.as_deref().map(Into::into),
                counts: report.test_results.map(Into::into),
                coverage: report.coverage,
                files: report.files.clone(),
                failure: None,
            };
            let project = server.project(report.place.project_root.as_deref())?;
            Handle::current().block_on(complete(&project, &request))
        });
        told(&context, TESTS, work).await.map(Json)
    }

    #[tool(
        name = "autopilot_commit",
        description = "Commit the subtask with a message of tm's, set it done, go on to the next one.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    async fn autopilot_commit(
        &self,
        Parameters(call): Parameters<Commit>,
    ) -> Result<Json<Committed>, Refusal> {
        let server = self.clone();
        blocking(move || {
            let request = CommitRequest {
                run: call.place.run(),
                subtask: call.subtask_id.as_deref().map(Into::into),
                message: call.message.clone(),
                files: call.files.clone(),
                made: None,
            };
            let project = server.project(call.place.project_root.as_deref())?;
            Handle::current().block_on(commit(&project, &request))
        })
        .await
        .map(Json)
    }

    #[tool(
        name = "autopilot_finalize",
        description = "Close a run of which everything is committed, and set its task done. Without counts tm runs the \
                       whole suite itself.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    async fn autopilot_finalize(
        &self,
        Parameters(call): Parameters<Finalize>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Ended>, Refusal> {
        let server = self.clone();
        let work = blocking(move || {
            let counts = call.test_results.map(Into::into);
            let request = FinalizeRequest {
                run: call.place.run(),
                counts,
                coverage: call.coverage,
            };
            let project = server.project(call.place.project_root.as_deref())?;
            Handle::current().block_on(finalize(&project, &request))
        });
        told(&context, TESTS, work).await.map(Json)
    }

    #[tool(
        name = "autopilot_resume",
        description = "Go on with a run that is paused or was cut off.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn autopilot_resume(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<Started>, Refusal> {
        let server = self.clone();
        blocking(move || {
            resume(
                &server.project(place.project_root.as_deref())?,
                place.run().as_ref(),
            )
        })
        .await
        .map(Json)
    }

    #[tool(
        name = "autopilot_pause",
        description = "Stop a run until it is resumed.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    async fn autopilot_pause(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<Ended>, Refusal> {
        let server = self.clone();
        blocking(move || {
            pause(
                &server.project(place.project_root.as_deref())?,
                place.run().as_ref(),
            )
        })
        .await
        .map(Json)
    }

    #[tool(
        name = "autopilot_abort",
        description = "Give a run up. Statuses go back to what they were; commits are kept.",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            open_world_hint = false
        )
    )]
    async fn autopilot_abort(
        &self,
        Parameters(call): Parameters<Abort>,
    ) -> Result<Json<Ended>, Refusal> {
        let server = self.clone();
        blocking(move || {
            let cleanup = if call.cleanup {
                Cleanup::Remove
            } else {
                Cleanup::Keep
            };
            abort(
                &server.project(call.place.project_root.as_deref())?,
                call.place.run().as_ref(),
                cleanup,
            )
        })
        .await
        .map(Json)
    }

    #[tool(
        name = "autopilot_status",
        description = "Tell how a run stands: its subtasks, commits, tries and where its files are.",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn autopilot_status(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<Status>, Refusal> {
        let server = self.clone();
        blocking(move || {
            status(
                &server.project(place.project_root.as_deref())?,
                place.run().as_ref(),
            )
        })
        .await
        .map(|run| {
            Json(Status {
                active: run.is_some(),
                run,
            })
        })
    }
}
