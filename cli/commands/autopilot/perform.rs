//! `tm autopilot`: turns arguments into operations, answers into words or JSON, errors into words, JSON, exit codes.

use super::{AbortArguments, AutopilotArguments, AutopilotCommand, StartArguments};
use crate::ask::confirmed;
use crate::commands::Perform;
use crate::display::{print_data, print_either, print_json};
use crate::environment::folder_in;
use crate::failure::{CommandFailure, Result};
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;
use std::time::Duration;
use tm_executors::agent::{LogEnd, LogReader};
use tm_reports::laid_out;
use tm_runtime::autopilot::{
    self, CommitRequest, CompleteRequest, Environment, Error, FinalizeRequest, GUIDE, Project,
    Started, parse_counts,
};
use tm_scheduler::RunId;

/// How often the log of a run that is watched is read again.
const WATCH_EVERY: Duration = Duration::from_millis(300);

impl Perform for AutopilotArguments {
    async fn perform(self, start: &Path) -> Result {
        if matches!(self.command, AutopilotCommand::Guide) {
            print_data(GUIDE);
            return Ok(0);
        }
        let folder = folder_in(start, self.project_root.as_deref());
        let environment = Environment {
            backlog: self.backlog.map(|path| start.join(path)),
            run: self.command.run().map(RunId::from),
            ..Environment::of_process()
        };
        let screen = Screen {
            project: Project::open(&folder, environment)?,
            json: self.json,
        };
        let project = &screen.project;
        match self.command {
            AutopilotCommand::Start(start) => Box::pin(screen.start(&start)).await,
            AutopilotCommand::Resume(resume) => {
                let resumed = autopilot::resume(project)?;
                screen.begun(&resumed, resume.interactive).await
            }
            AutopilotCommand::Next(_) => screen.show(&autopilot::next(project)?, "next"),
            AutopilotCommand::Complete(complete) => {
                let completed = autopilot::complete(project, &complete.request()?).await?;
                screen.show(&completed, "completed")
            }
            AutopilotCommand::Commit(commit) => {
                let committed = autopilot::commit(project, &commit.request()).await?;
                screen.show(&committed, "committed")
            }
            AutopilotCommand::Finalize(finalize) => {
                let ended = autopilot::finalize(project, &finalize.request()?).await?;
                screen.show(&ended, "ended")
            }
            AutopilotCommand::Status(_) => screen.status(),
            AutopilotCommand::Watch(_) => screen.watch(),
            AutopilotCommand::Pause(_) => screen.show(&autopilot::pause(project)?, "ended"),
            AutopilotCommand::Abort(abort) => screen.abort(&abort),
            AutopilotCommand::Prompt(_) => screen.prompt(),
            AutopilotCommand::Guide => Ok(0),
        }
    }
}

/// Where answers go: one JSON document, or words.
struct Screen {
    project: Project,
    json: bool,
}

impl Screen {
    fn show(&self, answer: &impl Serialize, layout: &str) -> Result {
        print_either(self.json, answer, || words(layout, answer))
    }

    async fn start(&self, arguments: &StartArguments) -> Result {
        let (project, request) = (&self.project, arguments.request());
        if arguments.dry_run {
            return self.show(&autopilot::preview(project, &request)?, "preview");
        }
        if arguments.resume
            && let Some(resumed) = autopilot::resume_of(project, &arguments.task)?
        {
            return self.begun(&resumed, arguments.interactive).await;
        }
        if self.asks(arguments.no_confirm) {
            print_data(&words("preview", &autopilot::preview(project, &request)?));
            confirm("start the run", confirmed("Start?", true))?;
        }
        let started = autopilot::start(project, &request).await?;
        self.begun(&started, arguments.interactive).await
    }

    /// Whether somebody is asked before.
    fn asks(&self, is_said: bool) -> bool {
        !is_said && !self.json && std::io::stdin().is_terminal()
    }

    async fn begun(&self, started: &Started, interactive: bool) -> Result {
        self.show(started, "started")?;
        if interactive {
            work(&self.project).await?;
        }
        Ok(0)
    }

    fn status(&self) -> Result {
        let none = "there has been no run in this checkout";
        match autopilot::status(&self.project)? {
            Some(view) => return self.show(&view, "status"),
            None if self.json => return print_json(&json!({"active": false, "message": none})),
            None => say!("{none}; `tm autopilot start ID` begins one"),
        }
        Ok(0)
    }

