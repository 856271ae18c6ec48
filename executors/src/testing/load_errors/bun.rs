//! What bun says of a test file that can't be loaded, where its words are its own; a module that is not there it tells of
//! as others do.

use super::{Found, cause};
use crate::patterns::part;

patterns! {
    FILE = r"^(\S+\.[cm]?[jt]sx?):$";
    NO_EXPORT = r"^SyntaxError: Export named '[^']+' not found in module '([^']+)'";
    RAISED = r"^(?:error|\w*Error): .+$";
}

/// The errors stand between two lines of dashes, behind the name of the file.
pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    let mut file: Option<&str> = None;
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if let Some(named) = FILE.captures(line) {
            file = Some(part(&named, 1));
        } else if line == "# Unhandled error between tests" {
            let errors: Vec<&str> = lines
                .by_ref()
                .skip(1)
                .take_while(|line| !line.starts_with("-----"))
                .filter(|line| RAISED.is_match(line))
                .collect();
            for error in errors
                .into_iter()
                .filter(|error| !error.contains("Cannot find "))
            {
                let module = NO_EXPORT.captures(error);
                let is_own = module.is_some_and(|module| found.project.holds(&module[1]));
                found.add(cause(is_own), file, error);
            }
        }
    }
}
