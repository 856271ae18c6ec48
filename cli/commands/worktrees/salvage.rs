//! `tm worktrees salvage`: the work of failed and interrupted attempts.

use crate::commands::Perform;
use crate::display::print_json;
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::path::Path;
use tm_app::Project;
use tm_scheduler::TaskId;
use tm_worktrees::{BranchName, Kept};

/// Where work is kept that did not land.
const SALVAGE: &str = "refs/tm/salvage/";

/// `tm worktrees salvage`.
#[derive(Args, Debug)]
pub(crate) struct SalvageArguments {
    /// What to bring back: RUN/TASK/ATTEMPT as listed, or a task, whose last kept work is taken; everything is listed
    /// when not given.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The branch to make; `salvage/TASK-ATTEMPT` when not given.
    #[arg(long, value_name = "BRANCH", requires = "name")]
    branch: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for SalvageArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start, Vec::new())?;
        let kept = project.repository.kept(SALVAGE)?;
        match self.name {
            Some(name) => {
                let found = named(&kept, &name);
                let found = found.ok_or_else(|| {
                    failure!("find kept work of `{name}`")
                        .hint("`tm worktrees salvage` lists what is kept")
                })?;
                bring_back(&project, found, self.branch, self.json)
            }
            None => list(&project, &kept, self.json),
        }
    }
}

fn short_name(kept: &Kept) -> &str {
    let name = &kept.reference;
    name.strip_prefix(SALVAGE).unwrap_or(name)
}

fn list(project: &Project, kept: &[Kept], json: bool) -> Result {
    if json {
        let rows = kept
            .iter()
            .map(|one| json!({"name": short_name(one), "commit": one.commit, "at": one.at, "subject": one.subject}));
        return print_json(&rows.collect_vec());
    }
    let repository = &project.repository;
    for one in kept {
        let files = match repository.first_parent(&one.commit)? {
            Some(parent) => repository.changed_files(&parent, &one.commit)?.len(),
            None => 0,
        };
        data!(
            "{:40}  {}  {files} files  {}\n",
            short_name(one),
            one.at,
            one.subject
        );
    }
    if kept.is_empty() {
        say!("nothing is kept: all work has landed, or was never done");
    } else {
        say!("`tm worktrees salvage NAME` brings one back as a branch");
    }
    Ok(0)
}

/// The kept work of that name, else the last of that task.
fn named<'k>(kept: &'k [Kept], name: &str) -> Option<&'k Kept> {
    let task = tm_store::run::safe_name(&TaskId::from(name));
    let is_of_task = |one: &&Kept| short_name(one).split('/').nth(1) == Some(task.as_str());
    let exact = kept.iter().find(|one| short_name(one) == name);
    exact.or_else(|| kept.iter().rev().find(is_of_task))
}

fn bring_back(project: &Project, found: &Kept, branch: Option<String>, json: bool) -> Result {
    let name = short_name(found);
    let wanted = branch.unwrap_or_else(|| format!("salvage/{}", name.split('/').skip(1).join("-")));
    let branch = project.repository.free_branch(&BranchName::new(wanted)?)?;
    let commit = &found.commit;
    project.repository.create_branch(&branch, commit)?;
    if json {
        return print_json(&json!({"name": name, "commit": commit, "branch": branch.as_str()}));
    }
    say!("`{branch}` is at {commit}; `git log -p -1 {branch}` shows it");
    Ok(0)
}
