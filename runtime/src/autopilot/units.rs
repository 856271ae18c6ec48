//! What came of each piece of work that was handed out.
//!
//! The state keeps the short records; `work-units.json` adds what each piece was handed out with.

use super::answers::WorkUnit;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tm_scheduler::CommitId;

/// One piece of work.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnitRecord {
    /// Such as `workUnit-1.2-RED`.
    pub(super) id: String,
    pub(super) status: UnitStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) commit_sha: Option<CommitId>,
}

impl UnitRecord {
    pub(super) const fn new(id: String, status: UnitStatus) -> Self {
        Self {
            id,
            status,
            message: None,
            commit_sha: None,
        }
    }
}

/// How far a piece of work is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnitStatus {
    /// It is handed out.
    InProgress,
    /// What was reported was accepted.
    Done,
    /// What was reported was refused.
    Failed,
}

/// Records that a piece of work is handed out or has ended; the last word on each piece counts.
pub(super) fn record(records: &mut Vec<UnitRecord>, record: UnitRecord) {
    match records.iter_mut().find(|known| known.id == record.id) {
        Some(known) => *known = record,
        None => records.push(record),
    }
}

/// Records the piece of work that comes next, unless it was handed out before.
pub(super) fn hand_out(records: &mut Vec<UnitRecord>, unit: &WorkUnit) {
    if !records
        .iter()
        .any(|known| known.id == unit.id && known.status == UnitStatus::InProgress)
    {
        record(
            records,
            UnitRecord::new(unit.id.clone(), UnitStatus::InProgress),
        );
    }
}

/// Returns the content of `work-units.json`: each record, with what it was handed out with as far as that is known.
pub(super) fn file(
    records: &[UnitRecord],
    under_way: Option<&WorkUnit>,
    before: &[Value],
) -> Value {
    let entry = |record: &UnitRecord| {
        let fresh = under_way
            .filter(|unit| unit.id == record.id)
            .map(|unit| json!(unit));
        let known = || {
            before
                .iter()
                .find(|unit| unit["id"] == record.id.as_str())
                .cloned()
        };
        let mut entry = fresh.or_else(known).unwrap_or_else(|| json!({}));
        if let (Some(entry), Value::Object(own)) = (entry.as_object_mut(), json!(record)) {
            entry.extend(own);
        }
        entry
    };
    records.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(id: &str, status: UnitStatus) -> UnitRecord {
        UnitRecord {
            id: id.to_owned(),
            status,
            message: None,
            commit_sha: None,
        }
    }

    #[test]
    fn the_last_word_on_a_piece_counts_and_its_context_stays() {
        let mut records = vec![unit("a", UnitStatus::InProgress)];
        record(&mut records, unit("a", UnitStatus::Done));
        record(&mut records, unit("b", UnitStatus::InProgress));
        let before = [
            json!({"id": "a", "status": "in-progress", "action": "RED"}),
            json!({"id": "gone"}),
        ];
        assert_eq!(
            file(&records, None, &before),
            json!([{"id": "a", "status": "done", "action": "RED"}, {"id": "b", "status": "in-progress"}])
        );
    }
}
