//! What a program is given.

use crate::View;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a program may see, reach and use up.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Confinement {
    /// What it sees of the file system.
    pub view: View,
    /// Where it begins; one that it does not see is none.
    pub working_folder: PathBuf,
    /// A folder of its own that the view opens: `/tmp` is in it where that can be had, and what is layered.
    pub own_folder: PathBuf,
    /// What becomes of what it writes to folders that are layered.
    pub layers: Layers,
    /// What it reaches of the network.
    pub network: Network,
    /// What it may use up.
    pub limits: Limits,
}

/// What becomes of what is written on top of a folder.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layers {
    /// It is gone with the program.
    #[default]
    Gone,
    /// It is kept in a folder of nobody else's, for who comes after.
    Kept(PathBuf),
    /// It lies on top of what was kept in a folder, and is gone with the program.
    Above(PathBuf),
}

/// What a program reaches of the network.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Everything that the machine reaches, and the machine.
    #[default]
    On,
    /// What it serves itself.
    Off,
    /// What a proxy lets through, and what it serves itself.
    Proxy {
        /// Where the proxy's socket is ([`SOCKET`]); the program can see it and not change it.
        folder: PathBuf,
        /// The port at which the proxy is found on the loopback address.
        port: u16,
        /// Ports of servers on the machine's loopback address that are found there too.
        servers: Vec<u16>,
    },
}

/// The proxy's socket in its folder.
pub const SOCKET: &str = "proxy";

/// What a program may use up; without a number as much as there is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory that one process writes to.
    pub memory: Option<u64>,
    /// Processes at the same time.
    pub processes: Option<u64>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
}
