//! Recipes: how each agent is started. A user's recipe changes the built-in one of its name, part by part.
//!
//! Turns a recipe into words and variables; starting them is for others.

mod permissions;
mod program;

pub use permissions::Granted;

use crate::Error;
use crate::placeholders::{Placeholders, is_known, known_names};
use serde_yaml::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tm_config::{
    AgentCommand, AgentRecipe, AgentSandbox, Argument, PermissionMode, PromptDelivery, RunsOn,
    Settings,
};
use tm_scheduler::{NoValue, OutputFormat, StopSignal, fill, placeholders, quoted};

/// The built-in recipes.
const BUILT_IN: [(&str, &str); 10] = embedded!(
    "agents",
    ".yaml",
    [
        "acp", "aider", "claude", "cline", "codex", "custom", "gemini", "opencode", "qwen",
        "replay",
    ]
);

/// Variables that no agent gets: they are set when tm is started by a hook of git, and would send every call of git by
/// the agent to the repository and the index of the user.
const ALWAYS_DROPPED: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_WORK_TREE",
];

/// The longest argument that Linux passes on, without the byte that ends it (`MAX_ARG_STRLEN`).
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// How an agent is started and understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The agent's name.
    pub name: String,
    /// Program and arguments, with placeholders; `custom` has none until the user sets one.
    pub command: Option<AgentCommand>,
    /// The model: the recipe's own, else the one for all agents.
    pub model: Option<String>,
    /// How the agent gets its prompt.
    pub prompt: PromptDelivery,
    /// How its output is written.
    pub output: OutputFormat,
    /// Variables to set, with placeholders.
    pub environment: BTreeMap<String, String>,
    /// Variables that it does not get: names, or beginnings that end with `*`.
    pub dropped: Vec<String>,
    /// Words in its output that tell of a rate limit, whatever their case.
    pub rate_limited: Vec<String>,
    /// Words in its output that tell of refused credentials, whatever their case.
    pub auth: Vec<String>,
    /// The account behind it, when the settings name one; see `account()`.
    pub declared_account: Option<String>,
    /// What people are to do when its service refuses its credentials; empty when nobody knows.
    pub if_refused: String,
    /// What it needs where it is held.
    pub sandbox: AgentSandbox,
    /// What it may do without asking: the mode that is asked for; see `granted`.
    pub permissions: Option<String>,
    /// Whether that is asked for of this agent, and not of all.
    pub are_permissions_its_own: bool,
    /// The modes that it can be started in, by name.
    pub permission_modes: BTreeMap<String, PermissionMode>,
    /// Arguments that make its program print its version; none where nobody knows.
    pub version: Vec<String>,
    /// The signal that asks it to stop.
    pub stop: StopSignal,
    /// How long it may go on after its result, or after it was asked to stop, when the recipe says so itself.
    pub grace: Option<Duration>,
    /// Where it runs in runs, when the recipe says so itself.
    pub on: Option<RunsOn>,
}

/// Returns the names of all agents, built in or the user's.
pub fn recipe_names(settings: &Settings) -> BTreeSet<String> {
    BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .chain(settings.agents.keys().cloned())
        .collect()
}

/// Returns the recipes of all agents; one without a command is among them.
pub fn recipes(settings: &Settings) -> Result<BTreeMap<String, Recipe>, Error> {
    recipe_names(settings)
        .into_iter()
        .map(|name| Ok((name.clone(), resolved(&name, settings)?)))
        .collect()
}

/// Returns the recipe of an agent that can be started.
pub fn recipe(name: &str, settings: &Settings) -> Result<Recipe, Error> {
    let recipe = resolved(name, settings)?;
    recipe.words()?;
    recipe.granted()?;
    Ok(recipe)
}

