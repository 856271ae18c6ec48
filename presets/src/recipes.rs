//! Recipes: how each agent is started. A user's recipe adds to the built-in one of the same name, key by key.

use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use tm_config::{AgentRecipe, PromptBy, Settings, StopBy};

/// The built-in recipes.
const BUILT_IN: [(&str, &str); 6] = [
    ("claude", include_str!("../agents/claude.yaml")),
    ("codex", include_str!("../agents/codex.yaml")),
    ("custom", include_str!("../agents/custom.yaml")),
    ("gemini", include_str!("../agents/gemini.yaml")),
    ("opencode", include_str!("../agents/opencode.yaml")),
    ("replay", include_str!("../agents/replay.yaml")),
];

/// How an agent is started.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The agent's name.
    pub name: String,
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// Arguments that are added when a model is set.
    pub model_arguments: Vec<String>,
    /// How it gets its prompt.
    pub prompt: PromptBy,
    /// Variables to set, with placeholders.
    pub environment: BTreeMap<String, String>,
    /// Variables to leave out.
    pub dropped: Vec<String>,
    /// Texts in its output that tell of a rate limit.
    pub rate_limited: Vec<String>,
    /// Texts in its output that tell of refused credentials.
    pub auth: Vec<String>,
    /// The signal that asks it to stop.
    pub stop: StopBy,
}

/// What stands for each placeholder, by name without braces.
pub type Placeholders = BTreeMap<&'static str, String>;

/// Returns the names of all agents, built in or the user's.
pub fn recipe_names(settings: &Settings) -> BTreeSet<String> {
    BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).chain(settings.agents.keys().cloned()).collect()
}

/// Returns the recipe of an agent.
///
/// # Errors
/// There is no agent of that name, or its recipe has no command.
pub fn recipe(name: &str, settings: &Settings) -> Result<Recipe, Error> {
    let built_in = BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, yaml)| serde_yaml::from_str::<AgentRecipe>(yaml).expect("a built-in recipe is valid"));
    let own = settings.agents.get(name).cloned();
    if built_in.is_none() && own.is_none() {
        let known: Vec<String> = recipe_names(settings).iter().map(|name| format!("`{name}`")).collect();
        return Err(Error::UnknownAgent { name: name.to_owned(), known: known.join(", ") });
    }
    merged(name, built_in.unwrap_or_default(), own.unwrap_or_default())
}

fn merged(name: &str, base: AgentRecipe, own: AgentRecipe) -> Result<Recipe, Error> {
    let command = own.command.or(base.command).map(|command| command.words()).unwrap_or_default();
    if command.is_empty() {
        return Err(Error::NoCommand { name: name.to_owned() });
    }
    let longer = |mut base: Vec<String>, own: Vec<String>| {
        base.extend(own);
        base
    };
    Ok(Recipe {
        name: name.to_owned(),
        command,
        model_arguments: own.model_arguments.or(base.model_arguments).unwrap_or_default(),
        prompt: own.prompt.or(base.prompt).unwrap_or(PromptBy::Stdin),
        environment: base.env.into_iter().chain(own.env).collect(),
        dropped: longer(base.drop, own.drop),
        rate_limited: longer(base.rate_limited, own.rate_limited),
        auth: longer(base.auth, own.auth),
        stop: own.stop.or(base.stop).unwrap_or(StopBy::Term),
    })
}

impl Recipe {
    /// Returns program and arguments with the placeholders filled in; each stays one argument whatever it holds.
    ///
    /// # Errors
    /// A placeholder is not known.
    pub fn command_line(&self, placeholders: &Placeholders, model: Option<&str>) -> Result<Vec<String>, Error> {
        let mut placeholders = placeholders.clone();
        let mut words: Vec<&String> = self.command.iter().collect();
        if let Some(model) = model {
            placeholders.insert("model", model.to_owned());
            // A prompt that stands last in the command stays last.
            let keeps_last = words.last().is_some_and(|last| *last == "-" || last.contains("{prompt}"));
            let place = words.len() - usize::from(keeps_last);
            words.splice(place..place, &self.model_arguments);
        }
        words.into_iter().map(|word| self.fill(word, &placeholders)).collect()
    }

