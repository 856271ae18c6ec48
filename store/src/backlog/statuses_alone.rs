//! Tells whether two texts of a backlog differ in statuses alone, and in when they were set, whoever wrote them. Reads no
//! file.

use super::document::{Document, Kind, Value};
use super::loaded::{holder, lists};
use super::statuses::all_places;
use super::{SourceKind, yaml};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use tm_scheduler::Status;

/// The key of a task's status, and those of moments: in a task, and in what is said of a tag.
const STATUS: &str = "status";
const OF_TASK: &str = "updatedAt";
const OF_TAG: &str = "updated";
/// No moment is spelled longer.
const LONGEST_MOMENT: usize = 40;

/// A value that has to stay: what it is, what it holds where that is plain, and how many values are directly in it.
type Fixed<'d> = (Kind, Cow<'d, str>, usize);

/// Tells whether two texts are backlogs with the same tasks, and differ in statuses of tasks and in when those were set.
/// What is no status that can be written, and no moment, has to stay as it is; so have comments.
pub fn is_same_but_for_statuses(path: &str, one: &str, other: &str) -> bool {
    let path = Path::new(path);
    let is_yaml = SourceKind::of_path(path) == SourceKind::Yaml;
    let lines = |text| str::lines(text).filter_map(without_status);
    if is_yaml && !lines(one).eq(lines(other)) {
        return false;
    }
    let document = |text: &str| {
        if is_yaml {
            yaml::document(path, text).ok()
        } else {
            Document::parse(text.to_owned()).ok()
        }
    };
    let (Some(one), Some(other)) = (document(one), document(other)) else {
        return false;
    };
    fixed(&one).is_some_and(|one| fixed(&other) == Some(one))
}

/// Returns a line without the status that it sets; `None` where it does nothing else.
fn without_status(line: &str) -> Option<Cow<'_, str>> {
    let Some((before, after)) = line.split_once("status:") else {
        return Some(line.into());
    };
    if !before.trim_matches([' ', '-']).is_empty() {
        return Some(line.into());
    }
    let behind = after.trim_start().split_once(' ');
    let rest = format!(
        "{}{}",
        before.trim_end(),
        behind.map_or("", |(_, rest)| rest)
    );
    (!rest.is_empty()).then(|| rest.into())
}

/// What has to stay; `None` for what holds no tasks, or a key twice: who reads that may take either.
fn fixed(document: &Document) -> Option<Vec<Fixed<'_>>> {
    let root = document.root()?;
    if root.and_all_within().any(has_key_twice) {
        return None;
    }
    let free = free(document, root)?;
    let is_fixed = |value: &Value<'_>| !free.contains(&value.node_index());
    let of_value = |value: Value<'_>| {
        let kind = match value.kind() {
            Kind::EscapedText => Kind::Text,
            kind => kind,
        };
        let within = value.children().filter(is_fixed).count();
        (kind, within)
    };
    let all = root.and_all_within().filter(is_fixed);
    let fixed = all.map(|value| {
        let (kind, within) = of_value(value);
        (kind, value.text().unwrap_or_default(), within)
    });
    Some(fixed.collect())
}

fn has_key_twice(value: Value<'_>) -> bool {
    let mut known = BTreeSet::new();
    value.members().any(|(key, _)| !known.insert(key))
}

/// Returns the nodes that may differ, keys and values; `None` where there is no task.
fn free(document: &Document, root: Value<'_>) -> Option<BTreeSet<usize>> {
    let lists = lists(document).into_iter();
    let tasks: Vec<_> = lists.flat_map(|(_, list)| all_places(list)).collect();
    if tasks.is_empty() {
        return None;
    }
    let holders = holder(root).members().map(|(_, value)| value);
    let metadata = holders.chain([root]).filter_map(|tag| tag.get("metadata"));
    let of_tasks = tasks.into_iter().flat_map(|(_, task)| task.members());
    let of_tasks = of_tasks.filter(|(key, value)| match &**key {
        STATUS => is_text(*value, |text| {
            !matches!(Status::from(text), Status::Other(_))
        }),
        key => key == OF_TASK && is_text(*value, is_moment),
    });
    let of_tags = metadata.flat_map(Value::members);
    let of_tags = of_tags.filter(|(key, value)| key == OF_TAG && is_text(*value, is_moment));
    // The node of a key comes right before the one of its value.
    let free = of_tasks.chain(of_tags);
    let nodes = free.flat_map(|(_, value)| [value.node_index() - 1, value.node_index()]);
    Some(nodes.collect())
}

