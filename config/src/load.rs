//! Puts the layers on top of each other, one setting at a time, and remembers where each came from.
//!
//! A setting that does not fit is found by trying: the whole is read anew after each one, so that the error names the
//! file and the key. There are some thirty settings, so this costs well under a millisecond.

use crate::layers::{Layer, layers, section_leaves};
use crate::{Error, Problem, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The defaults, which are also their documentation.
const DEFAULTS: &str = include_str!("../default.yaml");

/// Where settings are looked for.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The user's own file.
    pub user_file: Option<PathBuf>,
    /// The project's folder.
    pub project_root: PathBuf,
    /// The environment.
    pub environment: Vec<(String, String)>,
    /// Flags.
    pub overrides: Vec<Override>,
}

impl Inputs {
    /// Takes environment and home from this process.
    pub fn from_process(project_root: &Path, overrides: Vec<Override>) -> Self {
        use etcetera::BaseStrategy as _;
        let user_file = etcetera::choose_base_strategy().ok().map(|base| base.config_dir().join("tm/config.yaml"));
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("TM_"))
            .collect();
        Self { user_file, project_root: project_root.to_owned(), environment, overrides }
    }
}

/// A setting given by a flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The setting, such as `waves.max_parallel`.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The flag, such as `--max-parallel`.
    pub flag: String,
}

/// Where a setting came from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// The built-in defaults.
    BuiltIn,
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.write_str("default"),
            Self::File(path) => path.display().fmt(formatter),
            Self::Environment(name) | Self::Flag(name) => formatter.write_str(name),
        }
    }
}

/// One setting with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The setting, such as `waves.max_parallel`.
    pub key: String,
    /// The value in force.
    pub value: Value,
    /// Where it came from.
    pub source: Source,
}

/// Settings that can be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// Each with its source, in the order of the defaults.
    pub explained: Vec<Explained>,
    /// What people should know, such as a variable that is nearly a setting.
    pub warnings: Vec<String>,
}

/// Loads the settings.
///
/// # Errors
/// Names every unknown key (with the nearest known one), every value that does not fit, and every file that can't be
/// read.
pub fn load(inputs: &Inputs) -> Result<Loaded, Error> {
    let mut tree = defaults();
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    let (layers, warnings, mut problems) = layers(inputs, &tree);
    for Layer { source, leaves } in layers {
        for (key, value) in leaves {
            let mut tried = tree.clone();
            match set(&mut tried, &key, value).and_then(|()| read(&tried)) {
                Ok(_) => {
                    tree = tried;
                    sources.insert(key, source.clone());
                }
                Err(what) => problems.push(Problem { place: source.to_string(), what: format!("`{key}`: {what}") }),
            }
        }
    }
    if !problems.is_empty() {
        return Err(Error { problems });
    }
    let settings = read(&tree).map_err(|what| Error { problems: vec![Problem { place: "defaults".into(), what }] })?;
    let explained = section_leaves(&tree)
        .into_iter()
        .map(|(key, value)| Explained { source: source_of(&sources, &key), key, value })
        .collect();
    Ok(Loaded { settings, explained, warnings })
}

/// Returns the JSON schema of a settings file.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Settings).to_value();
    drop_required(&mut schema);
    schema
}

/// A file need not have every setting.
fn drop_required(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("required");
            members.values_mut().for_each(drop_required);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_required),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn defaults() -> Value {
    serde_yaml::from_str(DEFAULTS).expect("the built-in defaults are valid YAML")
}

fn read(tree: &Value) -> Result<Settings, String> {
    serde_json::from_value(tree.clone()).map_err(|error| error.to_string())
}

/// A setting inside an open map, such as `agents.mine.prompt`, has the source of the longest key that was set.
fn source_of(sources: &BTreeMap<String, Source>, key: &str) -> Source {
    let within = |set: &&String| key == **set || key.starts_with(&format!("{set}."));
    sources.keys().rfind(within).map_or(Source::BuiltIn, |set| sources[set].clone())
}

