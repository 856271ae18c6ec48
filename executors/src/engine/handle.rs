//! Who a job is, in a form that outlives this process. Knows nothing of what an engine puts in.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who a job is: written down, and given to the engine that made it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct JobHandle {
    /// The engine; those of before there was a second one name none.
    #[serde(default = "local")]
    engine: String,
    /// What the engine knows it by.
    #[serde(flatten)]
    job: Map<String, Value>,
}

pub(super) fn local() -> String {
    super::local::NAME.to_owned()
}

impl JobHandle {
    /// Makes the handle of an engine's job of what the engine knows it by, a struct.
    pub fn new(engine: &str, job: &impl Serialize) -> Self {
        let job = serde_json::to_value(job)
            .ok()
            .and_then(|job| job.as_object().cloned());
        Self {
            engine: engine.to_owned(),
            job: job.expect("an engine knows a job by a struct"),
        }
    }

    /// Returns the name of the engine.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// Returns what its engine knows the job by; `None` when this is not a handle of its.
    pub fn job<Known: DeserializeOwned>(&self) -> Option<Known> {
        serde_json::from_value(Value::Object(self.job.clone())).ok()
    }
}
