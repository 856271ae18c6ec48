//! `--interactive`: shows each piece of work and asks on the terminal, or on any standard input, what came of it.

use super::words;
use crate::display::print_data;
use crate::failure::CommandFailure;
use std::io::BufRead as _;
use tm_runtime::autopilot::{
    CommitRequest, CompleteRequest, Error, FinalizeRequest, Project, commit, complete, finalize,
    next, parse_counts, pause,
};

/// Works through the current run until it is complete, paused, or nothing more is typed.
pub(super) async fn work(project: &Project) -> Result<(), Error> {
    say!(
        "type counts such as `failed:3,passed:0`, an empty line where none are needed, `pause` to stop for now, or `quit` \
         to leave everything as it is"
    );
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match line.trim() {
            "quit" => return Ok(()),
            "pause" => {
                print_data(&words("ended", &pause(project)?));
                return Ok(());
            }
            text => take(project, text).await,
        };
        match answer {
            Ok(text) => print_data(&text),
            Err(error) => CommandFailure::from(error).print(),
        }
        let action = next(project)?.action;
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
    Ok(match next(project)?.action.as_str() {
        "red" | "green" => {
            let request = CompleteRequest {
                counts: counts()?,
                ..CompleteRequest::default()
            };
            words("completed", &complete(project, &request).await?)
        }
        "commit" => {
            let request = CommitRequest {
                message: typed.map(ToOwned::to_owned),
                ..CommitRequest::default()
            };
            words("committed", &commit(project, &request).await?)
        }
        _ => {
            let request = FinalizeRequest {
                counts: counts()?,
                ..FinalizeRequest::default()
            };
            words("ended", &finalize(project, &request).await?)
        }
    })
}
