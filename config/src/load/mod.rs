//! Loads every layer, checks every value, and merges them, the later layer over the earlier.
//!
//! Knows the order of the layers; does not know what any setting means.

use crate::agent::is_plain_name;
use crate::defaults::defaults;
use crate::key::Key;
use crate::layer::{Entry, Layer, describe, wrong_type};
use crate::lines::line_of;
use crate::shape::{Shape, accepts};
use crate::{
    Error, Inputs, ProjectFiles, Settings, Source, Warning, environment, front_matter, task_master,
    yaml,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The settings of a project, from its top.
pub const PROJECT_FILE: &str = ".taskmaster/tm.yaml";
/// All files of a project that hold settings.
pub const PROJECT_FILES: [&str; 3] = [PROJECT_FILE, task_master::SHOWN, front_matter::SHOWN];
/// Where people put it by mistake.
const ELSEWHERE: &str = "tm.yaml";

/// The settings, and how they came about.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// Every setting with its value and where that came from, in the order of `default.yaml`.
    pub explained: Vec<Explained>,
    /// What is odd and stops nothing.
    pub warnings: Vec<Warning>,
}

impl Loaded {
    /// Returns the settings that have another value here than there, in their order.
    pub fn differing<'a>(&'a self, there: &'a Self) -> Vec<&'a str> {
        let all = self.explained.iter().chain(&there.explained);
        let mut keys: Vec<&str> = all.map(|one| one.key.as_str()).collect();
        let mut seen = BTreeSet::new();
        keys.retain(|key| seen.insert(*key) && self.value(key) != there.value(key));
        keys
    }

    /// Returns the value of a setting as it was written; `None` where nobody wrote one.
    fn value(&self, key: &str) -> Option<&Value> {
        let one = self.explained.iter().find(|one| one.key == key)?;
        Some(&one.value)
    }
}

/// One setting, its value, and where that came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The setting, with dots between the sections.
    pub key: String,
    /// Its value as it was written.
    pub value: Value,
    /// Where it was written.
    pub source: Source,
}

/// Loads the settings of a project; everything that is wrong is reported together.
pub fn load(inputs: &Inputs) -> Result<Loaded, Error> {
    let mut merged = Merged::default();
    for layer in layers(inputs) {
        merged.add(layer);
    }
    merged.finish()
}

/// Loads what the user alone says, in variables and in a file for all projects: nothing that a project holds.
pub fn load_of_user(inputs: &Inputs) -> Result<Loaded, Error> {
    let mut merged = Merged::default();
    merged.add(built_in());
    if let Some(path) = &inputs.user_config {
        merged.add(user_file(path));
    }
    merged.add(environment::layer(&inputs.environment));
    merged.finish()
}

/// Returns the layers from low to high.
fn layers(inputs: &Inputs) -> Vec<Layer> {
    let project = &inputs.project;
    let mut layers = vec![built_in()];
    layers.extend(inputs.user_config.as_deref().map(user_file));
    layers.extend([task_master::layer(project), project_file(project)]);
    let above = [environment::layer(&inputs.environment), flags(inputs)];
    if wants_agent_alchemy(layers.iter().chain(&above)) {
        layers.push(front_matter::layer(project));
    }
    layers.extend(above);
    layers
}

fn built_in() -> Layer {
    let mut layer = Layer::default();
    layer.add(&Key::default(), defaults().clone(), &|_| Source::BuiltIn);
    layer
}

fn user_file(path: &Path) -> Layer {
    Layer::of_file(path, path, |text| of_yaml(text, path, Source::UserFile))
}

fn project_file(files: &ProjectFiles) -> Layer {
    let mut layer = Layer::of_project_file(files, PROJECT_FILE, |text| {
        of_yaml(text, Path::new(PROJECT_FILE), Source::ProjectYaml)
    });
    if files.has(ELSEWHERE) {
        layer.warnings.push(Warning::Ignored {
            path: ELSEWHERE.into(),
            key: String::new(),
            why: format!("settings are read from `{PROJECT_FILE}`"),
        });
    }
    layer
}

