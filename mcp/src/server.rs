//! The server: who it is, where it works, and which tools it has.

use crate::answer::cleaned_result;
use crate::autopilot::Where;
use crate::error::Error;
use crate::schemas::without_widths;
use crate::tools::ToolChoice;
use crate::{completions, prompts, resources};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _, tool_handler};
use std::path::{Path, PathBuf};
use tm_runtime::autopilot::{Environment, Error as AutopilotError, GUIDE, Project};

/// Where the server works when a call names no project, and with what.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder of the project.
    pub folder: PathBuf,
    /// The `tm` program, for runs of waves.
    pub program: PathBuf,
}

/// One client's server.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) place: Place,
    pub(crate) router: ToolRouter<Self>,
}

impl Server {
    /// Makes a server that offers these tools.
    pub fn new(place: Place, choice: &ToolChoice) -> Self {
        let mut router = Self::every_tool();
        choice.apply(&mut router);
        Self { place, router }
    }

    pub(crate) fn every_tool() -> ToolRouter<Self> {
        let mut router = Self::task_tools();
        router.merge(Self::autopilot_tools());
        router.merge(Self::waves_tools());
        for route in router.map.values_mut() {
            without_widths(&mut route.attr);
            say_what_is_usual(&mut route.attr);
        }
        router
    }

    /// Opens the project that a call names, or the server's own.
    pub(crate) fn project(&self, root: Option<&str>) -> Result<Project, AutopilotError> {
        Project::open(&self.folder(root), Environment::of_process())
    }

    /// Opens the project of the run that a call names.
    pub(crate) fn project_of(&self, of: &Where) -> Result<Project, AutopilotError> {
        let environment = Environment {
            run: of.run(),
            ..Environment::of_process()
        };
        Project::open(&self.folder(of.project_root.as_deref()), environment)
    }

    pub(crate) fn folder(&self, root: Option<&str>) -> PathBuf {
        root.map_or_else(
            || self.place.folder.clone(),
            |root| Path::new(root).to_owned(),
        )
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("tm", env!("CARGO_PKG_VERSION")))
            .with_instructions(GUIDE)
    }

    /// Every answer of every tool goes out by this way, and no text in it is an order or a secret.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = ToolCallContext::new(self, request, context);
        Ok(match self.router.call(call).await? {
            CallToolResponse::Complete(result) => {
                CallToolResponse::Complete(cleaned_result(result))
            }
            other => other,
        })
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(self, page).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(self, request.uri).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list(self)
            .await
            .map(ListPromptsResult::with_all_items)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(self, request).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(completions::complete(self, request).await)
    }
}

/// What a tool does not say of itself: it changes something, destroys nothing and stays on this machine.
fn say_what_is_usual(tool: &mut Tool) {
    let hints = tool.annotations.get_or_insert_default();
    if hints.read_only_hint != Some(true) {
        hints.read_only_hint = Some(false);
        hints.destructive_hint.get_or_insert(false);
    }
    hints.open_world_hint.get_or_insert(false);
}

/// Serves one client on standard input and output, until it goes away.
///
/// # Errors
/// The client broke the protocol.
pub async fn serve_stdio(server: Server) -> Result<(), Error> {
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // A client that goes away before it says who it is has nothing to be told.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::Protocol(error.to_string())),
    };
    running
        .waiting()
        .await
        .map(drop)
        .map_err(|error| Error::Protocol(error.to_string()))
}
