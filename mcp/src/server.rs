//! The server: who it is, where it works, and which tools it has.

use crate::error::Error;
use crate::tools::ToolChoice;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt as _, tool_handler};
use std::path::{Path, PathBuf};
use tm_runtime::autopilot::{Error as AutopilotError, GUIDE, Project, Surroundings};

/// Where the server works when a call names no project, and with what.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder of the project.
    pub folder: PathBuf,
    /// What the process was started with.
    pub surroundings: Surroundings,
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
    ///
    /// # Errors
    /// A tool was chosen that is not there.
    pub fn new(place: Place, choice: &ToolChoice) -> Result<Self, Error> {
        let mut router = Self::task_tools();
        router.merge(Self::autopilot_tools());
        router.merge(Self::unit_tools());
        router.merge(Self::waves_tools());
        choice.apply(&mut router)?;
        Ok(Self { place, router })
    }

    /// Opens the project that a call names, or the server's own.
    pub(crate) fn project(&self, root: Option<&str>) -> Result<Project, AutopilotError> {
        let folder = root.map_or_else(|| self.place.folder.clone(), PathBuf::from);
        Project::open(&folder, self.place.surroundings.clone())
    }

    pub(crate) fn folder(&self, root: Option<&str>) -> PathBuf {
        root.map_or_else(|| self.place.folder.clone(), |root| Path::new(root).to_owned())
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tm", env!("CARGO_PKG_VERSION")))
            .with_instructions(GUIDE)
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
    running.waiting().await.map(drop).map_err(|error| Error::Protocol(error.to_string()))
}
