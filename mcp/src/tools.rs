//! Which tools there are, what is said of all of them, and which are offered: all, a tier, or a list, in the words of
//! Task Master's `TASK_MASTER_TOOLS`.

use crate::answer::Refusal;
use crate::first_settings::FirstSettings;
use crate::server::{Place, Server};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::Tool;
use serde_json::{Value, json};
use std::sync::Arc;

/// The tools of tasks.
const CORE: [&str; 4] = ["get_tasks", "next_task", "get_task", "set_task_status"];
/// Those of waves besides.
const WAVES: &str = "waves_";

/// Names that Task Master and earlier versions have for tools that are called otherwise.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("autopilot_complete", "autopilot_complete_phase"),
    ("autopilot_complete_work_unit", "autopilot_complete_phase"),
    ("autopilot_get_state", "autopilot_status"),
    ("autopilot_next_work_unit", "autopilot_next"),
];

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
            let word = todays_name(&word).map_or(word, ToOwned::to_owned);
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

    fn apply(&self, router: &mut ToolRouter<Server>) {
        for name in names(router) {
            if !self.names.contains(&name) {
                router.remove_route(&name);
            }
        }
    }
}

impl Server {
    /// Makes a server that offers these tools.
    pub fn new(place: Place, choice: &ToolChoice) -> Self {
        let mut router = Self::every_tool();
        choice.apply(&mut router);
        let first_settings = FirstSettings::default();
        let server = Self {
            place,
            router,
            first_settings,
        };
        // Before anybody can call it; where there is no project yet, or none that can be read, the first call counts.
        if let Ok(project) = server.project(None) {
            let _nothing_is_known_yet = server.assert_settings(&project);
        }
        server
    }

    /// Refuses a call by a name that a tool has elsewhere, or had, and says what it is called.
    pub(crate) fn renamed(&self, name: &str) -> Option<Refusal> {
        let today = todays_name(name).filter(|today| self.router.has_route(today))?;
        let hint = format!("call `{today}`");
        Some(Refusal::of_words(
            &format!("find the tool `{name}`"),
            Some(&hint),
        ))
    }

    fn every_tool() -> ToolRouter<Self> {
        let mut router = Self::task_tools();
        router.merge(Self::autopilot_tools());
        router.merge(Self::waves_tools());
        for route in router.map.values_mut() {
            lighten(&mut route.attr);
            say_what_is_usual(&mut route.attr);
        }
        router
    }
}

/// What a tool does not say of itself: it changes something, destroys nothing and stays on this machine.
fn say_what_is_usual(tool: &mut Tool) {
    let hints = tool.annotations.get_or_insert_default();
    if hints.read_only_hint != Some(true) {
        hints.read_only_hint = Some(false);
        hints.destructive_hint.get_or_insert(false);
    }
    hints.open_world_hint.get_or_insert(false);
}

/// Takes out of a schema what tells nobody anything: models pay for each word of it in every conversation, and strict clients
/// complain about widths of numbers and about types that are nothing, too.
fn lighten(tool: &mut Tool) {
    let input = Arc::make_mut(&mut tool.input_schema);
    input.remove("$schema");
    input.remove("title");
    input.remove("description");
    input.values_mut().for_each(lighten_schema);
}

fn lighten_schema(schema: &mut Value) {
    if let Value::Object(fields) = schema {
        let is_noise = |name: &str, value: &Value| match name {
            "format" => true,
            "default" => value.is_null() || value == false || value == 0 || value == &json!([]),
            _ => false,
        };
        fields.retain(|name, value| !is_noise(name, value));
        for name in ["type", "anyOf"] {
            let Some(Value::Array(choices)) = fields.get_mut(name) else {
                continue;
            };
            choices.retain(|choice| *choice != "null" && choice["type"] != "null");
            if let [only] = &mut choices[..] {
                let only = only.take();
                match only {
                    Value::Object(inner) => {
                        fields.remove(name);
                        fields.extend(inner);
                    }
                    other => drop(fields.insert(name.to_owned(), other)),
                }
            }
        }
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(lighten_schema),
        Value::Array(values) => values.iter_mut().for_each(lighten_schema),
        _ => {}
    }
}

/// Returns what a tool is called that has another name elsewhere, or had one.
fn todays_name(other: &str) -> Option<&'static str> {
    let (_, name) = OTHER_NAMES.iter().find(|(name, _)| *name == other)?;
    Some(name)
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
        assert_eq!(
            chosen("autopilot_next_work_unit,autopilot_get_state"),
            ["autopilot_next", "autopilot_status"]
        );
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

    #[test]
    fn every_tool_says_what_it_does_and_no_schema_names_a_width() {
        for tool in Server::every_tool().list_all() {
            let text = serde_json::to_string(&tool).unwrap();
            assert!(
                !text.contains("\"format\":\"uint") && !text.contains("\"format\":\"double"),
                "{}",
                tool.name
            );
            assert!(
                tool.description.is_some() && tool.annotations.is_some(),
                "{}",
                tool.name
            );
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        }
    }
}