    fn abort(&self, arguments: &AbortArguments) -> Result {
        if self.asks(arguments.force) {
            confirm("abort the run", confirmed("Give the run up?", false))?;
        }
        let ended = autopilot::abort(&self.project, arguments.cleanup())?;
        self.show(&ended, "ended")
    }

    fn prompt(&self) -> Result {
        let text = autopilot::prompt(&self.project)?;
        print_either(self.json, &json!({"prompt": text}), || text)
    }

    /// Prints events as they come, until the run is over or its files are gone.
    fn watch(&self) -> Result {
        let (project, path) = autopilot::watched(&self.project)?;
        let mut log = LogReader::new(path);
        loop {
            let view = autopilot::status(&project).ok().flatten();
            self.print_fresh(&mut log);
            if view.is_none_or(|view| matches!(view.status.as_str(), "completed" | "aborted")) {
                return Ok(0);
            }
            std::thread::sleep(WATCH_EVERY);
        }
    }

    fn print_fresh(&self, log: &mut LogReader) {
        let read = || log.read(LogEnd::Growing).ok();
        let fresh = std::iter::from_fn(read).take_while(|text| !text.is_empty());
        for line in fresh.collect::<String>().lines() {
            if self.json {
                data!("{line}\n");
            } else {
                print_data(&event(line));
            }
        }
    }
}

fn confirm(what: &'static str, answer: std::io::Result<bool>) -> Result<(), Error> {
    let wanted = answer.ok().filter(|is_wanted| *is_wanted);
    wanted.map(drop).ok_or(Error::NotConfirmed(what))
}

/// Returns an answer in words.
fn words(layout: &str, answer: &impl Serialize) -> String {
    laid_out(&format!("autopilot/{layout}.txt"), answer)
}

/// One event of the log as a line.
fn event(line: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else {
        return format!("{line}\n");
    };
    let mut field = |name: &str| fields.shift_remove(name).unwrap_or_default();
    let (moment, event) = (field("ts"), field("event"));
    let more =
        fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| match value {
                Value::String(words) => format!(" {key}={words}"),
                other => format!(" {key}={other}"),
            });
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}{}\n", word(&moment), word(&event), more.format(""))
}

/// Works through the current run until it is complete, paused, or nothing more is typed.
async fn work(project: &Project) -> Result<(), Error> {
    say!(
        "type counts such as `failed:3,passed:0`, an empty line where none are needed, `pause` to stop for now, or `quit` \
         to leave everything as it is"
    );
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match line.trim() {
            "quit" => return Ok(()),
            "pause" => {
                print_data(&words("ended", &autopilot::pause(project)?));
                return Ok(());
            }
            text => take(project, text).await,
        };
        match answer {
            Ok(text) => print_data(&text),
            Err(error) => CommandFailure::from(error).print(),
        }
        let action = autopilot::next(project)?.action;
        if matches!(action.as_str(), "complete" | "resume" | "start") {
            break;
        }
    }
    Ok(())
}

/// Does what is next with what was typed.
async fn take(project: &Project, text: &str) -> Result<String, Error> {
    let typed = Some(text).filter(|text| !text.is_empty());
    let counts = || typed.map(parse_counts).transpose();
    Ok(match autopilot::next(project)?.action.as_str() {
        "red" | "green" => {
            let request = CompleteRequest {
                counts: counts()?,
                ..CompleteRequest::default()
            };
            words("completed", &autopilot::complete(project, &request).await?)
        }
        "commit" => {
            let request = CommitRequest {
                message: typed.map(ToOwned::to_owned),
                ..CommitRequest::default()
            };
            words("committed", &autopilot::commit(project, &request).await?)
        }
        _ => {
            let request = FinalizeRequest {
                counts: counts()?,
                ..FinalizeRequest::default()
            };
            words("ended", &autopilot::finalize(project, &request).await?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_as_lines_and_rubbish_stays() {
        let line = r#"{"ts":"2026-11-21T05:30:00.000Z","event":"test:run","subtaskId":"1.1","failed":3,"coverage":null}"#;
        assert_eq!(
            event(line),
            "2026-11-21T05:30:00.000Z test:run subtaskId=1.1 failed=3\n"
        );
        assert_eq!(event("no json"), "no json\n");
    }
}
