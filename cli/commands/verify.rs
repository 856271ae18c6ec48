//! `tm verify`: the judgement of a run, by hand, on any work.

use super::setup::{checkouts, close, never_commit, parts, test_command};
use crate::arguments::{StrictnessArgument, VerifyArguments};
use crate::display::print_data;
use crate::failure::CommandFailure;
use crate::project::Project;
use serde_json::json;
use std::path::Path;
use tm_config::Override;
use tm_executors::testing::TestCommand;
use tm_runtime::{Measurements, RedCommit, Work, prove, red_commit, rules};
use tm_scheduler::{CommitId, Phase, Proof, Strength, TaskId};
use tm_store::backlog::BacklogSource;
use tm_store::run::safe_name;
use tm_worktrees::{Repository, TreeId, WorktreePool};

/// Exit code when the proof does not hold.
const REFUSED: u8 = 3;

/// What is judged, and what is known of it beforehand.
struct Target {
    name: String,
    phase: Phase,
    base: CommitId,
    tree: TreeId,
    red: Option<RedCommit>,
    command: Option<TestCommand>,
}

pub(crate) fn verify(start: &Path, arguments: &VerifyArguments) -> Result<u8, CommandFailure> {
    let target_folder = arguments.target.as_deref().map(|target| start.join(target)).filter(|path| path.is_dir());
    let project = Project::open(
        target_folder.as_deref().unwrap_or(start),
        overrides(arguments.test_command.as_ref(), arguments.strictness),
    )?;
    let target = match (&arguments.target, target_folder) {
        (Some(id), None) => of_task(&project, arguments, id)?,
        (_, folder) => of_checkout(&project, arguments, folder.as_deref().unwrap_or(start))?,
    };
    let worktrees = project.directory.worktrees_folder().join(format!("verify-{}", std::process::id()));
    let pool = WorktreePool::open(&project.repository, &worktrees)?;
    let scratch = tempfile::tempdir()?;
    let (name, phase) = (target.name.clone(), target.phase);
    let (baselines, executor) = (scratch.path().join("baselines"), tm_runtime::executor(&project.directory));
    let checkouts = checkouts(&project, pool, target.base.clone(), scratch.path())?;
    let measurements = Measurements::new(checkouts, baselines, executor);
    let judged = judge(&project, &measurements, target, scratch.path());
    close(&measurements)?;
    let proof = judged?;
    if arguments.json {
        let document = json!({"target": name, "phase": phase, "holds": proof.holds(), "strength": proof.rests_on(),
                              "proof": proof});
        print_data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else {
        print_data(&text(&name, phase, &proof));
    }
    Ok(if proof.holds() { 0 } else { REFUSED })
}

/// The settings that flags of a judgement by hand give.
pub(super) fn overrides(command: Option<&String>, strictness: Option<StrictnessArgument>) -> Vec<Override> {
    let command = command.map(|command| Override::new("test.command", "--test-command", json!(command)));
    let strictness = strictness.map(StrictnessArgument::as_str);
    let strictness = strictness.map(|name| Override::new("tdd.strictness", "--strictness", json!(name)));
    command.into_iter().chain(strictness).collect()
}

fn judge(
    project: &Project,
    measurements: &Measurements,
    target: Target,
    scratch: &Path,
) -> Result<Proof, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let proof = runtime.block_on(async {
        let red = match (&target.red, &target.command) {
            (None, Some(command)) if target.phase == Phase::Green => {
                Some(red_commit(&target.base, command, measurements).await?)
            }
            (red, _) => red.clone(),
        };
        let work = Work {
            phase: target.phase,
            base: target.base,
            tree: target.tree,
            red,
            command: target.command,
            rules: rules(&project.loaded.settings),
            scratch: scratch.to_owned(),
        };
        prove(&work, measurements).await
    });
    proof.map_err(|why| CommandFailure::new(format!("judge `{}`: {why}", target.name)))
}

/// The work of a task's last attempt: its commit, or what was kept of it when the attempt failed.
fn of_task(project: &Project, arguments: &VerifyArguments, id: &str) -> Result<Target, CommandFailure> {
    let (_, replayed) = project.replayed(arguments.run.as_deref()).map_err(|failure| {
        let hint = format!("there is no folder `{id}` either; `tm verify PATH` judges a checkout");
        if failure.hint.is_some() { failure } else { failure.hint(hint) }
    })?;
    let task = TaskId::from(id);
    let run = &replayed.header.run_id;
    let view = replayed.scheduler.task(&task).ok_or_else(|| {
        CommandFailure::new(format!("find a folder or, in the run {run}, a task `{id}`"))
            .hint("`tm worktrees list` lists the tasks of a run")
    })?;
    let nothing = || {
        CommandFailure::new(format!("judge `{id}`: there is no work of it to judge"))
            .hint(format!("`tm waves logs {id}` shows what its agent printed"))
    };
    let record = view.attempts.iter().rev().find(|record| record.place.is_some()).ok_or_else(nothing)?;
    let kept = format!("refs/tm/salvage/{run}/{}/{}", safe_name(&task), record.number);
    let commit = match record.commit.clone().or_else(|| view.state.commit().cloned()) {
        Some(commit) => commit,
        None => project.repository.resolve(&kept).map_err(|_| nothing())?,
    };
    let own_base = record.place.as_ref().map(|place| place.base.clone()).ok_or_else(nothing)?;
    let red = view
        .placed
        .task
        .pair
        .as_ref()
        .and_then(|red| replayed.scheduler.task(red))
        .and_then(|red| RedCommit::of(red.attempts.last()?));
    let (_, backlog) =
        project.backlog(Some(Path::new(&replayed.header.backlog)), Some(replayed.header.tag.as_str()), None)?;
    let like = test_command(project);
    let (base, tree) = (base(project, arguments)?.unwrap_or(own_base), project.repository.tree_of(&commit)?);
    let own = backlog.tasks.iter().find(|one| one.id == view.placed.task.backlog_id);
    let own = own.and_then(|one| one.test_command.as_ref()).map(|text| TestCommand::shell(text, like.as_ref()));
    Ok(Target {
        name: format!("task {id}"),
        phase: phase(arguments).unwrap_or(view.placed.task.phase),
        command: match own.filter(|_| arguments.test_command.is_none()) {
            Some(own) => Some(own),
            None => of_parts(project, arguments, (&base, &tree), red.as_ref())?,
        },
        base,
        tree,
        red,
    })
}