    /// Returns the variables to set, with the placeholders filled in.
    ///
    /// # Errors
    /// A placeholder is not known.
    pub fn environment(&self, placeholders: &Placeholders) -> Result<Vec<(String, String)>, Error> {
        self.environment.iter().map(|(name, value)| Ok((name.clone(), self.fill(value, placeholders)?))).collect()
    }

    /// Fills in `{name}`; braces that hold no plain name, as in a script, stay as they are.
    fn fill(&self, text: &str, placeholders: &Placeholders) -> Result<String, Error> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, from_brace) = rest.split_at(start);
            filled.push_str(before);
            let name_length = from_brace[1..].find(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
            let length = name_length.unwrap_or(from_brace.len() - 1);
            let is_variable = before.ends_with('$');
            if length == 0 || is_variable || from_brace.as_bytes().get(length + 1) != Some(&b'}') {
                filled.push('{');
                rest = &from_brace[1..];
                continue;
            }
            let name = &from_brace[1..=length];
            match placeholders.get(name) {
                Some(value) => filled.push_str(value),
                None => return Err(self.unknown_placeholder(name, placeholders)),
            }
            rest = &from_brace[length + 2..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn unknown_placeholder(&self, placeholder: &str, placeholders: &Placeholders) -> Error {
        let known: Vec<String> = placeholders.keys().map(|name| format!("`{{{name}}}`")).collect();
        Error::UnknownPlaceholder {
            name: self.name.clone(),
            placeholder: placeholder.to_owned(),
            known: known.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(yaml: &str) -> Settings {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("user.yaml");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(&path, yaml).expect("a file");
        let inputs = tm_config::Inputs { user_file: Some(path), ..tm_config::Inputs::default() };
        tm_config::load(&inputs).expect("settings").settings
    }

    fn placeholders() -> Placeholders {
        [("prompt_file", "/p".to_owned()), ("tm", "/bin/tm".to_owned())].into()
    }

    #[test]
    fn every_built_in_recipe_can_be_filled_in() {
        let settings = settings("agents: { custom: { command: \"true\" } }");
        for name in recipe_names(&settings) {
            let words =
                recipe(&name, &settings).expect("a recipe").command_line(&placeholders(), Some("m")).expect("words");
            assert!(words.iter().all(|word| !word.contains('{')), "{words:?}");
        }
    }

    #[test]
    fn a_users_recipe_adds_to_the_built_in_one() {
        let settings = settings("agents: { codex: { env: { A: b }, drop: [X] } }");
        let codex = recipe("codex", &settings).expect("a recipe");
        assert_eq!(codex.environment["A"], "b");
        let words = codex.command_line(&placeholders(), Some("m1")).expect("words");
        assert_eq!(words[words.len() - 3..], ["-m", "m1", "-"]);
    }

    #[test]
    fn placeholders_stay_within_one_argument_and_shell_braces_stay() {
        let settings = settings("agents: { mine: { command: [sh, -c, \"cat {prompt_file}; echo ${HOME} {} {A}\"] } }");
        let mine = recipe("mine", &settings).expect("a recipe");
        let hostile: Placeholders = [("prompt_file", "a b; {tm}".to_owned())].into();
        assert_eq!(mine.command_line(&hostile, None).expect("words")[2], "cat a b; {tm}; echo ${HOME} {} {A}");
    }

    #[test]
    fn what_can_not_be_started_is_said_with_what_there_is() {
        let settings = settings("agents: { mine: { command: \"{nope}\" } }");
        let unknown = recipe("clyde", &settings).expect_err("a refusal").to_string();
        assert!(unknown.starts_with("find the agent `clyde`; there are `claude`, `codex`"), "{unknown}");
        let nothing = recipe("custom", &settings).expect_err("a refusal").to_string();
        assert_eq!(nothing, "start the agent `custom`: it has no command");
        let mine = recipe("mine", &settings).expect("a recipe");
        let unknown = mine.command_line(&placeholders(), None).expect_err("a refusal").to_string();
        assert_eq!(unknown, "fill in `{nope}` for the agent `mine`; there are `{prompt_file}`, `{tm}`");
    }
}
