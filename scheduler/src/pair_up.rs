//! Plans explicit pairs to be written into a backlog: which tasks get a test task, with what dependencies, and which
//! cycles have to be cut for it.
//!
//! Writes nothing. The graph is the one that `auto` pairs give on the fly; only the test tasks have ids of their own.

use crate::{
    Complexity, CycleRepair, MetadataFields, Problem, RedStart, Status, Task, TaskId, TaskMetadata,
    TddHalf, TddMark, is_eligible, repairs,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What a partner that is named and not in the backlog means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AbsentPartner {
    /// It was removed: the pair has to be made again.
    Missing,
    /// It was finished: the program that owns the list deletes finished tasks.
    Finished,
}

/// How pairs are made.
#[derive(Clone, Debug, PartialEq)]
pub struct PairUpOptions {
    /// Whether test tasks depend on what their tasks depend on.
    pub red_start: RedStart,
    /// Only tasks of this `task_group`.
    pub group: Option<String>,
    /// The number that the first new task gets; the others follow.
    pub next_number: u64,
    /// What an absent partner means.
    pub absent_partner: AbsentPartner,
}

/// The pairs to write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairUp {
    /// The test tasks to add, in the order of their implementations, each marked with the task that it is for.
    pub reds: Vec<Task>,
    /// Open tasks that get no test task, with the reason.
    pub skipped: Vec<(TaskId, Skip)>,
    /// Dependencies that close a cycle and have to go: (task, dependency) and the cycle.
    pub cuts: Vec<((TaskId, TaskId), Problem)>,
    /// What a person should look at.
    pub notes: Vec<String>,
}

/// Why a task gets no test task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Skip {
    /// It only configures, documents, looks into something or writes tests.
    NotEligible,
    /// It is half of a pair.
    Paired {
        /// The other half.
        with: TaskId,
    },
    /// Another task has its name or its uid as a test, without being marked.
    LooksPaired {
        /// That task.
        with: TaskId,
    },
}

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEligible => {
                formatter.write_str("only configures, documents, looks into something or tests")
            }
            Self::Paired { with } => write!(formatter, "is paired with {with}"),
            Self::LooksPaired { with } => {
                write!(
                    formatter,
                    "has a test task already, {with}, which is not marked as its pair"
                )
            }
        }
    }
}

/// Plans the pairs of a backlog.
pub fn pair_up(tasks: &[Task], options: &PairUpOptions) -> PairUp {
    let known = Known::new(tasks);
    let mut plan = PairUp {
        notes: known.notes(tasks, options),
        ..PairUp::default()
    };
    let mut number = options.next_number;
    let is_wanted = |task: &&Task| task.status.is_open() && is_of_group(task, options);
    for task in tasks.iter().filter(is_wanted) {
        if let Some(skip) = known.skip(task, options.absent_partner) {
            plan.skipped.push((task.id.clone(), skip));
        } else {
            let id = TaskId::new(number.to_string());
            plan.reds.push(red(task, id, options.red_start));
            number += 1;
        }
    }
    for (edge, problem) in cuts(tasks, &plan.reds) {
        // What a test task would only inherit is left out from the start.
        match plan.reds.iter_mut().find(|red| red.id == edge.0) {
            Some(red) => red.dependencies.retain(|id| *id != edge.1),
            None => plan.cuts.push((edge, problem)),
        }
    }
    plan
}

fn is_of_group(task: &Task, options: &PairUpOptions) -> bool {
    options.group.is_none() || task.metadata.group == options.group
}

/// The tasks of a backlog, found by what pairing asks for.
struct Known<'t> {
    ids: BTreeMap<&'t TaskId, &'t Task>,
    uids: BTreeMap<&'t str, &'t TaskId>,
    titles: BTreeMap<(Option<&'t str>, String), &'t TaskId>,
}

