//! Runs the real binary with scripted agents in real repositories, and checks what can be checked of the tree itself.

mod agents;
mod autopilot;
mod autopilot_crashes;
mod autopilot_guards;
mod autopilot_places;
mod backlog;
mod cheating;
mod ci_jobs;
mod crashes;
mod frameworks;
mod landing;
mod limits;
mod loops;
mod loops_outside;
mod mcp;
mod mcp_clients;
mod mcp_waves;
mod misbehaviour;
mod models;
mod pull_requests;
mod real_agents;
mod refactoring;
mod reports;
mod review;
mod scene;
mod steering;
mod stopping;
mod tidy;
#[cfg(feature = "otel")]
mod traces;
mod unhealthy;
mod watching;
mod words;
mod work;
