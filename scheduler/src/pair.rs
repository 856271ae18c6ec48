//! Pairs tests with implementations: turns open tasks into planned tasks, RED before GREEN.
//!
//! Does not know waves or order, and never touches the backlog.

use crate::named_files::named_files;
use crate::unit::UnitTask;
use crate::{Complexity, Phase, Priority, Status, Task, TaskId, TddHalf, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

words! {
    /// Which tasks become a RED and a GREEN task.
    #[derive(Default, JsonSchema)]
    pub enum TddMode {
        /// Those that the backlog pairs, and every other one that tests can be written for.
        #[default]
        Auto = "auto",
        /// Those that the backlog pairs.
        Explicit = "explicit",
        /// None.
        Off = "off",
    }
}

words! {
    /// When RED tasks may start.
    #[derive(Default)]
    pub enum RedStart {
        /// When everything that the task depends on has landed.
        #[default]
        AfterDependencies = "after-dependencies",
        /// At once, all of them before anything else.
        Early = "early",
    }
}

/// A task as a run carries it out: a plain task, or one half of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The id within the run: the backlog's, or `<id>:red` for a test task that pairing made.
    pub id: TaskId,
    /// The id of the task in the backlog whose status this one moves.
    pub backlog_id: TaskId,
    /// One line.
    pub title: Title,
    /// Which kind of work.
    pub phase: Phase,
    /// The other half of the pair.
    pub pair: Option<TaskId>,
    /// Planned tasks that must have finished before, all of them in the same plan.
    pub dependencies: Vec<TaskId>,
    /// The priority in the backlog.
    pub priority: Priority,
    /// The size in the backlog.
    pub complexity: Option<Complexity>,
    /// The status in the backlog before the run.
    pub status_before: Status,
    /// `metadata.timeout_minutes` of the backlog.
    pub timeout_minutes: Option<u64>,
    /// `metadata.model` of the backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `metadata.on` of the backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Box<str>>,
    /// Files that the task's texts name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// By which the task is known again under another title; nothing where the backlog says no more than the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<u64>,
}

/// What pairing made of the open tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairing {
    /// The planned tasks, in the order of the backlog, each RED before its GREEN.
    pub tasks: Vec<PlannedTask>,
    /// What people should know, such as a RED without a GREEN.
    pub notes: Vec<String>,
}

/// Splits and joins the open tasks into pairs.
///
/// Dependencies are kept as they are in the backlog, but that a GREEN depends on its RED besides, and that a RED has
/// the dependencies of its GREEN unless it starts early.
pub fn pair(open: &[&Task], mode: TddMode, red_start: RedStart) -> Pairing {
    let open: Vec<UnitTask<'_>> = open.iter().map(|task| UnitTask::from(*task)).collect();
    let mut tasks = Vec::with_capacity(open.len() * 2);
    let notes = pair_units(&open, mode, red_start, |task| tasks.push(task));
    Pairing { tasks, notes }
}

