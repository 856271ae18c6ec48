//! What `tm doctor` says of what lies around a project: what its checkouts are made ready with, and what git has of it.

use super::doctor::{Finding, Weight};
use tm_app::Project;
use tm_executors::tools::propose;
use tm_scheduler::Bring;

/// Looks at everything, in the order in which a run needs it.
pub(super) fn findings(project: &Project) -> Vec<Finding> {
    let mut findings = ready(project);
    findings.extend(content(project));
    findings.extend(repository(project));
    findings
}

/// Whether the packages that the project depends on get into worktrees.
fn ready(project: &Project) -> Vec<Finding> {
    let (root, settings) = (
        project.repository.checkout_root(),
        &project.loaded.settings.worktree,
    );
    let is_prepared =
        settings.setup.is_some() || !settings.copy.is_empty() || !settings.link.is_empty();
    let found = propose(root)
        .found
        .into_iter()
        .filter_map(|tool| Some((tool.setup.clone()?, tool)));
    found
        .map(|(setup, tool)| {
            let what = format!("{} ({})", tool.name, tool.file);
            if which::which(tool.program).is_err() {
                let hint = format!("install `{}`, or set `worktree.setup` to what installs the packages", tool.program);
                return Finding::with_hint(
                    "setup",
                    Weight::Note,
                    format!("{what}: `{}` is not there", tool.program),
                    &hint,
                );
            }
            if is_prepared {
                return Finding::good("setup", format!("{what}; worktrees are made ready by the settings"));
            }
            let hint =
                format!("worktree: {{ setup: \"{setup}\" }} in .taskmaster/tm.yaml; worktrees have no ignored files");
            Finding::with_hint("setup", Weight::Note, format!("{what}, and nothing makes worktrees ready"), &hint)
        })
        .collect()
}

/// Submodules, and files that Git LFS keeps.
fn content(project: &Project) -> Vec<Finding> {
    let settings = &project.loaded.settings.worktree;
    let Ok(content) = project.repository.content_at_head() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if !content.submodules.is_empty() {
        let names = content
            .submodules
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(", ");
        findings.push(if settings.submodules == Bring::Off {
            let hint = "`worktree.submodules: auto` brings them";
            Finding::with_hint(
                "content",
                Weight::Note,
                format!("submodules are left empty: {names}"),
                hint,
            )
        } else {
            Finding::good(
                "content",
                format!("submodules are brought into worktrees: {names}"),
            )
        });
    }
    if content.has_lfs {
        findings.push(match (settings.lfs, which::which("git-lfs")) {
            (Bring::Off, _) => {
                let hint = "`worktree.lfs: auto` brings them";
                Finding::with_hint(
                    "content",
                    Weight::Note,
                    "files that Git LFS keeps are left out",
                    hint,
                )
            }
            (_, Ok(_)) => Finding::good(
                "content",
                "files that Git LFS keeps are brought into worktrees",
            ),
            (_, Err(_)) => {
                let hint = "install git-lfs, or `worktree.lfs: off`";
                Finding::with_hint(
                    "content",
                    Weight::Bad,
                    "git-lfs, which keeps files of the project, is not there",
                    hint,
                )
            }
        });
    }
    findings
}

/// What git has of the project, and where work may be sent.
fn repository(project: &Project) -> Vec<Finding> {
    let repository = &project.repository;
    let mut findings = Vec::new();
    if repository.is_nameless() {
        let hint = "`git config user.name NAME` and `git config user.email ADDRESS`";
        findings.push(Finding::with_hint(
            "author",
            Weight::Note,
            "git knows no name: commits are by `tm <tm@localhost>`",
            hint,
        ));
    }
    if repository.is_shallow().unwrap_or(false) {
        let hint = "`git fetch --unshallow`, where something asks for history";
        findings.push(Finding::with_hint(
            "history",
            Weight::Note,
            "the clone is shallow",
            hint,
        ));
    }
    match repository.remotes().unwrap_or_default().as_slice() {
        [] => {
            let hint =
                "`git remote add origin ADDRESS`; without one `tm waves land` brings work home";
            findings.push(Finding::with_hint(
                "remote",
                Weight::Note,
                "there is none: `tm pr` has nowhere to send work",
                hint,
            ));
        }
        remotes if which::which("gh").is_ok() => {
            findings.push(Finding::good(
                "remote",
                format!("{}; `gh` opens pull requests", remotes.join(", ")),
            ));
        }
        remotes => {
            let hint = "install `gh` for `tm pr`";
            findings.push(Finding::with_hint(
                "remote",
                Weight::Note,
                format!("{}; `gh` is not there", remotes.join(", ")),
                hint,
            ));
        }
    }
    findings
}
