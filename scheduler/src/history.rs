//! What a history says of the tasks of a backlog: which work stands in it, and which was taken back.
//!
//! Reads the messages that it is given; does not know how git keeps them, nor what is in the commits.

use crate::{CommitId, RunId, Status, Tag, Task, TaskId, TddHalf, one_line};
use std::collections::BTreeSet;

/// The trailer that names a commit whose work a commit of tm's takes back, and the task of that work.
pub const TAKES_BACK: &str = "Takes-Back";
/// The trailer with a task's title, where the first line of the message may be another one.
pub const TITLE: &str = "Title";
/// What the trailer `Phase` says of a commit of autopilot's; its `Task` is `#<id> - <title>`.
pub const BY_AUTOPILOT: &str = "COMMIT";
/// What the trailer `Phase` says of a commit that takes work back.
pub const TAKEN_BACK_PHASE: &str = "taken-back";

/// The words that stand before a title in the first lines of tm's own messages.
const BEFORE_TITLES: [&str; 3] = ["Add tests for: ", "Refactor: ", "* "];
/// How `git merge --squash` begins; it lists the newest commit first.
const SQUASHED: &str = "Squashed commit of the following:";
/// How git words that a commit takes another one back.
const REVERTS: &str = "This reverts commit ";

/// A commit with its message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastMessage {
    /// Its id.
    pub commit: CommitId,
    /// All of its message.
    pub message: String,
    /// The commits that it takes back as `git revert` words it; of a merge, all that it brought.
    pub reverts: Vec<CommitId>,
}

/// What a piece of work is of.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum WorkKind {
    /// The tests of a pair.
    Red,
    /// What makes a task done: the implementation of a pair, or work outside of pairs.
    Whole,
    /// Better code on top of it.
    Refactor,
}

/// Work on a task, as the trailers of a commit name it. A squashed commit holds several.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Work {
    /// The commit whose message says so.
    pub commit: CommitId,
    /// The task, within its run.
    pub task: TaskId,
    /// The tag of the backlog.
    pub tag: Tag,
    /// The run.
    pub run: RunId,
    /// What it is.
    pub kind: WorkKind,
    /// The lines that may be the task's title, from the first on; one where the trailer `Title` says it.
    pub titles: Vec<String>,
}

impl Work {
    /// Tells whether this may be a task's title in the message.
    pub fn is_titled(&self, title: &str) -> bool {
        let title = one_line(title);
        self.titles.contains(&title)
    }
}

/// What a part of a message says.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Said {
    Work(Work),
    /// All work on a task, from before, is taken back.
    TakenBack(Tag, TaskId),
}

/// Returns the commits that a message takes back in the words of `git revert`, as they are written there.
pub fn reverted(message: &str) -> Vec<CommitId> {
    let said = message
        .lines()
        .map(str::trim_start)
        .filter_map(|line| line.strip_prefix(REVERTS));
    let is_other = |letter: char| !letter.is_ascii_hexdigit();
    said.filter_map(|rest| rest.split(is_other).next())
        .filter(|id| id.len() >= 7)
        .map(CommitId::new)
        .collect()
}

/// Returns the work that stands in a history whose commits come newest first, each before its parents: what was taken
/// back since, by tm or by `git revert`, is left out, and what that was taken back by in turn counts again.
///
/// # Errors
/// `is_before`, which tells whether a commit is an ancestor of another one, could not find out.
pub fn standing_work<E>(
    newest_first: &[PastMessage],
    mut is_before: impl FnMut(&CommitId, &CommitId) -> Result<bool, E>,
) -> Result<Vec<Work>, E> {
    let mut reverted = BTreeSet::new();
    let mut taken_back: Vec<(CommitId, Tag, TaskId)> = Vec::new();
    let mut standing = Vec::new();
    for past in newest_first {
        // What was reverted reverts nothing.
        if reverted.contains(&past.commit) {
            continue;
        }
        reverted.extend(past.reverts.iter().cloned());
        for said in said(past).into_iter().rev() {
            match said {
                Said::TakenBack(tag, task) => taken_back.push((past.commit.clone(), tag, task)),
                Said::Work(work) => {
                    let mut stands = true;
                    let of_task = taken_back
                        .iter()
                        .filter(|(_, tag, task)| *tag == work.tag && *task == work.task);
                    for (by, ..) in of_task {
                        stands = stands && *by != past.commit && !is_before(&past.commit, by)?;
                    }
                    if stands {
                        standing.push(work);
                    }
                }
            }
        }
    }
    Ok(standing)
}

