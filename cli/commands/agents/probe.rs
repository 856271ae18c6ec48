//! Whether an agent can be started: its program, its version, what it may do.

use super::live::Live;
use super::used;
use crate::advice::on_recipe;
use crate::failure::{CommandFailure, Result};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_app::find_program;
use tm_config::Settings;
use tm_executors::process::{Inherited, TreeCommand, run_captured};
use tm_presets::{Recipe, recipe};

/// How long a program may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// A version has so many characters at the most.
const VERSION_CHARACTERS: usize = 80;

/// What was found out about an agent. The keys of its JSON may be added to, never renamed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Probe {
    pub(crate) agent: String,
    /// Whether the settings use it.
    pub(crate) used: bool,
    program: Option<PathBuf>,
    version: Option<String>,
    account: Option<String>,
    model: Option<String>,
    permissions: Option<Permissions>,
    /// Why it can't be started.
    pub(crate) problem: Option<String>,
    hint: Option<String>,
    pub(super) live: Option<Live>,
}

/// What it may do without asking.
#[derive(Debug, Serialize)]
struct Permissions {
    mode: String,
    why: String,
}

impl Probe {
    /// Looks for the program and starts nothing.
    pub(crate) fn without_starting(name: &str, settings: &Settings) -> Self {
        let mut probe = Self {
            agent: name.to_owned(),
            used: used(settings).contains(name),
            ..Self::default()
        };
        let recipe = match recipe(name, settings) {
            Ok(recipe) => recipe,
            Err(error) => {
                probe.hint = on_recipe(&error);
                probe.problem = Some(format!("failed to {error}"));
                return probe;
            }
        };
        probe.account = Some(recipe.account());
        probe.permissions = recipe.granted().ok().flatten().map(|granted| Permissions {
            mode: granted.mode.to_owned(),
            why: granted.why.to_owned(),
        });
        match find_program(&recipe).map_err(CommandFailure::from) {
            Ok(program) => probe.program = Some(program),
            Err(failure) => {
                probe.problem = Some(format!("failed to {}", failure.message));
                probe.hint = failure.hint;
            }
        }
        probe.model = recipe.model;
        probe
    }

    /// Looks for the program, and has it say its version where its recipe knows how.
    pub(super) async fn with_version(name: &str, settings: &Settings) -> Result<Self> {
        let mut probe = Self::without_starting(name, settings);
        if let (Some(program), Ok(recipe)) = (&probe.program, recipe(name, settings)) {
            match version(program, &recipe).await? {
                Ok(version) => probe.version = version,
                Err(why) => {
                    probe.problem = Some(why);
                    probe.hint = Some("install it again, or look what it says yourself".to_owned());
                }
            }
        }
        Ok(probe)
    }

    /// Whether everything that was looked at is fine.
    pub(super) fn is_good(&self) -> bool {
        self.problem.is_none() && self.live.as_ref().is_none_or(Live::is_good)
    }

    /// Returns what is known in one line, without the name.
    pub(crate) fn line(&self) -> String {
        match &self.problem {
            Some(problem) if self.used => return problem.clone(),
            Some(problem) => return format!("not here: {problem}"),
            None => {}
        }
        let program = self.program.as_ref().map(|path| path.display().to_string());
        let model = self.model.as_ref().map(|model| format!("model {model}"));
        let permissions = self.permissions.as_ref();
        let permissions = permissions.map(|granted| format!("permissions: {}", granted.mode));
        let known = [program, self.version.clone(), model, permissions];
        known.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Returns everything for people.
    pub(super) fn report(&self) -> String {
        let sign = if self.is_good() { "ok  " } else { "BAD " };
        let mut text = format!("{sign}  {}  {}\n", self.agent, self.line());
        if let Some(permissions) = &self.permissions {
            let _ = writeln!(text, "        {}: {}", permissions.mode, permissions.why);
        }
        if let Some(live) = &self.live {
            let _ = writeln!(text, "        {}", live.line());
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "        hint: {hint}");
        }
        text
    }
}

/// The first line that the program prints when it is asked for its version; an error in words when it fails at that.
async fn version(
    program: &Path,
    recipe: &Recipe,
) -> Result<std::result::Result<Option<String>, String>> {
    if recipe.version.is_empty() {
        return Ok(Ok(None));
    }
    let scratch = tempfile::tempdir()?;
    let command = TreeCommand {
        program: program.into(),
        arguments: recipe.version.iter().map(Into::into).collect(),
        working_folder: scratch.path().to_owned(),
        inherited: Inherited::AllBut(recipe.dropped.clone()),
        ..TreeCommand::default()
    };
    let answer = run_captured(command, VERSION_LIMIT).await?;
    // Some say it where others only complain.
    let said = answer.stdout + &answer.stderr;
    let first = said.lines().map(str::trim).find(|line| !line.is_empty());
    let first = tm_untrusted::clean(first.unwrap_or_default());
    let first = tm_untrusted::line(&first, VERSION_CHARACTERS);
    Ok(match answer.status {
        Some(status) if status.success() => Ok(Some(first).filter(|line| !line.is_empty())),
        Some(status) => Err(format!(
            "it fails when it is asked for its version ({status}): {first}"
        )),
        None => Err(format!(
            "it does not say its version within {} seconds",
            VERSION_LIMIT.as_secs()
        )),
    })
}
