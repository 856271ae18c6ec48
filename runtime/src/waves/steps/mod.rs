//! The steps of an attempt: each is one function, read from top to bottom, that ends in exactly one answer.

mod agent;
mod commit;
mod context;
mod gates;
mod history;
mod kept;
mod land;
mod merge;
mod message;
mod prepare;
mod prove;
mod refactor;
mod release;
mod review;
mod trailers;

pub(crate) use agent::run_agent;
pub(crate) use commit::commit;
pub(crate) use context::{StepContext, StepDone};
pub(crate) use land::{Landed, judged_merge, land};
pub(crate) use prepare::prepare;
pub(crate) use prove::prove;
pub(crate) use refactor::refactor;
pub(crate) use release::release;

use crate::step_error::{blocking, describe};
