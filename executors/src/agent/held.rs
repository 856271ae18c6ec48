//! What an agent that is held has beside it: a home of its own, and on this machine a proxy to those whom it may reach.

use super::AgentCommand;
use crate::Error;
use crate::engine::{JobHandle, JobProxy, ProxyFolder};
use crate::environment::AgentHome;
use tm_scheduler::AgentReport;

/// What an agent that is held has beside it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its own home.
    pub home: AgentHome,
    /// Names of what it may leave in its folder, which go to the folder above it.
    pub left: Vec<String>,
}

/// The folder of its proxy, beside its own.
const PROXY: &str = "proxy";

/// Makes what an agent has beside it that is about to be started.
pub(super) async fn begin(command: &mut AgentCommand) -> Result<Option<Box<JobProxy>>, Error> {
    if let Some(held) = &command.held {
        held.home.make()?;
    }
    proxied(command, None).await
}

/// Has an agent of this machine reach the hosts that are its own, and no others; one that runs, as this handle says, finds
/// the proxy that it had. One of another machine has its proxy there.
pub(super) async fn proxied(
    command: &mut AgentCommand,
    handle: Option<&JobHandle>,
) -> Result<Option<Box<JobProxy>>, Error> {
    let Some(held) = (command.held.as_ref()).filter(|_| command.executor.is_here(handle)) else {
        return Ok(None);
    };
    let folder = ProxyFolder::Kept(held.home.folder().with_file_name(PROXY));
    let proxy = JobProxy::start(&mut command.tree, command.executor.holding(), folder).await?;
    Ok(proxy.map(Box::new))
}

/// What an agent that is over left in its home is taken out of there; nothing of it runs any more.
pub(super) fn settled(
    command: &mut AgentCommand,
    report: Result<AgentReport, Error>,
    proxy: Option<&JobProxy>,
) -> Result<AgentReport, Error> {
    if let Some(held) = &command.held {
        held.home.settle(&held.left);
    }
    let mut report = report?;
    let (executor, tree) = (&command.executor, &mut command.tree);
    let mut refused = Vec::new();
    if let Some(printed) = executor.says_refused(tree, "") {
        if let Some(held) = &command.held {
            // What it was given of its surroundings says what it saw.
            tree.environment = held.home.variables();
        }
        refused = executor.what_was_refused(tree, &printed);
    }
    let kept_from = proxy.and_then(JobProxy::told);
    report.noticed.extend(kept_from.into_iter().chain(refused));
    Ok(report)
}