fn resolved(name: &str, settings: &Settings) -> Result<Recipe, Error> {
    let mut written = written(name, settings, &mut BTreeSet::new())?;
    written.model = written.model.or_else(|| settings.agent.model.clone());
    let mut recipe = Recipe::of(name, written);
    recipe.are_permissions_its_own = recipe.permissions.is_some();
    recipe.permissions = recipe
        .permissions
        .or_else(|| settings.agent.permissions.clone());
    recipe.check()?;
    recipe.with_needs_of_program().spoken_with()
}

/// Returns everything that is written down about an agent, its own above the built-in above what it extends.
fn written(
    name: &str,
    settings: &Settings,
    seen: &mut BTreeSet<String>,
) -> Result<AgentRecipe, Error> {
    if !seen.insert(name.to_owned()) {
        return Err(Error::ExtendsItself {
            name: name.to_owned(),
        });
    }
    let built_in = built_in(name);
    let own = settings.agents.get(name).cloned();
    if built_in.is_none() && own.is_none() {
        return Err(unknown_agent(name, settings));
    }
    let recipe = over(&own.unwrap_or_default(), &built_in.unwrap_or_default());
    match &recipe.extends {
        Some(base) => Ok(over(&recipe, &written(base, settings, seen)?)),
        None => Ok(recipe),
    }
}

fn built_in(name: &str) -> Option<AgentRecipe> {
    let (_, yaml) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(serde_yaml::from_str(yaml).expect("a built-in recipe is valid"))
}

fn unknown_agent(name: &str, settings: &Settings) -> Error {
    Error::UnknownAgent {
        name: name.to_owned(),
        known: quoted(recipe_names(settings)),
    }
}

/// Returns what is written above, and below where nothing is; maps have the entries of both.
fn over(upper: &AgentRecipe, lower: &AgentRecipe) -> AgentRecipe {
    let value = |recipe| serde_yaml::to_value(recipe).expect("a recipe can be written");
    let mut written = value(lower);
    put_over(&mut written, value(upper));
    serde_yaml::from_value(written).expect("what was written can be read")
}

fn put_over(lower: &mut Value, upper: Value) {
    match (lower, upper) {
        (_, Value::Null) => {}
        (Value::Mapping(lower), Value::Mapping(upper)) => {
            for (name, value) in upper {
                put_over(lower.entry(name).or_insert(Value::Null), value);
            }
        }
        (lower, upper) => *lower = upper,
    }
}

impl Recipe {
    fn of(name: &str, written: AgentRecipe) -> Self {
        let always_dropped = ALWAYS_DROPPED.iter().map(|name| (*name).to_owned());
        Self {
            name: name.to_owned(),
            command: written.command,
            model: written.model,
            prompt: match written.output {
                Some(OutputFormat::Acp) => PromptDelivery::Stdin,
                _ => written.prompt.unwrap_or(PromptDelivery::Stdin),
            },
            output: written.output.unwrap_or_default(),
            environment: written
                .env
                .into_iter()
                .map(|(name, value)| (name, value.as_str().to_owned()))
                .collect(),
            dropped: always_dropped
                .chain(written.drop.unwrap_or_default())
                .collect(),
            rate_limited: written.refusal.rate_limited.unwrap_or_default(),
            auth: written.refusal.auth.unwrap_or_default(),
            declared_account: written.account,
            if_refused: written.if_refused.unwrap_or_default(),
            on: written.on,
            sandbox: written.sandbox,
            permissions: written.permissions,
            are_permissions_its_own: false,
            permission_modes: written.permission_modes,
            version: written.version.unwrap_or_default(),
            stop: written.polite_stop.unwrap_or_default(),
            grace: written.grace,
        }
    }

