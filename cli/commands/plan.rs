//! `tm waves plan`: from the backlog to the waves, and nothing run.

use super::Perform;
use super::agents::agents_lines;
use super::backlog::task_ids;
use crate::display::{print_data, print_json, print_text, print_told};
use crate::failure::Result;
use crate::flags::{Flags, word};
use crate::project::open_with;
use clap::{Args, ValueEnum};
use itertools::Itertools as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tm_app::{PlanOrder, Planned, Project, parts, reading};
use tm_executors::engine::Holding;
use tm_executors::testing::{Reading, TestCommand, how_to_report};
use tm_scheduler::verdict::Strictness;
use tm_scheduler::{Cycles, Phase, counted};

/// `tm waves plan`.
#[derive(Args)]
pub(crate) struct PlanArguments {
    /// The choice of tasks.
    #[command(flatten)]
    choice: PlanChoice,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: PlanFormat,
}

/// Which tasks are read, and how they are planned.
#[derive(Args, Default)]
pub(crate) struct PlanChoice {
    /// The backlog: a file, or a folder of a Claude Code task list.
    #[arg(long, value_name = "PATH")]
    backlog: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long)]
    tag: Option<String>,
    /// Only tasks whose `metadata.task_group` is this.
    #[arg(long, value_name = "GROUP")]
    task_group: Option<String>,
    /// What counts as one task.
    #[arg(long)]
    unit: Option<UnitArgument>,
    /// Only these tasks, and the open ones that they depend on.
    #[arg(long = "id", value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// Do these tasks once more, although the history has their work.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    again: Vec<String>,
    /// Agents at the same time.
    #[arg(long, short = 'j', value_name = "N")]
    max_parallel: Option<NonZeroU32>,
    /// Where set-ups, agents and tests run.
    #[arg(long, value_name = "ENGINE")]
    on: Option<OnArgument>,
    /// Open a wave only when the one before has settled.
    #[arg(long)]
    barrier: bool,
    /// Which tasks become a RED and a GREEN task.
    #[arg(long, value_name = "MODE")]
    tdd: Option<TddArgument>,
    /// Start all RED tasks first, whatever they depend on.
    #[arg(long)]
    red_early: bool,
    /// Cut the dependency with the least meaning out of each cycle, instead of refusing.
    #[arg(long)]
    break_cycles: bool,
}

/// Forms of a plan.
#[derive(Clone, Copy, Default, ValueEnum)]
enum PlanFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For Graphviz.
    Dot,
    /// For Markdown pages.
    Mermaid,
    /// What would be applied for the agents of the first wave, where they run on Kubernetes.
    Yaml,
}

/// Where set-ups, agents and tests run.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OnArgument {
    /// On this machine.
    Local,
    /// On nodes that Slurm finds.
    Slurm,
    /// In pods of Kubernetes.
    Kubernetes,
}

/// What counts as one task.
#[derive(Clone, Copy, ValueEnum)]
enum UnitArgument {
    /// A task.
    Task,
    /// A subtask.
    Subtask,
}

/// Which tasks become pairs.
#[derive(Clone, Copy, ValueEnum)]
enum TddArgument {
    /// All eligible tasks.
    Auto,
    /// Those that the backlog marks.
    Explicit,
    /// None.
    Off,
}

impl Perform for PlanArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open_with(start, self.choice.settings().given())?.for_looking();
        let planned = tm_app::plan(&project, &self.choice.order(None))?;
        project.warn_of_unheld_agents();
        match self.format {
            PlanFormat::Text => print_text(&plan_text(&project, &planned)),
            PlanFormat::Dot => print_data(&tm_reports::plan_dot(&planned.plan)),
            PlanFormat::Mermaid => print_data(&tm_reports::plan_mermaid(&planned.plan)),
            PlanFormat::Yaml => print_data(&tm_app::first_manifests(&project, &planned)?),
            PlanFormat::Json => return print_json(&tm_app::plan_document(&project, &planned)?),
        }
        Ok(0)
    }
}

impl PlanChoice {
    /// Returns the same choice of tasks with so many agents at the same time.
    pub(crate) fn with_slots(slots: NonZeroU32) -> Self {
        Self {
            max_parallel: Some(slots),
            ..Self::default()
        }
    }

    /// Returns what is to be planned.
    pub(crate) fn order(self, base: Option<String>) -> PlanOrder {
        PlanOrder {
            backlog: self.backlog,
            tag: self.tag,
            group: self.task_group,
            only: task_ids(&self.ids),
            again: task_ids(&self.again),
            base,
            cycles: cycles(self.break_cycles),
        }
    }

