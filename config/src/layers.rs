//! Finds the layers and takes them apart into single settings, refusing keys that nothing knows.

use crate::{Inputs, Problem, Source};
use serde_json::{Map, Value};
use std::path::Path;

/// Maps whose keys are the user's own.
const OPEN: [&str; 2] = ["agents", "agent.by_phase"];

/// The blocks of `.taskmaster/config.json` that are tm's; everything else there belongs to Task Master.
const SHARED_BLOCKS: [&str; 4] = ["autopilot", "test", "git", "storage"];

/// Single settings from one place.
pub(crate) struct Layer {
    pub(crate) source: Source,
    pub(crate) leaves: Vec<(String, Value)>,
}

/// Collects layers with what is to be said of them.
struct Collector<'a> {
    known: &'a Value,
    layers: Vec<Layer>,
    warnings: Vec<String>,
    problems: Vec<Problem>,
}

/// Returns the layers above the defaults, the lowest first, with warnings and problems.
pub(crate) fn layers(inputs: &Inputs, known: &Value) -> (Vec<Layer>, Vec<String>, Vec<Problem>) {
    let mut collector = Collector { known, layers: Vec::new(), warnings: Vec::new(), problems: Vec::new() };
    let root = &inputs.project_root;
    if let Some(file) = &inputs.user_file {
        collector.yaml_file(file);
    }
    collector.project_json(&root.join(".taskmaster/config.json"));
    collector.yaml_file(&root.join(".taskmaster/tm.yaml"));
    collector.environment(&inputs.environment);
    for given in &inputs.overrides {
        let source = Source::Flag(given.flag.clone());
        collector.layers.push(Layer { source, leaves: vec![(given.key.clone(), given.value.clone())] });
    }
    collector.agent_alchemy(&root.join(".claude/agent-alchemy.local.md"));
    (collector.layers, collector.warnings, collector.problems)
}

impl Collector<'_> {
    fn problem(&mut self, place: &Path, what: impl std::fmt::Display) {
        self.problems.push(Problem { place: place.display().to_string(), what: what.to_string() });
    }

    fn text(&mut self, path: &Path) -> Option<String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.problem(path, error);
                None
            }
        }
    }

    fn yaml_file(&mut self, path: &Path) {
        let Some(text) = self.text(path) else { return };
        match yaml(&text) {
            Ok(Value::Object(tree)) => self.tree(path, tree),
            Ok(Value::Null) => {}
            Ok(_) => self.problem(path, "expected settings by group, such as `waves: { max_parallel: 5 }`"),
            Err(what) => self.problem(path, what),
        }
    }

    fn tree(&mut self, path: &Path, tree: Map<String, Value>) {
        let mut leaves = Vec::new();
        flatten(&Value::Object(tree), "", self.known, &mut leaves);
        let mut known_leaves = Vec::with_capacity(leaves.len());
        for (key, value) in leaves {
            if is_known(self.known, &key) {
                known_leaves.push((key, value));
            } else {
                let hint = self.nearest(&key).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                self.problem(path, format!("unknown setting `{key}`{hint}"));
            }
        }
        self.layers.push(Layer { source: Source::File(path.to_owned()), leaves: known_leaves });
    }

    fn project_json(&mut self, path: &Path) {
        let Some(text) = self.text(path) else { return };
        let tree: Map<String, Value> = match serde_json::from_str(&text) {
            Ok(tree) => tree,
            Err(error) => return self.problem(path, error),
        };
        let blocks: Map<String, Value> =
            tree.into_iter().filter(|(block, _)| SHARED_BLOCKS.contains(&block.as_str())).collect();
        let mut leaves = Vec::new();
        flatten(&Value::Object(blocks), "", self.known, &mut leaves);
        leaves.retain(|(key, value)| is_known(self.known, key) && fits(self.known, key, value));
        self.layers.push(Layer { source: Source::File(path.to_owned()), leaves });
    }

    fn environment(&mut self, environment: &[(String, String)]) {
        let keys: Vec<String> = section_leaves(self.known).into_iter().map(|(key, _)| key).collect();
        for (name, text) in environment {
            let variable = |key: &str| format!("TM_{}", key.replace('.', "_").to_uppercase());
            if let Some(key) = keys.iter().find(|key| variable(key) == *name) {
                let value = yaml(text).unwrap_or_else(|_| Value::String(text.clone()));
                let source = Source::Environment(name.clone());
                self.layers.push(Layer { source, leaves: vec![(key.clone(), value)] });
            } else if let Some(near) = keys.iter().find(|key| strsim::damerau_levenshtein(&variable(key), name) <= 2) {
                self.warnings.push(format!("`{name}` is not a setting; did you mean `{}`?", variable(near)));
            }
        }
    }

    /// Reads the front matter of another tool's settings, when a layer says so; it goes below the environment.
    fn agent_alchemy(&mut self, path: &Path) {
        let is_wanted = |leaves: &[(String, Value)]| {
            leaves.iter().rfind(|(key, _)| key == "compat.agent_alchemy").map(|(_, value)| value.clone())
        };
        let wanted = self.layers.iter().rev().find_map(|layer| is_wanted(&layer.leaves));
        if wanted != Some(Value::Bool(true)) {
            return;
        }
        let Some(text) = self.text(path) else { return };
        let matter = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---")).map(|(matter, _)| yaml(matter));
        let Some(Ok(Value::Object(tree))) = matter else {
            self.warnings.push(format!("`{}` has no readable front matter; it is left out", path.display()));
            return;
        };
        let place = self.layers.iter().position(|layer| !matches!(layer.source, Source::File(_)));
        let layer = Layer { source: Source::File(path.to_owned()), leaves: alchemy_leaves(&tree) };
        self.layers.insert(place.unwrap_or(self.layers.len()), layer);
    }

    fn nearest(&self, key: &str) -> Option<String> {
        section_leaves(self.known)
            .into_iter()
            .map(|(known, _)| (strsim::damerau_levenshtein(&known, key), known))
            .min()
            .filter(|(distance, _)| *distance <= 4)
            .map(|(_, known)| known)
    }
}

