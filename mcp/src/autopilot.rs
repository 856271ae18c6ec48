//! The tools of autopilot: the same steps as `tm autopilot` on the command line, and pieces of work that are handed out
//! and reported back under their ids.

mod arguments;

pub(crate) use arguments::Where;

use crate::answer::{Refusal, told};
use crate::server::Server;
use arguments::{Abort, Commit, CompletePhase, Finalize, PhaseName, Start};
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tm_app::BrokenBase;
use tm_runtime::autopilot::{
    self, Cleanup, CommitRequest, Committed, CompleteRequest, Completed, Ended, FinalizeRequest,
    Force, NextAction, StartRequest, Started, StatusView, UnitResult, WorkUnit,
};
use tm_scheduler::autopilot::TddPhase;
use tokio::runtime::Handle;

/// What takes long in a call.
const TESTS: &str = "the tests are run";

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

/// What came of a piece of work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompleteWorkUnit {
    #[serde(flatten)]
    place: Where,
    /// The id of the piece of work under way, such as `workUnit-1.2-RED`.
    work_unit_id: String,
    /// What came of it.
    result: UnitResult,
}

/// A piece of work, or none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NextWorkUnit {
    /// The piece of work under way; none where the run is paused, over, or to be finalized.
    work_unit: Option<WorkUnit>,
}

