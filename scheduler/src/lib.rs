//! Decides what happens next and touches nothing.
//!
//! Graph, pairs, waves, the run's state machine and the verdicts on test results. Time comes in as an argument;
//! there is no clock, no file, no process and no environment here, so the same inputs always give the same effects.

#[macro_use]
mod words;

mod addition;
mod agent_pool;
mod audit;
pub mod autopilot;
mod branch;
mod budget;
mod check;
mod claim;
mod counted;
mod durations;
mod effect;
mod estimate;
pub mod exit_code;
mod failure;
mod formats;
mod gate;
mod graph;
mod history;
mod id;
mod in_a_line;
mod input;
pub mod iteration;
mod justified;
mod limits;
mod machine;
pub mod merging;
mod named_files;
mod next;
mod pair;
mod pair_up;
mod placed_task;
mod placeholders;
mod plan;
mod positions;
pub mod preflight;
mod proof;
mod reason;
mod renamed;
mod report;
mod request;
mod results;
mod run_status;
mod surroundings;
mod task;
mod task_metadata;
mod task_row;
#[cfg(test)]
mod test_table;
mod unit;
pub mod verdict;

pub use addition::addition;
pub use agent_pool::{AgentCandidate, AgentPool};
pub use audit::{Audit, AuditItem, AuditKind, AuditOutcome, AuditSample};
pub use branch::{BranchName, BranchNameError, branch_from_pattern, slug};
pub use check::{CycleRepair, problems, repairs};
pub use claim::{Claim, ClaimStatus, ResultFile};
pub use counted::counted;
pub use durations::{Durations, PastTask};
pub use effect::{AttemptStep, Effect, Event, Keep};
pub use estimate::{Remaining, remaining};
pub use failure::{AgentVerdict, Failure, Policy, Retried, judge_agent};
pub use formats::{OutputFormat, ResultFormat};
pub use gate::{GateOutcome, GateResult, GateRun, judge_gate};
pub use graph::{CutDependency, Problem, Unplannable, cycle_with};
pub use history::{
    BY_AUTOPILOT, PastMessage, Recognised, TAKEN_BACK_PHASE, TAKES_BACK, TITLE, Work, WorkKind,
    reverted, standing_work,
};
pub use id::{
    AccountName, AgentName, AttemptNumber, CommitId, RunId, Tag, TaskId, Timestamp, Title,
    first_files, milliseconds, quoted, quoted_cycle, quoted_files,
};
pub(crate) use in_a_line::without_numbers;
pub use in_a_line::{in_a_line, one_line, with_causes};
pub use input::{Answer, Foreseen, Input, LandingRefusal, PrepareRefusal};
pub use limits::{
    AtBreaker, Breaker, Choice, Dispatch, Edition, Landing, Limits, Overlap, Refactor,
};
pub use machine::{
    AttemptEnd, AttemptFailure, AttemptRecord, Conflicted, Cooldown, IllegalInput, Place,
    Refactored, Scheduler, State, TaskView,
};
pub use named_files::hot_files;
pub use next::{Blocks, Candidates, blocks, next, ready};
pub use pair::{Pairing, PlannedTask, RedStart, TddMode, is_eligible, pair};
pub use pair_up::{AbsentPartner, PairUp, PairUpOptions, Skip, pair_up};
pub use placed_task::PlacedTask;
pub use placeholders::{NoValue, fill, placeholders};
pub use plan::{Cycles, HeldTask, PlanOptions, WavePlan};
pub use proof::{CoverageChange, Proof, Strength};
pub use reason::Reason;
pub use renamed::IdsNow;
pub use report::{AgentReport, Ended, ServiceRefusal, Tokens};
pub use request::{Dependants, Refusal, RefusalReason, Request, StopMode};
pub use results::{
    CommandEnd, Coverage, Detail, LoadCause, LoadError, TestMistake, TestOutcome, TestReport,
};
pub use run_status::{RunStatus, StopReason};
pub use surroundings::{Bring, StopSignal, TestHome};
pub use task::{Complexity, Phase, Priority, Status, Task};
pub use task_metadata::{MetadataFields, TaskMetadata, TddHalf, TddMark};
pub use task_row::{Half, TaskRow, task_rows};
pub use unit::{Unit, of_unit};
