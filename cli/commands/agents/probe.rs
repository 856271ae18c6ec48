//! Whether an agent can be started: its program, its version, what it may do.

use super::live::Live;
use crate::advice::on_recipe;
use crate::failure::CommandFailure;
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
#[derive(Debug, Serialize)]
pub(super) struct Probe {
    pub(super) agent: String,
    /// Whether the settings use it.
    pub(super) used: bool,
    pub(super) program: Option<PathBuf>,
    pub(super) version: Option<String>,
    pub(super) account: Option<String>,
    pub(super) model: Option<String>,
    pub(super) permissions: Option<Permissions>,
    /// Why it can't be started.
    pub(super) problem: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) live: Option<Live>,
}

/// What it may do without asking.
#[derive(Debug, Serialize)]
pub(super) struct Permissions {
    mode: String,
    why: String,
}

impl Probe {
    /// Looks for the program and starts nothing.
    pub(super) fn without_starting(name: &str, settings: &Settings, used: bool) -> Self {
        let nothing = Self {
            agent: name.to_owned(),
            used,
            program: None,
            version: None,
            account: None,
            model: None,
            permissions: None,
            problem: None,
            hint: None,
            live: None,
        };
        let recipe = match recipe(name, settings) {
            Ok(recipe) => recipe,
            Err(error) => {
                return Self {
                    hint: on_recipe(&error),
                    problem: Some(format!("failed to {error}")),
                    ..nothing
                };
            }
        };
        let granted = recipe.granted().ok().flatten();
        let known = Self {
            account: Some(recipe.account()),
            model: recipe.model.clone(),
            permissions: granted.map(|granted| Permissions {
                mode: granted.mode.to_owned(),
                why: granted.why.to_owned(),
            }),
            ..nothing
        };
        match find_program(&recipe) {
            Ok(program) => Self {
                program: Some(program),
                ..known
            },
            Err(error) => {
                let failure = CommandFailure::from(error);
                Self {
                    problem: Some(format!("failed to {}", failure.message)),
                    hint: failure.hint,
                    ..known
                }
            }
        }
    }

    /// Whether everything that was looked at is fine.
    pub(super) fn is_good(&self) -> bool {
        self.problem.is_none() && self.live.as_ref().is_none_or(Live::is_good)
    }

    /// Returns what is known in one line, without the name.
    pub(super) fn line(&self) -> String {
        if let Some(problem) = &self.problem {
            return if self.used {
                problem.clone()
            } else {
                format!("not here: {problem}")
            };
        }
        let path = self.program.as_deref().map(Path::display);
        let mut parts: Vec<String> = path.map(|path| path.to_string()).into_iter().collect();
        parts.extend(self.version.clone());
        parts.extend(self.model.as_ref().map(|model| format!("model {model}")));
        parts.extend(
            self.permissions
                .as_ref()
                .map(|permissions| format!("permissions: {}", permissions.mode)),
        );
        parts.join(" · ")
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

/// Looks for the program, and has it say its version where its recipe knows how.
pub(super) async fn probe(
    name: &str,
    settings: &Settings,
    used: bool,
) -> Result<Probe, CommandFailure> {
    let mut probe = Probe::without_starting(name, settings, used);
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

/// The first line that the program prints when it is asked for its version; an error in words when it fails at that.
async fn version(
    program: &Path,
    recipe: &Recipe,
) -> Result<Result<Option<String>, String>, CommandFailure> {
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
    let first = said
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let first = tm_untrusted::line(&tm_untrusted::clean(first), VERSION_CHARACTERS);
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
