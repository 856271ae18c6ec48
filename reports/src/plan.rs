//! A plan as text, as JSON, and as a graph in DOT and in Mermaid.

use crate::layout::rendered;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{Limits, PlacedTask, PlannedTask, TaskId, WavePlan};

/// So many files that several tasks name are listed.
const MOST_OVERLAPS: usize = 8;

/// Returns the plan for people: one line a task, by wave, wide waves in parts of the slots.
pub fn plan_text(plan: &WavePlan, limits: &Limits) -> String {
    let row = |PlacedTask { task, .. }: &PlacedTask| {
        let after = task.dependencies.iter();
        let after = after.filter(|id| task.pair.as_ref() != Some(id));
        let after: Vec<&TaskId> = after.collect();
        let PlannedTask {
            id, title, phase, ..
        } = task;
        json!({"id": id, "title": title, "phase": phase, "priority": task.priority, "after": after})
    };
    let wave = |wave: Vec<&PlacedTask>| wave.into_iter().map(row).collect::<Value>();
    let overlaps = overlaps(plan);
    let said = json!({
        "tasks": plan.tasks.len(),
        "waves": plan.waves().into_iter().map(wave).collect::<Value>(),
        "pairs": plan.pairs(),
        "max_parallel": limits.slots,
        "dispatch": limits.dispatch,
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

/// Returns the plan for programs; keys may be added, never renamed.
///
/// `waves` are ids; `tasks` are in the order in which ready ones are taken; `held` are open ones that are not planned;
/// `cut` are dependencies, as task and dependency; `finished` is how many tasks of the backlog are; `hot_files` are those
/// that most work in the history touched.
pub fn plan_json(plan: &WavePlan, limits: &Limits) -> Value {
    let ids = |wave: &Vec<&PlacedTask>| -> Value {
        wave.iter().map(|placed| json!(placed.task.id)).collect()
    };
    json!({
        "version": 1,
        "max_parallel": limits.slots,
        "dispatch": limits.dispatch,
        "waves": plan.waves().iter().map(ids).collect::<Value>(),
        "tasks": plan.tasks,
        "held": plan.held,
        "cut": plan.cut,
        "finished": plan.finished,
        "notes": plan.notes,
        "hot_files": limits.hot_files,
    })
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
