//! The way out of a program that is held: a proxy of tm's that lets through whom a list names and remembers whom it kept
//! programs from. No TLS is broken: it connects by name, looks the name up itself, and dials the address that it looked at.
//! Knows neither agents nor tests.
//!
//! A program outlives tm, so the proxy can be started again where it was: connections fail meanwhile, and later ones don't.

mod address;
mod allow_list;
mod connection;
mod host;
mod listener;
mod names;
mod refused;
mod request;
#[cfg(test)]
mod tests;

pub use allow_list::{AllowList, UnreadableHost};

use crate::{Error, OrFailedTo as _};
use connection::{Shared, serve};
use listener::{Listener, Whereabouts};
use names::Names;
use parking_lot::Mutex;
use refused::RefusedHosts;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tm_sandbox::{Level, Network};
use tokio::task::{JoinHandle, JoinSet};

/// So many connections at once; the next one waits. Each has two of the files that tm may have open.
const CONNECTIONS: usize = 64;
/// The file of those whom programs were kept from.
const REFUSED: &str = "refused";
/// The variables that name a proxy.
const NAMES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];
/// What goes past the proxy, and what makes node look for it.
const BESIDES: [(&str, &str); 3] = [
    ("NO_PROXY", "localhost,127.0.0.1,::1"),
    ("no_proxy", "localhost,127.0.0.1,::1"),
    ("NODE_USE_ENV_PROXY", "1"),
];

/// A proxy for one job; it ends when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    folder: PathBuf,
    whereabouts: Whereabouts,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts it for a job that is held at a level, in a folder for it alone that outlives the job, and that the job may not
    /// change. Where one was started there before, by whichever tm, the job finds it as it was, and [`Proxy::refused`] knows
    /// what that one knew. The advice says in a sentence, to whoever is refused, which setting opens more.
    ///
    /// # Errors
    /// It can't listen there.
    pub async fn start(
        level: Level,
        allowed: AllowList,
        advice: &str,
        folder: &Path,
    ) -> Result<Self, Error> {
        let listening = match level {
            Level::Bwrap => Listener::at_socket(folder, &allowed.servers()),
            Level::None | Level::Landlock | Level::Seatbelt => Listener::at_port(folder).await,
        };
        let (listener, whereabouts) = listening.or_failed_to("listen in", folder)?;
        let shared = Arc::new(Shared {
            allowed,
            advice: advice.to_owned(),
            credentials: whereabouts.credentials(),
            names: Names::default(),
            refused: Mutex::new(RefusedHosts::of(folder.join(REFUSED))),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            folder: folder.to_owned(),
            whereabouts,
            shared,
            accepting,
        })
    }

    /// Returns what the job has to be given to reach it.
    pub fn network(&self) -> Network {
        Network::Proxy {
            folder: self.folder.clone(),
            port: self.whereabouts.port,
            servers: self.shared.allowed.servers(),
        }
    }

    /// Returns the variables by which programs find it.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let address = self.whereabouts.address();
        let of_proxy = NAMES.iter().map(|name| (*name, address.clone()));
        let besides = BESIDES.map(|(name, value)| (name, value.to_owned()));
        of_proxy.chain(besides).collect()
    }

    /// Returns whom the job was kept from, in order: `host:port`, with ` at ADDRESS` where the list has the host and not
    /// where its name leads. Who does not ask the proxy reaches nobody, and is not among them.
    pub fn refused(&self) -> Vec<String> {
        self.shared.refused.lock().all()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: Listener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS => {
                if let Ok(stream) = accepted {
                    let shared = Arc::clone(&shared);
                    connections.spawn(async move { serve(stream, &shared).await });
                } else {
                    // No room for one more; there will be.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
