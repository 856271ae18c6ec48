//! The tools of work units: pieces of work that are handed out and reported back under their ids.

use crate::answer::{Refusal, told};
use crate::autopilot::{TESTS, Where};
use crate::server::Server;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tm_runtime::autopilot::{NextAction, UnitResult, WorkUnit};
use tokio::runtime::Handle;

/// What came of a piece of work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompleteWorkUnit {
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
pub(crate) struct NextWorkUnit {
    /// The piece of work under way; none where the run is paused, over, or to be finalized.
    work_unit: Option<WorkUnit>,
}

#[tool_router(router = unit_tools, vis = "pub(crate)")]
impl Server {
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
            let work_unit = server.autopilot(&place)?.next_work_unit()?;
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
            let completed = server.autopilot(&call.place)?;
            Handle::current().block_on(completed.complete_unit(&call.work_unit_id, &call.result))
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
        self.blocking(move |server| server.autopilot(&place)?.state())
            .await
            .map(CallToolResult::structured)
    }
}
