//! The shell around the screen: keys, signals, calls to the run, a shell in a worktree. The terminal is given back as
//! it was, however this ends.

use super::board::Link;
use super::source::Source;
use super::view::{Palette, draw};
use super::{Action, Model};
use crate::commands::Perform;
use crate::environment::{colours_in, shell};
use crate::failure::{CommandFailure, Result};
use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tm_executors::process::run_attended;
use tm_reports::Colours;
use tm_runtime::steering::{Ask, CallError, call};
use tm_scheduler::TaskId;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// How often the run is looked at again while no key is pressed.
const TICK: Duration = Duration::from_millis(250);
/// The exit code of what was interrupted.
const INTERRUPTED: u8 = 130;

/// `tm waves watch`.
#[derive(Args)]
pub(crate) struct WatchArguments {
    /// The run; the live or last one when not given.
    run: Option<String>,
}

impl Perform for WatchArguments {
    async fn perform(self, start: &Path) -> Result {
        let source = Source::open(start, self.run.as_deref())?;
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            let hint =
                "`tm waves status` shows where it stands, `tm waves logs ID -f` follows a task";
            return Err(failure!("this is no terminal to watch a run on").usage(hint));
        }
        let is_told_to_leave = leave_on_signals()?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let handle = Handle::current();
        let (tell, mut left) = oneshot::channel();
        let screen = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || {
                let _unheard = tell.send(show(source, handle, &is_told_to_leave));
            })?;
        let seen = tokio::select! {
            seen = &mut left => seen.ok(),
            _ = hung_up.recv() => None,
        };
        match seen {
            Some(seen) => {
                screen.join().expect("the screen has told how it ended");
                seen.map(|()| 0)
            }
            // There is no terminal any more: nobody to give it back to, and waiting for its keys need not come back.
            None => Ok(INTERRUPTED),
        }
    }
}

/// Shows the run until somebody leaves, and gives the terminal back.
fn show(source: Source, runtime: Handle, is_told_to_leave: &AtomicBool) -> Result<()> {
    let terminal = ratatui::try_init()?;
    let mut screen = Screen {
        source,
        model: Model::default(),
        terminal,
        runtime,
        palette: palette(),
    };
    let seen = screen.show(is_told_to_leave);
    ratatui::try_restore()?;
    seen
}

/// Everything that the screen is made with.
struct Screen {
    source: Source,
    model: Model,
    terminal: DefaultTerminal,
    runtime: Handle,
    palette: Palette,
}

fn palette() -> Palette {
    match colours_in(&std::io::stdout()) {
        Colours::On => Palette::Colour,
        Colours::Off => Palette::Plain,
    }
}

/// Notes that the screen is to be left.
fn leave_on_signals() -> Result<Arc<AtomicBool>> {
    outlive_interrupts()?;
    let is_told = Arc::new(AtomicBool::new(false));
    let (mut told, noted) = (signal(SignalKind::terminate())?, Arc::clone(&is_told));
    tokio::spawn(async move {
        told.recv().await;
        noted.store(true, Ordering::Relaxed);
    });
    Ok(is_told)
}

/// An interrupt is a key here, and within a shell that was opened it is the shell's; it must not end tm.
fn outlive_interrupts() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move { while interrupt.recv().await.is_some() {} });
    Ok(())
}

impl Screen {
    fn show(&mut self, is_told_to_leave: &AtomicBool) -> Result<()> {
        while !is_told_to_leave.load(Ordering::Relaxed) {
            self.source.refresh(&mut self.model);
            self.terminal
                .draw(|frame| draw(frame, &self.model, self.palette))?;
            if event::poll(TICK)? && self.take_keys()?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Does what the keys say that have been pressed.
    fn take_keys(&mut self) -> Result<ControlFlow<()>> {
        while event::poll(Duration::ZERO)? {
            // A resized terminal is drawn again at once, as after any event.
            let key = event::read()?.as_key_event();
            let key = key.filter(|key| !key.is_release());
            match key.and_then(|key| self.model.press(key)) {
                Some(Action::Quit) => return Ok(ControlFlow::Break(())),
                Some(Action::Ask(ask)) => self.ask(&ask),
                Some(Action::Shell(task)) => self.shell(&task)?,
                None => {}
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn ask(&mut self, ask: &Ask) {
        self.model.notice = Some(match call(&self.source.project().directory, ask) {
            Ok(reply) if reply.ok => reply.message,
            Ok(reply) => format!("failed to {}", reply.message),
            Err(CallError::Nobody) => {
                self.model.link = Link::Over;
                "the run is not live any more".to_owned()
            }
            Err(error) => format!("failed to {error}"),
        });
        self.source.expire();
    }

    /// Gives the terminal to a shell in the task's worktree, and takes it back afterwards.
    fn shell(&mut self, task: &TaskId) -> Result<()> {
        let folder = self.source.worktree(task);
        let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
            self.model.notice = Some(format!("{task} has no worktree now"));
            return Ok(());
        };
        ratatui::try_restore()?;
        let ended = self.runtime.block_on(run_attended(&shell(), &[], &folder));
        self.terminal = ratatui::try_init()?;
        self.terminal.clear()?;
        let failure = ended.err().map(CommandFailure::from);
        self.model.notice = failure.map(|failure| failure.to_string());
        Ok(())
    }
}
