//! Looks names up, in threads of their own. The system takes as long for a name as its servers do, and nobody can break that
//! off: in the threads in which all that waits for git and the disk is done, one program's names would hold up everybody.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// So many names of one program are looked up at once; the next one waits.
const AT_ONCE: usize = 4;
/// So long a program waits for a name.
const LIMIT: Duration = Duration::from_secs(20);
/// What the system needs for it.
const STACK: usize = 512 * 1024;

/// How a name and a port become addresses.
type LookUp = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// The names of one program.
#[derive(Debug)]
pub(super) struct Names {
    places: Arc<Semaphore>,
    limit: Duration,
    look_up: LookUp,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            limit: LIMIT,
            look_up: |name, port| Ok((name, port).to_socket_addrs()?.collect()),
        }
    }
}

impl Names {
    /// Returns the addresses of a name.
    ///
    /// # Errors
    /// It has none, or nobody says within a while.
    pub(super) async fn addresses(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found = timeout(self.limit, self.looked_up(name.to_owned(), port)).await;
        found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn looked_up(&self, name: String, port: u16) -> io::Result<Vec<SocketAddr>> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        let (answer, answered) = oneshot::channel();
        let look_up = self.look_up;
        let thread = Builder::new().name("tm-names".to_owned()).stack_size(STACK);
        thread.spawn(move || {
            // Who asked may have gone.
            let _told = answer.send(look_up(&name, port));
            drop(place);
        })?;
        answered.await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn names_that_nobody_answers_for_are_given_up_and_take_no_more_than_their_places() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let names = Arc::new(Names {
            limit: Duration::ZERO,
            look_up: |_, _| {
                ASKED.fetch_add(1, Ordering::SeqCst);
                loop {
                    std::thread::park();
                }
            },
            ..Names::default()
        });
        let mut asking = JoinSet::new();
        for _ in 0..3 * AT_ONCE {
            let names = Arc::clone(&names);
            asking.spawn(async move { names.addresses("slow.example", 443).await });
        }
        for answer in asking.join_all().await {
            assert_eq!(
                answer.expect_err("nobody answers").kind(),
                io::ErrorKind::TimedOut
            );
        }
        assert_eq!(names.places.available_permits(), 0);
        assert!(ASKED.load(Ordering::SeqCst) <= AT_ONCE);
    }

    #[tokio::test]
    async fn a_name_has_its_addresses() {
        let found = Names::default().addresses("localhost", 443).await;
        assert!(found.expect("found").iter().all(|it| it.ip().is_loopback()));
    }
}