impl<'t> Known<'t> {
    fn new(tasks: &'t [Task]) -> Self {
        let all = tasks.iter();
        let uid = |task: &'t Task| Some((task.metadata.uid.as_deref()?, &task.id));
        let title = |task: &'t Task| {
            let title = task.title.to_lowercase();
            ((task.metadata.group.as_deref(), title), &task.id)
        };
        Self {
            ids: all.clone().map(|task| (&task.id, task)).collect(),
            uids: all.clone().filter_map(uid).collect(),
            titles: all.map(title).collect(),
        }
    }

    fn skip(&self, task: &Task, absent_partner: AbsentPartner) -> Option<Skip> {
        if let Some(mark) = &task.metadata.tdd {
            let partner = mark.paired_task_id.as_ref();
            let is_there = |partner: &&TaskId| {
                absent_partner == AbsentPartner::Finished || self.ids.contains_key(*partner)
            };
            if let Some(partner) = partner.filter(is_there) {
                return Some(Skip::Paired {
                    with: partner.clone(),
                });
            }
            // A test task needs no test; an implementation whose test is gone needs a new one.
            if mark.half == TddHalf::Red {
                return Some(Skip::NotEligible);
            }
        }
        if let Some(with) = self.test_of(task) {
            let (is_marked, with) = (self.ids[with].metadata.tdd.is_some(), with.clone());
            return Some(if is_marked {
                Skip::Paired { with }
            } else {
                Skip::LooksPaired { with }
            });
        }
        (!is_eligible(task) || is_test_by_uid(task)).then_some(Skip::NotEligible)
    }

    /// The test task that another way of pairing has made for a task.
    fn test_of(&self, task: &Task) -> Option<&'t TaskId> {
        let by_uid = task
            .metadata
            .uid
            .as_ref()
            .and_then(|uid| self.uids.get(format!("{uid}:red").as_str()));
        let by_title = self.titles.get(&(
            task.metadata.group.as_deref(),
            red_title(task).to_lowercase(),
        ));
        by_uid.or(by_title).copied().filter(|id| **id != task.id)
    }

    /// Pairs that are not whole, which only a person can judge.
    fn notes(&self, tasks: &[Task], options: &PairUpOptions) -> Vec<String> {
        let mut notes = Vec::new();
        let mut tested: BTreeMap<&TaskId, &TaskId> = BTreeMap::new();
        for task in tasks.iter().filter(|task| is_of_group(task, options)) {
            let (Some(TddHalf::Red), Some(green)) = (task.half(), task.partner_id()) else {
                continue;
            };
            match self.ids.get(green) {
                None if options.absent_partner == AbsentPartner::Missing => {
                    notes.push(format!(
                        "test task {} is for {green}, which is not there",
                        task.id
                    ));
                }
                Some(other) if other.status == Status::Done && task.status.is_open() => {
                    notes.push(format!(
                        "test task {} is open, but {green}, which it is for, is done",
                        task.id
                    ));
                }
                None | Some(_) => {}
            }
            if let Some(first) = tested.insert(green, &task.id) {
                notes.push(format!(
                    "{green} has more than one test task: {first} and {}",
                    task.id
                ));
            }
        }
        notes
    }
}

/// The kind of work within `<spec>:<feature>:<kind>:<number>`; the path of the specification may hold any word.
fn is_test_by_uid(task: &Task) -> bool {
    let parts: Vec<&str> = task
        .metadata
        .uid
        .as_deref()
        .unwrap_or_default()
        .split(':')
        .collect();
    parts.iter().skip(1).any(|part| {
        part.to_lowercase()
            .split('-')
            .any(|word| word == "test" || word == "tests")
    })
}

fn red_title(task: &Task) -> String {
    format!("Write tests for {}", task.title)
}

fn red(task: &Task, id: TaskId, red_start: RedStart) -> Task {
    let mut red = Task::new(id, red_title(task));
    red.description = description(task);
    red.priority = task.priority;
    red.complexity = task.complexity.map(|complexity| match complexity {
        Complexity::XS | Complexity::S => Complexity::S,
        Complexity::M | Complexity::L | Complexity::XL => Complexity::M,
    });
    let said = &task.metadata;
    red.metadata = TaskMetadata::from(MetadataFields {
        tdd: Some(TddMark {
            half: TddHalf::Red,
            paired_task_id: Some(task.id.clone()),
        }),
        group: said.group.clone(),
        feature: said.feature.clone(),
        uid: said.uid.as_ref().map(|uid| format!("{uid}:red")),
        test_command: said.test_command.clone(),
        on: said.on.clone(),
        ..MetadataFields::default()
    });
    if red_start == RedStart::AfterDependencies {
        red.dependencies.clone_from(&task.dependencies);
    }
    red
}

/// What every test of new behaviour covers.
const OF_NEW_BEHAVIOUR: [&str; 3] = [
    "the behaviour that the task names",
    "its limits and empty input",
    "input that has to be refused",
];

/// What is to be tested, criterion by criterion; without criteria, what every test of new behaviour covers.
fn description(task: &Task) -> String {
    let mut lines = vec![
        format!(
            "Write tests that fail because task {} is not done yet, and that pass once it is.",
            task.id
        ),
        String::new(),
    ];
    let mut criteria = task.acceptance_criteria.clone();
    if criteria.is_empty() {
        criteria.extend(OF_NEW_BEHAVIOUR.map(ToOwned::to_owned));
    }
    lines.extend(
        criteria
            .iter()
            .map(|criterion| format!("- [ ] {criterion}")),
    );
    let is_box = |line: &&str| line.trim_start().starts_with("- [");
    let said = task
        .description
        .lines()
        .filter(|line| !is_box(line))
        .collect::<Vec<_>>()
        .join("\n");
    for (name, text) in [
        ("What the task says", &said),
        ("How it is to be tested", &task.test_strategy),
    ] {
        if !text.trim().is_empty() {
            lines.extend([String::new(), format!("{name}: {}", text.trim())]);
        }
    }
    lines.join("\n")
}

