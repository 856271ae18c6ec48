//! `tm doctor`: everything that a run needs, with a hint for each finding.

use crate::arguments::DoctorArguments;
use crate::display::{print_data, print_json, print_line};
use crate::failure::CommandFailure;
use crate::project::open;
use serde::Serialize;
use std::path::Path;
use tm_app::{
    Error, PlanOrder, Project, Trial, check_gates, find_program, hooks, parts, signing,
    test_command,
};
use tm_executors::testing::{
    Reading, TestCommand, detect_test_command, expected_reading, how_to_report,
};
use tm_scheduler::preflight::BaseState;
use tm_store::run::RunLock;

/// Below so many bytes a run may not have room for its worktrees.
const LITTLE_SPACE: u64 = 1024 * 1024 * 1024;

/// How a finding weighs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Weight {
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
    pub(super) fn good(what: &'static str, found: impl std::fmt::Display) -> Self {
        Self {
            what,
            weight: Weight::Good,
            found: found.to_string(),
            hint: None,
        }
    }

    pub(super) fn with_hint(
        what: &'static str,
        weight: Weight,
        found: impl std::fmt::Display,
        hint: &str,
    ) -> Self {
        Self {
            what,
            weight,
            found: found.to_string(),
            hint: Some(hint.to_owned()),
        }
    }

    fn failed(what: &'static str, failure: impl Into<CommandFailure>) -> Self {
        let failure = failure.into();
        let found = format!("failed to {}", failure.message);
        Self {
            what,
            weight: Weight::Bad,
            found,
            hint: failure.hint,
        }
    }
}

pub(crate) async fn doctor(
    start: &Path,
    arguments: &DoctorArguments,
) -> Result<u8, CommandFailure> {
    let mut findings = vec![git()];
    let project = match open(start, Vec::new()) {
        Ok(project) => {
            of_project(&project, &mut findings);
            Some(project)
        }
        Err(failure) => {
            findings.push(Finding::failed("project", failure));
            None
        }
    };
    if !arguments.json {
        print(&findings);
    }
    if let Some(project) = project.filter(|_| arguments.tests) {
        if !arguments.json {
            print_line("making a fresh checkout ready and running the tests in it");
        }
        let of_base = of_base(&project).await?;
        if !arguments.json {
            print(&of_base);
        }
        findings.extend(of_base);
    }
    if arguments.json {
        print_json(&findings)?;
    }
    Ok(u8::from(
        findings.iter().any(|finding| finding.weight == Weight::Bad),
    ))
}

fn print(findings: &[Finding]) {
    for finding in findings {
        let sign = match finding.weight {
            Weight::Good => "ok  ",
            Weight::Note => "note",
            Weight::Bad => "BAD ",
        };
        print_data(&format!("{sign}  {:8}  {}\n", finding.what, finding.found));
        if let Some(hint) = &finding.hint {
            print_data(&format!("                hint: {hint}\n"));
        }
    }
}

fn git() -> Finding {
    match tm_worktrees::check_git() {
        Ok(version) => Finding::good("git", version),
        Err(error) => Finding::with_hint("git", Weight::Bad, error, "install git 2.38 or later"),
    }
}

fn of_project(project: &Project, findings: &mut Vec<Finding>) {
    findings.push(Finding::good(
        "project",
        project.repository.checkout_root().display(),
    ));
    match tm_app::plan(&project.for_looking(), &PlanOrder::default()) {
        Ok(planned) => {
            let counts = format!(
                "{}: tag `{}`, {} tasks, {} planned in {} waves",
                planned.source.path().display(),
                planned.backlog.tag,
                planned.backlog.tasks.len(),
                planned.plan.tasks.len(),
                planned.plan.waves().len()
            );
            findings.push(Finding::good("backlog", counts));
        }
        Err(failure) => findings.push(Finding::failed("backlog", failure)),
    }
    findings.extend(tests_of_parts(project));
    commits(project, findings);
    gates(project, findings);
    findings.extend(super::surroundings::findings(project));
    agents(project, findings);
    findings.push(lock(project));
    findings.push(storage(project));
}

/// The gates of the settings; none where there are none.
fn gates(project: &Project, findings: &mut Vec<Finding>) {
    let settings = &project.loaded.settings;
    match check_gates(settings) {
        Ok(()) => findings.extend(
            settings
                .gates
                .iter()
                .map(|gate| Finding::good("gate", &gate.name)),
        ),
        Err(failure) => findings.push(Finding::failed("gate", failure)),
    }
}

/// Whether commits can be made: hooks and signing.
fn commits(project: &Project, findings: &mut Vec<Finding>) {
    let of = |what, trial| match trial {
        Trial::Good(found) => Finding::good(what, found),
        Trial::NotExecutable(hook) => {
            let path = hook.path.display();
            let found = format!(
                "`{}` ({path}) is not executable, so git leaves it out",
                hook.name
            );
            Finding::with_hint(
                what,
                Weight::Note,
                found,
                &format!("`chmod +x {path}` has git run it"),
            )
        }
        Trial::Bad(failure) => Finding::failed(what, failure),
    };
    match hooks(project) {
        Ok(trials) => findings.extend(trials.into_iter().map(|trial| of("hook", trial))),
        Err(failure) => findings.push(Finding::failed("hook", failure)),
    }
    findings.push(signing(project).map_or_else(
        |failure| Finding::failed("signing", failure),
        |trial| of("signing", trial),
    ));
}

