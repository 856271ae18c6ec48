//! One trivial task, done by an agent in a repository of its own that is thrown away, through `tm waves run` itself.

use crate::commands::demo::write;
use crate::display::json_text;
use crate::failure::Result;
use crate::project::open;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use tm_app::Project;
use tm_config::Settings;
use tm_executors::process::{TreeCommand, run_within};
use tm_reports::{Summary, TaskSummary};
use tm_scheduler::{CommitId, in_a_line};

/// How long the agent may take, and how long the run around it.
const AGENT_LIMIT: &str = "5m";
const RUN_LIMIT: Duration = Duration::from_mins(6);
/// What the task asks for.
const FILE: &str = "hello.txt";
const WORD: &str = "hello";

/// What came of the task.
#[derive(Debug, Serialize)]
pub(super) struct Live {
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

    pub(super) const fn is_good(&self) -> bool {
        self.passed
    }

    pub(super) fn line(&self) -> String {
        let mut line = match &self.problem {
            None => format!("did its task in {} s", self.seconds),
            Some(problem) => format!("did not do its task: {problem}"),
        };
        if let Some(tokens) = self.tokens {
            let _ = write!(line, ", {tokens} tokens");
        }
        if let Some(cost) = self.cost_usd {
            let _ = write!(line, ", ${cost:.4}");
        }
        if let Some(kept) = &self.kept {
            let _ = write!(line, "; everything is kept in {kept}");
        }
        line
    }
}

/// Has the agent do the task; whatever comes of it is told, not failed at.
pub(super) async fn live(name: &str, model: Option<&str>, settings: &Settings) -> Result<Live> {
    let folder = tempfile::Builder::new()
        .prefix("tm-agent-check-")
        .tempdir()?;
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
    let mut live = if run_within(&command, RUN_LIMIT).await?.is_some() {
        judged(&repository, &log)
    } else {
        let minutes = RUN_LIMIT.as_secs() / 60;
        Live::failed(format!("it was not over after {minutes} minutes"))
    };
    if !live.passed {
        live.kept = Some(folder.keep().display().to_string());
    }
    Ok(live)
}

/// Makes the repository, with the task and with what the settings say of agents.
fn prepare(repository: &Path, settings: &Settings) -> Result<()> {
    let mut agent = serde_json::to_value(&settings.agent)?;
    agent["by_phase"] = serde_json::json!({});
    agent["fallback"] = serde_json::json!([]);
    let own = serde_json::json!({
        "agent": agent,
        "agents": settings.agents,
        // Nothing of it is left once the folder is gone.
        "storage": {"location": "project"},
    });
    let backlog = serde_json::json!({"master": {"tasks": [{
        "id": 1,
        "title": format!("Write {FILE}"),
        "description": format!("Write the file `{FILE}` in the root of the repository. It holds the one word `{WORD}`."),
        "details": "Nothing else is asked for: no tests, no other file.",
        "status": "pending",
        "dependencies": [],
    }]}});
    let readme = "A repository in which an agent is tried out.\n";
    write(&repository.join("README.md"), readme)?;
    // JSON is YAML.
    write(&repository.join(".taskmaster/tm.yaml"), &json_text(&own)?)?;
    write(
        &repository.join(".taskmaster/tasks/tasks.json"),
        &json_text(&backlog)?,
    )?;
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
    Live::failed(error.map_or_else(
        || format!("failed to {}", failure.message),
        ToOwned::to_owned,
    ))
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
            let failure = task
                .failure
                .map_or("it did not land", tm_scheduler::Failure::as_str);
            let reason = task.reason.as_deref().map(in_a_line);
            let reason = reason.map(|reason| format!(": {reason}"));
            Some(format!("{failure}{}", reason.unwrap_or_default()))
        }
    }
}
