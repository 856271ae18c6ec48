//! Tells whether a commit sets statuses of a backlog and does nothing else. Runs no test.

use crate::trailers::values;
use itertools::Itertools as _;
use serde_json::Value;
use std::path::Path;
use tm_scheduler::CommitId;
use tm_worktrees::{Error, PastCommit, Repository};

/// What the trailer `Phase` says of a commit that sets statuses.
pub const STATUSES_PHASE: &str = "statuses";
/// Keys of Task Master's file that go with a status: when it was set.
const STAMPS: [&str; 3] = ["status", "updatedAt", "updated"];

/// Why a commit that says so does more than to set statuses; `None` where it does not.
pub(super) fn other_than_statuses(
    repository: &Repository,
    commit: &PastCommit,
    base: &CommitId,
) -> Result<Option<String>, Error> {
    let Some(path) = values(&commit.trailers, "Backlog").next() else {
        let why = "no trailer `Backlog` says which file it changes";
        return Ok(Some(why.to_owned()));
    };
    let changed = repository.changed_between(base, &commit.id)?;
    if let Some(other) = changed.iter().find(|other| *other != path) {
        let why = format!("it changes `{other}`, which is not the backlog");
        return Ok(Some(why));
    }
    let before = repository.text_at(base, path)?;
    let is_same = match (before, repository.text_at(&commit.id, path)?) {
        (Some(before), Some(after)) => is_same_but_for_statuses(path, &before, &after),
        (before, after) => before == after,
    };
    Ok((!is_same).then(|| format!("it changes more than statuses in `{path}`")))
}

/// Tells whether two texts of a backlog differ in statuses alone, and in when they were set.
pub fn is_same_but_for_statuses(path: &str, one: &str, other: &str) -> bool {
    if Path::new(path).extension() == Some("json".as_ref()) {
        let value = |text: &str| serde_json::from_str(text).ok().map(without_statuses);
        return value(one).is_some_and(|one| value(other) == Some(one));
    }
    let is_status = |line: &str| {
        let key = line.trim_start().trim_start_matches("- ");
        key.starts_with("status:")
    };
    one.lines().zip_longest(other.lines()).all(|lines| {
        lines
            .both()
            .is_some_and(|(one, other)| one == other || is_status(one) && is_status(other))
    })
}

fn without_statuses(value: Value) -> Value {
    match value {
        Value::Object(object) => object
            .into_iter()
            .filter(|(key, _)| !STAMPS.contains(&key.as_str()))
            .map(|(key, value)| (key, without_statuses(value)))
            .collect(),
        Value::Array(values) => values.into_iter().map(without_statuses).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_their_stamps_are_all_that_may_differ() {
        let one = r#"{"master": {"tasks": [{"id": 1, "title": "a", "status": "pending"}]}}"#;
        let done = r#"{"master":{"tasks":[{"id":1,"title":"a","status":"done","updatedAt":"x"}],"metadata":{"updated":1}}}"#;
        let with_metadata = one.replace("]}}", "], \"metadata\": {}}}");
        assert!(is_same_but_for_statuses(
            "t/tasks.json",
            &with_metadata,
            done
        ));
        assert!(!is_same_but_for_statuses(
            "tasks.json",
            one,
            &done.replace("\"a\"", "\"b\"")
        ));
        assert!(!is_same_but_for_statuses("tasks.json", one, "no JSON"));
        let yaml = "tasks:\n- id: 1\n  status: pending\n";
        assert!(is_same_but_for_statuses(
            "backlog.yaml",
            yaml,
            &yaml.replace("pending", "done")
        ));
        assert!(!is_same_but_for_statuses(
            "backlog.yaml",
            yaml,
            &yaml.replace("id: 1", "id: 2")
        ));
    }
}
