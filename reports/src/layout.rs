//! How reports are laid out: templates, and the way in which they write the values of a run.
//!
//! Rust decides what is shown, a template writes it; one of HTML or XML escapes whatever tasks and agents said.

use crate::moment::{between, period};
use crate::terminal::table;
use crate::{ProofSummary, Tone, human_duration, listed, toned};
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use regex::{Captures, Regex};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tm_scheduler::{GateOutcome, counted, in_a_line};

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("templates/", $name)))),*]
    };
}

/// Every layout by its name.
static TEMPLATES: [(&str, &str); 44] = templates![
    "attempt.html",
    "autopilot/committed.txt",
    "autopilot/completed.txt",
    "autopilot/ended.txt",
    "autopilot/next.txt",
    "autopilot/preview.txt",
    "autopilot/started.txt",
    "autopilot/status.txt",
    "autopilot/words.txt",
    "backlog/checked.txt",
    "backlog/compact.txt",
    "backlog/dependencies.txt",
    "backlog/fixed.txt",
    "backlog/form.txt",
    "backlog/header.txt",
    "backlog/pairs.txt",
    "backlog/repaired.txt",
    "backlog/stats.txt",
    "backlog/tags.txt",
    "backlog/file.md",
    "backlog/task.txt",
    "branch.txt",
    "findings.txt",
    "graph.html",
    "junit.xml",
    "loops.txt",
    "metrics.txt",
    "plan.dot",
    "plan.mmd",
    "plan.txt",
    "probe.txt",
    "pruned.txt",
    "pull_request.md",
    "report.html",
    "runs.txt",
    "backlog.txt",
    "settings.txt",
    "status.txt",
    "style.html",
    "summary.md",
    "summary.txt",
    "task.html",
    "timeline.html",
    "verified.txt",
];

/// Each is compiled when it is asked for the first time: a process has use for a few of them, and a run lasts for hours.
static LAYOUTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut layouts = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    layouts.set_syntax(syntax.build().expect("the usual delimiters are valid"));
    layouts.set_loader(|name| {
        let found = TEMPLATES.iter().find(|(known, _)| *known == name);
        Ok(found.map(|(_, text)| *text))
    });
    add_words(&mut layouts);
    layouts
});

/// Returns what a template makes of a value.
pub(crate) fn rendered(template: &str, context: &impl Serialize) -> String {
    let template = LAYOUTS
        .get_template(template)
        .expect("it is there, and well formed");
    template
        .render(Serde(context))
        .expect("the value has what the template names")
}

/// Returns an answer for people, as the layout of that name writes it: of a step of autopilot, of a command on the
/// backlog, of branches, of work that was judged by hand.
///
/// # Panics
/// There is no such layout, or the answer lacks what it names.
pub fn laid_out(layout: &str, said: &impl Serialize) -> String {
    rendered(layout, &BTreeMap::from([("said", said)]))
}

