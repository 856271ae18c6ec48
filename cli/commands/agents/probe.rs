//! Whether an agent can be started: its program, its version, what it may do; and whether it does one trivial task, in a
//! repository of its own that is thrown away, through `tm waves run` itself.

use super::used;
use crate::advice::on_recipe;
use crate::commands::demo::write;
use crate::display::json_text;
use crate::failure::{CommandFailure, Result};
use crate::project::open;
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_app::{PlaceTrial, Project, find_program, place_of};
use tm_config::{RunsOn, Settings};
use tm_executors::process::{Inherited, TreeCommand, run_captured, run_within};
use tm_presets::{Recipe, recipe};
use tm_reports::{Summary, TaskSummary, laid_out};
use tm_scheduler::{CommitId, Failure, in_a_line};

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
    /// Where the settings start it, where that is not this machine: its program is looked for there, by a first job.
    on: Option<&'static str>,
    /// Where there a first job found its program.
    #[serde(skip)]
    found_on: Option<String>,
    version: Option<String>,
    account: Option<String>,
    model: Option<String>,
    permissions: Option<Permissions>,
    /// Why it can't be started.
    pub(crate) problem: Option<String>,
    hint: Option<String>,
    live: Option<Live>,
}

/// What it may do without asking.
#[derive(Debug, Serialize)]
struct Permissions {
    mode: String,
    why: String,
}

impl Probe {
    /// Looks for the program and starts nothing.
    pub(crate) fn without_starting(name: &str, settings: &Settings, root: &Path) -> Self {
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
        let place = Some(place_of(&recipe, settings)).filter(|_| probe.used);
        probe.on = place.filter(|on| *on != RunsOn::Local).map(RunsOn::name);
        match find_program(&recipe, root).map_err(CommandFailure::from) {
            _ if probe.on.is_some() => {}
            Ok(program) => probe.program = Some(program),
            Err(failure) => {
                probe.problem = Some(failure.to_string());
                probe.hint = failure.hint;
            }
        }
        probe.model = recipe.model;
        probe
    }

    /// Looks for the program, and has it say its version where its recipe knows how.
    pub(super) async fn with_version(name: &str, settings: &Settings, root: &Path) -> Result<Self> {
        let mut probe = Self::without_starting(name, settings, root);
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

    /// Has the agent do one small task.
    pub(super) async fn try_out(&mut self, model: Option<&str>, settings: &Settings) -> Result<()> {
        say!("`{}` is given one small task", self.agent);
        self.live = Some(live(&self.agent, model, settings).await?);
        Ok(())
    }

    /// Takes note of what a first job found where agents are started.
    pub(crate) fn looked_for(&mut self, trial: &PlaceTrial) {
        let is_there = self.on.is_some() && trial.agents.contains_key(&self.agent);
        self.found_on =
            (is_there && !self.is_missing_there(trial)).then(|| trial.tried.place.clone());
    }

    /// Whether a first job did not find its program where it is started.
    pub(crate) fn is_missing_there(&self, trial: &PlaceTrial) -> bool {
        let program = self.on.and_then(|_| trial.agents.get(&self.agent));
        program.is_some_and(|program| trial.tried.missing.contains(program))
    }

    /// Where it is started, when nobody has looked for its program there.
    pub(crate) fn place_unseen(&self) -> Option<&'static str> {
        self.on.filter(|_| self.found_on.is_none())
    }

    /// Whether everything that was looked at is fine.
    pub(super) fn is_good(&self) -> bool {
        self.problem.is_none() && self.live.as_ref().is_none_or(Live::is_good)
    }

    /// Whether its program is on this machine, and nothing is wrong with it.
    pub(crate) const fn is_here(&self) -> bool {
        self.program.is_some() && self.problem.is_none()
    }

    /// Returns what is known in one line, without the name.
    pub(crate) fn line(&self) -> String {
        match &self.problem {
            Some(problem) if self.used => return problem.clone(),
            Some(problem) => return format!("not here: {problem}"),
            None => {}
        }
        self.known().into_iter().flatten().join(" · ")
    }

    fn known(&self) -> [Option<String>; 5] {
        let program = self.program.as_ref().map(|path| path.display().to_string());
        let model = self.model.as_ref().map(|model| format!("model {model}"));
        let permissions = self.permissions.as_ref();
        let permissions = permissions.map(|granted| format!("permissions: {}", granted.mode));
        let on = self.on.map(|on| match &self.found_on {
            Some(place) => format!("started on {on}, found on {place}"),
            None => format!("started on {on}, not looked for here"),
        });
        [program, on, self.version.clone(), model, permissions]
    }

