//! How templates are written, for prompts and for presets alike.

use crate::Error;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;
use tm_scheduler::with_causes;

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
