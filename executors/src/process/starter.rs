//! A thread that starts programs whose ports are held: it is held itself, and programs have that of it.
//!
//! The rules for ports are some thousands, and to make them anew for each program would take longer than a short test.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use tm_sandbox::{Level, Network, Sandbox};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

type Work = Box<dyn FnOnce() + Send>;

/// The thread does nothing but to start programs.
const STACK: usize = 256 * 1024;

/// Starts a program that is to be held; must be called within a tokio runtime.
pub(super) fn spawn(mut command: Command, sandbox: &Sandbox) -> io::Result<Child> {
    let has_ports_held =
        sandbox.level == Level::Landlock && sandbox.confinement.network == Network::Off;
    let Some(starter) = has_ports_held.then(starter).flatten() else {
        return command.spawn();
    };
    let (answer, answered) = channel();
    let runtime = Handle::current();
    let work = move || {
        let _within = runtime.enter();
        // Whoever asked waits for it.
        let _told = answer.send(command.spawn());
    };
    let is_gone = || io::Error::other("the thread that starts programs is gone");
    starter.send(Box::new(work)).map_err(|_| is_gone())?;
    answered.recv().map_err(|_| is_gone())?
}

/// The thread; without one, programs hold their ports themselves.
fn starter() -> Option<&'static Sender<Work>> {
    static STARTER: OnceLock<Option<Sender<Work>>> = OnceLock::new();
    let begun = STARTER.get_or_init(|| {
        let (sender, works) = channel::<Work>();
        let (told, is_held) = channel();
        let thread = Builder::new()
            .name("tm-starter".to_owned())
            .stack_size(STACK);
        let begun = thread.spawn(move || {
            let held = tm_sandbox::hold_ports();
            let goes_on = held.is_ok();
            // Whoever began it waits for that.
            let _told = told.send(held);
            if goes_on {
                for work in works {
                    work();
                }
            }
        });
        let held = begun.and_then(|_thread| is_held.recv().map_err(io::Error::other)?);
        if let Err(error) = &held {
            tracing::debug!(%error, "programs hold their ports themselves");
        }
        held.is_ok().then_some(sender)
    });
    begun.as_ref()
}
