//! Which tools are offered: all, a tier, or a list, in the words of Task Master's `TASK_MASTER_TOOLS`.

use crate::server::Server;
use rmcp::handler::server::router::tool::ToolRouter;

/// The tools of tasks.
const CORE: [&str; 4] = ["get_tasks", "next_task", "get_task", "set_task_status"];
/// Those of waves besides.
const WAVES: &str = "waves_";

/// Names that Task Master has for tools that are called otherwise.
const OTHER_NAMES: [(&str, &str); 1] = [("autopilot_complete", "autopilot_complete_phase")];

/// A choice of tools.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolChoice {
    names: Vec<String>,
    /// Names that no tool has.
    unknown: Vec<String>,
}

impl ToolChoice {
    /// Reads `core` (or `lean`), `standard`, `all`, names of tools, or several of these with commas; `-` stands for `_`
    /// too. Where nothing that is known is named, it is all.
    pub fn parse(text: &str) -> Self {
        let words = text
            .split(',')
            .map(|name| name.trim().to_lowercase().replace('-', "_"));
        let all = names(&Server::every_tool());
        let mut choice = Self {
            names: Vec::new(),
            unknown: Vec::new(),
        };
        for word in words.filter(|word| !word.is_empty()) {
            let other = OTHER_NAMES.iter().find(|(other, _)| *other == word);
            let word = other.map_or(word, |(_, name)| (*name).to_owned());
            let is_meant = |name: &&String| match word.as_str() {
                "all" => true,
                "core" | "lean" => CORE.contains(&name.as_str()),
                "standard" => CORE.contains(&name.as_str()) || name.starts_with(WAVES),
                word => *name == word,
            };
            let meant: Vec<String> = all.iter().filter(is_meant).cloned().collect();
            if meant.is_empty() {
                choice.unknown.push(word);
            }
            choice.names.extend(meant);
        }
        if choice.names.is_empty() {
            choice.names = all;
        }
        choice
    }

    /// Returns the names that no tool has.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    pub(crate) fn apply(&self, router: &mut ToolRouter<Server>) {
        for name in names(router) {
            if !self.names.contains(&name) {
                router.remove_route(&name);
            }
        }
    }
}

fn names(router: &ToolRouter<Server>) -> Vec<String> {
    let tools = router.list_all().into_iter();
    tools.map(|tool| tool.name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Vec<String> {
        let mut router = Server::every_tool();
        ToolChoice::parse(text).apply(&mut router);
        let mut names: Vec<String> = router
            .list_all()
            .iter()
            .map(|tool| tool.name.to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn tiers_and_names_are_read_as_they_are_written() {
        let core = ["get_task", "get_tasks", "next_task", "set_task_status"];
        assert_eq!(chosen("core"), core);
        assert_eq!(chosen("LEAN"), core);
        assert_eq!(chosen("standard").len(), 9);
        assert_eq!(
            chosen(" get-tasks, Autopilot_Next "),
            ["autopilot_next", "get_tasks"]
        );
        assert_eq!(chosen("autopilot-complete"), ["autopilot_complete_phase"]);
        assert_eq!(chosen("core,waves_plan").len(), 5);
    }

    #[test]
    fn names_that_no_tool_has_are_named_and_alone_mean_all() {
        let choice = ToolChoice::parse("get_tasks,expand_task");
        assert_eq!(
            (choice.unknown(), chosen("get_tasks,expand_task").len()),
            (&["expand_task".to_owned()][..], 1)
        );
        assert_eq!(chosen("expand_task"), chosen("all"));
        assert_eq!(chosen(""), chosen("all"));
    }
}