/// What the message says, the oldest first.
fn said(past: &PastMessage) -> Vec<Said> {
    let mut all = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    let mut lines = past.message.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some(task) = line.strip_prefix("Task: ") else {
            before.push(line);
            continue;
        };
        let mut trailers = Vec::new();
        while let Some(found) = lines.peek().and_then(|line| trailer(line)) {
            trailers.push(found);
            lines.next();
        }
        all.extend(said_by(past, task.trim(), &trailers, &before));
        before.clear();
    }
    if past.message.lines().any(|line| line.trim() == SQUASHED) {
        all.reverse();
    }
    all
}

fn trailer(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(": ")?;
    let is_name = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    (is_name && !name.is_empty() && name != "Task").then_some((name, value.trim()))
}

fn said_by(
    past: &PastMessage,
    task: &str,
    trailers: &[(&str, &str)],
    before: &[&str],
) -> Vec<Said> {
    let values = |wanted: &'static str| {
        trailers
            .iter()
            .filter(move |(name, _)| *name == wanted)
            .map(|(_, value)| *value)
    };
    let value = |wanted| values(wanted).next();
    let (Some(phase), Some(tag), Some(run)) = (value("Phase"), value("Tag"), value("Run")) else {
        return Vec::new();
    };
    let tag = Tag::from(tag);
    if phase == BY_AUTOPILOT {
        let named = task
            .strip_prefix('#')
            .and_then(|task| task.split_once(" - "));
        let work = |(task, title)| {
            Said::Work(Work {
                commit: past.commit.clone(),
                task: TaskId::from(task),
                tag,
                run: RunId::from(run),
                kind: WorkKind::Whole,
                titles: vec![one_line(title)],
            })
        };
        return named.map(work).into_iter().collect();
    }
    let task = TaskId::from(task);
    let kind = match phase {
        "red" => WorkKind::Red,
        "green" | "none" => WorkKind::Whole,
        "refactor" => WorkKind::Refactor,
        TAKEN_BACK_PHASE => {
            let tasks = values(TAKES_BACK).filter_map(|value| value.split_once(' '));
            let taken_back = |(_, task)| Said::TakenBack(tag.clone(), TaskId::from(task));
            return tasks.map(taken_back).collect();
        }
        _ => return Vec::new(),
    };
    let titles = if let Some(title) = value(TITLE) {
        vec![one_line(title)]
    } else {
        before
            .iter()
            .map(|line| title_in(line))
            .filter(|title| !title.is_empty())
            .collect()
    };
    vec![Said::Work(Work {
        commit: past.commit.clone(),
        task,
        tag,
        run: RunId::from(run),
        kind,
        titles,
    })]
}

/// A line of a message without what is put around a title: tm's own words, a bullet, the number of a pull request.
fn title_in(line: &str) -> String {
    let mut text = line.trim();
    for words in BEFORE_TITLES.into_iter().rev() {
        text = text.strip_prefix(words).unwrap_or(text);
    }
    if let Some((title, number)) = text.rsplit_once(" (#")
        && let Some(number) = number.strip_suffix(')')
        && number.chars().all(|digit| digit.is_ascii_digit())
    {
        text = title;
    }
    one_line(text)
}

/// What a history says of the open tasks of a backlog.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Recognised {
    /// Tasks that are done, with the commit that did them; subtasks go with their task.
    pub done: Vec<(TaskId, CommitId)>,
    /// Open tasks with the id of work that stands under another title: it is not known to be theirs.
    pub other_title: Vec<(TaskId, Work)>,
    /// Tests of a pair that stand there without the implementation.
    pub tests_alone: Vec<Work>,
}

