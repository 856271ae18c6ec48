//! The operations of autopilot, the same for the command line and for MCP.
//!
//! Each one opens the run of a checkout, asks the machine in the scheduler, touches git and the backlog, and saves.
//! Which step is legal is decided by the machine alone.

mod answers;
mod branch;
mod commit;
mod complete;
mod context;
mod decides;
mod error;
mod finish;
mod give_up;
mod known;
mod next;
mod note;
mod others;
mod project;
mod prompt;
mod report;
mod seen;
mod session;
mod start;
mod state;
mod status;
mod units;
mod verify;

pub use answers::{
    CommitContext, Committed, Completed, Ended, GreenContext, NextAction, Precondition,
    ProgressView, RedContext, Started, StatusView, SubtaskStatus, SubtaskView, TestResultsView,
    WorkUnit, WorkUnitContext,
};
pub use branch::{CommittedPiece, RunBranch, branch};
pub use commit::{CommitRequest, commit};
pub use complete::parse_counts;
pub use complete::{CompleteRequest, complete};
pub use error::{Error, ErrorKind, NoCounts};
pub use finish::{FinalizeRequest, finalize, pause};
pub use give_up::{Cleanup, abort};
pub use next::next;
pub use project::{Environment, Project};
pub use prompt::{GUIDE, prompt};
pub use start::{Force, StartRequest, preview, resume, resume_of, start};
pub use status::{status, under_way, watched};
