//! What `tm doctor` says of what lies around a project: what its checkouts are made ready with, and what git has of it.

use super::doctor::{AGENT, Finding};
use crate::advice::{INSTALL_THERE, untold_secret};
use crate::notices::placed;
use itertools::Itertools as _;
use tm_app::{PlaceTrial, Project, PullRequests};
use tm_executors::engine::{PlaceFinding, Soundness};
use tm_executors::tools::{FoundTool, propose};
use tm_scheduler::Bring;

/// Looks at everything, in the order in which a run needs it; tells also what a first job found where jobs of runs are
/// started, where that is not this machine.
pub(super) async fn findings(project: &Project) -> (Vec<Finding>, Option<PlaceTrial>) {
    let mut findings = vec![sandbox(project)];
    findings.extend(limits(project));
    findings.extend(secrets(project).await);
    findings.extend(ready(project));
    findings.extend(content(project));
    findings.extend(repository(project));
    findings.push(remote(project).await);
    let (found, trial) = place(project).await;
    findings.extend(found);
    (findings, trial)
}

/// Whether jobs run where those of runs are started, where that is not this machine.
async fn place(project: &Project) -> (Vec<Finding>, Option<PlaceTrial>) {
    let place = project.loaded.settings.waves.on;
    let looked_at = tm_app::look_at_place(project).await;
    let is_bad = |finding: &PlaceFinding| matches!(finding.soundness, Soundness::Bad(_));
    // Of the first job nothing new would be heard.
    let is_hopeless = looked_at.iter().any(is_bad);
    let mut findings: Vec<Finding> = looked_at.into_iter().map(of_place).collect();
    if is_hopeless {
        return (findings, None);
    }
    match tm_app::try_out_place(project).await {
        Ok(trial) => {
            let found = trial.as_ref().map(|trial| of_trial(place.name(), trial));
            findings.extend(found.into_iter().flatten());
            (findings, trial)
        }
        Err(error) => {
            findings.push(Finding::failed(place.name(), error));
            (findings, None)
        }
    }
}

/// What a first job in a place found, and which programs of agents it did not.
fn of_trial(place: &'static str, PlaceTrial { tried, agents }: &PlaceTrial) -> Vec<Finding> {
    let mut findings = vec![if tried.told.is_empty() {
        Finding::good(place, placed(tried))
    } else {
        Finding::note(place, placed(tried), SAME_TM)
    }];
    let missing = agents
        .iter()
        .filter(|(_, program)| tried.missing.contains(program));
    findings.extend(missing.map(|(agent, program)| {
        let found = format!("{agent}: there is no `{program}` on {}", tried.place);
        Finding::bad(AGENT, found, INSTALL_THERE)
    }));
    findings
}

fn of_place(finding: PlaceFinding) -> Finding {
    let PlaceFinding {
        what,
        found,
        soundness,
    } = finding;
    match soundness {
        Soundness::Good => Finding::good(what, found),
        Soundness::Note(hint) => Finding::note(what, found, hint),
        Soundness::Bad(hint) => Finding::bad(what, found, hint),
    }
}

/// What helps where tm is another one elsewhere.
const SAME_TM: &str = "install the same tm where jobs run, in the image where they are pods";

/// What helps where rules for ports let agents reach too many.
const BWRAP_KEEPS: &str = "with `sandbox.level: bwrap` they reach none but their own";

/// How agents, set-ups and tests are held.
fn sandbox(project: &Project) -> Finding {
    let executor = project.executor();
    let hint = "`sandbox.level: auto` in .taskmaster/tm.yaml takes what works here";
    let reach = project.reach_of_unheld();
    let Some(held) = executor.holding() else {
        let reach =
            reach.unwrap_or_else(|| "what runs in a worktree can change what you can".to_owned());
        return Finding::note("sandbox", format!("none: {reach}"), hint);
    };
    let remedy = held.refused.first().map(|refused| refused.remedy);
    let remedy = remedy.or(held.leak().map(|_| BWRAP_KEEPS));
    let found = [held.describe()].into_iter().chain(reach).join("; ");
    match (held.level, remedy) {
        (None, remedy) => Finding::bad("sandbox", found, remedy.unwrap_or(hint)),
        (Some(_), Some(remedy)) => Finding::note("sandbox", found, remedy),
        (Some(_), None) => Finding::good("sandbox", found),
    }
}

/// For whom limits of memory and of processes count, where jobs are held.
fn limits(project: &Project) -> Option<Finding> {
    let executor = project.executor();
    let limits = executor.holding().filter(|held| held.holds())?.limits;
    if limits.memory.is_none() && limits.processes.is_none() {
        return None;
    }
    Some(match tm_sandbox::delegated() {
        Some(group) => {
            let of = format!("of whole jobs, by control groups below {}", group.display());
            Finding::good("limits", of)
        }
        None => Finding::note(
            "limits",
            "of memory count for each process, those of processes as docs/sandbox.md says: no control group is delegated to tm",
            "`systemd-run --user --scope -p Delegate=yes tm waves run` has them count for a job as a whole",
        ),
    })
}

