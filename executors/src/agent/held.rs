//! What an agent that is held has beside it: a home of its own, and a proxy to those whom it may reach.

use super::AgentCommand;
use crate::environment::AgentHome;
use crate::proxy::{AllowList, Proxy};
use crate::{Error, OrFailedTo as _};
use tm_scheduler::AgentReport;

/// What an agent that is held has beside it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its own home.
    pub home: AgentHome,
    /// Hosts that it reaches and no others, where that is so.
    pub hosts: Option<AllowList>,
    /// Names of what it may leave in its folder, which go to the folder above it.
    pub left: Vec<String>,
}

/// The folder of its proxy, beside its own.
const PROXY: &str = "proxy";
/// What a client is told that is refused.
const ADVICE: &str = "`sandbox.agents.hosts` in .taskmaster/tm.yaml lets agents reach more hosts";

/// Makes what an agent has beside it that is about to be started.
pub(super) async fn begin(command: &mut AgentCommand) -> Result<Option<Proxy>, Error> {
    if let Some(held) = &command.held {
        held.home.make()?;
    }
    proxied(command).await
}

/// Has an agent reach the hosts that are its own, and no others; one that runs finds the proxy that it had.
pub(super) async fn proxied(command: &mut AgentCommand) -> Result<Option<Proxy>, Error> {
    let level = command.executor.holding().and_then(|held| held.level);
    let (Some(held), Some(level), Some(needs)) = (&command.held, level, &mut command.tree.needs)
    else {
        return Ok(None);
    };
    let Some(hosts) = &held.hosts else {
        return Ok(None);
    };
    let folder = held.home.folder().with_file_name(PROXY);
    std::fs::create_dir_all(&folder).or_failed_to("make", &folder)?;
    let proxy = Proxy::start(level, hosts.clone(), ADVICE, &folder).await?;
    needs.network = Some(proxy.network());
    let variables = proxy.variables().into_iter();
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    command.tree.environment.extend(variables);
    Ok(Some(proxy))
}

/// What an agent that is over left in its home is taken out of there; nothing of it runs any more.
pub(super) fn settled(
    command: &mut AgentCommand,
    report: Result<AgentReport, Error>,
    proxy: Option<Proxy>,
) -> Result<AgentReport, Error> {
    if let Some(held) = &mut command.held {
        held.home.settle(&held.left);
    }
    let refused = proxy.map(|proxy| proxy.refused()).unwrap_or_default();
    report.map(|mut report| {
        let wanted = refused.join(", ");
        let noticed =
            format!("it wanted {wanted}, where `sandbox.agents.network: api` lets nobody");
        let noticed = (!refused.is_empty()).then_some(noticed);
        let said = command.executor.refused(&command.tree, "");
        report.noticed.extend(noticed.into_iter().chain(said));
        report
    })
}