#[tool_router(router = autopilot_tools, vis = "pub(crate)")]
impl Server {
    #[tool(
        name = "autopilot_start",
        description = "Begin a run of a task: a branch of its own, then RED, GREEN and COMMIT of each subtask. \
                       Returns what is to be done next."
    )]
    async fn autopilot_start(
        &self,
        Parameters(start_call): Parameters<Start>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Started>, Refusal> {
        let work = self.json(move |server| {
            let project = server.project(start_call.project_root.as_deref())?;
            let options = start_call.options.unwrap_or_default();
            let request = StartRequest {
                task: start_call.task_id,
                tag: start_call.tag.map(Into::into),
                branch: start_call.branch.or(options.branch),
                max_attempts: start_call.max_attempts.or(options.max_attempts),
                broken: BrokenBase::allowed_if(start_call.allow_broken_base),
                force: if start_call.force {
                    Force::Yes
                } else {
                    Force::No
                },
            };
            if start_call.dry_run {
                autopilot::preview(&project, &request)
            } else {
                Handle::current().block_on(autopilot::start(&project, &request))
            }
        });
        told(&context, TESTS, work).await
    }

    #[tool(
        name = "autopilot_next",
        description = "Tell what is to be done next, with the subtask, its context and instructions.",
        annotations(read_only_hint = true)
    )]
    async fn autopilot_next(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<NextAction>, Refusal> {
        self.json(move |server| autopilot::next(&server.project_of(&place)?))
            .await
    }

    #[tool(
        name = "autopilot_complete_phase",
        description = "Report how the tests went after RED or GREEN. A report that does not allow the next step is \
                       answered with what to do."
    )]
    async fn autopilot_complete_phase(
        &self,
        Parameters(report): Parameters<CompletePhase>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Completed>, Refusal> {
        let work = self.json(move |server| {
            let request = CompleteRequest {
                phase: report.phase.map(|phase| match phase {
                    PhaseName::Red => TddPhase::Red,
                    PhaseName::Green => TddPhase::Green,
                }),
                subtask: report.subtask_id.map(Into::into),
                counts: report.test_results.map(Into::into),
                coverage: report.coverage,
                files: report.files,
                failure: None,
            };
            Handle::current().block_on(autopilot::complete(
                &server.project_of(&report.place)?,
                &request,
            ))
        });
        told(&context, TESTS, work).await
    }

    #[tool(
        name = "autopilot_commit",
        description = "Commit the subtask with a message of tm's, set it done, go on to the next one."
    )]
    async fn autopilot_commit(
        &self,
        Parameters(call): Parameters<Commit>,
    ) -> Result<Json<Committed>, Refusal> {
        self.json(move |server| {
            let request = CommitRequest {
                subtask: call.subtask_id.map(Into::into),
                message: call.message,
                files: call.files,
                made: None,
            };
            Handle::current().block_on(autopilot::commit(
                &server.project_of(&call.place)?,
                &request,
            ))
        })
        .await
    }

    #[tool(
        name = "autopilot_finalize",
        description = "Close a run of which everything is committed, and set its task done. Without counts tm runs the \
                       whole suite itself."
    )]
    async fn autopilot_finalize(
        &self,
        Parameters(call): Parameters<Finalize>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Ended>, Refusal> {
        let work = self.json(move |server| {
            let request = FinalizeRequest {
                counts: call.test_results.map(Into::into),
                coverage: call.coverage,
            };
            Handle::current().block_on(autopilot::finalize(
                &server.project_of(&call.place)?,
                &request,
            ))
        });
        told(&context, TESTS, work).await
    }

    #[tool(
        name = "autopilot_resume",
        description = "Go on with a run that is paused or was cut off.",
        annotations(idempotent_hint = true)
    )]
    async fn autopilot_resume(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<Started>, Refusal> {
        self.json(move |server| autopilot::resume(&server.project_of(&place)?))
            .await
    }

    #[tool(
        name = "autopilot_pause",
        description = "Stop a run until it is resumed."
    )]
    async fn autopilot_pause(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<Ended>, Refusal> {
        self.json(move |server| autopilot::pause(&server.project_of(&place)?))
            .await
    }

    #[tool(
        name = "autopilot_abort",
        description = "Give a run up. Statuses go back to what they were; commits are kept.",
        annotations(destructive_hint = true)
    )]
    async fn autopilot_abort(
        &self,
        Parameters(call): Parameters<Abort>,
    ) -> Result<Json<Ended>, Refusal> {
        self.json(move |server| {
            let cleanup = if call.cleanup {
                Cleanup::Remove
            } else {
                Cleanup::Keep
            };
            autopilot::abort(&server.project_of(&call.place)?, cleanup)
        })
        .await
    }

    #[tool(
        name = "autopilot_status",
        description = "Tell how a run stands: its subtasks, commits, tries and where its files are.",
        annotations(read_only_hint = true)
    )]
    async fn autopilot_status(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<Status>, Refusal> {
        self.json(move |server| {
            let run = autopilot::status(&server.project_of(&place)?)?;
            let active = run.is_some();
            Ok::<_, Refusal>(Status { active, run })
        })
        .await
    }

    #[tool(
        name = "autopilot_next_work_unit",
        description = "Return the piece of work under way with its context and preconditions.",
        annotations(read_only_hint = true)
    )]
    async fn autopilot_next_work_unit(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<Json<NextWorkUnit>, Refusal> {
        self.json(move |server| {
            let work_unit = autopilot::next_work_unit(&server.project_of(&place)?)?;
            Ok::<_, Refusal>(NextWorkUnit { work_unit })
        })
        .await
    }

    #[tool(
        name = "autopilot_complete_work_unit",
        description = "Report what came of the piece of work under way. Returns what is to be done next."
    )]
    async fn autopilot_complete_work_unit(
        &self,
        Parameters(call): Parameters<CompleteWorkUnit>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<NextAction>, Refusal> {
        let work = self.json(move |server| {
            let project = server.project_of(&call.place)?;
            let completed = autopilot::complete_unit(&project, &call.work_unit_id, &call.result);
            Handle::current().block_on(completed)
        });
        told(&context, TESTS, work).await
    }

    #[tool(
        name = "autopilot_get_state",
        description = "Return the state of a run as it is kept, with its checkpoint.",
        annotations(read_only_hint = true)
    )]
    async fn autopilot_get_state(
        &self,
        Parameters(place): Parameters<Where>,
    ) -> Result<CallToolResult, Refusal> {
        self.blocking(move |server| autopilot::run_state(&server.project_of(&place)?))
            .await
            .map(CallToolResult::structured)
    }
}