/// The test command of the project, or those of its parts and of all else.
fn tests_of_parts(project: &Project) -> Vec<Finding> {
    match parts(project) {
        Ok(parts) if parts.is_empty() => vec![tests(project)],
        Ok(parts) => parts
            .lines()
            .into_iter()
            .map(|line| Finding::good("tests", line))
            .collect(),
        Err(failure) => vec![Finding::failed("tests", failure)],
    }
}

fn tests(project: &Project) -> Finding {
    let hint = "set `test.command` in .taskmaster/tm.yaml; without one only `--tdd off --allow-broken-base` can run, and little is proven";
    match test_command(project) {
        Some(command) => {
            let found = detect_test_command(project.repository.checkout_root());
            let because = match (&project.loaded.settings.test.command, found) {
                (None, Some(found)) => format!(" (found by {})", found.because),
                (Some(_), _) | (None, None) => " (from the settings)".to_owned(),
            };
            let root = project.repository.checkout_root();
            Finding::good(
                "tests",
                format!("{command}{because}; results: {}", results(&command, root)),
            )
        }
        None => Finding::with_hint(
            "tests",
            Weight::Bad,
            "there is no test command, and none was found",
            hint,
        ),
    }
}

/// How results are read, as far as it is known before a run.
fn results(command: &TestCommand, root: &Path) -> String {
    let reading = expected_reading(command, root);
    match reading {
        Reading::PerTest => reading.as_str().to_owned(),
        Reading::ByLooking | Reading::ExitStatusOnly => {
            format!("{}; {}", reading.as_str(), how_to_report(command, root))
        }
    }
}

/// What a run sees before its first agent.
async fn of_base(project: &Project) -> Result<Vec<Finding>, CommandFailure> {
    let preflight = match tm_app::look_at_head(project).await {
        Ok(preflight) => preflight,
        Err(error @ Error::Git(_)) => return Ok(vec![Finding::failed("base", error)]),
        Err(error) => return Err(error.into()),
    };
    let good = preflight
        .lines()
        .into_iter()
        .filter(|_| preflight.is_good());
    let good = good.zip(&preflight.bases).map(|(line, base)| {
        let line = line.strip_prefix("base: ").unwrap_or(&line);
        match base.state {
            BaseState::NoTestsYet => Finding::with_hint(
                "base",
                Weight::Note,
                line,
                "the first work on it has to bring some",
            ),
            BaseState::Runs | BaseState::Broken => match &base.advice {
                Some(advice) if base.failed > 0 => {
                    Finding::with_hint("base", Weight::Note, line, advice)
                }
                _ => Finding::good("base", line),
            },
        }
    });
    let bad = preflight.problems.iter().map(|problem| {
        let what = format!("{}: {}", problem.check, problem.what);
        let lines: Vec<&str> = std::iter::once(what.as_str())
            .chain(problem.last_lines.iter().map(String::as_str))
            .collect();
        Finding::with_hint(
            "base",
            Weight::Bad,
            lines.join("\n                  "),
            &problem.hint,
        )
    });
    Ok(good.chain(bad).collect())
}

fn agents(project: &Project, findings: &mut Vec<Finding>) {
    let settings = &project.loaded.settings;
    for (name, line) in super::agents::found(settings) {
        findings.push(Finding::good("agent", format!("{name}: {line}")));
    }
    let chosen = settings.agent.for_phase("none");
    let found = tm_presets::recipe(chosen, settings).map_err(CommandFailure::from);
    findings.push(match found.and_then(|recipe| Ok(find_program(&recipe)?)) {
        Ok(path) => Finding::good(
            "agent",
            format!("`{chosen}` is the default: {}", path.display()),
        ),
        Err(failure) => Finding {
            weight: Weight::Note,
            ..Finding::failed("agent", failure)
        },
    });
}

fn lock(project: &Project) -> Finding {
    match RunLock::holder(&project.directory) {
        Ok(None) => Finding::good("lock", "free"),
        Ok(Some(holder)) => Finding::with_hint(
            "lock",
            Weight::Note,
            format!("a run is live: {holder}"),
            "`tm waves status` shows it",
        ),
        Err(error) => Finding::failed("lock", error),
    }
}

fn storage(project: &Project) -> Finding {
    let path = project.directory.path();
    let writable = tempfile::NamedTempFile::new_in(path).map(drop);
    if let Err(error) = writable {
        return Finding::with_hint(
            "storage",
            Weight::Bad,
            format!("{}: {error}", path.display()),
            "set TM_HOME",
        );
    }
    match rustix::fs::statvfs(path) {
        Ok(system) => {
            let free = system.f_bavail.saturating_mul(system.f_frsize);
            let found = format!("{}, {} MiB free", path.display(), free / 1024 / 1024);
            if free < LITTLE_SPACE {
                return Finding::with_hint(
                    "storage",
                    Weight::Note,
                    found,
                    "free some space, or set TM_HOME",
                );
            }
            Finding::good("storage", found)
        }
        Err(error) => Finding::with_hint(
            "storage",
            Weight::Note,
            std::io::Error::from(error),
            "set TM_HOME",
        ),
    }
}
