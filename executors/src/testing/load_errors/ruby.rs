//! What rspec says of a file of examples that can't be loaded.

use super::{Found, cause};
use crate::patterns::part;

patterns! {
    LOADING = r"^An error occurred while loading (\S+\.rb)\.(?: - Did you mean\?)?$";
    RAISED = r"^((?:\w+::)*[A-Z]\w*):$";
    NO_FILE = r"^cannot load such file -- (\S+)$";
    NO_METHOD = r"^undefined method [`'][^']+' for ";
}

/// One error a file: the exception that its loading ended with, whose name stands on a line of its own.
pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    let mut file: Option<&str> = None;
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if let Some(loading) = LOADING.captures(line) {
            file = Some(part(&loading, 1));
        } else if let Some(exception) = RAISED.captures(line)
            && let Some(file) = file.take()
        {
            let words = lines.next().unwrap_or_default().trim();
            let is_missing = is_missing_item(&exception[1], words, found);
            found.add(
                cause(is_missing),
                Some(file),
                &format!("{}: {words}", &exception[1]),
            );
        }
    }
}

fn is_missing_item(exception: &str, words: &str, found: &Found<'_>) -> bool {
    match exception {
        "LoadError" => NO_FILE
            .captures(words)
            .is_some_and(|file| is_own(&file[1], found)),
        "NameError" => words.starts_with("uninitialized constant "),
        "NoMethodError" => NO_METHOD.is_match(words),
        _ => false,
    }
}

/// A path is one of the project's own files; of a bare name the gems that it needs tell: `a-b` is loaded as `a/b`.
fn is_own(name: &str, found: &Found<'_>) -> bool {
    let top = name.split('/').next().unwrap_or(name);
    name.starts_with(['/', '.'])
        || !found.project.depends_on(top) && !found.project.depends_on(&name.replace('/', "-"))
}
