//! A plan as text, as JSON, and as a graph in DOT and in Mermaid.

use crate::layout::rendered;
use crate::listed;
use itertools::Itertools as _;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use tm_scheduler::{
    CutDependency, Dispatch, HeldTask, Limits, PlacedTask, Priority, TaskId, TaskRow, WavePlan,
};

/// So many files that several tasks name are listed.
const MOST_OVERLAPS: usize = 8;

/// Returns the plan for people: one line a task, by the waves of its halves, wide ones in parts of the slots.
pub fn plan_text(plan: &WavePlan, limits: &Limits) -> String {
    let (rows, pairs) = (plan.rows(), plan.pairs());
    let count = rows.len();
    let waves = |row: &TaskRow<&PlacedTask>| row.halves().map(|half| half.wave).collect_vec();
    let by_waves = rows
        .into_iter()
        .map(|row| (waves(&row), row))
        .into_group_map();
    let groups = by_waves
        .into_iter()
        .sorted_by(|left, right| left.0.cmp(&right.0));
    let group = |(waves, rows): (Vec<u32>, Vec<TaskRow<&PlacedTask>>)| {
        let cells = |row: &TaskRow<&PlacedTask>| plan_row(row, pairs);
        (waves_name(&waves), rows.iter().map(cells).collect())
    };
    let overlaps = overlaps(plan);
    let said = PlanText {
        tasks: count,
        waves: plan.tasks.iter().map(|task| task.wave).max().unwrap_or(0),
        groups: groups.map(group).collect(),
        pairs,
        max_parallel: limits.slots,
        dispatch: limits.dispatch,
        retries: limits.retries,
        held: &plan.held,
        cut: &plan.cut,
        notes: &plan.notes,
        more_overlaps: overlaps.len().saturating_sub(MOST_OVERLAPS),
        overlaps: overlaps.into_iter().take(MOST_OVERLAPS).collect(),
        hot_files: &limits.hot_files,
        finished: plan.finished,
    };
    rendered("plan.txt", &said)
}

/// What the layout of a plan for people names.
#[derive(Serialize)]
struct PlanText<'p> {
    tasks: usize,
    waves: u32,
    /// The name of each group of waves, and the cells of its rows.
    groups: Vec<(String, Vec<String>)>,
    pairs: usize,
    max_parallel: NonZeroU32,
    dispatch: Dispatch,
    retries: u32,
    held: &'p [HeldTask],
    cut: &'p [CutDependency],
    notes: &'p [String],
    overlaps: Vec<(&'p str, BTreeSet<&'p TaskId>)>,
    more_overlaps: usize,
    hot_files: &'p BTreeSet<String>,
    finished: usize,
}

fn waves_name(waves: &[u32]) -> String {
    match waves {
        [one] => format!("Wave {one}"),
        several => format!("Waves {}", several.iter().join(" and ")),
    }
}

/// Returns the cells of a row with tabs between them. There are as many as tasks, so no layout goes through what they hold.
fn plan_row(row: &TaskRow<&PlacedTask>, pairs: usize) -> String {
    let task = &row.work.task;
    let own = |id: &&TaskId| row.red.is_some_and(|red| red.task.id == **id);
    let dependencies = row.halves().flat_map(|half| &half.task.dependencies);
    let after = dependencies.filter(|id| !own(id)).unique().join(", ");
    let halves = match row.red {
        _ if pairs == 0 => "",
        Some(_) => "RED GREEN\t",
        None => "         \t",
    };
    let mut cells = format!("{halves}{}\t{}", task.id, listed(&task.title));
    if task.priority != Priority::Medium {
        cells.extend([" (", task.priority.as_str(), ")"]);
    }
    if let Some(model) = &task.model {
        cells.extend([", model ", model]);
    }
    if let Some(place) = &task.on {
        cells.extend([", on ", place]);
    }
    if !after.is_empty() {
        cells.extend([" — after ", &after]);
    }
    cells
}

/// Returns the plan in the DOT language, one rank a wave.
pub fn plan_dot(plan: &WavePlan) -> String {
    rendered("plan.dot", &Drawing::of(plan))
}

