//! Runs of waves from their first look at a repository to their end, whatever comes between.

mod breaking_off;
mod git_calls;
mod journals;
mod limits;
#[cfg(target_os = "linux")]
mod many_agents;
mod misbehaviour;
mod nights;
mod notes;
mod one_run;
mod past_runs;
mod places;
mod preflight;
mod steered_by_agents;
mod steering;
mod stopping;
mod work;
