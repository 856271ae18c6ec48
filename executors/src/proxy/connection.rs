//! One connection of a program to the proxy, from its request to its end.

use super::allow_list::AllowList;
use super::host::{Host, Target};
use super::names::Names;
use super::refused::RefusedHosts;
use super::request::Request;
use parking_lot::Mutex;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// So long a request may take to come, and so long one of a host's addresses to be reached.
const REQUEST: Duration = Duration::from_secs(30);
const DIAL: Duration = Duration::from_secs(10);
/// So many of a host's addresses are tried.
const ADDRESSES: usize = 6;

/// What all connections know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) allowed: AllowList,
    /// Which setting opens more, as a sentence.
    pub(super) advice: String,
    /// The end of a header that only those know who may ask; empty where nobody else gets here.
    pub(super) credentials: String,
    pub(super) names: Names,
    pub(super) refused: Mutex<RefusedHosts>,
}

/// Why a host was not reached.
enum NotReached {
    /// With what was wanted.
    Refused(String),
    Failed(io::Error),
}

/// Serves one connection until it ends.
pub(super) async fn serve(mut client: impl AsyncRead + AsyncWrite + Unpin, shared: &Shared) {
    let request = Request::read(&mut client, &shared.credentials);
    let Ok(Some(request)) = timeout(REQUEST, request).await else {
        return;
    };
    // Who hangs up has what it wanted.
    let _hung_up = match request {
        Request::Pass {
            target,
            greeting,
            sent,
        } => shared.pass(&mut client, &target, greeting, &sent).await,
        Request::Unreadable(named) => {
            shared.refused.lock().add(named);
            let why = "tm's proxy can't read whom this asks for\n";
            answer(&mut client, "400 Bad Request", why).await
        }
        Request::Stranger => {
            let status =
                "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"tm\"";
            answer(&mut client, status, "").await
        }
    };
}

impl Shared {
    /// Connects the client with a target.
    async fn pass(
        &self,
        client: &mut (impl AsyncRead + AsyncWrite + Unpin),
        target: &Target,
        greeting: &[u8],
        sent: &[u8],
    ) -> io::Result<()> {
        match self.dial(target).await {
            Ok(mut server) => {
                client.write_all(greeting).await?;
                server.write_all(sent).await?;
                copy_bidirectional(client, &mut server).await.map(|_| ())
            }
            Err(NotReached::Refused(wanted)) => {
                let why = format!(
                    "tm's sandbox lets nothing through to {wanted}: {}\n",
                    self.advice
                );
                self.refused.lock().add(wanted);
                answer(client, "403 Forbidden", &why).await
            }
            Err(NotReached::Failed(error)) => {
                let why = format!("tm's proxy failed to reach {target}: {error}\n");
                answer(client, "502 Bad Gateway", &why).await
            }
        }
    }

    /// Dials the addresses that a target has and may have; none is looked up a second time.
    async fn dial(&self, target: &Target) -> Result<TcpStream, NotReached> {
        if !self.allowed.has(target) {
            return Err(NotReached::Refused(target.to_string()));
        }
        let mut failed = NotReached::Failed(io::ErrorKind::NotFound.into());
        let found = self.addresses(target).await.map_err(NotReached::Failed)?;
        for address in found.into_iter().take(ADDRESSES) {
            if !self.allowed.may_dial(address) {
                failed = NotReached::Refused(format!("{target} at {}", address.ip()));
                continue;
            }
            let dialled = timeout(DIAL, TcpStream::connect(address)).await;
            match dialled.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = NotReached::Failed(error),
            }
        }
        Err(failed)
    }

    async fn addresses(&self, target: &Target) -> io::Result<Vec<SocketAddr>> {
        let here = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let at_port = |address| SocketAddr::new(address, target.port);
        match &target.host {
            Host::Loopback => Ok(here.map(at_port).to_vec()),
            Host::Address(address) => Ok(vec![at_port(*address)]),
            Host::Name(name) => self.names.addresses(name, target.port).await,
        }
    }
}

async fn answer(client: &mut (impl AsyncWrite + Unpin), status: &str, why: &str) -> io::Result<()> {
    let length = why.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    client.write_all((head + why).as_bytes()).await?;
    client.shutdown().await
}
