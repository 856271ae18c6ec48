//! `tm doctor`: everything that a run needs, with a hint for each finding.

use super::agents::load;
use super::plan::{OnArgument, how_read};
use super::{Perform, agent_findings, project_findings};
use crate::display::{print_json, print_text};
use crate::failure::{CommandFailure, ExitCode, Result};
use crate::flags::{Flags, word};
use crate::project::{open_with, root_around};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use tm_app::{
    Error, PlanOrder, Project, Trial, check_gates, hooks, parts, signing, test_command, try_hooks,
};
use tm_executors::testing::{detect_test_command, expected_reading};
use tm_reports::laid_out;
use tm_scheduler::counted;
use tm_scheduler::preflight::{Base, BaseState, Problem};
use tm_store::run::RunLock;

/// What findings on agents are about.
pub(super) const AGENT: &str = "agent";
/// Below so many bytes a run may not have room for its worktrees.
const LITTLE_SPACE: u64 = 1024 * 1024 * 1024;

/// `tm doctor`.
#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Make a fresh checkout of HEAD ready and run the tests there, as a run does before its first agent.
    #[arg(long)]
    tests: bool,
    /// Where set-ups, agents and tests are to run, instead of where the settings say; a first job is run there.
    #[arg(long, value_name = "ENGINE")]
    on: Option<OnArgument>,
    /// One JSON document on stdout.
    #[arg(long)]
    json: bool,
}

/// How a finding weighs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Good,
    Note,
    Bad,
}

/// One finding.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    what: &'static str,
    weight: Weight,
    found: String,
    hint: Option<String>,
}

impl Finding {
    fn new(what: &'static str, weight: Weight, found: impl Display, hint: Option<String>) -> Self {
        Self {
            what,
            weight,
            found: found.to_string(),
            hint,
        }
    }

    pub(super) fn good(what: &'static str, found: impl Display) -> Self {
        Self::new(what, Weight::Good, found, None)
    }

    pub(super) fn note(what: &'static str, found: impl Display, hint: impl Into<String>) -> Self {
        Self::new(what, Weight::Note, found, Some(hint.into()))
    }

    pub(super) fn bad(what: &'static str, found: impl Display, hint: impl Into<String>) -> Self {
        Self::new(what, Weight::Bad, found, Some(hint.into()))
    }

    pub(super) fn failed(what: &'static str, failure: impl Into<CommandFailure>) -> Self {
        let CommandFailure { message, hint, .. } = failure.into();
        Self::new(what, Weight::Bad, format!("failed to {message}"), hint)
    }

    /// What was found, or why it could not be.
    pub(super) fn of<T, E: Into<CommandFailure>>(
        what: &'static str,
        seen: Result<T, E>,
        found: impl FnOnce(T) -> Self,
    ) -> Self {
        seen.map_or_else(|failure| Self::failed(what, failure), found)
    }

    /// A finding for each of several, or why they can't be looked at.
    pub(super) fn each<T, E: Into<CommandFailure>>(
        what: &'static str,
        seen: Result<impl IntoIterator<Item = T>, E>,
        found: impl Fn(T) -> Self,
    ) -> Vec<Self> {
        match seen {
            Ok(all) => all.into_iter().map(found).collect(),
            Err(failure) => vec![Self::failed(what, failure)],
        }
    }
}

impl Perform for DoctorArguments {
    async fn perform(self, start: &Path) -> Result {
        let mut findings = vec![git(start)];
        let on = Flags::default().set("waves.on", "--on", word(self.on));
        let project = open_with(start, on.given());
        match &project {
            Ok(project) => findings.extend(of_project(project).await),
            Err(_) => findings
                .extend(agent_findings::findings(&load(start)?, &root_around(start), None).await),
        }
        let project = project.map_err(|failure| findings.push(Finding::failed("project", failure)));
        self.print(&findings);
        if let Ok(project) = &project {
            self.add(&mut findings, tried_hooks(project).await);
            if self.tests {
                if !self.json {
                    say!("making a fresh checkout ready and running the tests in it");
                }
                self.add(&mut findings, of_base(project).await?);
            }
        }
        if self.json {
            print_json(&findings)?;
        }
        let bad = findings
            .iter()
            .filter(|finding| finding.weight == Weight::Bad);
        let bad: BTreeSet<&str> = bad.map(|finding| finding.what).collect();
        Ok(if bad.contains(AGENT) {
            ExitCode::Refused.number()
        } else {
            u8::from(!bad.is_empty())
        })
    }
}

impl DoctorArguments {
    fn add(&self, findings: &mut Vec<Finding>, more: Vec<Finding>) {
        self.print(&more);
        findings.extend(more);
    }

    /// Prints findings for people; programs get all of them at the end.
    fn print(&self, findings: &[Finding]) {
        if !self.json {
            print_text(&laid_out("findings.txt", &findings));
        }
    }
}

fn git(start: &Path) -> Finding {
    match tm_worktrees::check_git(start) {
        Ok(version) => Finding::good("git", version),
        Err(error) => Finding::bad("git", error, "install git 2.38 or later"),
    }
}

async fn of_project(project: &Project) -> Vec<Finding> {
    let mut findings = vec![
        Finding::good("project", project.repository.checkout_root().display()),
        backlog(project),
    ];
    findings.extend(tests_of_parts(project));
    findings.extend(commits(project));
    findings.extend(gates(project));
    let (found, trial) = project_findings::findings(project).await;
    findings.extend(found);
    findings
        .extend(agent_findings::findings(&project.loaded, project.root(), trial.as_ref()).await);
    findings.extend([lock(project), storage(project)]);
    findings
}

