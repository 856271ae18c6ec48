//! Which tools are offered: all, a tier, or a list, in the words of Task Master's `TASK_MASTER_TOOLS`.

use crate::error::Error;
use crate::server::Server;
use rmcp::handler::server::router::tool::ToolRouter;

/// The tools of tasks.
const CORE: [&str; 4] = ["get_tasks", "next_task", "get_task", "set_task_status"];
/// Those of waves besides.
const WAVES: &str = "waves_";

/// A choice of tools.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ToolChoice {
    /// Every tool.
    #[default]
    All,
    /// Those of tasks.
    Core,
    /// Those of tasks and waves.
    Standard,
    /// These.
    Named(Vec<String>),
}

impl ToolChoice {
    /// Reads `core`, `lean`, `standard`, `all`, or names with commas; `-` stands for `_` too.
    pub fn parse(text: &str) -> Self {
        let names: Vec<String> = text
            .split(',')
            .map(|name| name.trim().to_lowercase().replace('-', "_"))
            .filter(|name| !name.is_empty())
            .collect();
        match names.as_slice() {
            [] => Self::All,
            [one] if one == "all" => Self::All,
            [one] if one == "core" || one == "lean" => Self::Core,
            [one] if one == "standard" => Self::Standard,
            _ => Self::Named(names),
        }
    }

    pub(crate) fn apply(&self, router: &mut ToolRouter<Server>) -> Result<(), Error> {
        let names: Vec<String> = router.list_all().iter().map(|tool| tool.name.to_string()).collect();
        if let Self::Named(wanted) = self
            && let Some(unknown) = wanted.iter().find(|name| !names.contains(name))
        {
            return Err(Error::UnknownTool { name: unknown.clone(), known: names.join(", ") });
        }
        let stays = |name: &str| match self {
            Self::All => true,
            Self::Core => CORE.contains(&name),
            Self::Standard => CORE.contains(&name) || name.starts_with(WAVES),
            Self::Named(wanted) => wanted.iter().any(|wanted| wanted == name),
        };
        for name in names.iter().filter(|name| !stays(name)) {
            router.remove_route(name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_and_names_are_read_as_they_are_written() {
        assert_eq!(ToolChoice::parse(""), ToolChoice::All);
        assert_eq!(ToolChoice::parse("LEAN"), ToolChoice::Core);
        let named = ToolChoice::parse(" get-tasks, Autopilot_Next ");
        assert_eq!(named, ToolChoice::Named(vec!["get_tasks".to_owned(), "autopilot_next".to_owned()]));
    }
}