impl Recognised {
    /// Compares open tasks with the work that stands in the history they start from. A task is known by its tag, its id
    /// and its title together: an id alone may have been given to another task, and a title may come again.
    ///
    /// `again` are tasks that a person wants done once more.
    pub fn of(tasks: &[Task], tag: &Tag, standing: &[Work], again: &BTreeSet<TaskId>) -> Self {
        let of_tag: Vec<&Work> = standing.iter().filter(|work| work.tag == *tag).collect();
        let mut found = Self::default();
        let wanted = |task: &&Task| task.status.is_open() && !again.contains(&task.id);
        let subtasks = tasks.iter().flat_map(|task| &task.subtasks);
        for task in tasks.iter().chain(subtasks).filter(wanted) {
            found.look_at(task, &of_tag);
        }
        found.take_tests(tasks, &of_tag);
        found.take_subtasks(tasks);
        found
    }

    fn look_at(&mut self, task: &Task, standing: &[&Work]) {
        let is_whole = |work: &&&Work| work.task == task.id && work.kind == WorkKind::Whole;
        let mut whole = standing.iter().filter(is_whole);
        let titled = whole.clone().find(|work| work.is_titled(&task.title));
        if let Some(work) = titled {
            self.done.push((task.id.clone(), work.commit.clone()));
        } else if let Some(&work) = whole.next() {
            self.other_title.push((task.id.clone(), work.clone()));
        }
    }

    /// The tests of a pair are done with its implementation, and stand alone without it.
    fn take_tests(&mut self, tasks: &[Task], standing: &[&Work]) {
        for work in standing.iter().filter(|work| work.kind == WorkKind::Red) {
            let find = |id: &str| {
                tasks
                    .iter()
                    .find(|task| task.id.as_str() == id && work.is_titled(&task.title))
            };
            let own = find(work.task.as_str()).filter(|task| task.half() == Some(TddHalf::Red));
            let split = || find(work.task.as_str().strip_suffix(":red")?);
            let Some(implementation) = own.and_then(|red| partner(red, tasks)).or_else(split)
            else {
                continue;
            };
            if !implementation.status.is_open() || self.is_done(&implementation.id) {
                let open = own.filter(|red| red.status.is_open() && !self.is_done(&red.id));
                self.done
                    .extend(open.map(|red| (red.id.clone(), work.commit.clone())));
            } else {
                self.tests_alone.push((*work).clone());
            }
        }
    }

    /// Subtasks of what is done are done, and so is a task whose subtasks all are.
    fn take_subtasks(&mut self, tasks: &[Task]) {
        for task in tasks.iter().filter(|task| !task.subtasks.is_empty()) {
            if let Some(commit) = self.commit_of(&task.id).cloned() {
                for subtask in &task.subtasks {
                    if subtask.status.is_open() && !self.is_done(&subtask.id) {
                        self.done.push((subtask.id.clone(), commit.clone()));
                    }
                }
                continue;
            }
            let mut last_first = task.subtasks.iter().rev();
            let is_over =
                |task: &Task| task.status.satisfies_dependants() || self.is_done(&task.id);
            if task.status.is_open()
                && task.subtasks.iter().all(is_over)
                && let Some(commit) = last_first.find_map(|subtask| self.commit_of(&subtask.id))
            {
                self.done.push((task.id.clone(), commit.clone()));
            }
        }
    }

    fn commit_of(&self, id: &TaskId) -> Option<&CommitId> {
        let mut done = self.done.iter();
        done.find_map(|(done, commit)| (done == id).then_some(commit))
    }

    /// Tells whether the history has the task.
    pub fn is_done(&self, id: &TaskId) -> bool {
        self.commit_of(id).is_some()
    }

    /// Sets the statuses of tasks that were read.
    pub fn apply(&self, tasks: &mut [Task]) {
        for task in tasks {
            if self.is_done(&task.id) {
                task.status = Status::Done;
            }
            self.apply(&mut task.subtasks);
        }
    }
}

/// The other half of an explicit pair, whichever of the two names it.
fn partner<'t>(task: &Task, tasks: &'t [Task]) -> Option<&'t Task> {
    let named = task.partner_id();
    let mut all = tasks.iter();
    all.clone()
        .find(|other| Some(&other.id) == named)
        .or_else(|| all.find(|other| other.partner_id() == Some(&task.id)))
}

#[cfg(test)]
mod tests;
