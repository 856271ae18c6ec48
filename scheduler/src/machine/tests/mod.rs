//! The run's machine in traces that read like scripts, and in seeded simulations.

use super::*;

mod makespan;
mod scripts;
mod simulation;
