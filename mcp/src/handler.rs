//! What the server answers to each request of the protocol.

use crate::answer::cleaned_result;
use crate::arguments::{misread, unknown};
use crate::error::Error;
use crate::server::Server;
use crate::{completions, instructions, prompts, resources};
use rmcp::handler::server::tool::{IntoCallToolResult as _, ToolCallContext};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _, tool_handler};

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
            .with_instructions(instructions::of(self))
    }

    /// Every answer of every tool goes out by this way, and no text in it is an order or a secret.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(refusal) = self.renamed(&request.name) {
            return refusal.into_call_tool_result();
        }
        let tool = self.router.get(&request.name).cloned();
        if let Some(tool) = &tool
            && let Some(refusal) = unknown(tool, request.arguments.as_ref())
        {
            return refusal.into_call_tool_result();
        }
        let call = ToolCallContext::new(self, request, context);
        let answer = self.router.call(call).await?;
        let (CallToolResponse::Complete(result), Some(tool)) = (&answer, &tool) else {
            return Ok(answer);
        };
        // Models read what a tool says, and few of them what the protocol does.
        if let Some(refusal) = misread(tool, result) {
            return refusal.into_call_tool_result();
        }
        Ok(cleaned_result(result.clone()).into())
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