fn set(tree: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let mut place = tree;
    for part in key.split('.') {
        let members = match place {
            Value::Object(members) => members,
            other => {
                *other = Value::Object(serde_json::Map::new());
                other.as_object_mut().ok_or("not a group of settings")?
            }
        };
        place = members.entry(part).or_insert(Value::Null);
    }
    *place = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Project(tempfile::TempDir);

    impl Project {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            for (path, text) in files {
                let path = folder.path().join(path);
                std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
                std::fs::write(path, text).expect("a file");
            }
            Self(folder)
        }

        fn inputs(&self) -> Inputs {
            Inputs {
                user_file: Some(self.0.path().join("user.yaml")),
                project_root: self.0.path().to_owned(),
                ..Inputs::default()
            }
        }

        fn refusal(&self) -> String {
            let error = load(&self.inputs()).expect_err("a refusal").to_string();
            error.replace(&self.0.path().display().to_string(), "")
        }
    }

    #[test]
    fn each_layer_overrides_the_one_before() {
        let project = Project::new(&[]);
        let mut inputs = project.inputs();
        let value = |inputs: &Inputs| {
            let loaded = load(inputs).expect("settings");
            let found = loaded.explained.into_iter().find(|setting| setting.key == "git.branch").expect("a setting");
            (found.value.as_str().unwrap_or_default().to_owned(), found.source)
        };
        assert_eq!(value(&inputs).1, Source::BuiltIn);
        let layers = [
            ("user.yaml", "git: { branch: user }"),
            (".taskmaster/config.json", r#"{"git": {"branch": "json", "unknown": 1}, "models": {}}"#),
            (".taskmaster/tm.yaml", "git: { branch: project }"),
        ];
        let mut files = Vec::new();
        for (path, text) in layers {
            files.push((path, text));
            let project = Project::new(&files);
            let (found, source) = value(&project.inputs());
            assert!(text.contains(&found), "{path} gives {found}");
            assert_eq!(source, Source::File(project.0.path().join(path)));
        }
        inputs.environment = vec![("TM_GIT_BRANCH".into(), "variable".into())];
        assert_eq!(value(&inputs), ("variable".into(), Source::Environment("TM_GIT_BRANCH".into())));
        inputs.overrides = vec![Override { key: "git.branch".into(), value: json!("flag"), flag: "--branch".into() }];
        assert_eq!(value(&inputs), ("flag".into(), Source::Flag("--branch".into())));
    }

    #[test]
    fn every_problem_is_named_with_its_file_and_key() {
        let project = Project::new(&[
            ("user.yaml", "waves: { max_paralel: 3 }\ntests: 1"),
            (".taskmaster/tm.yaml", "waves: { max_parallel: 0 }\nagent: { stall: soon }\ntdd: { strictness: lax }"),
        ]);
        let refusal = project.refusal();
        for part in [
            "/user.yaml: unknown setting `waves.max_paralel`; did you mean `waves.max_parallel`?",
            "/user.yaml: unknown setting `tests`",
            "/.taskmaster/tm.yaml: `waves.max_parallel`: invalid value: integer `0`",
            "/.taskmaster/tm.yaml: `agent.stall`: `soon` is no duration",
            "/.taskmaster/tm.yaml: `tdd.strictness`: unknown variant `lax`",
        ] {
            assert!(refusal.contains(part), "{part} in {refusal}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let project = Project::new(&[("user.yaml", "waves: { retries: 1, retries: 2 }")]);
        assert!(project.refusal().contains("duplicate"), "{}", project.refusal());
    }

    #[test]
    fn recipes_are_an_open_map() {
        let project = Project::new(&[(
            ".taskmaster/tm.yaml",
            "agents: { mine: { command: [\"python3\", \"{prompt_file}\"], prompt: file, env: { KEEP: \"1\" } } }",
        )]);
        let loaded = load(&project.inputs()).expect("settings");
        let recipe = &loaded.settings.agents["mine"];
        assert_eq!(recipe.prompt, Some(crate::PromptBy::File));
        assert_eq!(recipe.env["KEEP"], "1");
    }

    #[test]
    fn the_other_tools_front_matter_is_read_only_when_asked_for() {
        for (matter, asked) in [
            ("execute-tasks:\n  - max_parallel: 2\ntdd:\n  strictness: strict", "true"),
            ("run-tasks.max_parallel: 2\ntdd.strictness: strict", "true"),
            ("run-tasks.max_parallel: 2", "false"),
        ] {
            let project = Project::new(&[
                (".taskmaster/tm.yaml", &format!("compat: {{ agent_alchemy: {asked} }}\nwaves: {{ max_parallel: 7 }}")),
                (".claude/agent-alchemy.local.md", &format!("---\n{matter}\n---\n# Notes\n")),
            ]);
            let settings = load(&project.inputs()).expect("settings").settings;
            assert_eq!(settings.waves.max_parallel.get(), if asked == "true" { 2 } else { 7 });
        }
    }

    #[test]
    fn a_variable_that_is_nearly_a_setting_is_told_and_others_are_left_alone() {
        let mut inputs = Project::new(&[]).inputs();
        inputs.environment = vec![("TM_WAVES_MAX_PARALEL".into(), "2".into()), ("TM_TASK_ID".into(), "1".into())];
        let warnings = load(&inputs).expect("settings").warnings;
        assert_eq!(warnings, ["`TM_WAVES_MAX_PARALEL` is not a setting; did you mean `TM_WAVES_MAX_PARALLEL`?"]);
    }

    #[test]
    fn the_schema_has_every_setting() {
        let schema = schema().to_string();
        for setting in load(&Project::new(&[]).inputs()).expect("settings").explained {
            let name = setting.key.rsplit('.').next().expect("a name").to_owned();
            assert!(schema.contains(&format!("\"{name}\"")), "{name}");
        }
    }
}
