//! Errors on the screen: command lines that make no sense in clap's words, all others in ours; and for callers that
//! asked for JSON as one document besides, on a line, since a stream of events may stand before it.

use crate::display::print_document;
use crate::failure::{CommandFailure, ExitCode};
use crate::task_master::instead_of;
use clap::Error;
use clap::error::{ContextKind, ContextValue};
use itertools::Itertools as _;
use std::ffi::OsString;
use tm_scheduler::one_line;

/// Prints what is wrong and returns the exit code: 0 for help and version, 2 for anything else.
pub(crate) fn told(mut error: Error, words: impl Iterator<Item = OsString>) -> u8 {
    if let Some(tip) = without_its_name(&error) {
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    let error = &error;
    if let Some(failure) = of_task_master(error) {
        print_for_programs(&failure, words);
        return failure.answered();
    }
    if error.use_stderr() {
        print_for_programs(&failure(error), words);
    }
    // A closed pipe is the reader's decision.
    let _printed = error.print();
    u8::try_from(error.exit_code()).unwrap_or(ExitCode::Usage.number())
}

/// A command or flag that Task Master has and tm has not.
fn of_task_master(error: &Error) -> Option<CommandFailure> {
    let mut kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].into_iter();
    let ContextValue::String(name) = kinds.find_map(|kind| error.get(kind))? else {
        return None;
    };
    let hint = instead_of(name)?;
    Some(failure!("tm has no `{name}`, which is one of Task Master's").usage(hint))
}

/// What to do where a flag has the name of what stands without one: `--run X` where `[RUN]` is asked for.
fn without_its_name(error: &Error) -> Option<String> {
    let ContextValue::String(flag) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let name = flag.strip_prefix("--")?.to_uppercase();
    let is_asked_for = usage(error).contains(&format!("[{name}]"));
    is_asked_for.then(|| format!("write the {} without `{flag}`", name.to_lowercase()))
}

/// Prints a failure where JSON was asked for.
pub(crate) fn print_for_programs(failure: &CommandFailure, words: impl Iterator<Item = OsString>) {
    if wants_json(words) {
        print_document(&format!("{}\n", failure.document()));
    }
}

/// Whether JSON was asked for, as far as words show that no parser understood.
fn wants_json(words: impl Iterator<Item = OsString>) -> bool {
    let options = words.take_while(|word| word != "--").collect_vec();
    options.iter().any(is_json) || options.iter().tuple_windows().any(names_json)
}

fn is_json(word: &OsString) -> bool {
    word == "--json" || word == "--format=json"
}

fn names_json((flag, form): (&OsString, &OsString)) -> bool {
    (flag == "--format" || flag == "-f") && form == "json"
}

fn failure(error: &Error) -> CommandFailure {
    let text = error.render().to_string();
    let message = text.split("\n\n").next().unwrap_or_default();
    CommandFailure::new(one_line(message.trim_start_matches("error: "))).usage(hint(error))
}

/// What clap guesses was meant, else how the command is called.
fn hint(error: &Error) -> String {
    if let Some(tip) = without_its_name(error) {
        return tip;
    }
    guess(error).map_or_else(|| usage(error), |guess| format!("did you mean `{guess}`?"))
}

fn usage(error: &Error) -> String {
    match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => one_line(&usage.to_string()),
        _ => "`--help` says what there is".to_owned(),
    }
}

/// Where clap leaves what it guesses.
const GUESSES: [ContextKind; 3] = [
    ContextKind::SuggestedArg,
    ContextKind::SuggestedSubcommand,
    ContextKind::SuggestedValue,
];

fn guess(error: &Error) -> Option<String> {
    GUESSES
        .into_iter()
        .find_map(|kind| words_of(error.get(kind)?))
}

fn words_of(guess: &ContextValue) -> Option<String> {
    match guess {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => Some(words.join("` or `")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::Parser as _;
    use serde_json::Value;

    fn said(words: &[&str]) -> Value {
        failure(&Arguments::try_parse_from(words).err().expect("an error")).document()
    }

    #[test]
    fn json_is_asked_for_before_the_double_dash_alone() {
        let asks = |words: &[&str]| wants_json(words.iter().map(OsString::from));
        assert!(asks(&["tm", "autopilot", "fly", "--json"]));
        assert!(asks(&["tm", "waves", "plan", "--format", "json", "-x"]));
        assert!(!asks(&["tm", "waves", "fly"]));
        assert!(!asks(&["tm", "x", "--", "--json"]));
    }

    #[test]
    fn what_stands_without_a_flag_is_said_to() {
        let tip = |words: &[&str]| {
            without_its_name(&Arguments::try_parse_from(words).err().expect("an error"))
        };
        assert_eq!(
            tip(&["tm", "waves", "report", "--run", "x"]).as_deref(),
            Some("write the run without `--run`")
        );
        assert_eq!(tip(&["tm", "waves", "logs", "1", "--runs", "x"]), None);
    }

    #[test]
    fn the_document_says_what_is_wrong_and_what_was_meant() {
        let unknown = said(&["tm", "autopilot", "strat", "1", "--json"]);
        assert!(
            unknown["error"]
                .as_str()
                .unwrap()
                .contains("unrecognized subcommand 'strat'"),
            "{unknown}"
        );
        assert!(
            unknown["hint"].as_str().unwrap().contains("start"),
            "{unknown}"
        );
        let missing = said(&["tm", "autopilot", "start", "--json"]);
        assert!(
            missing["error"].as_str().unwrap().contains("<TASK>"),
            "{missing}"
        );
        assert!(
            missing["hint"]
                .as_str()
                .unwrap()
                .contains("Usage: tm autopilot start"),
            "{missing}"
        );
        assert_eq!(missing["exitCode"], 2);
        let wrong = said(&["tm", "autopilot", "complete", "rad", "--json"]);
        assert!(wrong["error"].as_str().unwrap().contains("rad"), "{wrong}");
    }
}