    /// Returns the settings that its flags give.
    pub(crate) fn settings(&self) -> Flags {
        let slots = self.max_parallel.map(NonZeroU32::get);
        let barrier = self.barrier.then_some("barrier");
        Flags::default()
            .set("waves.max_parallel", "--max-parallel", slots)
            .set("waves.on", "--on", word(self.on))
            .set("waves.dispatch", "--barrier", barrier)
            .set("waves.unit", "--unit", word(self.unit))
            .set("tdd.mode", "--tdd", word(self.tdd))
            .set(
                "tdd.red_early",
                "--red-early",
                self.red_early.then_some(true),
            )
    }
}

const fn cycles(are_broken: bool) -> Cycles {
    if are_broken {
        Cycles::Cut
    } else {
        Cycles::Refuse
    }
}

/// Shows the plan before a run, and what the run does not begin with.
pub(crate) fn tell_plan(project: &Project, planned: &Planned) -> Result<()> {
    print_told(&(plan_text(project, planned) + "\n"));
    if let Some(words) = uncommitted(project, planned)? {
        say!("{words}");
    }
    Ok(())
}

/// What the run does not begin with, where there is something.
fn uncommitted(project: &Project, planned: &Planned) -> Result<Option<String>> {
    let paths = project.repository.uncommitted()?;
    let root = project.repository.checkout_root();
    let backlog = planned.source.path().strip_prefix(root).ok();
    let all = counted(paths.len(), "uncommitted path");
    Ok(match paths.as_slice() {
        [] => None,
        [only] if backlog == Some(only.as_path()) => {
            Some(format!("{all} (the backlog) is read as it is"))
        }
        [_] => Some(format!("{all} is not part of the run")),
        _ => Some(format!("{all} are not part of the run")),
    })
}

/// The plan for people, with who works and what each may do without asking.
fn plan_text(project: &Project, planned: &Planned) -> String {
    let phases = planned
        .plan
        .tasks
        .iter()
        .map(|placed| placed.task.phase)
        .sorted_unstable()
        .dedup()
        .collect_vec();
    let plan = tm_reports::plan_text(&planned.plan, &planned.limits);
    if phases.is_empty() {
        plan
    } else {
        let reds = phases.contains(&Phase::Red).then(|| red_line(project));
        plan + &agents_lines(project, &phases)
            + &tests_line(project)
            + &sandbox_line(project)
            + &reds.unwrap_or_default()
    }
}

/// How work will be proven.
fn tests_line(project: &Project) -> String {
    let of_parts = parts(project)
        .map(|parts| parts.lines())
        .unwrap_or_default();
    if !of_parts.is_empty() {
        return format!("\nTests\n  {}\n", of_parts.join("\n  "));
    }
    let line = match reading(project) {
        None => "no test command: nothing is proven".to_owned(),
        Some((command, reading)) => {
            let root = project.repository.checkout_root();
            format!("`{command}`, {}", how_read(&command, reading, root))
        }
    };
    format!("\nTests\n  {line}\n")
}

/// How agents, set-ups and tests are held, where that is asked for or agents are to reach some hosts alone.
fn sandbox_line(project: &Project) -> String {
    let executor = project.executor();
    let level = executor.holding().map(Holding::describe);
    let unheld = || project.reach_of_unheld().map(|_| "none".to_owned());
    let line = |level| format!("  sandbox: {level}\n");
    level.or_else(unheld).map(line).unwrap_or_default()
}

/// What is asked of the tests of a RED.
fn red_line(project: &Project) -> String {
    let strictness = project.loaded.settings.tdd.strictness;
    let asked = match strictness {
        Strictness::Strict => "every new test",
        Strictness::Normal => "a new test",
        Strictness::Relaxed => "no test",
    };
    format!("  {asked} has to fail in a RED (`tdd.strictness: {strictness}`)\n")
}

/// How the results of a test command are read, as far as it is known before a run, and how they could be read better.
pub(super) fn how_read(command: &TestCommand, reading: Reading, root: &Path) -> String {
    let read = reading.as_str();
    match reading {
        Reading::PerTest => read.to_owned(),
        Reading::ByLooking | Reading::ExitStatusOnly => {
            format!("{read}; {}", how_to_report(command, root))
        }
    }
}