/// Adds the ways in which values are written.
fn add_words(layouts: &mut Environment<'_>) {
    layouts.add_filter("duration", human_duration);
    layouts.add_filter("dollars", |cost: f64| format!("${cost:.2}"));
    layouts.add_filter("grouped", grouped);
    layouts.add_filter("rounded", |number: f64| format!("{number:.0}"));
    layouts.add_filter("plain_number", |number: f64| number.to_string());
    layouts.add_filter("first_letters", |text: &str, most: usize| -> String {
        text.chars().take(most).collect()
    });
    layouts.add_filter("in_a_line", in_a_line);
    layouts.add_filter("on_its_line", on_its_line);
    layouts.add_filter("lines", |text: &str| {
        text.lines().map(on_its_line).collect::<Vec<_>>()
    });
    layouts.add_filter("listed", listed);
    layouts.add_filter("counted", |count: usize, word: &str| counted(count, word));
    layouts.add_filter("table", |lines: &str| table(lines));
    layouts.add_filter("good", |text: &str| toned(text, Tone::Good));
    layouts.add_filter("bad", |text: &str| toned(text, Tone::Bad));
    layouts.add_filter("weak", |text: &str| toned(text, Tone::Weak));
    layouts.add_filter("quiet", |text: &str| toned(text, Tone::Quiet));
    layouts.add_filter("strong", |text: &str| toned(text, Tone::Strong));
    layouts.add_filter("verdict", |verdict: &str| {
        toned(verdict, Tone::of_state(verdict))
    });
    layouts.add_filter("outcome", |status: &str| {
        toned(status, Tone::of_run(status))
    });
    layouts.add_filter("cell", |text: &str| on_its_line(&text.replace('|', "\\|")));
    layouts.add_filter("nobody_called", nobody_called);
    layouts.add_filter("calling_nobody", |text: &str| {
        let lines: Vec<String> = text.lines().map(nobody_called).collect();
        closing_nothing(&lines.join("\n"))
    });
    layouts.add_filter("trim_end", |text: &str| text.trim_end().to_owned());
    layouts.add_filter("quoted", |text: &str| {
        text.replace('\\', "\\\\").replace('"', "\\\"")
    });
    layouts.add_filter("mermaid", mermaid);
    layouts.add_filter("anchor", anchor);
    layouts.add_filter("described", |proof: Serde<ProofSummary>| {
        let holds = proof.reason.is_none();
        proof.strength.describe(proof.passed, proof.failed, holds)
    });
    layouts.add_filter("rests_on", |proof: Serde<ProofSummary>| {
        proof.rests_on().as_str()
    });
    layouts.add_filter("holds", |outcome: Serde<GateOutcome>| outcome.holds());
    layouts.add_function("period", |began: &str, ended: &str| period(began, ended));
    layouts.add_function("took", |began: &str, ended: &str| {
        human_duration(between(began, ended))
    });
}

/// A number as people read it, its digits in threes.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let with_gap = |(at, digit): (usize, char)| {
        let is_group = at > 0 && (digits.len() - at).is_multiple_of(3);
        [is_group.then_some(','), Some(digit)]
    };
    digits
        .chars()
        .enumerate()
        .flat_map(with_gap)
        .flatten()
        .collect()
}

fn on_its_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

/// What services take for an order to close an issue: a word, and a number, a key or an address behind it.
static CLOSING: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?:close|resolve|complete)[sd]?|closing|resolving|completing|(?:fix|implement)(?:s|es|ed|ing)?";
    let between = r"[\s:*_(\[<]*(?:issues?\s+)?";
    let issue = r"[\w./-]*[#!]\d|[a-z]\w*-\d|https?://";
    Regex::new(&format!(r"(?i)\b(?:{words})\b{between}(?:{issue})")).expect("a valid pattern")
});

/// Titles and evidence come from tasks and agents: one line, nobody is called by name, nothing of a stranger's is closed, and
/// no comment hides what follows.
pub(crate) fn nobody_called(text: &str) -> String {
    let flat = text.replace(char::is_control, " ");
    let flat = flat.trim().replace('@', "@\u{200b}");
    closing_nothing(&flat.replace("<!--", "<\u{200b}!--"))
}

fn closing_nothing(text: &str) -> String {
    let broken = |found: &Captures<'_>| format!("{}\u{200b}{}", &found[0][..1], &found[0][1..]);
    CLOSING.replace_all(text, broken).into_owned()
}

/// Mermaid reads `#…;` as a character reference, so everything that could end the label becomes one.
fn mermaid(label: &str) -> String {
    let safe = |letter: char| {
        if "\"#<>[]`&;".contains(letter) {
            format!("#{};", u32::from(letter))
        } else {
            letter.to_string()
        }
    };
    on_its_line(label).chars().map(safe).collect()
}

/// Returns the name by which links find a task: ids hold any character, so only plain ones stay.
pub(crate) fn anchor(id: &str) -> String {
    let safe = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            letter.to_string()
        } else {
            format!("_{:x}_", u32::from(letter))
        }
    };
    id.chars()
        .map(safe)
        .fold("task-".to_owned(), |anchor, part| anchor + &part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_well_formed() {
        for (name, _) in TEMPLATES {
            let compiled = LAYOUTS.get_template(name).map(|_| ());
            assert!(compiled.is_ok(), "{name}: {compiled:?}");
        }
    }
}
