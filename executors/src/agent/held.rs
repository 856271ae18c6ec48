//! What an agent that is held has beside it: a home of its own, and a proxy to those whom it may reach.

use super::AgentCommand;
use crate::proxy::Proxy;
use crate::{Error, OrFailedTo as _};
use tm_scheduler::AgentReport;

/// The folder of its proxy, beside its own.
const PROXY: &str = "proxy";
/// What a client is told that is refused.
const ADVICE: &str = "`sandbox.agents.hosts` in .taskmaster/tm.yaml lets agents reach more hosts";

/// What an agent that is over left in its home is taken out of there; nothing of it runs any more.
pub(super) fn settled(
    command: &mut AgentCommand,
    report: Result<AgentReport, Error>,
    proxy: Option<Proxy>,
) -> Result<AgentReport, Error> {
    if let Some(home) = &mut command.home {
        home.settle(&command.left);
    }
    let refused = proxy.map(|proxy| proxy.refused()).unwrap_or_default();
    report.map(|mut report| {
        let wanted = refused.join(", ");
        let noticed =
            format!("it wanted {wanted}, where `sandbox.agents.network: api` lets nobody");
        report
            .noticed
            .extend((!refused.is_empty()).then_some(noticed));
        report
    })
}

/// Has an agent reach the hosts that are its own, and no others.
pub(super) async fn proxied(command: &mut AgentCommand) -> Result<Option<Proxy>, Error> {
    let level = command.executor.holding().and_then(|held| held.level);
    let (Some(hosts), Some(level), Some(home), Some(needs)) = (
        command.hosts.take(),
        level,
        &command.home,
        &mut command.tree.needs,
    ) else {
        return Ok(None);
    };
    let folder = home.folder().with_file_name(PROXY);
    std::fs::create_dir_all(&folder).or_failed_to("make", &folder)?;
    let proxy = Proxy::start(level, hosts, ADVICE, &folder).await?;
    needs.network = Some(proxy.network());
    let variables = proxy.variables().into_iter();
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    command.tree.environment.extend(variables);
    Ok(Some(proxy))
}
