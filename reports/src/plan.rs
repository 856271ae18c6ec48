//! A plan as text, as JSON, and as a graph in DOT and in Mermaid.

use crate::layout::rendered;
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use tm_scheduler::{
    CutDependency, Dispatch, HeldTask, Limits, PlacedTask, TaskId, TaskRow, WavePlan,
};

/// So many files that several tasks name are listed.
const MOST_OVERLAPS: usize = 8;

/// Returns the plan for people: one line a task, by the waves of its halves, wide ones in parts of the slots.
pub fn plan_text(plan: &WavePlan, limits: &Limits) -> String {
    let rows = plan.rows();
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
        let rows = rows.iter().map(plan_row).collect_vec();
        json!({"name": waves_name(&waves), "rows": rows})
    };
    let overlaps = overlaps(plan);
    let said = json!({
        "tasks": count,
        "waves": plan.waves().len(),
        "groups": groups.map(group).collect_vec(),
        "pairs": plan.pairs(),
        "max_parallel": limits.slots,
        "dispatch": limits.dispatch,
        "retries": limits.retries,
        "held": plan.held,
        "cut": plan.cut,
        "notes": plan.notes,
        "overlaps": overlaps.iter().take(MOST_OVERLAPS).collect_vec(),
        "more_overlaps": overlaps.len().saturating_sub(MOST_OVERLAPS),
        "hot_files": limits.hot_files,
        "finished": plan.finished,
    });
    rendered("plan.txt", &said)
}

fn waves_name(waves: &[u32]) -> String {
    match waves {
        [one] => format!("Wave {one}"),
        several => format!("Waves {}", several.iter().join(" and ")),
    }
}

fn plan_row(row: &TaskRow<&PlacedTask>) -> Value {
    let task = &row.work.task;
    let own = |id: &&TaskId| row.red.is_some_and(|red| red.task.id == **id);
    let dependencies = row.halves().flat_map(|half| &half.task.dependencies);
    let after = dependencies.filter(|id| !own(id)).unique().collect_vec();
    json!({"id": task.id, "title": task.title, "red": row.red.is_some(), "priority": task.priority, "model": task.model, "after": after})
}

/// Returns the plan in the DOT language, one rank a wave.
pub fn plan_dot(plan: &WavePlan) -> String {
    rendered(
        "plan.dot",
        &json!({"tasks": plan.tasks, "waves": plan.waves()}),
    )
}

/// Returns the plan as a Mermaid flowchart.
pub fn plan_mermaid(plan: &WavePlan) -> String {
    let ids = plan.tasks.iter().map(|placed| &placed.task.id);
    let numbers: BTreeMap<&TaskId, usize> = ids.zip(0..).collect();
    rendered(
        "plan.mmd",
        &json!({"tasks": plan.tasks, "numbers": numbers}),
    )
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
        let ids = |wave: Vec<&'p PlacedTask>| wave.iter().map(|placed| &placed.task.id).collect();
        Self {
            version: 1,
            max_parallel: limits.slots,
            dispatch: limits.dispatch,
            waves: plan.waves().into_iter().map(ids).collect(),
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
