//! Turns a plan and a run into what people and programs read: Markdown, JSON, text, DOT, Mermaid.
//!
//! Knows the scheduler's state and nothing else: it reads no file, runs nothing, and prints nothing.

mod audit;
mod cleaned;
mod columns;
mod compliance;
mod doubts;
mod duration;
mod facts;
mod foundation;
mod html;
mod junit;
mod junit_document;
mod loop_summary;
mod lower_bound;
mod markdown;
mod metrics;
mod moment;
mod plan;
mod plan_graph;
mod pull_request;
mod status;
mod summary;
mod traces;
mod walls;

pub use audit::{audit_junit, audit_text, cleaned_audit};
pub use columns::columns;
pub use compliance::{PairSummary, TddSummary};
pub use doubts::{DoubtSummary, with_doubts};
pub use duration::human_duration;
pub use facts::RunFacts;
pub use foundation::SetupSummary;
pub use html::report_html;
pub use junit::junit_xml;
pub use loop_summary::{
    LaneFacts, LaneSummary, LoopFacts, LoopSummary, TrySummary, iteration_line, loop_text,
    summarize_loop,
};
pub use markdown::summary_markdown;
pub use metrics::metrics_text;
pub use plan::{PlanJson, plan_json, plan_text};
pub use plan_graph::{plan_dot, plan_mermaid};
pub use pull_request::{PullRequestText, run_pull_request, task_pull_request};
pub use status::status_text;
pub use summary::{
    AttemptSummary, DiffstatSummary, ProofSummary, Summary, TaskSummary, TokensSummary, Totals,
    Verdict, summarize,
};
pub use traces::traces_json;
pub use walls::WallSummary;

#[cfg(test)]
mod tests;
