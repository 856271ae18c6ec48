//! Which tasks are planned, and how.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tm_config::Settings;
use tm_scheduler::{Cycles, Durations, PlanOptions, RedStart, TaskId};

/// Which tasks are planned; the settings say how.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanOrder {
    /// The backlog; the one that is found when not given.
    pub backlog: Option<PathBuf>,
    /// The tag; the current one when not given.
    pub tag: Option<String>,
    /// The group of tasks.
    pub group: Option<String>,
    /// Only these, and the open ones that they depend on.
    pub only: Vec<TaskId>,
    /// To be done whatever the history has.
    pub again: Vec<TaskId>,
    /// The revision to start from; without one, HEAD or where the last run's work landed.
    pub base: Option<String>,
    /// What becomes of cycles.
    #[serde(skip)]
    pub cycles: Cycles,
}

/// How a backlog is planned, by the settings and the order.
pub(crate) fn options(order: &PlanOrder, settings: &Settings) -> PlanOptions {
    PlanOptions {
        unit: settings.waves.unit,
        tdd: settings.tdd.mode,
        red_start: if settings.tdd.red_early {
            RedStart::Early
        } else {
            RedStart::AfterDependencies
        },
        cycles: order.cycles,
        only: order.only.clone(),
        durations: Durations::default(),
    }
}
