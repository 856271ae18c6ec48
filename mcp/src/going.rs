//! The `tm` program at work for a call: a look that is waited for, or a run that outlives the call and the server.

use crate::answer::Refusal;
use crate::server::Server;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempPath;
use tm_executors::process::{Detached, TreeCommand};
use tm_scheduler::RunId;
use tm_store::run::{ProjectDirectory, RunLock};

/// So long a call may take that only looks.
const LIMIT: Duration = Duration::from_mins(2);
/// How often a client that wants to know is told how a run goes.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether a run is under way.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// No output of a call, and no log of events, is longer.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

fn refused(error: &dyn std::error::Error) -> Refusal {
    Refusal::new(error, None)
}

/// What `tm waves` is called with; its error output goes to a file of the folder.
fn command(server: &Server, root: Option<&str>, arguments: Vec<OsString>, folder: &Path) -> TreeCommand {
    TreeCommand {
        program: server.place.program.clone().into(),
        arguments: [vec!["waves".into()], arguments].concat(),
        working_folder: server.folder(root),
        stdout: folder.join("stdout"),
        stderr: folder.join("stderr"),
        ..TreeCommand::default()
    }
}

/// What a call that failed complained about.
fn complaint(stderr: &Path) -> Refusal {
    let words = tm_untrusted::read(stderr, MOST_BYTES).unwrap_or_default();
    let words = String::from_utf8_lossy(&words);
    let line = |start: &str| words.lines().find_map(|line| line.strip_prefix(start)).map(ToOwned::to_owned);
    let error = line("error: ").unwrap_or_else(|| "failed to run `tm waves`".to_owned());
    Refusal::of(json!({"success": false, "error": error, "suggestion": line("hint: ")}))
}

/// A call of `tm waves` that only looks.
pub(crate) struct Looking {
    command: TreeCommand,
    folder: tempfile::TempDir,
}

impl Looking {
    pub(crate) fn new(server: &Server, root: Option<&str>, arguments: Vec<OsString>) -> Result<Self, Refusal> {
        let folder = tempfile::tempdir().map_err(|error| refused(&error))?;
        Ok(Self { command: command(server, root, arguments, folder.path()), folder })
    }

    /// Returns what it printed as structured content.
    pub(crate) async fn document(self) -> Result<CallToolResult, Refusal> {
        self.run().await?;
        let text = self.read("stdout")?;
        serde_json::from_str(&text).map(CallToolResult::structured).map_err(|error| refused(&error))
    }

    /// Returns what it said beside its output.
    pub(crate) async fn complaints(self) -> Result<String, Refusal> {
        self.run().await?;
        self.read("stderr")
    }

    async fn run(&self) -> Result<(), Refusal> {
        let process = Detached::spawn(&self.command).map_err(|error| refused(&error))?;
        let ended = process.wait_within(LIMIT).await.map_err(|error| refused(&error))?;
        match ended.and_then(|status| status.code()) {
            Some(0) => Ok(()),
            _ => Err(complaint(&self.command.stderr)),
        }
    }

    fn read(&self, name: &str) -> Result<String, Refusal> {
        let bytes = tm_untrusted::read(&self.folder.path().join(name), MOST_BYTES).map_err(|error| refused(&error))?;
        String::from_utf8(bytes).map_err(|error| refused(&error))
    }
}

/// A run of waves that goes on, whatever becomes of the call.
pub(crate) struct Going {
    process: Detached,
    project: ProjectDirectory,
    /// Gone with this value; a process that still writes to it keeps the file.
    stderr: TempPath,
}

impl Going {
    pub(crate) fn start(server: &Server, root: Option<&str>, arguments: Vec<OsString>) -> Result<Self, Refusal> {
        let project = server.project(root)?.waves_directory().clone();
        project.create().map_err(|error| refused(&error))?;
        let folder = project.path();
        let mut command = command(server, root, arguments, folder);
        // Its events are in the folder of the run.
        command.stdout = PathBuf::from("/dev/null");
        let stderr = tempfile::Builder::new().prefix("mcp-").suffix(".stderr").tempfile_in(folder);
        let stderr = stderr.map_err(|error| refused(&error))?.into_temp_path();
        command.stderr = stderr.to_path_buf();
        let process = Detached::spawn(&command).map_err(|error| refused(&error))?;
        Ok(Self { process, project, stderr })
    }

    /// Waits until the run has its name, or has ended well without anybody seeing it.
    pub(crate) async fn under_way(&mut self) -> Result<Option<RunId>, Refusal> {
        loop {
            let holder = RunLock::holder(&self.project).ok().flatten();
            let own = holder.filter(|holder| holder.pid == Some(self.process.pid()));
            if let Some(id) = own.and_then(|holder| holder.run_id) {
                return Ok(Some(id));
            }
            tokio::select! {
                ended = self.ended() => return ended.map(|()| None),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Returns the file that tells its events.
    pub(crate) fn activity(&self, id: &RunId) -> Result<PathBuf, Refusal> {
        Ok(self.project.run(id).map_err(|error| refused(&error))?.activity())
    }

    /// Waits for its end; tasks that failed are no failure of the call, they are in the report.
    pub(crate) async fn ended(&mut self) -> Result<(), Refusal> {
        let status = self.process.wait().await.map_err(|error| refused(&error))?;
        match status.code() {
            Some(0 | 3 | 6 | 130) => Ok(()),
            _ => Err(complaint(&self.stderr)),
        }
    }
}

/// Tells a client that asked for it how many events there have been and what the last one was, for ever.
pub(crate) async fn tell(activity: &Path, context: &RequestContext<RoleServer>) {
    let token = context.meta.get_progress_token();
    let mut told = 0;
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        let Some(token) = token.clone() else { continue };
        let text = tm_untrusted::read(activity, MOST_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
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
