//! Everything that tm offers, as typed calls with typed answers, errors and notices: the command line and MCP turn what
//! they are given into a call, and what comes of it into words.
//!
//! Knows no flag, no terminal and no exit code.

mod after;
mod agent_places;
mod agents;
mod audit;
mod commit_trial;
mod committing;
pub mod detached;
mod error;
mod excerpts;
mod gates;
mod holding;
mod interrupted;
mod judging;
mod landing;
mod loops;
mod notes;
mod notice;
mod place;
mod plan;
mod plan_order;
mod preflight;
mod project;
mod proving_again;
mod pruned;
mod pruning;
mod pull;
mod report;
mod review;
mod run;
mod settings_of_commit;
mod setup;
mod starting;
mod steering;
mod verify;

pub use after::AfterRun;
pub use agent_places::AgentPlaces;
pub use agents::{find_program, place_of};
pub use audit::{AuditOrder, audit};
pub use commit_trial::{Trial, hooks, signing, try_hooks};
pub use error::{Error, LostLandings, MissingProgram};
pub use excerpts::with_excerpts;
pub use gates::check_gates;
pub use holding::Waiting;
pub use judging::{parts, test_command};
pub use landing::{Homecoming, Rejected, foresee, merge_into_checkout, refuse_live, user_branch};
pub use loops::{
    EndedLoop, Loop, LoopOrder, LoopStanding, live_loop, loop_standing, loop_standings,
};
pub use notes::Proposal;
pub use notice::{BaseSeen, Notice};
pub use place::{PlaceTrial, first_manifests, look_at_place, try_out_place};
pub use plan::{PlanDocument, Planned, choices, plan, plan_document, reading};
pub use plan_order::PlanOrder;
pub use preflight::look_at_head;
pub use project::{Caller, KnownRun, Project, project_directory};
pub use proving_again::JournalTrust;
pub use pruned::{PrunedItem, PrunedKind};
pub use pruning::prune_worktrees;
pub use pull::{LeftOut, Per, PullOrder, PullRequest, PullRequests};
pub use report::{facts, status, summary, write_reports};
pub use review::{DoubtedWork, ReviewedRun, TaskBranch, Tests};
pub use run::{Ended, Ready, RunOf, Session};
pub use setup::presets;
pub use steering::{resume_live, steer, stop};
pub use tm_runtime::preflight::{BrokenBase, BrokenTests};
pub use verify::{Verified, VerifyOrder, WorkOf, verify};
