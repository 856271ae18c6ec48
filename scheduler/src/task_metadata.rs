//! What only some backlogs say of their tasks.
//!
//! Kept apart from the task: one of which nothing of it is said has room for a pointer here, and no more.

use crate::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::ops::{Deref, DerefMut};

/// What a backlog says of a task besides what nearly all say; a task has room for it once something is said.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "MetadataFields")]
pub struct TaskMetadata(Option<Box<MetadataFields>>);

/// The fields of a task's metadata.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct MetadataFields {
    /// Its half of an explicit RED/GREEN pair (`metadata.tdd_mode`, `tdd_phase`, `paired_task_id`).
    pub tdd: Option<TddMark>,
    /// `metadata.task_group`.
    pub group: Option<String>,
    /// `category`, such as `testing` or `documentation`.
    pub category: Option<String>,
    /// `metadata.feature_name`, else `metadata.feature`: what the task is a part of.
    pub feature: Option<String>,
    /// `metadata.task_uid`: the name that a generator knows the task by.
    pub uid: Option<String>,
    /// `metadata.test_command`: the command that proves this task, instead of the project's.
    pub test_command: Option<String>,
    /// `metadata.timeout_minutes`: the limit of one attempt, instead of the one by complexity.
    pub timeout_minutes: Option<u64>,
    /// `metadata.model`: the model for the agent that is the first choice for it, instead of the settings'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `metadata.on`: where its agents run, instead of where the settings have them run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Box<str>>,
}

/// What is read of a task of which nothing is said.
static NOTHING: MetadataFields = MetadataFields {
    tdd: None,
    group: None,
    category: None,
    feature: None,
    uid: None,
    test_command: None,
    timeout_minutes: None,
    model: None,
    on: None,
};

impl From<MetadataFields> for TaskMetadata {
    fn from(fields: MetadataFields) -> Self {
        Self((fields != NOTHING).then(|| Box::new(fields)))
    }
}

impl Serialize for TaskMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl Deref for TaskMetadata {
    type Target = MetadataFields;

    #[inline]
    fn deref(&self) -> &MetadataFields {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for TaskMetadata {
    fn deref_mut(&mut self) -> &mut MetadataFields {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for TaskMetadata {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// A task's half of an explicit pair.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TddMark {
    /// Which half.
    pub half: TddHalf,
    /// The other half, when the backlog names it.
    pub paired_task_id: Option<TaskId>,
}

words! {
    /// The two halves of a pair.
    #[derive(JsonSchema)]
    pub enum TddHalf {
        /// Writes the failing test.
        #[serde(alias = "RED")]
        Red = "red",
        /// Makes it pass.
        #[serde(alias = "GREEN")]
        Green = "green",
    }
}

impl TddHalf {
    /// Returns the word as people write it.
    pub fn in_capitals(self) -> String {
        self.as_str().to_uppercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    #[test]
    fn what_says_nothing_takes_no_room_and_is_the_same_wherever_it_stands() {
        let group = Some("g".to_owned());
        let mut said = TaskMetadata::from(MetadataFields {
            group,
            ..NOTHING.clone()
        });
        assert_eq!(said.group.as_deref(), Some("g"));
        said.group = None;
        assert_eq!(said, TaskMetadata::default());
        assert!(TaskMetadata::from(NOTHING.clone()).0.is_none());
    }

    #[test]
    fn a_task_is_small_enough_for_a_million_of_them() {
        assert!(size_of::<Task>() <= 232, "{}", size_of::<Task>());
    }
}
