//! `tm autopilot`: turns arguments into operations, answers into words or JSON, errors into words, JSON, exit codes.

mod interactive;
mod words;

use crate::arguments::{
    AbortArguments, AutopilotArguments, AutopilotCommand, CommitArguments, CompleteArguments,
    FinalizeArguments, PhaseArgument, StartArguments,
};
use crate::ask::confirmed;
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use serde::Serialize;
use serde_json::json;
use std::io::{IsTerminal as _, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;
use tm_app::{Autopilot, BrokenBase};
use tm_runtime::autopilot::{
    Cleanup, CommitRequest, CompleteRequest, Error, FinalizeRequest, Force, GUIDE, StartRequest,
    Started, parse_counts,
};
use tm_scheduler::RunId;
use tm_scheduler::autopilot::TddPhase;

/// How often the log of a run that is watched is read again.
const WATCH_EVERY: Duration = Duration::from_millis(300);

/// Carries out `tm autopilot`.
pub(crate) async fn autopilot(
    start: &Path,
    arguments: &AutopilotArguments,
) -> Result<u8, CommandFailure> {
    if matches!(arguments.command, AutopilotCommand::Guide) {
        print_data(GUIDE);
        return Ok(0);
    }
    match Box::pin(perform(start, arguments))
        .await
        .map_err(CommandFailure::from)
    {
        Err(CommandFailure {
            message,
            hint,
            code,
        }) if arguments.json => {
            let document = json!({"success": false, "error": message, "hint": hint, "exitCode": code.number()});
            print_data(&format!("{document:#}\n"));
            Ok(code.number())
        }
        done => done,
    }
}

async fn perform(start: &Path, arguments: &AutopilotArguments) -> Result<u8, Error> {
    let folder = arguments
        .project_root
        .as_ref()
        .map_or_else(|| start.to_owned(), |root| start.join(root));
    let backlog = arguments.backlog.as_ref().map(|path| start.join(path));
    let run = arguments.command.run().map(RunId::from);
    let screen = Screen {
        autopilot: Autopilot::open(&folder, backlog, run)?,
        json: arguments.json,
    };
    let autopilot = &screen.autopilot;
    match &arguments.command {
        AutopilotCommand::Start(start) => Box::pin(screen.start(start)).await,
        AutopilotCommand::Resume(resume) => {
            screen.begun(&autopilot.resume()?, resume.interactive).await
        }
        AutopilotCommand::Next(_) => screen.show(&autopilot.next()?, words::next),
        AutopilotCommand::Complete(complete) => screen.complete(complete).await,
        AutopilotCommand::Commit(commit) => screen.commit(commit).await,
        AutopilotCommand::Finalize(finalize) => screen.finalize(finalize).await,
        AutopilotCommand::Status(_) => screen.status(),
        AutopilotCommand::Watch(_) => screen.watch(),
        AutopilotCommand::Pause(_) => screen.show(&autopilot.pause()?, words::ended),
        AutopilotCommand::Abort(abort) => screen.abort(abort),
        AutopilotCommand::Prompt(_) => screen.prompt(),
        AutopilotCommand::Guide => Ok(0),
    }
}

/// Where answers go: one JSON document, or words.
struct Screen {
    autopilot: Autopilot,
    json: bool,
}

impl Screen {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the last expression of every command"
    )]
    fn show<T: Serialize>(&self, answer: &T, words: fn(&T) -> String) -> Result<u8, Error> {
        if self.json {
            let text = serde_json::to_string_pretty(answer).expect("answers have text keys only");
            print_data(&format!("{text}\n"));
        } else {
            print_data(&words(answer));
        }
        Ok(0)
    }

    async fn start(&self, arguments: &StartArguments) -> Result<u8, Error> {
        let request = StartRequest {
            task: arguments.task.clone(),
            tag: arguments.tag.as_deref().map(Into::into),
            branch: arguments.branch.clone(),
            max_attempts: arguments.max_attempts.map(Into::into),
            broken: BrokenBase::allowed_if(arguments.allow_broken_base),
            force: if arguments.force {
                Force::Yes
            } else {
                Force::No
            },
        };
        if arguments.dry_run {
            return self.show(&self.autopilot.preview(&request)?, words::preview);
        }
        if arguments.resume
            && let Some(resumed) = self.autopilot.resume_of(&arguments.task)?
        {
            return self.begun(&resumed, arguments.interactive).await;
        }
        let asks = !arguments.no_confirm && !self.json;
        if asks && std::io::stdin().is_terminal() {
            print_data(&words::preview(&self.autopilot.preview(&request)?));
            confirm("start the run", "Start?")?;
        }
        let started = self.autopilot.start(&request).await?;
        self.begun(&started, arguments.interactive).await
    }

    async fn begun(&self, started: &Started, interactive: bool) -> Result<u8, Error> {
        self.show(started, words::started)?;
        if interactive {
            interactive::work(&self.autopilot).await
        } else {
            Ok(0)
        }
    }

    async fn complete(&self, arguments: &CompleteArguments) -> Result<u8, Error> {
        let request = CompleteRequest {
            run: None,
            phase: arguments.phase.map(|phase| match phase {
                PhaseArgument::Red => TddPhase::Red,
                PhaseArgument::Green => TddPhase::Green,
            }),
            subtask: arguments.subtask.as_deref().map(Into::into),
            counts: arguments.results.as_deref().map(parse_counts).transpose()?,
            coverage: arguments.coverage,
            files: arguments.files.clone(),
            failure: None,
        };
        self.show(&self.autopilot.complete(request).await?, words::completed)
    }

    async fn commit(&self, arguments: &CommitArguments) -> Result<u8, Error> {
        let request = CommitRequest {
            run: None,
            subtask: arguments.subtask.as_deref().map(Into::into),
            message: arguments.message.clone(),
            files: arguments.files.clone(),
            made: None,
        };
        self.show(&self.autopilot.commit(request).await?, words::committed)
    }

    async fn finalize(&self, arguments: &FinalizeArguments) -> Result<u8, Error> {
        let request = FinalizeRequest {
            run: None,
            counts: arguments.results.as_deref().map(parse_counts).transpose()?,
            coverage: arguments.coverage,
        };
        self.show(&self.autopilot.finalize(request).await?, words::ended)
    }

    fn status(&self) -> Result<u8, Error> {
        match self.autopilot.status()? {
            Some(view) => self.show(&view, words::status),
            None if self.json => {
                let none =
                    json!({"active": false, "message": "there has been no run in this checkout"});
                print_data(&format!("{none:#}\n"));
                Ok(0)
            }
            None => {
                print_line(
                    "there has been no run in this checkout; `tm autopilot start ID` begins one",
                );
                Ok(0)
            }
        }
    }

    fn abort(&self, arguments: &AbortArguments) -> Result<u8, Error> {
        if !arguments.force && !self.json && std::io::stdin().is_terminal() {
            confirm("abort the run", "Give the run up?")?;
        }
        let cleanup = if arguments.cleanup {
            Cleanup::Remove
        } else {
            Cleanup::Keep
        };
        self.show(&self.autopilot.abort(cleanup)?, words::ended)
    }

    fn prompt(&self) -> Result<u8, Error> {
        let text = self.autopilot.prompt()?;
        if self.json {
            print_data(&format!("{:#}\n", json!({"prompt": text})));
        } else {
            print_data(&text);
        }
        Ok(0)
    }

    /// Prints events as they come, until the run is over or its files are gone.
    fn watch(&self) -> Result<u8, Error> {
        let (autopilot, path) = self.autopilot.clone().watched()?;
        let mut shown = 0;
        loop {
            let view = autopilot.status().ok().flatten();
            shown += print_whole_lines(&path, shown, self.json);
            if view.is_none_or(|view| matches!(view.status.as_str(), "completed" | "aborted")) {
                return Ok(0);
            }
            std::thread::sleep(WATCH_EVERY);
        }
    }
}

/// So much of a log of events is shown at one look.
const MOST_AT_ONCE: u64 = 16 * 1024 * 1024;

/// Prints the whole lines after a position and returns how much that was.
fn print_whole_lines(path: &Path, position: u64, json: bool) -> u64 {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = tm_untrusted::open(path)?;
        file.seek(SeekFrom::Start(position))?;
        let mut bytes = Vec::new();
        file.take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let end = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |last| last + 1);
    for line in String::from_utf8_lossy(&bytes[..end]).lines() {
        print_data(&if json {
            format!("{line}\n")
        } else {
            words::event(line)
        });
    }
    u64::try_from(end).unwrap_or(u64::MAX)
}

fn confirm(what: &'static str, question: &str) -> Result<(), Error> {
    match confirmed(question, true) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(Error::NotConfirmed(what)),
    }
}