    /// Returns everything for people.
    pub(super) fn report(&self) -> String {
        let said = json!({"probe": self, "is_good": self.is_good(), "line": self.line()});
        laid_out("probe.txt", &said)
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

/// How long the agent may take, and how long the run around it.
const AGENT_LIMIT: &str = "5m";
const RUN_LIMIT: Duration = Duration::from_mins(6);
/// What the task asks for.
const FILE: &str = "hello.txt";
const WORD: &str = "hello";

/// What came of the task.
#[derive(Debug, Serialize)]
struct Live {
    passed: bool,
    /// Why not.
    problem: Option<String>,
    seconds: u64,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
    /// Where everything is kept when it did not pass.
    kept: Option<String>,
}

impl Live {
    const fn failed(problem: String) -> Self {
        Self {
            passed: false,
            problem: Some(problem),
            seconds: 0,
            tokens: None,
            cost_usd: None,
            kept: None,
        }
    }

    const fn is_good(&self) -> bool {
        self.passed
    }
}

/// Has the agent do the task; whatever comes of it is told, not failed at.
async fn live(name: &str, model: Option<&str>, settings: &Settings) -> Result<Live> {
    let folder = tempfile::TempDir::with_prefix("tm-agent-check-")?;
    let repository = folder.path().join("repository");
    prepare(&repository, settings)?;
    let log = folder.path().join("run.log");
    let fixed = "waves run --yes --allow-broken-base --tdd off --retries 0 --agent";
    let model = model.map(|model| ["--model", model]);
    let words = fixed
        .split(' ')
        .chain([name, "--timeout", AGENT_LIMIT])
        .chain(model.into_iter().flatten());
    let marker = folder.path().display().to_string();
    let command = TreeCommand {
        program: std::env::current_exe()?.into(),
        arguments: words.map(Into::into).collect(),
        working_folder: repository.clone(),
        stdout: log.clone(),
        stderr: log.clone(),
        env_markers: vec![("TM_AGENT_CHECK".to_owned(), marker)],
        ..TreeCommand::default()
    };
    let mut live = match run_within(&command, RUN_LIMIT).await? {
        Some(_) => judged(&repository, &log),
        None => Live::failed(format!(
            "it was not over after {} minutes",
            RUN_LIMIT.as_secs() / 60
        )),
    };
    if !live.passed {
        live.kept = Some(folder.keep().display().to_string());
    }
    Ok(live)
}

/// Makes the repository, with the task and with what the settings say of agents.
fn prepare(repository: &Path, settings: &Settings) -> Result<()> {
    let mut agent = serde_json::to_value(&settings.agent)?;
    agent["by_phase"] = json!({});
    agent["fallback"] = json!([]);
    let own = json!({
        "agent": agent,
        "agents": settings.agents,
        // Nothing of it is left once the folder is gone.
        "storage": {"location": "project"},
    });
    let backlog = json!({"master": {"tasks": [{
        "id": 1,
        "title": format!("Write {FILE}"),
        "description": format!("Write the file `{FILE}` in the root of the repository. It holds the one word `{WORD}`."),
        "details": "Nothing else is asked for: no tests, no other file.",
        "status": "pending",
        "dependencies": [],
    }]}});
    let readme = "A repository in which an agent is tried out.\n";
    for (path, text) in [
        ("README.md", readme),
        // JSON is YAML.
        (".taskmaster/tm.yaml", &json_text(&own)?),
        (".taskmaster/tasks/tasks.json", &json_text(&backlog)?),
    ] {
        write(&repository.join(path), text)?;
    }
    tm_worktrees::create_repository(repository, "Start")?;
    Ok(())
}

fn judged(repository: &Path, log: &Path) -> Live {
    let failure = match summary(repository) {
        Ok((project, summary)) => return of_summary(&project, &summary),
        Err(failure) => failure,
    };
    let said = tm_untrusted::read_beginning(log, 1024 * 1024).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let error = said.lines().find(|line| line.starts_with("error: "));
    Live::failed(error.map_or_else(|| failure.to_string(), ToOwned::to_owned))
}

fn summary(repository: &Path) -> Result<(Project, Summary)> {
    let project = open(repository)?;
    let (_, directory) = project.run(None)?;
    let summary = tm_store::run::read_json(&directory.summary_json())?;
    Ok((project, summary))
}

fn of_summary(project: &Project, summary: &Summary) -> Live {
    let Some(task) = summary.tasks.first() else {
        return Live::failed("the run had no task".to_owned());
    };
    let tip = CommitId::new(summary.integration_commit.clone());
    let text = project.repository.text_at(&tip, FILE).ok().flatten();
    let problem = problem(task, text.as_deref().map(str::trim));
    let last = task.attempts.last();
    let tokens = last.and_then(|attempt| attempt.tokens);
    Live {
        passed: problem.is_none(),
        problem,
        seconds: summary.wall_ms / 1_000,
        tokens: tokens.map(|tokens| tokens.input + tokens.output),
        cost_usd: last.and_then(|attempt| attempt.cost_usd),
        kept: None,
    }
}

/// What is wrong with the work, by what the file holds now.
fn problem(task: &TaskSummary, text: Option<&str>) -> Option<String> {
    match (task.landed, text) {
        (true, Some(WORD)) => None,
        (true, Some(other)) => {
            let beginning: String = other.chars().take(80).collect();
            Some(format!("`{FILE}` holds {beginning:?}"))
        }
        (true, None) => Some(format!("`{FILE}` is not there")),
        (false, _) => {
            let failure = task.failure.map_or("it did not land", Failure::as_str);
            Some(match task.reason.as_deref().map(in_a_line) {
                Some(reason) => format!("{failure}: {reason}"),
                None => failure.to_owned(),
            })
        }
    }
}
