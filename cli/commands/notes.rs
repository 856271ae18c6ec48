//! `tm waves notes`: what agents found out over all runs of a tag.

use super::Perform;
use crate::ask::{allowed, confirmed, is_answered};
use crate::display::{print_data, print_either, print_text};
use crate::editor::{kept, typed};
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use tm_app::{Project, Proposal};
use tm_reports::{Tone, toned};
use tm_scheduler::Tag;
use tm_store::run::MOST_NOTES;

/// `tm waves notes`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Args)]
pub(crate) struct NotesArguments {
    /// The tag; the current one when not given.
    #[arg(long)]
    tag: Option<String>,
    /// Open them in `$VISUAL` or `$EDITOR`.
    #[arg(long, group = "act")]
    edit: bool,
    /// Take them from this file instead.
    #[arg(long, value_name = "FILE", group = "act")]
    from: Option<PathBuf>,
    /// Forget them, after asking.
    #[arg(long, group = "act")]
    clear: bool,
    /// Show them as a change of `AGENTS.md` or `CLAUDE.md`, and write it into the checkout after asking.
    #[arg(long, group = "act")]
    propose: bool,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
    /// Show the change and write nothing.
    #[arg(long, requires = "propose", conflicts_with = "yes")]
    dry_run: bool,
    /// As one JSON document.
    #[arg(long, conflicts_with = "act")]
    json: bool,
}

impl Perform for NotesArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let tag = match &self.tag {
            Some(tag) => Tag::from(tag.as_str()),
            None => project.backlog(None, None, None)?.1.tag,
        };
        if self.propose {
            return self.proposed(&project, &tag);
        }
        let notes = project.directory.notes(&tag)?;
        if self.edit || self.from.is_some() {
            let text = typed(&notes, self.from.as_deref(), start).await?;
            return replaced(&project, &tag, (&notes, &text)).map_err(|failure| match self.from {
                Some(_) => failure,
                None => kept(failure, &text, &format!("tm waves notes --tag {tag}")),
            });
        }
        if self.clear {
            let question = || format!("Forget all notes of the tag `{tag}`?");
            let hint = "`tm waves notes --clear --yes` does it";
            if allowed(self.yes, "forget the notes", hint, question)? {
                project
                    .directory
                    .change_notes(&tag, |_| Some(String::new()))?;
                say!("the notes of the tag `{tag}` are forgotten");
            }
            return Ok(0);
        }
        if notes.len() > MOST_NOTES {
            let (most, has) = (MOST_NOTES / 1024, notes.len().div_ceil(1024));
            say!(
                "the notes have {has} KiB: agents are told the first {most}, and runs add nothing until \
                 `tm waves notes --edit` has shortened them"
            );
        }
        if notes.is_empty() && !self.json {
            say!("agents have noted nothing for the tag `{tag}` yet");
            return Ok(0);
        }
        let file = project.directory.notes_file(&tag);
        let answer = json!({"tag": tag, "file": file, "notes": notes});
        print_either(self.json, &answer, || tm_untrusted::clean(&notes))
    }
}

impl NotesArguments {
    fn proposed(&self, project: &Project, tag: &Tag) -> Result {
        let proposal = Proposal::of(project, tag)?;
        let name = proposal.name;
        if proposal.is_empty() {
            say!("`{name}` says what there is to say of the tag `{tag}`");
            return Ok(0);
        }
        let in_tone = |line: &str| match line.as_bytes().first() {
            Some(b'+') => toned(line, Tone::Good),
            Some(b'-') => toned(line, Tone::Bad),
            _ => line.to_owned(),
        };
        let diff = proposal.diff();
        if std::io::stdout().is_terminal() {
            let shown = tm_untrusted::clean(&diff);
            print_text(&shown.lines().map(in_tone).join("\n"));
        } else {
            print_data(&diff);
        }
        let asked = || -> Result<bool> {
            Ok(confirmed(
                &format!("Write this into `{name}` of your checkout?"),
                false,
            )?)
        };
        if self.yes || (!self.dry_run && is_answered() && asked()?) {
            proposal.write(project)?;
            say!("wrote `{name}`; nothing was committed");
        } else {
            say!("nothing was written; `tm waves notes --propose --yes` writes it into `{name}`");
        }
        Ok(0)
    }
}

/// Replaces the notes that somebody has seen.
fn replaced(project: &Project, tag: &Tag, (seen, text): (&str, &str)) -> Result {
    if text.len() > MOST_NOTES {
        let (most, has) = (MOST_NOTES / 1024, text.len().div_ceil(1024));
        return Err(failure!(
            "keep the notes: they have {has} KiB, and {most} is the most"
        ));
    }
    let text = tm_untrusted::clean(text);
    let change = |now: &str| (now == seen).then(|| text.clone());
    if !project.directory.change_notes(tag, change)? {
        return Err(failure!(
            "change the notes: a run or somebody else has changed them meanwhile"
        ));
    }
    let is_same = text == seen;
    say!(
        "the notes of the tag `{tag}` are {}",
        if is_same { "as they were" } else { "changed" }
    );
    Ok(0)
}
