//! Turns a plan and a run into what people and programs read: Markdown, JSON, text, DOT, Mermaid.
//!
//! Knows the scheduler's state and nothing else: it reads no file, runs nothing, and prints nothing.

mod audit;
mod chain;
mod cleaned;
mod columns;
mod compliance;
mod doubts;
mod fold;
mod html;
mod junit;
mod layout;
mod loop_summary;
mod moment;
mod one_line;
mod plan;
mod pull_request;
mod rows;
mod run_reports;
mod setup_summary;
mod summarize;
mod summary;
mod terminal;
mod traces;
mod view;

pub use audit::{audit_junit, audit_text};
pub use cleaned::cleaned;
pub use columns::{columns, listed};
pub use compliance::{PairSummary, TddSummary};
pub use doubts::with_doubts;
pub use layout::laid_out;
pub use loop_summary::{
    LoopFacts, LoopSummary, TagLoopSummary, TrySummary, iteration_line, loop_text, summarize_loop,
};
pub use moment::human_duration;
pub use one_line::{Cell, one_line_each};
pub use plan::{PlanDocument, plan_dot, plan_mermaid, plan_text};
pub use pull_request::{PullRequestFacts, PullRequestText, pull_request};
pub use rows::RowView;
pub use run_reports::{
    REPORTS, RunReport, metrics_text, status_text, summary_markdown, summary_text,
};
pub use setup_summary::SetupSummary;
pub use summarize::{RunFacts, summarize};
pub use summary::{
    AttemptSummary, Counts, DiffstatSummary, DoubtSummary, Excerpt, PauseSummary, ProofSummary,
    Summary, TaskSummary, Totals, Verdict, WallSummary,
};
pub use terminal::{Colours, Sheet, Tone, toned};
pub use traces::traces_json;

#[cfg(test)]
mod tests;