/// Both shapes of that tool's file: groups that are lists of one-key maps, and dotted keys.
fn alchemy_leaves(tree: &Map<String, Value>) -> Vec<(String, Value)> {
    let within = |group: &str, key: &str| -> Option<Value> {
        let found = match tree.get(group)? {
            Value::Array(entries) => entries.iter().find_map(|entry| entry.get(key)),
            group => group.get(key),
        };
        found.cloned()
    };
    let dotted = |key: &str| tree.get(key).cloned();
    let max_parallel = within("execute-tasks", "max_parallel")
        .or_else(|| dotted("run-tasks.max_parallel"))
        .or_else(|| dotted("max_parallel"));
    let strictness = within("tdd", "strictness").or_else(|| dotted("tdd.strictness"));
    let pairs = [("waves.max_parallel", max_parallel), ("tdd.strictness", strictness)];
    pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Parses YAML and refuses a key that stands twice.
fn yaml(text: &str) -> Result<Value, String> {
    let value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Returns every single setting of a tree, in its order; an open map counts as one setting.
pub(crate) fn section_leaves(tree: &Value) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    flatten(tree, "", tree, &mut leaves);
    leaves
}

fn flatten(value: &Value, prefix: &str, known: &Value, leaves: &mut Vec<(String, Value)>) {
    let is_group = lookup(known, prefix).is_none_or(Value::is_object) && !OPEN.contains(&prefix);
    match value {
        Value::Object(members) if is_group => {
            for (name, member) in members {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(member, &key, known, leaves);
            }
        }
        leaf => leaves.push((prefix.to_owned(), leaf.clone())),
    }
}

fn lookup<'a>(tree: &'a Value, key: &str) -> Option<&'a Value> {
    if key.is_empty() {
        return Some(tree);
    }
    key.split('.').try_fold(tree, |place, part| place.get(part))
}

fn is_known(known: &Value, key: &str) -> bool {
    lookup(known, key).is_some_and(|value| !value.is_object() || OPEN.contains(&key))
}

/// Whether the value is of the default's kind; a default of `null` takes anything.
fn fits(known: &Value, key: &str, value: &Value) -> bool {
    lookup(known, key)
        .is_some_and(|default| default.is_null() || std::mem::discriminant(default) == std::mem::discriminant(value))
}
