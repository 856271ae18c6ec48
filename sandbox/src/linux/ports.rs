//! Which servers a program reaches at the level of Landlock: rules for ports, which are some thousands, and a thread that has
//! them already. What it starts has them of it; to make them anew for each program would take longer than a short test.

use crate::{Level, Network, Sandbox};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::slice::from_ref;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

/// The first set of rules that knows ports.
const NEEDED: ABI = ABI::V4;
/// Where the system says which ports it gives out to whoever asks for any (`ip-sysctl`); servers of tests have these.
const GIVEN_OUT: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// What it gives out where nobody has said otherwise.
const USUALLY_GIVEN_OUT: RangeInclusive<u16> = 32_768..=60_999;

/// The thread does nothing but to start programs.
const STACK: usize = 256 * 1024;

type Work = Box<dyn FnOnce() + Send>;

/// The thread that starts programs, and the ports that it was given.
struct Starter {
    works: Sender<Work>,
    of_servers: RangeInclusive<u16>,
}

/// Does what starts a program that is to be held, where such programs are started: in a thread whose ports are held, or here.
///
/// # Errors
/// That thread is gone.
pub fn start<Started: Send + 'static>(
    sandbox: &Sandbox,
    work: impl FnOnce() -> Started + Send + 'static,
) -> io::Result<Started> {
    let Some(starter) = starter_for(sandbox) else {
        return Ok(work());
    };
    let (answer, answered) = channel();
    let work = move || {
        // Whoever asked waits for it.
        let _told = answer.send(work());
    };
    let is_gone = || io::Error::other("the thread that starts programs is gone");
    let work = Box::new(work);
    starter.works.send(work).map_err(|_| is_gone())?;
    answered.recv().map_err(|_| is_gone())
}

/// Tells whether a program has its ports held by whoever starts it ([`start`]).
pub(super) fn are_held_for(sandbox: &Sandbox) -> bool {
    starter_for(sandbox).is_some()
}

/// Tells whether whoever started this process holds its ports: one that no rule gives is refused to servers and clients.
pub(super) fn are_held() -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let port = (Ipv4Addr::LOCALHOST, *given_out().start());
    TcpListener::bind(port).is_err_and(refused) && TcpStream::connect(port).is_err_and(refused)
}

/// Adds what a program may reach: what it serves itself has a port that the system chose, and those may be reached.
pub(super) fn add(
    created: RulesetCreated,
    network: &Network,
) -> Result<RulesetCreated, RulesetError> {
    add_of(created, of_servers(), network)
}

fn add_of(
    created: RulesetCreated,
    of_servers: RangeInclusive<u16>,
    network: &Network,
) -> Result<RulesetCreated, RulesetError> {
    let mut created = created.add_rule(NetPort::new(0, AccessNet::BindTcp))?;
    for port in of_servers.step_by(2) {
        let both = AccessNet::BindTcp | AccessNet::ConnectTcp;
        created = created.add_rule(NetPort::new(port, both))?;
    }
    for port in named(network) {
        created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    Ok(created)
}

/// Tells whether a port is among these, of which each second one counts.
fn is_of_servers(of_servers: &RangeInclusive<u16>, port: u16) -> bool {
    of_servers.contains(&port) && (port - of_servers.start()).is_multiple_of(2)
}

fn given_out() -> RangeInclusive<u16> {
    let range = std::fs::read_to_string(GIVEN_OUT).unwrap_or_default();
    let mut numbers = range.split_ascii_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(first)), Some(Ok(last))) if first < last => first..=last,
        _ => USUALLY_GIVEN_OUT,
    }
}

/// Returns the ports, each second of them, that the system gives to servers: those that are odd where its first is even (Linux,
/// `inet_csk_find_open_port`). Each rule costs every start a fraction of a microsecond.
pub fn of_servers() -> RangeInclusive<u16> {
    let given = given_out();
    given.start() + 1..=*given.end()
}

/// The ports that a network names.
fn named(network: &Network) -> impl Iterator<Item = &u16> {
    let (port, servers) = match network {
        Network::On | Network::Off => (&[][..], &[][..]),
        Network::Proxy { port, servers, .. } => (from_ref(port), servers.as_slice()),
    };
    port.iter().chain(servers)
}

/// The thread that starts such a program; without one it holds its ports itself.
fn starter_for(sandbox: &Sandbox) -> Option<&'static Starter> {
    static STARTER: OnceLock<Option<Starter>> = OnceLock::new();
    let network = &sandbox.confinement.network;
    if sandbox.level != Level::Landlock || *network == Network::On {
        return None;
    }
    let starter = STARTER.get_or_init(|| starter().ok()).as_ref()?;
    named(network)
        .all(|port| is_of_servers(&starter.of_servers, *port))
        .then_some(starter)
}

fn starter() -> io::Result<Starter> {
    let of_servers = of_servers();
    let (works, given) = channel::<Work>();
    let (told, is_held) = channel();
    let thread = Builder::new().name("tm-starter".to_owned());
    let own = of_servers.clone();
    let _thread = thread.stack_size(STACK).spawn(move || {
        let held = hold(own);
        let goes_on = held.is_ok();
        // Whoever began it waits for that.
        let _told = told.send(held);
        if goes_on {
            for work in given {
                work();
            }
        }
    })?;
    is_held.recv().map_err(io::Error::other)??;
    Ok(Starter { works, of_servers })
}

/// Has this thread, and every program that it starts from now on, reach no servers but those of programs and tests.
///
/// A layer that says nothing of new places for files forbids them all, once another one has rules for paths.
fn hold(of_servers: RangeInclusive<u16>) -> io::Result<()> {
    let all = PathFd::new("/").map_err(io::Error::other)?;
    let created = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(NEEDED))
        .and_then(|rules| rules.handle_access(AccessFs::Refer))
        .and_then(Ruleset::create)
        .and_then(|created| created.add_rule(PathBeneath::new(all, AccessFs::Refer)))
        .and_then(|created| add_of(created, of_servers, &Network::Off));
    let restricted = created.and_then(RulesetCreated::restrict_self);
    restricted.map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_whose_ports_are_held_reaches_its_own_servers_alone() {
        let service = TcpListener::bind("127.0.0.1:0").expect("a port");
        let of_service = service.local_addr().expect("bound");
        let closed = (20_000..30_000).find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
        let closed = closed.expect("a port").local_addr().expect("bound");
        let held = std::thread::spawn(move || {
            if hold(of_servers()).is_err() {
                // This kernel has no such rules.
                return;
            }
            assert!(are_held());
            let own = TcpListener::bind("127.0.0.1:0").expect("a port");
            TcpStream::connect(own.local_addr().expect("bound")).expect("its own server");
            TcpStream::connect(of_service).expect("a port that the system gave out");
            let refused = TcpStream::connect(closed).expect_err("nobody's port");
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        });
        held.join().expect("held");
        assert!(!are_held(), "it is that thread's alone");
    }

    #[test]
    fn what_the_system_gives_to_servers_is_granted() {
        for _ in 0..20 {
            let server = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = server.local_addr().expect("bound").port();
            assert!(is_of_servers(&of_servers(), port), "{port}");
        }
    }
}
