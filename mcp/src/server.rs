//! The server: where it works, and how it opens what a call names.

use crate::answer::{Answer, Refusal};
use crate::autopilot::Where;
use crate::first_settings::{FirstSettings, ProjectPlace};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::CallToolResult;
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use tm_runtime::autopilot::{Environment, Error as AutopilotError, Project};
use tm_scheduler::autopilot::CalledBy;
use tokio::sync::Semaphore;

/// Where the server works when a call names no project, and with what.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder of the project.
    pub folder: PathBuf,
    /// The `tm` program, for runs of waves.
    pub program: PathBuf,
}

/// So many calls are under way at once, the next one waits: each takes a thread and asks for others.
const CALLS: usize = 24;

/// One client's server.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) place: Place,
    pub(crate) router: ToolRouter<Self>,
    pub(crate) first_settings: FirstSettings,
}

impl Server {
    /// Opens the project that a call names, or the server's own.
    pub(crate) fn project(&self, root: Option<&str>) -> Result<Project, AutopilotError> {
        self.project_of(&Where {
            project_root: root.map(ToOwned::to_owned),
            run_id: None,
        })
    }

    /// Refuses to begin anything in a project whose settings are other ones than this process knows.
    pub(crate) fn assert_settings(&self, project: &Project) -> Result<(), Refusal> {
        let place = ProjectPlace {
            root: project.root().to_owned(),
            common_dir: project.waves.repository().map(Path::to_owned),
        };
        self.first_settings
            .assert_same(place, &project.settings, &[])
    }

    /// Opens the project of the run that a call names.
    fn project_of(&self, of: &Where) -> Result<Project, AutopilotError> {
        let environment = Environment {
            run: of.run(),
            called_by: CalledBy::Tool,
            ..Environment::of_process()
        };
        Project::open(&self.folder(of.project_root.as_deref()), environment)
    }

    /// Takes a step of the run that a call names.
    pub(crate) async fn step<T: Serialize + Send + 'static>(
        &self,
        of: Where,
        step: impl FnOnce(&Project) -> Result<T, AutopilotError> + Send + 'static,
    ) -> Answer {
        self.answer(move |server| step(&server.project_of(&of)?))
            .await
    }

    pub(crate) fn folder(&self, root: Option<&str>) -> PathBuf {
        root.map_or_else(
            || self.place.folder.clone(),
            |root| Path::new(root).to_owned(),
        )
    }

    /// Runs what waits for git, files and tests off the threads that serve.
    pub(crate) async fn blocking<T: Send + 'static, E: Into<Refusal> + Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Refusal> {
        static PLACES: Semaphore = Semaphore::const_new(CALLS);
        // It is never closed.
        let _place = PLACES.acquire().await;
        let server = self.clone();
        match tokio::task::spawn_blocking(move || work(&server)).await {
            Ok(answer) => answer.map_err(Into::into),
            Err(error) => Err(Refusal::new(&error, None)),
        }
    }

    /// As `blocking`, for what is answered as structured content.
    pub(crate) async fn answer<T: Serialize + Send + 'static, E: Into<Refusal> + Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E> + Send + 'static,
    ) -> Answer {
        let answer = self.blocking(work).await?;
        Ok(CallToolResult::structured(json!(answer)))
    }
}
