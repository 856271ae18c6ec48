//! Where the proxy of a job is found, the same each time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use tm_sandbox::SOCKET;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// Where it is found.
pub(super) enum Listener {
    /// By a bridge from a network of the program's own.
    Socket(UnixListener),
    /// By the program itself.
    Port(TcpListener),
}

/// What a program is told of it.
#[derive(Debug)]
pub(super) struct Whereabouts {
    /// Its port on the program's loopback address.
    pub(super) port: u16,
    /// What keeps others from it who reach that; empty where nobody else does.
    pub(super) password: String,
}

/// The user that the password is of.
const USER: &str = "tm";
/// Behind those that the system gives out, which whoever is held by rules for ports may reach.
const PORTS: std::ops::RangeInclusive<u16> = 61_000..=65_535;
/// The file that remembers port and password.
const REMEMBERED: &str = "port";

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Listener {
    /// Listens at a socket in a folder; the port is that of the bridge, and none of the machine's servers that it stands for.
    pub(super) fn at_socket(folder: &Path, servers: &[u16]) -> io::Result<(Self, Whereabouts)> {
        tm_untrusted::remove(&folder.join(SOCKET))?;
        // A path of a socket is short, and that of a folder need not be.
        let opened = File::open(folder)?;
        let listener =
            UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd()))?;
        let mut free = PORTS.filter(|port| !servers.contains(port));
        let whereabouts = Whereabouts {
            port: free.next().ok_or(io::ErrorKind::AddrInUse)?,
            password: String::new(),
        };
        Ok((Self::Socket(listener), whereabouts))
    }

    /// Listens at a port of the loopback address that a folder remembers.
    pub(super) async fn at_port(folder: &Path) -> io::Result<(Self, Whereabouts)> {
        let remembered = folder.join(REMEMBERED);
        if let Some(before) = Whereabouts::read(&remembered) {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, before.port)).await?;
            return Ok((Self::Port(listener), before));
        }
        let mut random = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let random = u128::from_ne_bytes(random);
        let first = usize::try_from(random % PORTS.count() as u128).unwrap_or_default();
        for port in PORTS.cycle().skip(first).take(PORTS.count()) {
            if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
                let whereabouts = Whereabouts {
                    port,
                    password: format!("{random:032x}"),
                };
                whereabouts.write(&remembered)?;
                return Ok((Self::Port(listener), whereabouts));
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }

    pub(super) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Socket(listener) => Box::new(listener.accept().await?.0),
            Self::Port(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

impl Whereabouts {
    /// Returns the address that programs are told.
    pub(super) fn address(&self) -> String {
        let Self { port, password } = self;
        match password.as_str() {
            "" => format!("http://127.0.0.1:{port}"),
            _ => format!("http://{USER}:{password}@127.0.0.1:{port}"),
        }
    }

    /// Returns the end of the header by which whoever was told is known; empty where there is no password.
    pub(super) fn credentials(&self) -> String {
        match self.password.as_str() {
            "" => String::new(),
            password => STANDARD.encode(format!("{USER}:{password}")),
        }
    }

    /// Reads it where all of it was written; else nobody was told yet.
    fn read(file: &Path) -> Option<Self> {
        let text = String::from_utf8(tm_untrusted::read(file, 64).ok()?).ok()?;
        let (port, password) = text.strip_suffix('\n')?.split_once(' ')?;
        Some(Self {
            port: port.parse().ok()?,
            password: password.to_owned(),
        })
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let Self { port, password } = self;
        tm_untrusted::remove(file)?;
        tm_untrusted::open_private(file)?.write_all(format!("{port} {password}\n").as_bytes())
    }
}
