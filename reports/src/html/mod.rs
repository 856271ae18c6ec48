//! The report of a run as one page: no script, no other file, readable on a phone and on paper.
//!
//! Rust decides what is shown and where it stands; the template writes it, and escapes whatever tasks and agents said.

mod chain;
mod graph;
mod page;
mod timeline;

pub(crate) use chain::milliseconds;

use crate::Summary;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use page::Page;
use serde::Serialize;

/// Returns the report as HTML.
pub fn report_html(summary: &Summary) -> String {
    rendered("report.html", &Page::new(summary))
}

/// Returns what a template makes of a value; whatever is filled in is escaped.
pub(crate) fn rendered(template: &str, context: &impl Serialize) -> String {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.build().expect("the usual delimiters are valid"));
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let templates = [
        ("report.html", include_str!("templates/report.html")),
        ("timeline.html", include_str!("templates/timeline.html")),
        ("graph.html", include_str!("templates/graph.html")),
        ("task.html", include_str!("templates/task.html")),
        ("style.html", include_str!("templates/style.html")),
        ("junit.xml", include_str!("templates/junit.xml")),
    ];
    for (name, text) in templates {
        environment
            .add_template(name, text)
            .expect("the embedded templates are well formed");
    }
    let template = environment.get_template(template).expect("it was added");
    template
        .render(Serde(context))
        .expect("the value has what the template names")
}

#[cfg(test)]
mod tests;