    /// Returns program and arguments, filled in; each stays one argument whatever it holds.
    ///
    /// A prompt that is passed as an argument and has no place in
    /// the command stands at its end.
    pub fn command_line(&self, placeholders: &Placeholders) -> Result<Vec<String>, Error> {
        let values = self.with_model(placeholders);
        let mut line = match self.words()? {
            AgentCommand::Shell(text) => ["sh", "-c", text, "sh"].map(str::to_owned).to_vec(),
            AgentCommand::Arguments(arguments) => self.filled(arguments, &values)?,
        };
        if self.prompt == PromptDelivery::Arg && !self.mentions("prompt") {
            line.push(self.fill("{prompt}", &values)?);
        }
        match line
            .iter()
            .map(String::len)
            .find(|bytes| *bytes > LONGEST_ARGUMENT)
        {
            Some(bytes) => Err(Error::TooLong {
                name: self.name.clone(),
                bytes,
                limit: LONGEST_ARGUMENT,
            }),
            None => Ok(line),
        }
    }

    /// Returns the variables to set, filled in.
    pub fn environment(&self, placeholders: &Placeholders) -> Result<Vec<(String, String)>, Error> {
        let values = self.with_model(placeholders);
        self.environment
            .iter()
            .map(|(name, value)| Ok((name.clone(), self.fill(value, &values)?)))
            .collect()
    }

    fn words(&self) -> Result<&AgentCommand, Error> {
        self.command.as_ref().ok_or_else(|| Error::NoCommand {
            name: self.name.clone(),
        })
    }

    fn with_model(&self, placeholders: &Placeholders) -> Placeholders {
        let mut values = placeholders.clone();
        if let Some(model) = &self.model {
            values.insert("model", model.clone());
        }
        values
    }

    fn filled(&self, arguments: &[Argument], values: &Placeholders) -> Result<Vec<String>, Error> {
        let mut line = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Single(text) if text == permissions::PLACE => {
                    for text in self
                        .granted()?
                        .map(|granted| granted.arguments)
                        .unwrap_or_default()
                    {
                        line.push(self.fill(text, values)?);
                    }
                }
                Argument::Single(text) => line.push(self.fill(text, values)?),
                Argument::Optional(texts) => {
                    let filled: Result<Vec<String>, NoValue> =
                        texts.iter().map(|text| fill(text, values)).collect();
                    line.extend(filled.unwrap_or_default());
                }
            }
        }
        Ok(line)
    }

    fn fill(&self, text: &str, values: &Placeholders) -> Result<String, Error> {
        fill(text, values).map_err(|NoValue { placeholder, .. }| Error::NoValue {
            name: self.name.clone(),
            placeholder,
        })
    }

    fn mentions(&self, placeholder: &str) -> bool {
        self.texts()
            .iter()
            .any(|text| placeholders(text).any(|name| name == placeholder))
    }

    /// Returns every text of the command in which placeholders are filled in.
    fn texts(&self) -> Vec<&str> {
        let Some(AgentCommand::Arguments(arguments)) = &self.command else {
            return Vec::new();
        };
        let texts = arguments.iter().flat_map(|argument| match argument {
            Argument::Single(text) => std::slice::from_ref(text),
            Argument::Optional(texts) => texts,
        });
        let of_modes = self
            .permission_modes
            .values()
            .flat_map(|mode| &mode.arguments);
        texts
            .chain(of_modes)
            .map(String::as_str)
            .filter(|text| *text != permissions::PLACE)
            .collect()
    }

    /// Refuses placeholders that tm does not know, and any that a shell would read.
    fn check(&self) -> Result<(), Error> {
        let values = self.environment.values().map(String::as_str);
        let mut all = self
            .texts()
            .into_iter()
            .chain(values)
            .flat_map(placeholders);
        if let Some(placeholder) = all.find(|name| !is_known(name)) {
            return Err(Error::UnknownPlaceholder {
                name: self.name.clone(),
                placeholder: placeholder.to_owned(),
                known: known_names(),
            });
        }
        let Some(AgentCommand::Shell(line)) = &self.command else {
            return Ok(());
        };
        // Other braces in it are the shell's own.
        match placeholders(line).find(|name| is_known(name)) {
            Some(known) => Err(Error::PlaceholderInShell {
                variable: crate::placeholders::variable(known),
                name: self.name.clone(),
                placeholder: known.to_owned(),
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