fn is_text(value: Value<'_>, is_meant: impl Fn(&str) -> bool) -> bool {
    let is_text = matches!(value.kind(), Kind::Text | Kind::EscapedText);
    is_text && value.text().is_some_and(|text| is_meant(&text))
}

fn is_moment(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"-:.TZ+".contains(&byte);
    text.len() <= LONGEST_MOMENT && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"master": {"tasks": [{"id": 1, "title": "a", "status": "pending", "subtasks": [{"id": 1, "status": "pending"}]}], "metadata": {}}}"#;
    const YAML: &str = "# ours\ntasks:\n- id: 1\n  title: a\n  status: pending # soon\n- id: 2\n";

    fn is_same(path: &str, one: &str, change: (&str, &str)) -> bool {
        assert!(one.contains(change.0), "{}", change.0);
        is_same_but_for_statuses(path, one, &one.replace(change.0, change.1))
    }

    #[test]
    fn statuses_and_their_stamps_may_differ_and_how_the_file_is_laid_out() {
        let json = |change| is_same("t/tasks.json", JSON, change);
        assert!(json(("pending", "done")));
        assert!(json((
            r#""pending", "#,
            r#""done", "updatedAt": "2026-11-21T01:02:03.456Z", "#
        )));
        assert!(json(("{}", r#"{"updated": "2026-11-21"}"#)));
        assert!(json((", ", ",\n\t")));
        let yaml = |change| is_same("backlog.yaml", YAML, change);
        assert!(yaml(("pending", "done")));
        assert!(yaml(("- id: 2\n", "- id: 2\n  status: done\n")));
    }

    #[test]
    fn nothing_else_of_a_backlog_may_differ() {
        for change in [
            ("\"a\"", "\"b\""),
            ("\"pending\"", "\"what else\""),
            ("\"pending\"", "{\"x\": 1}"),
            ("{}", r#"{"updated": "as I like"}"#),
            ("{}", r#"{"status": "done"}"#),
            ("\"title\"", "\"title\": \"b\", \"title\""),
            ("\"id\": 1, \"title\"", "\"id\": \"1\", \"title\""),
            ("{}", r#"{"deep": {"status": "done"}}"#),
            (r#"{"master""#, r#"{"status": "done", "master""#),
            ("}}}", "}}"),
        ] {
            assert!(!is_same("tasks.json", JSON, change), "{change:?}");
        }
        for change in [
            ("id: 1", "id: 3"),
            ("# ours", "# yours"),
            ("# soon", "# never"),
            ("title: a", "title: a\n  status: done"),
            ("status: pending", "status: [1]"),
        ] {
            assert!(!is_same("backlog.yaml", YAML, change), "{change:?}");
        }
    }

    #[test]
    fn what_holds_no_tasks_is_no_backlog() {
        let makefile = "all:\n\ttrue\nstatus: all\n\ttrue\n";
        assert!(!is_same(
            "Makefile",
            makefile,
            ("status: all", "status: ; ls")
        ));
        let package = r#"{"scripts": {"a": "ok"}, "status": "done"}"#;
        assert!(!is_same("package.json", package, ("done", "pending")));
        assert!(!is_same(
            "a.yaml",
            "a: 1\nstatus: done\n",
            ("done", "pending")
        ));
        assert!(!is_same_but_for_statuses("tasks.json", "", ""));
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(!is_same_but_for_statuses("tasks.json", &deep, &deep));
    }
}