/// The command that was asked for, or those of the parts that the work touches.
fn of_parts(
    project: &Project,
    arguments: &VerifyArguments,
    (base, tree): (&CommitId, &TreeId),
    red: Option<&RedCommit>,
) -> Result<Option<TestCommand>, CommandFailure> {
    if arguments.test_command.is_some() {
        return Ok(test_command(project));
    }
    Ok(parts(project)?.of_work(&project.repository, base, tree, red)?)
}

/// Everything in a checkout, committed or not, but for what is never committed.
fn of_checkout(project: &Project, arguments: &VerifyArguments, folder: &Path) -> Result<Target, CommandFailure> {
    let repository = &project.repository;
    let root = repository.checkout_root();
    let phase = phase(arguments).unwrap_or(Phase::None);
    let whole = repository.tree_of_checkout(root)?;
    let base = match base(project, arguments)? {
        Some(base) => base,
        None => base_of_checkout(repository, phase, &whole)?,
    };
    let backlog =
        BacklogSource::find(root).map_or_else(|_| root.join("backlog.yaml"), |source| source.path().to_owned());
    let never_commit = never_commit(&project.loaded.settings, &backlog, root)?;
    let changes = repository.changed_files_to_tree(&base, &whole)?;
    let left_out: Vec<String> =
        changes.into_iter().map(|change| change.path).filter(|path| never_commit.covers(Path::new(path))).collect();
    let commit = repository.with_files_of(&whole, &left_out, &base)?;
    let tree = repository.tree_of(&commit)?;
    // A GREEN without a run is built on its RED.
    let below = if phase == Phase::Green { repository.first_parent(&base)? } else { None };
    let red =
        below.map(|below| RedCommit { base: below, commit: base.clone(), tests: Vec::new(), unloaded: Vec::new() });
    Ok(Target {
        name: folder.display().to_string(),
        phase,
        command: of_parts(project, arguments, (&base, &tree), red.as_ref())?,
        base,
        tree,
        red: None,
    })
}

fn base_of_checkout(repository: &Repository, phase: Phase, tree: &TreeId) -> Result<CommitId, CommandFailure> {
    let head = repository.head()?.commit;
    let is_dirty = repository.tree_of(&head)? != *tree;
    let last =
        |commit: &CommitId| repository.first_parent(commit).map(|parent| parent.unwrap_or_else(|| commit.clone()));
    if phase == Phase::Green {
        if let Some(red) = repository.last_with_trailer(&head, "Phase", "red")? {
            return Ok(red);
        }
        return Ok(if is_dirty { head } else { last(&head)? });
    }
    let default = match repository.default_branch()? {
        Some(name) => repository.merge_base(&head, &repository.resolve(&format!("refs/heads/{name}"))?)?,
        None => None,
    };
    match default {
        Some(parted) if parted != head => Ok(parted),
        Some(_) | None if is_dirty => Ok(head),
        Some(_) | None => Ok(last(&head)?),
    }
}

const fn phase(arguments: &VerifyArguments) -> Option<Phase> {
    match (arguments.red, arguments.green) {
        (true, _) => Some(Phase::Red),
        (false, true) => Some(Phase::Green),
        (false, false) => None,
    }
}

fn base(project: &Project, arguments: &VerifyArguments) -> Result<Option<CommitId>, CommandFailure> {
    Ok(arguments.base.as_ref().map(|base| project.repository.resolve(base)).transpose()?)
}

fn text(name: &str, phase: Phase, proof: &Proof) -> String {
    let kind = match phase {
        Phase::Red => " as RED",
        Phase::Green => " as GREEN",
        Phase::None => "",
    };
    let verdict = proof.reason.map_or_else(|| "holds".to_owned(), |reason| format!("is refused: {reason}"));
    let mut text = format!("the work of {name}{kind} {verdict}\n");
    let mut line = |words: String| {
        text.push_str("  ");
        text.push_str(&words);
        text.push('\n');
    };
    line(match proof.rests_on() {
        Strength::PerTest => {
            format!("{} tests pass, {} fail, {} failed before", proof.passed, proof.failed, proof.baseline_failed)
        }
        Strength::ExitStatusOnly => "exit status only: no test was read one by one, which proves less".to_owned(),
        Strength::Nothing => "no tests were run".to_owned(),
    });
    for (what, names) in [
        ("new", &proof.new),
        ("not loadable yet", &proof.unloaded),
        ("worse", &proof.regressions),
        ("flaky", &proof.flaky),
    ] {
        for name in names {
            line(format!("{what}: {name}"));
        }
    }
    if let Some(coverage) = proof.coverage {
        let before = coverage.before.map_or_else(String::new, |before| format!(", {before:.1} % before"));
        line(format!("{:.1} % of lines are covered{before}", coverage.after));
    }
    for note in &proof.notes {
        line(format!("note: {note}"));
    }
    if !proof.evidence.is_empty() {
        text.push('\n');
        text.push_str(proof.evidence.trim_end());
        text.push('\n');
    }
    text
}
