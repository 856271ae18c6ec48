//! Names of autopilot's runs: `<tag>__task-<id>__<time>`, safe as names of folders and different for different runs.

use crate::Error;
use crate::run::{calendar_time, encode};
use tm_scheduler::{RunId, Tag, TaskId, Timestamp};

/// Stands between tag and task in every run id, and in no id of another kind of run.
const MARK: &str = "__task-";
const LONGEST: usize = 250;

/// Returns the id of a run that begins now: `master__task-7__2026-11-21T05-30-00-123Z`.
pub fn autopilot_run_id(tag: &Tag, task: &TaskId, now: Timestamp) -> RunId {
    let time = format!("{:.3}", calendar_time(now)).replace([':', '.'], "-");
    RunId::new(format!(
        "{}{MARK}{}__{time}",
        encode(tag.as_str()),
        encode(task.as_str())
    ))
}

/// Tells whether a run is one of autopilot's.
pub fn is_autopilot_run(id: &RunId) -> bool {
    id.as_str().contains(MARK)
}

/// Refuses an id that could lead out of the folder of runs.
pub(super) fn check(id: &RunId) -> Result<(), Error> {
    let text = id.as_str();
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+%=".contains(&byte);
    let is_name =
        !text.starts_with(['.', '-']) && text.len() <= LONGEST && text.bytes().all(is_safe);
    if is_name && is_autopilot_run(id) {
        return Ok(());
    }
    Err(Error::NotAutopilot { id: id.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_tag_task_and_time() {
        let id = autopilot_run_id(&"tdd".into(), &"1".into(), Timestamp(1_759_847_400_000));
        assert_eq!(id.as_str(), "tdd__task-1__2025-10-07T14-30-00-000Z");
        check(&id).unwrap();
    }

    #[test]
    fn hostile_tags_and_tasks_make_safe_names() {
        for (tag, task) in [
            ("../..", "/etc"),
            (".", ""),
            ("a b", "1\n2"),
            (&*"x".repeat(900), "1"),
        ] {
            let id = autopilot_run_id(&tag.into(), &task.into(), Timestamp(0));
            check(&id).unwrap();
        }
        for bad in [
            "",
            "..",
            "../a__task-1__x",
            "-a__task-1__x",
            "20261121-014512-3fa9",
        ] {
            assert!(check(&bad.into()).is_err(), "{bad}");
        }
    }
}
