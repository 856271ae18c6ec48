//! `--interactive`: shows each piece of work and asks on the terminal, or on any standard input, what came of it.

use super::words;
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use std::io::BufRead as _;
use tm_app::Autopilot;
use tm_runtime::autopilot::{CommitRequest, CompleteRequest, Error, FinalizeRequest, parse_counts};

const HELP: &str = "type counts such as `failed:3,passed:0`, an empty line where none are needed, \
                    `pause` to stop for now, or `quit` to leave everything as it is";

/// Works through the current run until it is complete, paused, or nothing more is typed.
pub(super) async fn work(autopilot: &Autopilot) -> Result<u8, Error> {
    print_line(HELP);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match line.trim() {
            "quit" => return Ok(0),
            "pause" => {
                print_data(&words::ended(&autopilot.pause()?));
                return Ok(0);
            }
            text => take(autopilot, text).await,
        };
        match answer {
            Ok(text) => print_data(&text),
            Err(error) => CommandFailure::from(error).print(),
        }
        let action = autopilot.next()?.action;
        if matches!(action.as_str(), "complete" | "resume" | "start") {
            return Ok(0);
        }
    }
    Ok(0)
}

/// Does what is next with what was typed.
async fn take(autopilot: &Autopilot, text: &str) -> Result<String, Error> {
    let counts = || {
        if text.is_empty() {
            Ok(None)
        } else {
            parse_counts(text).map(Some)
        }
    };
    match autopilot.next()?.action.as_str() {
        "red" | "green" => {
            let request = CompleteRequest {
                counts: counts()?,
                ..CompleteRequest::default()
            };
            Ok(words::completed(&autopilot.complete(request).await?))
        }
        "commit" => {
            let message = Some(text.to_owned()).filter(|text| !text.is_empty());
            let request = CommitRequest {
                message,
                ..CommitRequest::default()
            };
            Ok(words::committed(&autopilot.commit(request).await?))
        }
        _ => {
            let request = FinalizeRequest {
                counts: counts()?,
                ..FinalizeRequest::default()
            };
            Ok(words::ended(&autopilot.finalize(request).await?))
        }
    }
}
