//! Whether a program that is held has begun: what holds it can fail once it was started itself, and its exit code would be
//! taken for the program's.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;

/// So long a beginning is waited for; what takes longer is watched as any other program.
const LIMIT: Duration = Duration::from_secs(5);

/// Where it is told.
#[derive(Debug)]
pub(crate) struct Beginning(Receiver);

impl Beginning {
    /// Returns it, and what tells it: a file that every program inherits which is started while it is open.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (read, write) = io::pipe()?;
        let receiver = Receiver::from_owned_fd(read.into())?;
        Ok((Self(receiver), rustix::io::dup(write)?))
    }

    /// Waits until the program has begun, or what was to hold it has ended; tells whether it has.
    pub(super) async fn come(mut self, child: &mut Child) -> bool {
        let mut byte = [0];
        let told = tokio::select! {
            biased;
            told = self.0.read(&mut byte) => told,
            _ended = child.wait() => self.0.try_read(&mut byte),
            () = tokio::time::sleep(LIMIT) => return true,
        };
        matches!(told, Ok(1))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    async fn has_begun(script: &str) -> bool {
        let (beginning, told) = Beginning::new().expect("a pipe");
        #[expect(clippy::disallowed_methods, reason = "any process will do")]
        let mut child = tokio::process::Command::new("sh")
            .args(["-c", script, "sh", &told.as_raw_fd().to_string()])
            .spawn()
            .expect("started");
        // Open all the time, as by another program that was started in the same moment.
        let has_begun = beginning.come(&mut child).await;
        drop(told);
        child.kill().await.expect("ended");
        has_begun
    }

    #[tokio::test]
    async fn it_is_there_as_soon_as_it_is_told_and_not_when_whoever_was_to_tell_has_ended() {
        assert!(has_begun("echo > /proc/self/fd/$1; exec sleep 1000").await);
        assert!(has_begun("echo > /proc/self/fd/$1; exit 1").await);
        assert!(!has_begun("exit 1").await);
    }
}
