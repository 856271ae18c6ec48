//! The tools of autopilot: the same steps as `tm autopilot` on the command line.

mod arguments;

pub(crate) use arguments::Where;

use crate::answer::{Answer, Refusal, told};
use crate::server::Server;
use arguments::{Abort, Commit, CompletePhase, Finalize, Start};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use serde_json::json;
use tm_app::BrokenBase;
use tm_runtime::autopilot::{
    self, Cleanup, CommitRequest, CompleteRequest, FinalizeRequest, Force, StartRequest,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Tells of a call that takes long how many seconds it has been, and why.
fn tests() -> impl FnMut() -> Option<(f64, String)> {
    let began = Instant::now();
    move || {
        Some((
            began.elapsed().as_secs_f64(),
            "the tests are run".to_owned(),
        ))
    }
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
    ) -> Answer {
        let work = self.answer(move |server| {
            let project = server.project(start_call.project_root.as_deref())?;
            let options = start_call.options.unwrap_or_default();
            let request = StartRequest {
                task: start_call.task_id.0,
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
                return Ok(autopilot::preview(&project, &request)?);
            }
            server.assert_settings(&project)?;
            let started = Handle::current().block_on(autopilot::start(&project, &request));
            Ok::<_, Refusal>(started?)
        });
        told(&context, tests(), work).await
    }

    #[tool(
        name = "autopilot_next",
        description = "Tell what is to be done next, with the subtask, its context and instructions.",
        annotations(read_only_hint = true)
    )]
    async fn autopilot_next(&self, Parameters(place): Parameters<Where>) -> Answer {
        self.step(place, autopilot::next).await
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
    ) -> Answer {
        let work = self.step(report.place, move |project| {
            let request = CompleteRequest {
                phase: report.phase,
                subtask: report.subtask_id.map(|id| id.0.into()),
                counts: report.test_results.map(Into::into),
                coverage: report.coverage,
                files: report.files,
            };
            Handle::current().block_on(autopilot::complete(project, &request))
        });
        told(&context, tests(), work).await
    }

    #[tool(
        name = "autopilot_commit",
        description = "Commit the subtask with a message of tm's, set it done, go on to the next one."
    )]
    async fn autopilot_commit(&self, Parameters(call): Parameters<Commit>) -> Answer {
        self.step(call.place, move |project| {
            let request = CommitRequest {
                subtask: call.subtask_id.map(|id| id.0.into()),
                message: call.message,
                files: call.files,
            };
            Handle::current().block_on(autopilot::commit(project, &request))
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
    ) -> Answer {
        let work = self.step(call.place, move |project| {
            let request = FinalizeRequest {
                counts: call.test_results.map(Into::into),
                coverage: call.coverage,
            };
            Handle::current().block_on(autopilot::finalize(project, &request))
        });
        told(&context, tests(), work).await
    }

    #[tool(
        name = "autopilot_resume",
        description = "Go on with a run that is paused or was cut off.",
        annotations(idempotent_hint = true)
    )]
    async fn autopilot_resume(&self, Parameters(place): Parameters<Where>) -> Answer {
        self.step(place, autopilot::resume).await
    }

    #[tool(
        name = "autopilot_pause",
        description = "Stop a run until it is resumed."
    )]
    async fn autopilot_pause(&self, Parameters(place): Parameters<Where>) -> Answer {
        self.step(place, autopilot::pause).await
    }

    #[tool(
        name = "autopilot_abort",
        description = "Give a run up. Statuses go back to what they were; commits are kept.",
        annotations(destructive_hint = true)
    )]
    async fn autopilot_abort(&self, Parameters(call): Parameters<Abort>) -> Answer {
        let cleanup = if call.cleanup {
            Cleanup::Remove
        } else {
            Cleanup::Keep
        };
        self.step(call.place, move |project| {
            autopilot::abort(project, cleanup)
        })
        .await
    }

    #[tool(
        name = "autopilot_status",
        description = "Tell how a run stands: its subtasks, commits, tries and where its files are.",
        annotations(read_only_hint = true)
    )]
    async fn autopilot_status(&self, Parameters(place): Parameters<Where>) -> Answer {
        self.step(place, |project| {
            let run = autopilot::status(project)?;
            Ok(run.map_or_else(|| json!({"active": false}), |run| json!(run)))
        })
        .await
    }
}