fn of_yaml(
    text: &str,
    shown: &Path,
    source: fn(PathBuf, Option<usize>) -> Source,
) -> Result<Layer, Error> {
    let tree = yaml::parse(text).and_then(|tree| match tree {
        Value::Object(_) | Value::Null => Ok(tree),
        other => Err(format!(
            "expected a map of sections, found {}",
            describe(&other)
        )),
    });
    let tree = tree.map_err(|why| Error::Syntax {
        path: shown.to_path_buf(),
        why,
    })?;
    let mut layer = Layer::default();
    layer.add(&Key::default(), tree, &|key| {
        source(shown.to_path_buf(), line_of(text, key))
    });
    Ok(layer)
}

fn flags(inputs: &Inputs) -> Layer {
    let mut layer = Layer::default();
    for flag in &inputs.overrides {
        layer.add(&flag.key.as_str().into(), flag.value.clone(), &|_| {
            Source::Flag(flag.flag.clone())
        });
    }
    layer
}

fn wants_agent_alchemy<'layers>(layers: impl Iterator<Item = &'layers Layer>) -> bool {
    let key = Key::from("compat.agent_alchemy");
    let entries = layers
        .flat_map(|layer| &layer.entries)
        .filter(|entry| entry.key == key);
    entries
        .last()
        .is_some_and(|entry| entry.value == Value::Bool(true))
}

/// The layers merged so far.
#[derive(Default)]
struct Merged {
    values: BTreeMap<Key, (Value, Source)>,
    errors: Vec<Error>,
    warnings: Vec<Warning>,
}

impl Merged {
    fn add(&mut self, layer: Layer) {
        self.errors.extend(layer.errors);
        self.warnings.extend(layer.warnings);
        for entry in layer.entries {
            match problem(&entry) {
                None => drop(self.values.insert(entry.key, (entry.value, entry.source))),
                Some(Error::WrongType {
                    key,
                    source_of_key: Source::AgentAlchemy(path),
                    expected,
                    found,
                }) => {
                    let why = format!("expected {expected}, found {found}");
                    self.warnings.push(Warning::Ignored { path, key, why });
                }
                Some(error) => self.errors.push(error),
            }
        }
    }

    fn finish(self) -> Result<Loaded, Error> {
        if let Some(error) = Error::all(self.errors) {
            return Err(error);
        }
        let mut tree = defaults().clone();
        for (key, (value, _)) in &self.values {
            key.set(&mut tree, value.clone());
        }
        let settings = serde_json::from_value(tree)
            .expect("each value was checked by itself and none bears on another");
        Ok(Loaded {
            settings,
            explained: explained(&self.values),
            warnings: self.warnings,
        })
    }
}

/// Returns what is wrong with a value.
pub(crate) fn problem(entry: &Entry) -> Option<Error> {
    let Entry { key, value, source } = entry;
    if let [section, agent, ..] = key.names()
        && section == "agents"
        && !is_plain_name(agent)
    {
        return Some(Error::AgentName {
            name: agent.clone(),
            source_of_key: source.clone(),
        });
    }
    if *source == Source::BuiltIn || accepts(key, value) {
        return None;
    }
    Shape::root()
        .at(key)
        .map(|shape| wrong_type(key, shape, value, source.clone()))
}

fn explained(values: &BTreeMap<Key, (Value, Source)>) -> Vec<Explained> {
    let mut explained = Vec::new();
    for known in Shape::root().keys(&Key::default()) {
        let of_known = values
            .iter()
            .filter(|(key, _)| key.names().starts_with(known.names()));
        explained.extend(of_known.map(|(key, (value, source))| Explained {
            key: key.to_string(),
            value: value.clone(),
            source: source.clone(),
        }));
    }
    explained
}

#[cfg(test)]
mod tests;