/// Cycles of the backlog as it will be; the dependency of an implementation on its test is never cut.
fn cuts(tasks: &[Task], reds: &[Task]) -> Vec<((TaskId, TaskId), Problem)> {
    let mut after = tasks.to_vec();
    let green_of = |red: &'_ Task| Some((red.partner_id()?.clone(), red.id.clone()));
    let red_of: BTreeMap<TaskId, TaskId> = reds.iter().filter_map(green_of).collect();
    for task in &mut after {
        if let Some(red) = red_of.get(&task.id) {
            task.dependencies.push(red.clone());
            task.metadata.tdd = Some(TddMark {
                half: TddHalf::Green,
                paired_task_id: Some(red.clone()),
            });
        }
    }
    after.extend(reds.iter().cloned());
    let mut cut = repairs(&after, CycleRepair::Cut);
    cut.retain(|(_, problem)| matches!(problem, Problem::Circular { .. }));
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanOptions, TddMode, WavePlan};
    use proptest::prelude::*;

    fn task(id: &str, title: &str, dependencies: &[&str]) -> Task {
        let mut task = Task::new(id, title);
        task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
        task
    }

    fn options() -> PairUpOptions {
        PairUpOptions {
            red_start: RedStart::AfterDependencies,
            group: None,
            next_number: 50,
            absent_partner: AbsentPartner::Missing,
        }
    }

    /// What the backlog holds once the pairs are written.
    fn written(tasks: &[Task], plan: &PairUp) -> Vec<Task> {
        let mut after = tasks.to_vec();
        for red in &plan.reds {
            let green = red
                .metadata
                .tdd
                .as_ref()
                .and_then(|mark| mark.paired_task_id.clone())
                .expect("a GREEN");
            let green = after
                .iter_mut()
                .find(|task| task.id == green)
                .expect("is there");
            green.dependencies.push(red.id.clone());
            green.metadata.tdd = Some(TddMark {
                half: TddHalf::Green,
                paired_task_id: Some(red.id.clone()),
            });
        }
        for ((task, dependency), _) in &plan.cuts {
            for one in after.iter_mut().filter(|one| one.id == *task) {
                one.dependencies.retain(|id| id != dependency);
            }
        }
        after.extend(plan.reds.iter().cloned());
        after
    }

    #[test]
    fn a_test_task_inherits_what_its_task_depends_on_and_its_task_waits_for_it() {
        let tasks = [
            task("1", "Add a parser", &[]),
            task("2", "Add a printer", &["1"]),
            task("3", "Document it", &["2"]),
        ];
        let plan = pair_up(&tasks, &options());
        assert_eq!(plan.skipped, [("3".into(), Skip::NotEligible)]);
        let [first, second] = &plan.reds[..] else {
            panic!("two")
        };
        assert_eq!(
            (first.id.as_str(), first.title.as_str()),
            ("50", "Write tests for Add a parser")
        );
        assert_eq!(
            (second.id.as_str(), &second.dependencies),
            ("51", &vec![TaskId::from("1")])
        );
        let early = pair_up(
            &tasks,
            &PairUpOptions {
                red_start: RedStart::Early,
                ..options()
            },
        );
        assert_eq!(early.reds[1].dependencies, []);
    }

    #[test]
    fn pairing_again_changes_nothing() {
        let tasks = [
            task("1", "Add a parser", &["2"]),
            task("2", "Add a printer", &[]),
        ];
        let after = written(&tasks, &pair_up(&tasks, &options()));
        let again = pair_up(
            &after,
            &PairUpOptions {
                next_number: 60,
                ..options()
            },
        );
        assert_eq!(
            (again.reds, again.cuts, again.notes),
            (vec![], vec![], vec![])
        );
    }

    #[test]
    fn a_test_task_of_another_maker_counts_and_a_pair_that_lost_its_test_gets_one() {
        let mut by_uid = task("1", "Add a parser", &[]);
        by_uid.metadata.uid = Some("spec-of-tests.md:parser:api:001".to_owned());
        let mut its_test = task("2", "Try it", &[]);
        its_test.metadata.uid = Some("spec-of-tests.md:parser:api:001:red".to_owned());
        let mut lost = task("3", "Add a printer", &[]);
        lost.metadata.tdd = Some(TddMark {
            half: TddHalf::Green,
            paired_task_id: Some("9".into()),
        });
        let tasks = [
            by_uid,
            its_test,
            lost,
            task("4", "Add search", &[]),
            task("5", "Write tests for add search", &[]),
        ];
        let plan = pair_up(&tasks, &options());
        let skipped: Vec<String> = plan
            .skipped
            .iter()
            .map(|(id, skip)| format!("{id} {skip}"))
            .collect();
        assert_eq!(
            skipped,
            [
                "1 has a test task already, 2, which is not marked as its pair",
                "4 has a test task already, 5, which is not marked as its pair",
                "5 only configures, documents, looks into something or tests",
            ]
        );
        let names: Vec<&str> = plan.reds.iter().map(|red| red.title.as_str()).collect();
        assert_eq!(
            names,
            ["Write tests for Try it", "Write tests for Add a printer"]
        );
        let finished = PairUpOptions {
            absent_partner: AbsentPartner::Finished,
            ..options()
        };
        assert_eq!(
            pair_up(&tasks, &finished).reds.len(),
            1,
            "its test was done and its file is gone"
        );
    }

    #[test]
    fn only_open_tasks_of_the_group_are_paired_and_odd_pairs_are_told() {
        let mut tasks = [
            task("1", "Add a", &[]),
            task("2", "Add b", &[]),
            task("3", "Add c", &[]),
            task("4", "x", &[]),
        ];
        tasks[0].metadata.group = Some("g".to_owned());
        tasks[1].status = Status::Done;
        tasks[3].metadata.tdd = Some(TddMark {
            half: TddHalf::Red,
            paired_task_id: Some("2".into()),
        });
        let grouped = pair_up(
            &tasks,
            &PairUpOptions {
                group: Some("g".to_owned()),
                ..options()
            },
        );
        assert_eq!(grouped.reds.len(), 1);
        assert_eq!(grouped.reds[0].metadata.group.as_deref(), Some("g"));
        let all = pair_up(&tasks, &options());
        assert_eq!(
            all.notes,
            ["test task 4 is open, but 2, which it is for, is done"]
        );
    }

    #[test]
    fn a_cycle_is_cut_and_never_between_a_test_and_its_task() {
        let tasks = [task("1", "Add a", &["2"]), task("2", "Add b", &["1"])];
        let plan = pair_up(&tasks, &options());
        assert!(!plan.cuts.is_empty());
        let after = written(&tasks, &plan);
        assert_eq!(crate::problems(&after), []);
        assert!(
            after[0].dependencies.contains(&"50".into())
                && after[1].dependencies.contains(&"51".into())
        );
    }

    /// Every edge of a plan, with test tasks named after their tasks.
    fn edges(tasks: &[Task], tdd: TddMode) -> Vec<(String, String, u32)> {
        let plan = WavePlan::new(
            tasks,
            &PlanOptions {
                tdd,
                ..PlanOptions::default()
            },
        )
        .expect("a plan");
        let name = |id: &TaskId| {
            let task = tasks
                .iter()
                .find(|task| task.id == *id)
                .and_then(|task| task.metadata.tdd.as_ref());
            match task {
                Some(TddMark {
                    half: TddHalf::Red,
                    paired_task_id: Some(green),
                }) => format!("{green}:red"),
                _ => id.to_string(),
            }
        };
        let of = |placed: &crate::PlacedTask| {
            let own = (
                name(&placed.task.id),
                placed.task.phase.to_string(),
                placed.wave,
            );
            let edges = placed
                .task
                .dependencies
                .iter()
                .map(|id| (name(&placed.task.id), name(id), placed.wave));
            std::iter::once(own).chain(edges).collect::<Vec<_>>()
        };
        let mut edges: Vec<_> = plan.tasks.iter().flat_map(of).collect();
        edges.sort();
        edges
    }

    proptest! {
        #[test]
        fn the_written_pairs_give_the_graph_of_auto_pairs(
            backlog in proptest::collection::vec((0..5_u8, proptest::collection::vec(0..12_usize, 0..4), any::<bool>()), 1..12)
        ) {
            let tasks: Vec<Task> = backlog
                .iter()
                .enumerate()
                .map(|(number, (kind, before, is_done))| {
                    let title = ["Add it", "Document it", "Build it", "Write tests for it", "Fix it"][usize::from(*kind)];
                    let mut task = Task::new((number + 1).to_string(), format!("{title} {number}"));
                    let mut before: Vec<usize> = before.iter().copied().filter(|&one| one < number).collect();
                    before.sort_unstable();
                    before.dedup();
                    task.dependencies = before.iter().map(|one| (one + 1).to_string().into()).collect();
                    if *is_done && task.dependencies.is_empty() {
                        task.status = Status::Done;
                    }
                    task
                })
                .collect();
            let after = written(&tasks, &pair_up(&tasks, &options()));
            prop_assert_eq!(edges(&tasks, TddMode::Auto), edges(&after, TddMode::Explicit));
        }
    }
}
