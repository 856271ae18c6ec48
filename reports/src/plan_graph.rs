//! A plan as a graph in DOT and in Mermaid. Titles are text from strangers: both formats get them escaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use tm_scheduler::{Phase, PlacedTask, TaskId, WavePlan};

/// Returns the plan in the DOT language, one rank a wave.
pub fn plan_dot(plan: &WavePlan) -> String {
    let mut text =
        String::from("digraph plan {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for placed in &plan.tasks {
        let colour = match placed.task.phase {
            Phase::Red => ", color=red",
            Phase::Green => ", color=green",
            Phase::None => "",
        };
        let id = dot_text(placed.task.id.as_str());
        let _ = writeln!(
            text,
            "  \"{id}\" [label=\"{id}\\n{}\"{colour}];",
            dot_text(&placed.task.title)
        );
    }
    for (before, after) in edges(plan) {
        let _ = writeln!(
            text,
            "  \"{}\" -> \"{}\";",
            dot_text(before.as_str()),
            dot_text(after.as_str())
        );
    }
    for wave in plan.waves() {
        let ids: Vec<String> = wave
            .iter()
            .map(|placed| format!("\"{}\"", dot_text(placed.task.id.as_str())))
            .collect();
        let _ = writeln!(text, "  {{ rank=same; {} }}", ids.join("; "));
    }
    text.push_str("}\n");
    text
}

/// Returns the plan as a Mermaid flowchart.
pub fn plan_mermaid(plan: &WavePlan) -> String {
    let names: BTreeMap<&TaskId, usize> = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(position, placed)| (&placed.task.id, position))
        .collect();
    let mut text = String::from("flowchart LR\n");
    for (position, placed) in plan.tasks.iter().enumerate() {
        let _ = writeln!(
            text,
            "  t{position}[\"{}\"]{}",
            mermaid_label(placed),
            class(placed.task.phase)
        );
    }
    for (before, after) in edges(plan) {
        if let (Some(before), Some(after)) = (names.get(before), names.get(after)) {
            let _ = writeln!(text, "  t{before} --> t{after}");
        }
    }
    text.push_str("  classDef red stroke:#c00\n  classDef green stroke:#080\n");
    text
}

fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Red => ":::red",
        Phase::Green => ":::green",
        Phase::None => "",
    }
}

fn edges(plan: &WavePlan) -> impl Iterator<Item = (&TaskId, &TaskId)> {
    plan.tasks.iter().flat_map(|placed| {
        placed
            .task
            .dependencies
            .iter()
            .map(move |before| (before, &placed.task.id))
    })
}

fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace(['\n', '\r'], " ")
}

/// Mermaid reads `#…;` as a character reference, so everything that could end the label becomes one.
fn mermaid_label(placed: &PlacedTask) -> String {
    let label = format!("{} {}", placed.task.id, placed.task.title);
    label.chars().fold(String::new(), |mut safe, letter| {
        match letter {
            '"' | '#' | '<' | '>' | '[' | ']' | '`' | '&' | ';' => {
                let _ = write!(safe, "#{};", u32::from(letter));
            }
            '\n' | '\r' => safe.push(' '),
            other => safe.push(other),
        }
        safe
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
