//! What `tm doctor` says of agents: which there are, and whether those that the settings use can be started, here or where a
//! first job has looked for them.

use super::agents::{Probe, versions};
use super::doctor::{AGENT, Finding};
use itertools::Itertools as _;
use std::path::Path;
use tm_app::PlaceTrial;
use tm_config::Loaded;

/// The agent that plays recordings: it is always here, and does nobody's work.
const REPLAY: &str = "replay";

/// Looks at all agents, with what a first job found where some are started.
pub(super) async fn findings(
    loaded: &Loaded,
    root: &Path,
    trial: Option<&PlaceTrial>,
) -> Vec<Finding> {
    let mut probes = match versions(loaded, root).await {
        Ok(probes) => probes,
        Err(failure) => return vec![Finding::failed(AGENT, failure)],
    };
    if let Some(trial) = trial {
        for probe in &mut probes {
            probe.looked_for(trial);
        }
        // Of those it is said already.
        probes.retain(|probe| !probe.is_missing_there(trial));
    }
    let is_here = |probe: &&Probe| probe.is_here() && probe.agent != REPLAY;
    let here = probes
        .iter()
        .filter(is_here)
        .map(|probe| &probe.agent)
        .join("`, `");
    let is_lost = !probes
        .iter()
        .any(|probe| probe.used && probe.problem.is_none());
    let finding = |probe: &Probe| match &probe.problem {
        None if probe.used || probe.agent != REPLAY => {
            let use_of_it = if probe.used {
                " · the settings use it"
            } else {
                ""
            };
            let found = format!("{}: {}{use_of_it}", probe.agent, probe.line());
            Some(match probe.place_unseen() {
                Some(place) => {
                    let hint =
                        format!("`tm doctor --on {place}` has a first job look for it there");
                    Finding::note(AGENT, found, hint)
                }
                None => Finding::good(AGENT, found),
            })
        }
        Some(problem) if probe.used && is_lost => {
            Some(Finding::bad(AGENT, problem, instead(&here)))
        }
        Some(problem) if probe.used => Some(Finding::note(AGENT, problem, instead(&here))),
        _ => None,
    };
    probes.iter().filter_map(finding).collect()
}

/// What to do about an agent that can't be started.
fn instead(here: &str) -> String {
    if here.is_empty() {
        return "no agent that tm knows is here: install one (`tm agents list`), or `--agent-command COMMAND`".to_owned();
    }
    format!(
        "here is `{here}`: `agent: {{ default: NAME }}` in .taskmaster/tm.yaml, or `--agent NAME`"
    )
}
