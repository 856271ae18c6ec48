//! Runs on other machines: a real Slurm whose three nodes are processes of this one, each with a folder of its own where
//! this machine has another one, so that what is not shared is missed.

mod cluster;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod nights;
mod scenes;
mod slurm;
#[cfg(not(feature = "kubernetes"))]
mod without_kubernetes;
