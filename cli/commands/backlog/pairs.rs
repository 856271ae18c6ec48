//! `tm tdd pair`: which tasks get a test task of their own, shown or written into the backlog.

use super::{BacklogChoice, ChosenBacklog, Perform, named, warn, with_fields};
use crate::display::print_either;
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_reports::laid_out;
use tm_scheduler::{AbsentPartner, PairUp, PairUpOptions, RedStart, Task, TaskId, pair_up};
use tm_store::backlog::{Backlog, BacklogSource, Change, ReadOptions, SourceKind, spelled};

commands! {
    /// What is done with pairs.
    TddCommand {
        /// Show which open tasks get a test task of their own; `--write` adds them to the backlog.
        Pair(PairArguments),
    }
}

/// `tm tdd pair`.
#[derive(Args)]
pub(crate) struct PairArguments {
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Only tasks of this `metadata.task_group`.
    #[arg(long, value_name = "NAME")]
    task_group: Option<String>,
    /// Let test tasks depend on nothing, so that all of them come first.
    #[arg(long)]
    red_early: bool,
    /// Write the pairs into the backlog; a second time changes nothing.
    #[arg(long)]
    write: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl Perform for PairArguments {
    async fn perform(self, start: &Path) -> Result {
        let (backlog, plan) = self.planned(start)?;
        warn(&backlog);
        let answer = self.document(&backlog, &plan);
        print_either(self.json, &answer, || text(answer.clone(), &plan))?;
        self.tell_cuts(&plan);
        Ok(0)
    }
}

impl PairArguments {
    fn tell_cuts(&self, plan: &PairUp) {
        let done = if self.write {
            "no longer depends"
        } else {
            "would no longer depend"
        };
        for ((task, dependency), problem) in &plan.cuts {
            say!(
                "warning: {problem}; {task} {done} on {dependency}, the dependency with the least meaning, and may start \
                 before it; it is marked with `metadata.needs_review`"
            );
        }
    }

    /// Plans the pairs on what stands in the backlog, under its lock where they are to be written.
    fn planned(&self, start: &Path) -> Result<(Backlog, PairUp)> {
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        // A group that no task has is an error, as in plans.
        source.read(&ReadOptions {
            group: self.task_group.clone(),
            ..options.clone()
        })?;
        let plan = |backlog: &Backlog| pair_up(&backlog.tasks, &self.pairing(&source, backlog));
        if !self.write {
            let backlog = source.read(&options)?;
            let plan = plan(&backlog);
            return Ok((backlog, plan));
        }
        let planned = RefCell::new(None);
        let choose = |backlog: &Backlog| {
            let plan = plan(backlog);
            let changes = changes(&plan);
            planned.replace(Some((backlog.clone(), plan)));
            changes
        };
        source.change(&options, choose)?;
        planned
            .into_inner()
            .ok_or_else(|| failure!("read the backlog under its lock"))
    }

    fn pairing(&self, source: &BacklogSource, backlog: &Backlog) -> PairUpOptions {
        PairUpOptions {
            red_start: if self.red_early {
                RedStart::Early
            } else {
                RedStart::AfterDependencies
            },
            group: self.task_group.clone(),
            next_number: backlog.next_number,
            absent_partner: absent_partner(source.kind()),
        }
    }

    fn document(&self, backlog: &Backlog, plan: &PairUp) -> Value {
        let pairs = plan.reds.iter().map(|red| {
            json!({"red": red.id, "green": green_of(red), "title": red.title, "dependencies": red.dependencies})
        });
        let skipped = plan
            .skipped
            .iter()
            .map(|(task, skip)| with_fields(json!(skip), json!({"task": task})));
        let cuts = plan.cuts.iter().map(|((task, dependency), problem)| {
            json!({"task": task, "dependency": dependency, "cycle": problem.to_string()})
        });
        json!({"success": true, "tag": backlog.tag, "written": self.write, "pairs": pairs.collect_vec(),
               "skipped": skipped.collect_vec(), "cut": cuts.collect_vec(), "notes": plan.notes})
    }
}

const fn absent_partner(kind: SourceKind) -> AbsentPartner {
    match kind {
        SourceKind::ClaudeTasks => AbsentPartner::Finished,
        SourceKind::TaskMaster | SourceKind::Yaml => AbsentPartner::Missing,
    }
}

fn text(answer: Value, plan: &PairUp) -> String {
    let skips = plan
        .skipped
        .iter()
        .map(|(task, skip)| format!("{task} {skip}"))
        .collect_vec();
    laid_out(
        "backlog/pairs.txt",
        &with_fields(answer, json!({"skips": skips})),
    )
}

fn green_of(red: &Task) -> Option<&TaskId> {
    red.metadata.tdd.as_ref()?.paired_task_id.as_ref()
}

/// What makes the pairs: the test tasks, and what their implementations then say.
fn changes(plan: &PairUp) -> Vec<Change> {
    let pairs = plan
        .reds
        .iter()
        .filter_map(|red| Some((green_of(red)?, red)))
        .collect_vec();
    let in_metadata =
        |task: &TaskId, key: &str, value| (task.clone(), format!("metadata.{key}"), value);
    let marks = pairs.iter().flat_map(|(green, red)| {
        mark("green", &red.id).map(|(key, value)| in_metadata(green, key, value))
    });
    let doubts = plan.cuts.iter().flat_map(|((task, _), _)| {
        ["needs_review", "circular_dep_break"].map(|key| in_metadata(task, key, json!(true)))
    });
    let fields = marks.chain(doubts).collect_vec();
    let mut changes = Vec::new();
    if !pairs.is_empty() {
        let tasks = pairs
            .iter()
            .map(|(green, red)| (Some(red.id.clone()), red_fields(red, green)));
        changes.push(Change::AddTasks {
            tasks: tasks.collect(),
        });
        let edges = pairs
            .iter()
            .map(|&(green, red)| (green.clone(), red.id.clone()));
        changes.push(Change::AddDependencies {
            edges: edges.collect(),
        });
    }
    if !plan.cuts.is_empty() {
        let edges = plan.cuts.iter().map(|(edge, _)| edge.clone()).collect();
        changes.push(Change::RemoveDependencies { edges });
    }
    if !fields.is_empty() {
        changes.push(Change::SetFields { fields });
    }
    changes
}

fn mark(phase: &str, partner: &TaskId) -> [(&'static str, Value); 3] {
    [
        ("tdd_mode", json!(true)),
        ("tdd_phase", json!(phase)),
        ("paired_task_id", json!(partner)),
    ]
}

fn red_fields(red: &Task, green: &TaskId) -> Vec<(String, Value)> {
    let said = [
        ("task_group", &red.metadata.group),
        ("feature_name", &red.metadata.feature),
        ("task_uid", &red.metadata.uid),
        ("test_command", &red.metadata.test_command),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, json!(value.as_ref()?))));
    let size = red
        .complexity
        .map(|complexity| ("complexity", json!(complexity)));
    let metadata = mark("red", green).into_iter().chain(said).chain(size);
    let metadata: Map<String, Value> = named(metadata).into_iter().collect();
    named([
        ("title", json!(red.title)),
        ("description", json!(red.description)),
        ("details", json!("")),
        (
            "activeForm",
            json!(red.title.replacen("Write tests", "Writing tests", 1)),
        ),
        ("status", json!(red.status)),
        ("priority", json!(red.priority)),
        (
            "dependencies",
            red.dependencies
                .iter()
                .map(|id| spelled(id.as_str()))
                .collect(),
        ),
        ("subtasks", json!([])),
        ("metadata", Value::Object(metadata)),
    ])
}