fn backlog(project: &Project) -> Finding {
    let planned = tm_app::plan(&project.for_looking(), &PlanOrder::default());
    Finding::of("backlog", planned, |planned| {
        let counts = format!(
            "{}: tag `{}`, {}, {} planned in {}",
            planned.source.path().display(),
            planned.backlog.tag,
            counted(planned.backlog.tasks.len(), "task"),
            planned.plan.rows().len(),
            counted(planned.plan.waves().len(), "wave")
        );
        Finding::good("backlog", counts)
    })
}

/// The gates of the settings; none where there are none.
fn gates(project: &Project) -> Vec<Finding> {
    let settings = &project.loaded.settings;
    let gates = check_gates(project).map(|()| &settings.gates);
    Finding::each("gate", gates, |gate| Finding::good("gate", &gate.name))
}

/// Whether commits can be made: hooks and signing.
fn commits(project: &Project) -> Vec<Finding> {
    let mut findings = Finding::each("hook", hooks(project), |seen| trial("hook", seen));
    findings.push(signed(project));
    findings
}

fn signed(project: &Project) -> Finding {
    Finding::of("signing", signing(project), |seen| trial("signing", seen))
}

fn trial(what: &'static str, seen: Trial) -> Finding {
    match seen {
        Trial::Good(found) => Finding::good(what, found),
        Trial::NotExecutable(hook) => {
            let (name, path) = (hook.name, hook.path.display());
            let found = format!("`{name}` ({path}) is not executable, so git leaves it out");
            Finding::note(what, found, format!("`chmod +x {path}` has git run it"))
        }
        Trial::Refused(words) => Finding::bad(
            what,
            words,
            "commit once by hand to see all that it says; `git.hooks: off` in .taskmaster/tm.yaml has tm's commits run none, \
             `commit` leaves out those of REDs",
        ),
        Trial::Bad(failure) => Finding::failed(what, failure),
    }
}

/// What the hooks say when they are run once.
async fn tried_hooks(project: &Project) -> Vec<Finding> {
    let tried = try_hooks(&project.for_looking()).await;
    Finding::each("hook", tried, |seen| trial("hook", seen))
}

/// The test command of the project, or those of its parts and of all else.
fn tests_of_parts(project: &Project) -> Vec<Finding> {
    match parts(project) {
        Ok(parts) if parts.is_empty() => vec![tests(project)],
        parts => Finding::each("tests", parts.map(|parts| parts.lines()), |line| {
            Finding::good("tests", line)
        }),
    }
}

fn tests(project: &Project) -> Finding {
    let root = project.repository.checkout_root();
    let Some(command) = test_command(project) else {
        let found = "there is no test command, and none was found";
        return Finding::bad(
            "tests",
            found,
            "set `test.command` in .taskmaster/tm.yaml; without one only `--tdd off --allow-broken-base` can run, and little is proven",
        );
    };
    let is_set = project.loaded.settings.test.command.is_some();
    let because = match detect_test_command(root).filter(|_| !is_set) {
        Some(found) => format!("found by {}", found.because),
        None => "from the settings".to_owned(),
    };
    let results = how_read(&command, expected_reading(&command, root), root);
    Finding::good(
        "tests",
        format!("{command} ({because}); results: {results}"),
    )
}

/// What a run sees before its first agent.
async fn of_base(project: &Project) -> Result<Vec<Finding>> {
    let preflight = match tm_app::look_at_head(project).await {
        Ok(preflight) => preflight,
        Err(error @ Error::Git(_)) => return Ok(vec![Finding::failed("base", error)]),
        Err(error) => return Err(error.into()),
    };
    let good = preflight
        .lines()
        .into_iter()
        .zip(&preflight.bases)
        .filter(|_| preflight.is_good())
        .map(|(line, base)| measured(&line, base));
    let bad = preflight.problems.iter().map(wrong);
    Ok(good.chain(bad).collect())
}

fn wrong(problem: &Problem) -> Finding {
    let mut found = format!("{}: {}", problem.check, problem.what);
    for line in &problem.last_lines {
        found = found + "\n" + line;
    }
    Finding::bad("base", found, &problem.hint)
}

fn measured(line: &str, base: &Base) -> Finding {
    let line = line.strip_prefix("base: ").unwrap_or(line);
    match (base.state, &base.advice) {
        (BaseState::NoTestsYet, _) => {
            Finding::note("base", line, "the first work on it has to bring some")
        }
        (BaseState::Runs | BaseState::Broken, Some(advice)) if base.failed > 0 => {
            Finding::note("base", line, advice)
        }
        (BaseState::Runs | BaseState::Broken, _) => Finding::good("base", line),
    }
}

fn lock(project: &Project) -> Finding {
    Finding::of(
        "lock",
        RunLock::holder(&project.directory),
        |holder| match holder {
            None => Finding::good("lock", "free"),
            Some(holder) => Finding::note(
                "lock",
                format!("a run is live: {holder}"),
                "`tm waves status` shows it",
            ),
        },
    )
}

fn storage(project: &Project) -> Finding {
    let path = project.directory.path();
    let place = path.display();
    if let Err(error) = tempfile::NamedTempFile::new_in(path) {
        return Finding::bad("storage", format!("{place}: {error}"), "set TM_HOME");
    }
    match rustix::fs::statvfs(path) {
        Ok(system) => space(&place, system.f_bavail.saturating_mul(system.f_frsize)),
        Err(error) => Finding::note("storage", std::io::Error::from(error), "set TM_HOME"),
    }
}

fn space(place: impl Display, free: u64) -> Finding {
    if free < LITTLE_SPACE {
        let found = format!("{place}, {} MiB free", free / 1024 / 1024);
        return Finding::note("storage", found, "free some space, or set TM_HOME");
    }
    Finding::good(
        "storage",
        format!("{place}, {} GiB free", free / LITTLE_SPACE),
    )
}
