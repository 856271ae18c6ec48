//! How templates are written, for prompts and for presets alike, and how those of the user's own are read.

use crate::Error;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tm_scheduler::with_causes;

/// No prompt is longer.
const PROMPT_BYTES: u64 = 4 * 1024 * 1024;

/// A prompt, a part of prompts or a preset of loops, as it is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PromptTemplate {
    /// Its name, or the path by which it was asked for.
    pub name: String,
    /// The template; the text itself where a path was named.
    pub text: String,
    /// The user's own file that it comes from; `None` for the built-in one.
    pub own: Option<PathBuf>,
}

/// Returns an environment without templates: a name without a value is a mistake, and nothing is escaped.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_syntax(syntax());
    environment
}

/// Lines that hold nothing but a block leave nothing behind.
fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    builder.build().expect("the usual delimiters are valid")
}

/// Returns what a template makes of a value.
pub(crate) fn filled(name: &str, text: &str, context: &impl Serialize) -> Result<String, Error> {
    environment()
        .render_named_str(name, text, Serde(context))
        .map_err(|error| wrong_template(name, &error))
}

/// The innermost template that is at fault is named, with the line.
pub(crate) fn wrong_template(name: &str, error: &minijinja::Error) -> Error {
    Error::Template {
        name: name.to_owned(),
        why: with_causes(error),
    }
}

/// Reads a prompt of the user's own.
pub(crate) fn own_text(path: &Path) -> io::Result<String> {
    let bytes = tm_untrusted::read_own(path, PROMPT_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

pub(crate) fn is_not_there(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