/// Whether commands tell what jobs are to be given; what they tell is not shown.
async fn secrets(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for secret in project.executor().secrets() {
        let (name, words) = (&secret.name, secret.words());
        findings.push(match secret.ask().await {
            Ok(()) => Finding::good("secret", format!("{name}: told by `{words}`")),
            Err(error) => {
                let found = format!("failed to {}", error.with_causes());
                Finding::bad("secret", found, untold_secret(name, &words))
            }
        });
    }
    findings
}

/// Whether the packages that the project depends on get into worktrees.
fn ready(project: &Project) -> Vec<Finding> {
    let settings = &project.loaded.settings.worktree;
    let is_prepared =
        settings.setup.is_some() || !settings.copy.is_empty() || !settings.link.is_empty();
    let finding = |tool: FoundTool| {
        let (what, program) = (format!("{} ({})", tool.name, tool.file), tool.program);
        let setup = tool.setup?;
        Some(if which::which(program).is_err() {
            Finding::note(
                "setup",
                format!("{what}: `{program}` is not there"),
                format!(
                    "install `{program}`, or set `worktree.setup` to what installs the packages"
                ),
            )
        } else if is_prepared {
            Finding::good(
                "setup",
                format!("{what}; worktrees are made ready by the settings"),
            )
        } else {
            Finding::note(
                "setup",
                format!("{what}, and nothing makes worktrees ready"),
                format!(
                    "worktree: {{ setup: \"{setup}\" }} in .taskmaster/tm.yaml; worktrees have no ignored files"
                ),
            )
        })
    };
    propose(project.repository.checkout_root())
        .found
        .into_iter()
        .filter_map(finding)
        .collect()
}

/// Submodules, and files that Git LFS keeps.
fn content(project: &Project) -> Vec<Finding> {
    let settings = &project.loaded.settings.worktree;
    let Ok(content) = project.repository.content_at_head() else {
        return Vec::new();
    };
    let names = content
        .submodules
        .iter()
        .map(|path| path.display())
        .join(", ");
    let submodules = (!content.submodules.is_empty()).then(|| {
        if settings.submodules == Bring::Off {
            let found = format!("submodules are left empty: {names}");
            Finding::note("content", found, "`worktree.submodules: auto` brings them")
        } else {
            Finding::good(
                "content",
                format!("submodules are brought into worktrees: {names}"),
            )
        }
    });
    let lfs = content
        .has_lfs
        .then(|| match (settings.lfs, which::which("git-lfs")) {
            (Bring::Off, _) => Finding::note(
                "content",
                "files that Git LFS keeps are left out",
                "`worktree.lfs: auto` brings them",
            ),
            (_, Ok(_)) => Finding::good(
                "content",
                "files that Git LFS keeps are brought into worktrees",
            ),
            (_, Err(_)) => Finding::bad(
                "content",
                "git-lfs, which keeps files of the project, is not there",
                "install git-lfs, or `worktree.lfs: off`",
            ),
        });
    submodules.into_iter().chain(lfs).collect()
}

/// What git has of the project.
fn repository(project: &Project) -> Vec<Finding> {
    let repository = &project.repository;
    let author = repository.is_nameless().then(|| {
        Finding::note(
            "author",
            "git knows no name: commits are by `tm <tm@localhost>`",
            "`git config user.name NAME` and `git config user.email ADDRESS`",
        )
    });
    let history = repository.is_shallow().unwrap_or(false).then(|| {
        Finding::note(
            "history",
            "the clone is shallow",
            "`git fetch --unshallow`, where something asks for history",
        )
    });
    let locks = repository.left_locks().into_iter().map(|lock| {
        let hint = format!("`rm {}`, where no git is at work", lock.path.display());
        Finding::note("git lock", lock, hint)
    });
    let broken = repository.broken_references().unwrap_or_default();
    let broken = broken.into_iter().map(|broken| {
        let hint = "`tm waves run` puts it back to what is there, or removes it";
        Finding::note("reference", broken, hint)
    });
    let found = author.into_iter().chain(history).chain(locks);
    found.chain(broken).collect()
}

/// Where work may be sent, and whether `gh` can open pull requests there.
async fn remote(project: &Project) -> Finding {
    let remotes = project.repository.remotes().unwrap_or_default().join(", ");
    let (lack, hint) = if remotes.is_empty() {
        let hint = "`git remote add origin ADDRESS`; without one `tm waves land` brings work home";
        return Finding::note(
            "remote",
            "there is none: `tm pr` has nowhere to send work",
            hint,
        );
    } else if !PullRequests::can_be_opened() {
        ("is not there", "install `gh` for `tm pr`")
    } else if !PullRequests::has_login(project).await {
        ("has no login", "`gh auth login`, for `tm pr`")
    } else {
        return Finding::good("remote", format!("{remotes}; `gh` opens pull requests"));
    };
    Finding::note("remote", format!("{remotes}; `gh` {lack}"), hint)
}