/// Does the same with the tasks of a unit: gives the planned tasks away, and returns what people should know.
pub(crate) fn pair_units(
    open: &[UnitTask<'_>],
    mode: TddMode,
    red_start: RedStart,
    mut give: impl FnMut(PlannedTask),
) -> Vec<String> {
    let explicit = match mode {
        TddMode::Off => ExplicitPairs::default(),
        TddMode::Auto | TddMode::Explicit => ExplicitPairs::find(open),
    };
    // A GREEN depends on its RED besides.
    let room = usize::from(mode != TddMode::Off);
    for unit in open {
        let (task, plain) = (&*unit.task, planned(unit, room));
        if let Some(red) = explicit.red_of.get(&task.id) {
            give(green(plain, red));
        } else if let Some(green) = explicit.green_of.get(&task.id) {
            give(red(plain, &task.id, green, red_start));
        } else if mode == TddMode::Auto && task.metadata.tdd.is_none() && is_eligible(task) {
            let red_id = TaskId::new([task.id.as_str(), ":red"].concat());
            give(red(plain.clone(), &red_id, &task.id, red_start));
            give(green(plain, &red_id));
        } else {
            give(plain);
        }
    }
    explicit.notes
}

/// The categories of tasks that no test is written for.
const CATEGORIES: [&str; 4] = ["documentation", "testing", "research", "design"];

/// How the titles of tasks begin that no test is written for.
const FIRST_WORDS: [&str; 18] = [
    "configure",
    "config",
    "set",
    "setup",
    "install",
    "document",
    "documentation",
    "docs",
    "test",
    "tests",
    "testing",
    "research",
    "investigate",
    "evaluate",
    "plan",
    "review",
    "deploy",
    "release",
];

/// How titles begin that say, in the words behind, what is made.
const MAKERS: [&str; 6] = ["write", "add", "create", "update", "improve", "extend"];

/// What is made where no test is written for it.
const PRODUCTS: [&str; 10] = [
    "test",
    "tests",
    "documentation",
    "docs",
    "readme",
    "changelog",
    "tutorial",
    "guide",
    "unit-tests",
    "e2e",
];

/// Tells whether a task is split in `auto` mode: not when it only configures, documents, looks into something or
/// writes tests, judged by its category and the first words of its title.
pub fn is_eligible(task: &Task) -> bool {
    let category = in_small_letters(task.metadata.category.as_deref().unwrap_or_default());
    if is_one_of(&category, &CATEGORIES) {
        return false;
    }
    let title = in_small_letters(&task.title);
    let words = title.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    let mut words = words.filter(|word| !word.is_empty());
    let Some(first) = words.next() else {
        return true;
    };
    let names_a_product = || words.take(3).any(|word| is_one_of(word, &PRODUCTS));
    !(is_one_of(first, &FIRST_WORDS) || is_one_of(first, &MAKERS) && names_a_product())
}

/// Where all letters are English ones, words are found whatever their case is.
fn in_small_letters(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    let is_it = |known: &&str| known.len() == word.len() && known.eq_ignore_ascii_case(word);
    words.iter().any(is_it)
}

/// The pairs that the backlog itself names.
#[derive(Default)]
struct ExplicitPairs {
    red_of: BTreeMap<TaskId, TaskId>,
    green_of: BTreeMap<TaskId, TaskId>,
    notes: Vec<String>,
}

impl ExplicitPairs {
    fn find(open: &[UnitTask<'_>]) -> Self {
        let open = open.iter().map(|unit| &*unit.task);
        let halves = open
            .clone()
            .filter_map(|task| Some((&task.id, task.half()?)));
        let halves: BTreeMap<&TaskId, TddHalf> = halves.collect();
        let mut pairs = Self::default();
        for task in open {
            let (Some(half), Some(partner)) = (task.half(), task.partner_id()) else {
                continue;
            };
            let (red, green) = match half {
                TddHalf::Red => (&task.id, partner),
                TddHalf::Green => (partner, &task.id),
            };
            let is = |id, half| halves.get(id) == Some(&half);
            let is_pair = is(red, TddHalf::Red) && is(green, TddHalf::Green);
            if is_pair && !pairs.red_of.contains_key(green) && !pairs.green_of.contains_key(red) {
                pairs.red_of.insert(green.clone(), red.clone());
                pairs.green_of.insert(red.clone(), green.clone());
            }
        }
        for &id in halves.keys() {
            if !pairs.red_of.contains_key(id) && !pairs.green_of.contains_key(id) {
                pairs.notes.push(format!(
                    "task `{id}` is marked as half of a pair, but its other half is not open; it is judged as plain work"
                ));
            }
        }
        pairs
    }
}

#[inline]
/// The task as plain work, with room for so many more dependencies.
fn planned(UnitTask { task, dependencies }: &UnitTask<'_>, room: usize) -> PlannedTask {
    let mut own = Vec::with_capacity(dependencies.len() + room);
    own.extend_from_slice(dependencies);
    PlannedTask {
        id: task.id.clone(),
        backlog_id: task.id.clone(),
        title: task.title.clone(),
        phase: Phase::None,
        pair: None,
        dependencies: own,
        priority: task.priority,
        complexity: task.complexity,
        status_before: task.status.clone(),
        timeout_minutes: task.metadata.timeout_minutes,
        model: task.metadata.model.clone(),
        on: task.metadata.on.clone(),
        files: named_files(task),
        texts: task.texts_digest(),
    }
}

fn green(mut task: PlannedTask, red: &TaskId) -> PlannedTask {
    if !task.dependencies.contains(red) {
        task.dependencies.push(red.clone());
    }
    PlannedTask {
        phase: Phase::Green,
        pair: Some(red.clone()),
        ..task
    }
}

fn red(mut task: PlannedTask, id: &TaskId, green: &TaskId, red_start: RedStart) -> PlannedTask {
    if red_start == RedStart::Early {
        task.dependencies.clear();
    }
    PlannedTask {
        id: id.clone(),
        phase: Phase::Red,
        pair: Some(green.clone()),
        ..task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TddMark;
    use proptest::prelude::*;

    fn marked(id: &str, half: TddHalf, partner: &str, dependencies: &[&str]) -> Task {
        let mut task = Task::new(id, "Build it");
        task.metadata.tdd = Some(TddMark {
            half,
            paired_task_id: Some(partner.into()),
        });
        task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
        task
    }

    fn lines(pairing: &Pairing) -> Vec<String> {
        let line = |task: &PlannedTask| {
            let dependencies: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
            format!("{} {} <- {}", task.id, task.phase, dependencies.join(" "))
        };
        pairing.tasks.iter().map(line).collect()
    }

    fn paired(tasks: &[Task], mode: TddMode, red_start: RedStart) -> Pairing {
        pair(&tasks.iter().collect::<Vec<_>>(), mode, red_start)
    }

    #[test]
    fn an_eligible_task_is_split_and_red_inherits_its_dependencies() {
        let mut task = Task::new("2", "Parse the header");
        task.dependencies = vec!["1".into()];
        let pairing = paired(&[task.clone()], TddMode::Auto, RedStart::AfterDependencies);
        assert_eq!(lines(&pairing), ["2:red red <- 1", "2 green <- 1 2:red"]);
        assert_eq!(pairing.tasks[0].backlog_id, TaskId::from("2"));
        let early = paired(&[task.clone()], TddMode::Auto, RedStart::Early);
        assert_eq!(lines(&early), ["2:red red <- ", "2 green <- 1 2:red"]);
        assert_eq!(
            lines(&paired(&[task], TddMode::Off, RedStart::Early)),
            ["2 none <- 1"]
        );
    }

    #[test]
    fn tasks_that_only_configure_document_or_test_are_not_split() {
        for title in [
            "Configure CI",
            "Set up the repository",
            "Write tests for the parser",
            "Add unit tests",
            "Update README",
            "Document the API",
            "Create user documentation",
            "Research vector stores",
        ] {
            assert!(!is_eligible(&Task::new("1", title)), "{title}");
        }
        for title in [
            "Implement login",
            "Add search",
            "Create the test runner's scheduler core",
            "Fix #12",
            "",
        ] {
            let only_makes_tests = title.contains("test runner");
            assert_eq!(
                is_eligible(&Task::new("1", title)),
                !only_makes_tests,
                "{title}"
            );
        }
    }

    #[test]
    fn explicit_pairs_are_joined_from_either_side() {
        let mut red = marked("5", TddHalf::Red, "1", &[]);
        red.metadata.tdd = Some(TddMark {
            half: TddHalf::Red,
            paired_task_id: None,
        });
        let pairing = paired(
            &[marked("1", TddHalf::Green, "5", &["9"]), red],
            TddMode::Explicit,
            RedStart::AfterDependencies,
        );
        assert_eq!(lines(&pairing), ["1 green <- 9 5", "5 red <- "]);
        assert!(pairing.notes.is_empty());
    }

    #[test]
    fn half_a_pair_without_the_other_is_plain_work_and_said() {
        let pairing = paired(
            &[marked("1", TddHalf::Green, "5", &[])],
            TddMode::Auto,
            RedStart::AfterDependencies,
        );
        assert_eq!(lines(&pairing), ["1 none <- "]);
        assert_eq!(pairing.notes.len(), 1);
    }

    /// The same, with all words in small letters first.
    fn is_eligible_in_small_letters(task: &Task) -> bool {
        let category = task
            .metadata
            .category
            .as_deref()
            .unwrap_or_default()
            .to_lowercase();
        let title = task.title.to_lowercase();
        let words = title.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_of_tests = |first: &&str| {
            let mut named = words.iter().skip(1).take(3);
            FIRST_WORDS.contains(first)
                || MAKERS.contains(first) && named.any(|word| PRODUCTS.contains(word))
        };
        !CATEGORIES.contains(&&*category) && !words.first().is_some_and(is_of_tests)
    }

    proptest! {
        #[test]
        fn a_word_is_known_whatever_its_letters_are(
            title in "(?i)(write|add|configure|set|document|\u{130}ns[t]all|build)[ :-](é |the |a )?(tests?|docs|e2e|parser)?",
            category in prop::option::of("(?i)(documentation|testing|design|feature|te\u{17f}ting)"),
        ) {
            let mut task = Task::new("1", title);
            task.metadata.category = category;
            prop_assert_eq!(is_eligible(&task), is_eligible_in_small_letters(&task));
        }
    }
}
