//! A plan as text and as JSON.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tm_scheduler::{Dispatch, HeldTask, Limits, Phase, PlacedTask, Priority, TaskId, WavePlan};

/// Returns the plan for people: one line a task, by wave, wide waves in parts of the slots.
pub fn plan_text(plan: &WavePlan, limits: &Limits) -> String {
    let waves = plan.waves();
    let slots = limits.slots.get() as usize;
    let mut text = format!(
        "{} tasks in {} waves, {} pairs, at most {} agents at the same time, {}\n",
        plan.tasks.len(),
        waves.len(),
        plan.pairs(),
        slots,
        match limits.dispatch {
            Dispatch::Rolling => "each task starts when what it depends on has landed",
            Dispatch::Barrier => "a wave opens when the one before has settled",
        }
    );
    for (position, wave) in waves.iter().enumerate() {
        for (part, tasks) in wave.chunks(slots).enumerate() {
            let number = position + 1;
            let name = if wave.len() > slots {
                format!("{number}.{}", part + 1)
            } else {
                number.to_string()
            };
            let _ = writeln!(text, "\nWave {name} ({} tasks)", tasks.len());
            for placed in tasks {
                task_line(&mut text, placed);
            }
        }
    }
    held_lines(&mut text, &plan.held);
    for (task, dependency) in &plan.cut {
        let _ = writeln!(
            text,
            "\ncut: `{task}` no longer waits for `{dependency}`, to break a cycle"
        );
    }
    for note in &plan.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    overlap_lines(&mut text, plan);
    if !limits.hot_files.is_empty() {
        let files: Vec<String> = limits
            .hot_files
            .iter()
            .map(|file| format!("`{file}`"))
            .collect();
        let _ = writeln!(text, "\nmost work of before touched {}", files.join(", "));
    }
    if plan.finished > 0 {
        let _ = writeln!(text, "\n{} tasks are finished already", plan.finished);
    }
    text
}

fn task_line(text: &mut String, placed: &PlacedTask) {
    let task = &placed.task;
    let phase = match task.phase {
        Phase::Red => "RED   ",
        Phase::Green => "GREEN ",
        Phase::None => "      ",
    };
    let mut line = format!("  {phase} {}  {}", task.id, task.title);
    if task.priority != Priority::Medium {
        let _ = write!(line, " ({})", task.priority.as_str());
    }
    let after: Vec<&str> = task
        .dependencies
        .iter()
        .filter(|id| Some(*id) != task.pair.as_ref())
        .map(TaskId::as_str)
        .collect();
    if !after.is_empty() {
        let _ = write!(line, " — after {}", after.join(", "));
    }
    let _ = writeln!(text, "{line}");
}

/// Files that the texts of several tasks name: where work may conflict.
fn overlap_lines(text: &mut String, plan: &WavePlan) {
    const MOST: usize = 8;
    let mut named: BTreeMap<&str, BTreeSet<&TaskId>> = BTreeMap::new();
    for placed in &plan.tasks {
        for file in &placed.task.files {
            named
                .entry(file)
                .or_default()
                .insert(&placed.task.backlog_id);
        }
    }
    let mut shared: Vec<(&str, BTreeSet<&TaskId>)> = named
        .into_iter()
        .filter(|(_, tasks)| tasks.len() > 1)
        .collect();
    shared.sort_by_key(|(_, tasks)| std::cmp::Reverse(tasks.len()));
    if shared.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nFiles that several tasks name (`waves.overlap: avoid` keeps such tasks apart)"
    );
    for (file, tasks) in shared.iter().take(MOST) {
        let tasks: Vec<&str> = tasks.iter().map(|task| task.as_str()).collect();
        let _ = writeln!(text, "  {file} — {}", tasks.join(", "));
    }
    if shared.len() > MOST {
        let _ = writeln!(text, "  and {} more", shared.len() - MOST);
    }
}

fn held_lines(text: &mut String, held: &[HeldTask]) {
    if held.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nNot planned, waiting for tasks that are not part of the run"
    );
    for task in held {
        let waits_for: Vec<String> = task
            .waits_for
            .iter()
            .map(|(id, status)| format!("{id} ({status})"))
            .collect();
        let _ = writeln!(
            text,
            "  {}  {} — after {}",
            task.id,
            task.title,
            waits_for.join(", ")
        );
    }
}

/// The plan as JSON; keys may be added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanJson {
    /// The version of this format.
    pub version: u32,
    /// Agents at the same time.
    pub max_parallel: u32,
    /// When tasks may start.
    pub dispatch: Dispatch,
    /// Ids by wave.
    pub waves: Vec<Vec<TaskId>>,
    /// The tasks in the order in which ready ones are taken.
    pub tasks: Vec<PlacedTask>,
    /// Open tasks that are not planned.
    pub held: Vec<HeldTask>,
    /// Dependencies that were cut: task, dependency.
    pub cut: Vec<(TaskId, TaskId)>,
    /// Tasks of the backlog that are finished.
    pub finished: usize,
    /// What people should know.
    pub notes: Vec<String>,
    /// The files that most work in the history touched.
    #[serde(default)]
    pub hot_files: BTreeSet<String>,
}

/// Returns the plan for programs.
pub fn plan_json(plan: &WavePlan, limits: &Limits) -> PlanJson {
    let waves = plan.waves();
    PlanJson {
        version: 1,
        max_parallel: limits.slots.get(),
        dispatch: limits.dispatch,
        waves: waves
            .iter()
            .map(|wave| wave.iter().map(|placed| placed.task.id.clone()).collect())
            .collect(),
        tasks: plan.tasks.clone(),
        held: plan.held.clone(),
        cut: plan.cut.clone(),
        finished: plan.finished,
        notes: plan.notes.clone(),
        hot_files: limits.hot_files.clone(),
    }
}
