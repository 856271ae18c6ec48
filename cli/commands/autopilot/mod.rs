//! `tm autopilot`: turns arguments into operations, answers into words or JSON, errors into words, JSON, exit codes.

mod interactive;
mod words;

use crate::arguments::{
    AbortArguments, AutopilotArguments, AutopilotCommand, CommitArguments, CompleteArguments,
    FinalizeArguments, PhaseArgument, ResumeAutopilot, StartArguments,
};
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use serde::Serialize;
use serde_json::json;
use std::io::{IsTerminal as _, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;
use tm_runtime::autopilot::{
    Cleanup, CommitRequest, CompleteRequest, Environment, Error, FinalizeRequest, Force, GUIDE,
    Project, StartRequest, abort, activity, commit, complete, finalize, next, parse_counts, pause,
    preview, prompt, resume, start, status,
};
use tm_runtime::preflight::BrokenBase;
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
    let project = Project::open(
        &folder,
        Environment {
            backlog,
            ..Environment::of_process()
        },
    )?;
    let screen = Screen {
        project: &project,
        json: arguments.json,
    };
    match &arguments.command {
        AutopilotCommand::Start(start) => Box::pin(screen.start(start)).await,
        AutopilotCommand::Resume(resume) => screen.resume(resume).await,
        AutopilotCommand::Next(run) => screen.show(
            &next(&project, id(run.run_id.as_ref()).as_ref())?,
            words::next,
        ),
        AutopilotCommand::Complete(complete) => screen.complete(complete).await,
        AutopilotCommand::Commit(commit) => screen.commit(commit).await,
        AutopilotCommand::Finalize(finalize) => screen.finalize(finalize).await,
        AutopilotCommand::Status(run) => screen.status(id(run.run_id.as_ref()).as_ref()),
        AutopilotCommand::Watch(run) => screen.watch(id(run.run_id.as_ref()).as_ref()),
        AutopilotCommand::Pause(run) => screen.show(
            &pause(&project, id(run.run_id.as_ref()).as_ref())?,
            words::ended,
        ),
        AutopilotCommand::Abort(abort) => screen.abort(abort),
        AutopilotCommand::Prompt(run) => screen.prompt(id(run.run_id.as_ref()).as_ref()),
        AutopilotCommand::Guide => Ok(0),
    }
}

fn id(text: Option<&String>) -> Option<RunId> {
    text.map(|text| RunId::from(text.as_str()))
}

/// Where answers go: one JSON document, or words.
struct Screen<'a> {
    project: &'a Project,
    json: bool,
}

impl Screen<'_> {
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
            return self.show(&preview(self.project, &request)?, words::preview);
        }
        if let Some(run) = self.unfinished(arguments)? {
            let started = resume(self.project, Some(&run))?;
            return self.begun(&started, arguments.interactive).await;
        }
        let asks = !arguments.no_confirm && !self.json;
        if asks && std::io::stdin().is_terminal() {
            let planned = preview(self.project, &request)?;
            print_data(&words::preview(&planned));
            confirm("start the run", "Start?")?;
        }
        self.begun(&start(self.project, &request).await?, arguments.interactive)
            .await
    }

    /// The unfinished run of the task, where `--resume` asks for it.
    fn unfinished(&self, arguments: &StartArguments) -> Result<Option<RunId>, Error> {
        if !arguments.resume {
            return Ok(None);
        }
        let current = status(self.project, None)?;
        let is_meant = |status: &str| matches!(status, "in-progress" | "paused");
        let run = current.filter(|view| view.task_id == arguments.task && is_meant(&view.status));
        Ok(run.map(|view| RunId::from(view.run_id)))
    }

    async fn begun(
        &self,
        started: &tm_runtime::autopilot::Started,
        interactive: bool,
    ) -> Result<u8, Error> {
        self.show(started, words::started)?;
        if interactive {
            interactive::work(self.project).await
        } else {
            Ok(0)
        }
    }

    async fn resume(&self, arguments: &ResumeAutopilot) -> Result<u8, Error> {
        let run = id(arguments.run.as_ref().or(arguments.run_id.as_ref()));
        self.begun(&resume(self.project, run.as_ref())?, arguments.interactive)
            .await
    }

    async fn complete(&self, arguments: &CompleteArguments) -> Result<u8, Error> {
        let request = CompleteRequest {
            run: id(arguments.run_id.as_ref()),
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
        self.show(&complete(self.project, &request).await?, words::completed)
    }

    async fn commit(&self, arguments: &CommitArguments) -> Result<u8, Error> {
        let request = CommitRequest {
            run: id(arguments.run_id.as_ref()),
            subtask: arguments.subtask.as_deref().map(Into::into),
            message: arguments.message.clone(),
            files: arguments.files.clone(),
            made: None,
        };
        self.show(&commit(self.project, &request).await?, words::committed)
    }

    async fn finalize(&self, arguments: &FinalizeArguments) -> Result<u8, Error> {
        let request = FinalizeRequest {
            run: id(arguments.run_id.as_ref()),
            counts: arguments.results.as_deref().map(parse_counts).transpose()?,
            coverage: arguments.coverage,
        };
        self.show(&finalize(self.project, &request).await?, words::ended)
    }

    fn status(&self, run: Option<&RunId>) -> Result<u8, Error> {
        match status(self.project, run)? {
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
        let run = id(arguments.run_id.as_ref());
        if !arguments.force && !self.json && std::io::stdin().is_terminal() {
            confirm("abort the run", "Give the run up?")?;
        }
        let cleanup = if arguments.cleanup {
            Cleanup::Remove
        } else {
            Cleanup::Keep
        };
        self.show(&abort(self.project, run.as_ref(), cleanup)?, words::ended)
    }

    fn prompt(&self, run: Option<&RunId>) -> Result<u8, Error> {
        let text = prompt(self.project, run)?;
        if self.json {
            print_data(&format!("{:#}\n", json!({"prompt": text})));
        } else {
            print_data(&text);
        }
        Ok(0)
    }

    /// Prints events as they come, until the run is over or its files are gone.
    fn watch(&self, run: Option<&RunId>) -> Result<u8, Error> {
        let path = activity(self.project, run)?;
        let run = match run {
            Some(run) => run.clone(),
            None => status(self.project, None)?
                .map_or(Err(Error::NoRun), |view| Ok(RunId::from(view.run_id)))?,
        };
        let mut shown = 0;
        loop {
            let view = status(self.project, Some(&run)).ok().flatten();
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
    match dialoguer::Confirm::new()
        .with_prompt(question)
        .default(true)
        .interact()
    {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(Error::NotConfirmed(what)),
    }
}