/// Returns the plan as a Mermaid flowchart.
pub fn plan_mermaid(plan: &WavePlan) -> String {
    rendered("plan.mmd", &Drawing::of(plan))
}

/// What the layouts of a graph name.
#[derive(Serialize)]
struct Drawing<'p> {
    tasks: &'p [PlacedTask],
    waves: Vec<Vec<&'p TaskId>>,
    /// The place of each task.
    numbers: BTreeMap<&'p TaskId, usize>,
}

impl<'p> Drawing<'p> {
    fn of(plan: &'p WavePlan) -> Self {
        let ids = plan.tasks.iter().map(|placed| &placed.task.id);
        Self {
            tasks: &plan.tasks,
            waves: ids_of_waves(plan),
            numbers: ids.zip(0..).collect(),
        }
    }
}

fn ids_of_waves(plan: &WavePlan) -> Vec<Vec<&TaskId>> {
    let waves = plan.waves().into_iter();
    waves
        .map(|wave| wave.into_iter().map(|placed| &placed.task.id).collect())
        .collect()
}

/// Files that the texts of several tasks name, where work may conflict; those that most name first.
fn overlaps(plan: &WavePlan) -> Vec<(&str, BTreeSet<&TaskId>)> {
    let mut named: BTreeMap<&str, BTreeSet<&TaskId>> = BTreeMap::new();
    for PlacedTask { task, .. } in &plan.tasks {
        for file in &task.files {
            named.entry(file).or_default().insert(&task.backlog_id);
        }
    }
    let shared = named.into_iter().filter(|(_, tasks)| tasks.len() > 1);
    shared
        .sorted_by_key(|(_, tasks)| std::cmp::Reverse(tasks.len()))
        .collect()
}

/// The plan for programs; keys may be added, never renamed.
#[derive(Debug, Serialize)]
pub struct PlanDocument<'p> {
    version: u32,
    max_parallel: NonZeroU32,
    dispatch: Dispatch,
    /// The ids of each.
    waves: Vec<Vec<&'p TaskId>>,
    /// In the order in which ready ones are taken.
    tasks: &'p [PlacedTask],
    /// Open ones that are not planned.
    held: &'p [HeldTask],
    /// Task and dependency.
    cut: &'p [CutDependency],
    /// How many tasks of the backlog are.
    finished: usize,
    notes: &'p [String],
    /// Those that most work in the history touched.
    hot_files: &'p BTreeSet<String>,
}

impl<'p> PlanDocument<'p> {
    /// Takes what is told of a plan.
    pub fn new(plan: &'p WavePlan, limits: &'p Limits) -> Self {
        Self {
            version: 1,
            max_parallel: limits.slots,
            dispatch: limits.dispatch,
            waves: ids_of_waves(plan),
            tasks: &plan.tasks,
            held: &plan.held,
            cut: &plan.cut,
            finished: plan.finished,
            notes: &plan.notes,
            hot_files: &limits.hot_files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::{PlanOptions, Task, TddMode};

    fn plan() -> WavePlan {
        let one = Task::new("1", "Say \"hi\"; rm -rf \\ #1");
        let mut two = Task::new("2", "Build [x]");
        two.dependencies = vec!["1".into()];
        WavePlan::new(
            &[one, two],
            &PlanOptions {
                tdd: TddMode::Off,
                ..PlanOptions::default()
            },
        )
        .expect("a plan")
    }

    #[test]
    fn titles_can_not_break_out_of_dot() {
        insta::assert_snapshot!(plan_dot(&plan()), @r#"
        digraph plan {
          rankdir=LR;
          node [shape=box, style=rounded];
          "1" [label="1\nSay \"hi\"; rm -rf \\ #1"];
          "2" [label="2\nBuild [x]"];
          "1" -> "2";
          { rank=same; "1" }
          { rank=same; "2" }
        }
        "#);
    }

    #[test]
    fn titles_can_not_break_out_of_mermaid() {
        insta::assert_snapshot!(plan_mermaid(&plan()), @r#"
        flowchart LR
          t0["1 Say #34;hi#34;#59; rm -rf \ #35;1"]
          t1["2 Build #91;x#93;"]
          t0 --> t1
          classDef red stroke:#c00
          classDef green stroke:#080
        "#);
    }
}
