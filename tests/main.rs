//! Runs the real binary with scripted agents in real repositories, and checks what can be checked of the tree itself.

mod adversary;
mod autopilot;
mod backlog;
#[cfg(target_os = "linux")]
mod engines;
mod faults;
mod frameworks;
mod landing;
mod loops;
mod mcp;
mod models;
mod preparing;
mod proof;
mod real_agents;
mod runs;
#[cfg(target_os = "linux")]
mod sandbox;
mod scene;
mod screens;
mod skipping;
mod tidy;
