//! What node, jest, vitest and TypeScript say of a test file that can't be loaded.

use super::{Found, cause};
use crate::patterns::part;
use crate::testing::names;
use regex::Regex;
use tm_scheduler::LoadCause;

patterns! {
    SIGN = "Cannot find|SyntaxError|Failed to resolve import|error TS|path resolution failed|tried to access";
    NOT_FOUND = r"Cannot find (?:module|package) '([^']+)' (?:imported )?from '?([^'\s]+)'?";
    REQUIRED = r"Error: Cannot find module '([^']+)'$";
    REQUIRED_BY = r"^[#\s]*- (\S+)$";
    /// How Yarn's Plug'n'Play begins when it can't resolve something; then what, a file or a package.
    UNPLUGGED = r"Error: (?:Qualified path resolution failed|Your application tried to access)";
    ASKED_FOR = r"^[#\s]*(?:Source path|Required package): ([^\s(]+)";
    /// Who asked for it, or at least the file that fails.
    ASKED_BY = r"^[#\s]*(?:- |Required by: |Subtest: )(\S+\.[cm]?[jt]sx?)$";
    NO_EXPORT = r"SyntaxError: The requested module '([^']+)' does not provide an export named '[^']+'";
    UNRESOLVED = r#"Failed to resolve import "([^"]+)" from "([^"]+)""#;
    SYNTAX = r"^[#\s]*(SyntaxError: .+)$";
    PLACE = r"^[#\s]*(?:file://)?((?:/|\.{0,2}/|\w)[^\s:]*\.[cm]?[jt]sx?):\d+(?::\d+)?$";
    TYPESCRIPT = r"^[#\s]*(\S+\.[cm]?tsx?)(?::\d+:\d+ - |\(\d+,\d+\): )error (TS\d+): (.+)$";
}

/// So many lines can stand between what could not be resolved and who asked for it.
const LINES_OF_STACK: usize = 30;
/// So many lines can stand between a place and its error.
const LINES_OF_EXCERPT: u32 = 5;

/// TypeScript's codes for names, modules, exports and properties that are not there.
const MISSING: &str = "TS2304 TS2305 TS2307 TS2339 TS2551 TS2552 TS2613 TS2614 TS2724";

pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    if !SIGN.is_match(output) {
        return;
    }
    // node prints the place of a syntax error, and an excerpt of it, just before the error itself. Other errors of that
    // name come from code that ran.
    let mut place: Option<&str> = None;
    let mut lines_since_place = 0;
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_start_matches(['#', ' ']);
        lines_since_place += 1;
        if lines_since_place > LINES_OF_EXCERPT {
            place = None;
        }
        if let Some(at) = PLACE.captures(line) {
            place = Some(part(&at, 1));
            lines_since_place = 0;
        } else if let Some(error) = NOT_FOUND
            .captures(line)
            .or_else(|| UNRESOLVED.captures(line))
        {
            found.add(missing_module(&error[1], found), Some(&error[2]), text);
        } else if let Some(error) = REQUIRED.captures(line) {
            lines.next_if(|next| next.contains("Require stack:"));
            let by = lines
                .peek()
                .and_then(|next| REQUIRED_BY.captures(next))
                .and_then(|by| by.get(1));
            found.add(
                missing_module(&error[1], found),
                by.map(|by| by.as_str()),
                text,
            );
        } else if UNPLUGGED.is_match(line) {
            let after = |what: &Regex| {
                lines
                    .clone()
                    .take(LINES_OF_STACK)
                    .find_map(|next| what.captures(next)?.get(1))
            };
            let missing = after(&ASKED_FOR).is_some_and(|path| is_own(path.as_str(), found));
            found.add(cause(missing), after(&ASKED_BY).map(|by| by.as_str()), text);
        } else if let Some(error) = NO_EXPORT.captures(line) {
            found.add(missing_module(&error[1], found), place, text);
        } else if let Some(error) = TYPESCRIPT.captures(line) {
            found.add(
                cause(is_missing_in_typescript(&error[2], &error[3], found)),
                Some(&error[1]),
                text,
            );
        } else if let Some(error) = SYNTAX.captures(line).filter(|_| place.is_some()) {
            found.add(LoadCause::Other, place, &error[1]);
        }
    }
}

fn missing_module(name: &str, found: &Found<'_>) -> LoadCause {
    cause(is_own(name, found))
}

/// A path is one of the project's own modules; a bare name is a package.
pub(super) fn is_own(name: &str, found: &Found<'_>) -> bool {
    name.starts_with(['.', '/']) || name.starts_with("file:") || found.project.owns_path(name)
}

fn is_missing_in_typescript(code: &str, words: &str, found: &Found<'_>) -> bool {
    let module = words
        .strip_prefix("Cannot find module '")
        .and_then(|rest| rest.split('\'').next());
    names(MISSING, code) && module.is_none_or(|module| is_own(module, found))
}
