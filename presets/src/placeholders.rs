//! The placeholders of recipes: which there are, and in which variables their values stand.

use std::collections::BTreeMap;

/// What stands for each placeholder, by its name without braces.
pub type Placeholders = BTreeMap<&'static str, String>;

/// Every placeholder, with the environment variable that holds the same value, when there is one.
pub(crate) const KNOWN: [(&str, Option<&str>); 13] = [
    ("prompt", None),
    ("prompt_file", Some("TM_PROMPT_FILE")),
    ("result_file", Some("TM_RESULT_FILE")),
    ("context_file", Some("TM_CONTEXT_FILE")),
    ("attempt_folder", None),
    ("worktree", Some("TM_WORKTREE")),
    ("task_id", Some("TM_TASK_ID")),
    ("phase", Some("TM_PHASE")),
    ("attempt", Some("TM_ATTEMPT")),
    ("run_id", Some("TM_RUN_ID")),
    ("tag", Some("TM_TAG")),
    ("model", None),
    ("tm", None),
];

/// Tells whether tm knows a placeholder.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name)
}

/// Returns the environment variable that holds the value of a placeholder.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == name)
        .and_then(|(_, variable)| *variable)
}

/// Returns the names of all placeholders, for messages.
pub(crate) fn known_names() -> String {
    let names: Vec<String> = KNOWN
        .iter()
        .map(|(name, _)| format!("`{{{name}}}`"))
        .collect();
    names.join(", ")
}
