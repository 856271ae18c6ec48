//! Hears calls over the socket and hands them to the loop of the run, any number of callers at once.
//!
//! Knows nothing of the run but who belongs to it: agents may look, and not steer. Whatever comes over the socket is answered by a line, or ends that one connection.

use super::{Ask, Reply, Steer};
use crate::callers::{AgentCaller, caller_of_own_run};
use crate::setup::variable;
use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tm_executors::process::lineage;
use tm_store::run::{ControlSocket, ProjectDirectory};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{RwLock, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

/// The longest call in bytes.
const LONGEST: u64 = 64 * 1024;
/// The longest name of a refused command, in characters.
const WORDS: usize = 40;
/// Callers at the same time; further ones wait.
const CALLERS: usize = 64;
/// After so long without a call a connection is closed.
const SILENCE: Duration = Duration::from_mins(10);
/// How long the end of a run waits for answers that are being written.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// After trouble with accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// The socket of the live run; dropping it closes and removes it.
#[derive(Debug)]
pub struct SteeringSocket {
    server: JoinHandle<()>,
    /// Held for reading by whoever is being answered.
    answering: Arc<RwLock<()>>,
    control: ControlSocket,
}

impl SteeringSocket {
    /// Opens the socket and hands what comes over it to `steers`, on the runtime that this is called on. Only the
    /// holder of the run lock may call this.
    ///
    /// # Errors
    /// There is no place for a socket. The run goes on without.
    pub fn open(
        project: &ProjectDirectory,
        steers: mpsc::UnboundedSender<Steer>,
    ) -> Result<Self, tm_store::Error> {
        let runtime_folder = variable("XDG_RUNTIME_DIR").map(PathBuf::from).into_iter();
        let others: Vec<PathBuf> = runtime_folder
            .chain([std::env::temp_dir(), "/tmp".into()])
            .collect();
        let (control, listener) = ControlSocket::open(project, &others, |path| {
            let listener = StdListener::bind(path)?;
            listener.set_nonblocking(true)?;
            UnixListener::from_std(listener)
        })?;
        let answering = Arc::default();
        let way_in = WayIn {
            steers,
            repository: project.repository().map(Into::into),
        };
        Ok(Self {
            server: tokio::spawn(accept(listener, way_in, Arc::clone(&answering))),
            answering,
            control,
        })
    }

    /// Closes and removes it once those who have asked are answered.
    pub async fn close(self) {
        // A caller that does not read has waited long enough.
        let _too_slow = tokio::time::timeout(LAST_WORDS, self.answering.write())
            .await
            .is_err();
    }

    /// Returns where it is.
    pub fn path(&self) -> &std::path::Path {
        self.control.path()
    }
}

impl Drop for SteeringSocket {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The way into the run.
#[derive(Clone, Debug)]
struct WayIn {
    steers: mpsc::UnboundedSender<Steer>,
    /// The folder that all worktrees of the run's repository share.
    repository: Option<Arc<Path>>,
}

/// Who is at the other end of a connection.
#[derive(Debug)]
enum Caller {
    /// Somebody of the run's user.
    User,
    /// An agent of the run, or something that it or the run's tests started.
    Agent(AgentCaller),
    /// Somebody who was gone before it could be seen who that was.
    Gone,
}

async fn accept(listener: UnixListener, way_in: WayIn, answering: Arc<RwLock<()>>) {
    let candidates = Arc::new(Semaphore::new(CALLERS));
    // Connections end with the listener, since they are dropped with it.
    let mut callers = tokio::task::JoinSet::new();
    loop {
        let seat = Arc::clone(&candidates)
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        while callers.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) if is_ours(&stream) => {
                let (way_in, answering) = (way_in.clone(), Arc::clone(&answering));
                callers.spawn(async move {
                    let ended = converse(stream, way_in, &answering).await;
                    // A caller that breaks off harms nobody.
                    tracing::debug!(?ended, "a caller has gone");
                    drop(seat);
                });
            }
            Ok(_) => tracing::warn!("somebody else opened the socket; nothing was heard"),
            Err(error) => {
                tracing::warn!(%error, "no caller can be accepted now");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Whether the caller is the user whose run this is, whatever the permissions of the socket let through.
fn is_ours(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|caller| caller.uid() == rustix::process::geteuid().as_raw())
}

/// Who calls, by the process that opened the connection.
async fn caller(stream: &UnixStream, repository: Option<Arc<Path>>) -> Caller {
    let Some(pid) = stream
        .peer_cred()
        .ok()
        .and_then(|peer| u32::try_from(peer.pid()?).ok())
    else {
        return Caller::Gone;
    };
    let look = move || {
        let lineage = lineage(pid);
        if lineage.is_empty() {
            return Caller::Gone;
        }
        let repository = repository.unwrap_or_else(|| Path::new("").into());
        caller_of_own_run(&lineage, &repository).map_or(Caller::User, Caller::Agent)
    };
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or(Caller::Gone)
}

async fn converse(stream: UnixStream, way_in: WayIn, answering: &RwLock<()>) -> io::Result<()> {
    let caller = caller(&stream, way_in.repository).await;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let Ok(read) = tokio::time::timeout(SILENCE, next_line(&mut reader, &mut line)).await
        else {
            return Ok(());
        };
        if read? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST {
            let reply = Reply::failed(
                "malformed",
                format!("understand the call: it is longer than {LONGEST} bytes"),
            );
            return answer(&mut writer, &reply).await;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let _answering = answering.read().await;
        let reply = match Ask::parse(&line) {
            Ok(ask) => hear(ask, &caller, &way_in.steers).await,
            Err(reply) => reply,
        };
        answer(&mut writer, &reply).await?;
    }
}

async fn next_line(reader: &mut BufReader<OwnedReadHalf>, line: &mut Vec<u8>) -> io::Result<usize> {
    reader.take(LONGEST).read_until(b'\n', line).await
}

/// Hands a call to the run if its caller may make it.
async fn hear(ask: Ask, caller: &Caller, steers: &mpsc::UnboundedSender<Steer>) -> Reply {
    let what = match (&ask, ask.command_of_user()) {
        (Ask::Refused { what }, _) => what
            .chars()
            .filter(|letter| letter.is_ascii_lowercase() || matches!(letter, ' ' | '-'))
            .take(WORDS)
            .collect(),
        (_, None) => return put(ask, steers).await,
        (_, Some(what)) => what.to_owned(),
    };
    match caller {
        Caller::User => put(ask, steers).await,
        Caller::Gone => Reply::failed(
            "agent",
            format!("`{what}`: refused, because nobody can tell who asks"),
        ),
        Caller::Agent(agent) => {
            let message = format!("`{what}`: refused, because it is called from within {agent}");
            let (sender, noted) = oneshot::channel();
            if steers
                .send(Steer::Refused(agent.clone(), what, sender))
                .is_ok()
            {
                // A run that is over notes nothing.
                let _over = noted.await;
            }
            Reply::failed("agent", message)
        }
    }
}

async fn put(ask: Ask, steers: &mpsc::UnboundedSender<Steer>) -> Reply {
    let (sender, receiver) = oneshot::channel();
    // What a run that is over does not take is dropped, and nobody answers then.
    drop(steers.send(Steer::Ask(ask, sender)));
    let reply = receiver.await;
    reply.unwrap_or_else(|_| Reply::failed("over", "ask the run: it is over"))
}

async fn answer(writer: &mut OwnedWriteHalf, reply: &Reply) -> io::Result<()> {
    let written = tokio::time::timeout(SILENCE, writer.write_all(reply.line().as_bytes())).await;
    written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::super::{CallError, call};
    use super::*;
    use std::io::{BufRead as _, Read as _, Write as _};
    use tm_store::run::Home;

    struct Scene {
        _folder: tempfile::TempDir,
        project: ProjectDirectory,
        runtime: tokio::runtime::Runtime,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let git_dir = folder.path().join(".git");
        std::fs::create_dir(&git_dir).unwrap();
        let project = Home::new(folder.path().join("home"))
            .project(&git_dir)
            .unwrap();
        project.create().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        Scene {
            _folder: folder,
            project,
            runtime,
        }
    }

    /// A run that answers each call with what was asked.
    fn echo(scene: &Scene) -> SteeringSocket {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        scene.runtime.spawn(async move {
            while let Some(Steer::Ask(ask, reply)) = receiver.recv().await {
                reply.send(Reply::done(format!("{ask:?}"))).unwrap();
            }
        });
        scene
            .runtime
            .block_on(async { SteeringSocket::open(&scene.project, sender).unwrap() })
    }

    #[test]
    fn many_callers_at_once_are_answered_each_with_its_own() {
        let scene = scene();
        let _socket = echo(&scene);
        std::thread::scope(|scope| {
            for number in 0..100 {
                let project = &scene.project;
                scope.spawn(move || {
                    let ask = Ask::Retry {
                        task: number.to_string().into(),
                    };
                    assert_eq!(call(project, &ask).unwrap().message, format!("{ask:?}"));
                });
            }
        });
    }

    #[test]
    fn agents_and_whoever_is_gone_may_look_and_not_steer() {
        let scene = scene();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let agent = AgentCaller {
            run: Some("r-1".into()),
            attempt: Some(("3".into(), tm_scheduler::AttemptNumber(2))),
        };
        scene.runtime.spawn(async move {
            while let Some(steer) = receiver.recv().await {
                match steer {
                    Steer::Refused(_, what, noted) => {
                        assert_eq!((what.as_str(), noted.send(())), ("tm waves stop", Ok(())));
                    }
                    Steer::Ask(ask, reply) => {
                        assert_eq!(ask, Ask::Status);
                        reply.send(Reply::done("stands")).unwrap();
                    }
                    Steer::Stop(_) => panic!("nobody may stop it"),
                }
            }
        });
        for (caller, words) in [
            (Caller::Gone, "who asks"),
            (Caller::Agent(agent), "attempt 2 of task `3` of the run r-1"),
        ] {
            let hear = |ask| scene.runtime.block_on(hear(ask, &caller, &sender));
            let reply = hear(Ask::Stop { now: true });
            assert_eq!((reply.ok, reply.reason.as_deref()), (false, Some("agent")));
            assert!(reply.message.contains(words), "{}", reply.message);
            assert!(hear(Ask::Status).ok);
        }
    }

    #[test]
    fn garbage_is_answered_and_harms_nobody() {
        let scene = scene();
        let socket = echo(&scene);
        let connect = || std::os::unix::net::UnixStream::connect(socket.path()).unwrap();
        let mut silent = connect();
        silent.write_all(b"{\"version\":1,").unwrap();
        let mut garbled = connect();
        garbled
            .write_all(b"\xff\xfe\n\n{}\n{\"version\":1,\"do\":\"pause\"}\n")
            .unwrap();
        let replies: Vec<String> = std::io::BufReader::new(garbled)
            .lines()
            .take(3)
            .map(|line| line.unwrap())
            .collect();
        assert!(
            replies[0].contains("malformed") && replies[1].contains("version"),
            "{replies:?}"
        );
        assert_eq!(replies[2], r#"{"version":1,"ok":true,"message":"Pause"}"#);
        let mut endless = connect();
        // The run may close the connection while this is still being written.
        let _closed = endless.write_all(&vec![b'x'; 200_000]);
        let mut words = String::new();
        let _closed = endless.read_to_string(&mut words);
        assert!(
            words.is_empty() || words.contains("longer than 65536 bytes"),
            "{words}"
        );
        assert!(call(&scene.project, &Ask::Status).unwrap().ok);
    }

    #[test]
    fn whoever_has_asked_is_answered_before_the_socket_closes() {
        let scene = scene();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let socket = scene
            .runtime
            .block_on(async { SteeringSocket::open(&scene.project, sender).unwrap() });
        std::thread::scope(|scope| {
            let caller = scope.spawn(|| call(&scene.project, &Ask::Stop { now: true }));
            scene.runtime.block_on(async {
                let Some(Steer::Ask(_, reply)) = receiver.recv().await else {
                    panic!("a call was made")
                };
                reply.send(Reply::done("asked the run to stop")).unwrap();
                socket.close().await;
            });
            assert!(caller.join().unwrap().unwrap().ok);
        });
        assert!(matches!(
            call(&scene.project, &Ask::Status),
            Err(CallError::Nobody)
        ));
    }

    #[test]
    fn nobody_answers_before_and_after_a_run() {
        let scene = scene();
        assert!(matches!(
            call(&scene.project, &Ask::Status),
            Err(CallError::Nobody)
        ));
        let socket = echo(&scene);
        assert!(call(&scene.project, &Ask::Status).unwrap().ok);
        drop(socket);
        assert!(matches!(
            call(&scene.project, &Ask::Status),
            Err(CallError::Nobody)
        ));
    }
}
