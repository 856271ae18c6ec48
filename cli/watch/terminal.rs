//! The shell around the screen: keys, signals, calls to the run, a shell in a worktree. The terminal is given back as
//! it was, however this ends.

use super::board::Link;
use super::model::{Action, Model};
use super::source::Source;
use super::view::{Palette, draw};
use crate::commands::Perform;
use crate::failure::{CommandFailure, ExitCode, Result};
use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tm_executors::process::run_attended;
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
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl Perform for WatchArguments {
    async fn perform(self, start: &Path) -> Result {
        let source = Source::open(start, self.run.as_deref())?;
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return Err(failure!("watch the run: this is no terminal")
                .code(ExitCode::Usage)
                .hint(
                    "`tm waves status` shows where it stands, `tm waves logs ID -f` follows a task",
                ));
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

/// Colours, unless somebody does not want them (<https://no-color.org>).
fn palette() -> Palette {
    let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    if is_off {
        Palette::Plain
    } else {
        Palette::Colour
    }
}

/// Notes that the screen is to be left. An interrupt is a key here, and within a shell that was opened it is the
/// shell's; it must not end tm.
fn leave_on_signals() -> Result<Arc<AtomicBool>> {
    let is_told = Arc::new(AtomicBool::new(false));
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move { while interrupt.recv().await.is_some() {} });
    let (mut told, noted) = (signal(SignalKind::terminate())?, Arc::clone(&is_told));
    tokio::spawn(async move {
        told.recv().await;
        noted.store(true, Ordering::Relaxed);
    });
    Ok(is_told)
}

impl Screen {
    fn show(&mut self, is_told_to_leave: &AtomicBool) -> Result<()> {
        while !is_told_to_leave.load(Ordering::Relaxed) {
            self.source.refresh(&mut self.model);
            self.terminal
                .draw(|frame| draw(frame, &self.model, self.palette))?;
            if !event::poll(TICK)? {
                continue;
            }
            while event::poll(Duration::ZERO)? {
                // A resized terminal is drawn again at once, as after any event.
                let Some(key) = event::read()?
                    .as_key_event()
                    .filter(|key| !key.is_release())
                else {
                    continue;
                };
                match self.model.press(key) {
                    Some(Action::Quit) => return Ok(()),
                    Some(Action::Ask(ask)) => self.ask(&ask),
                    Some(Action::Shell(task)) => self.shell(&task)?,
                    None => {}
                }
            }
        }
        Ok(())
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
        let Some(folder) = self
            .source
            .worktree(task)
            .filter(|folder| Path::new(folder).is_dir())
        else {
            self.model.notice = Some(format!("{task} has no worktree now"));
            return Ok(());
        };
        let shell = std::env::var("SHELL")
            .ok()
            .filter(|shell| !shell.is_empty())
            .unwrap_or_else(|| "sh".to_owned());
        ratatui::try_restore()?;
        let ended = self
            .runtime
            .block_on(run_attended(&shell, &[], Path::new(&folder)));
        self.terminal = ratatui::try_init()?;
        self.terminal.clear()?;
        if let Err(error) = ended {
            self.model.notice = Some(format!("failed to {}", CommandFailure::from(error).message));
        }
        Ok(())
    }
}
