//! What agents found out, over all runs of a tag: added to when a run is over, changed by people, and proposed for the
//! document that agents of the project read.

use crate::error::Error;
use crate::notice::Notice;
use crate::project::Project;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tm_runtime::{JournalHeader, with_found_out, with_section};
use tm_scheduler::{Tag, with_causes};
use tm_store::run::{MOST_NOTES, RunDirectory, read_json_if_there, write_json};

/// The documents that agents of a project read, the first of them where none is there.
const DOCUMENTS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// So much of what the agents of a run found out is read, and no document is longer.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// So many lines around what changes are shown.
const AROUND: usize = 3;

/// Notes what the agents of a run found out since that was done last; trouble with it is told.
pub(crate) fn note(project: &Project, header: &JournalHeader, directory: &RunDirectory) {
    let is_wanted = project.loaded.settings.agent.notes;
    if let Err(error) = if is_wanted {
        add(project, header, directory)
    } else {
        Ok(())
    } {
        let why = with_causes(&error);
        project.tell(&Notice::Failed(&format!(
            "note what agents found out: {why}"
        )));
    }
}

fn add(project: &Project, header: &JournalHeader, directory: &RunDirectory) -> Result<(), Error> {
    // A run that is taken up adds what is new, so that what a person took out meanwhile stays out.
    let noted: usize = read_json_if_there(&directory.noted())?.unwrap_or(0);
    let context = match tm_untrusted::read_beginning(&directory.context(), MOST_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let fresh = String::from_utf8_lossy(context.get(noted..).unwrap_or_default()).into_owned();
    if fresh.is_empty() {
        return Ok(());
    }
    // What a person wrote beyond the bound is that person's to shorten.
    let has_room = |notes: &str| notes.len() <= MOST_NOTES;
    let change = |notes: &str| has_room(notes).then(|| with_found_out(notes, &fresh));
    if !project.directory.change_notes(&header.tag, change)? {
        let (tag, most) = (&header.tag, MOST_NOTES / 1024);
        let long =
            format!("those of the tag `{tag}` have more than {most} KiB; shorten them first");
        return Err(io::Error::other(long).into());
    }
    Ok(write_json(&directory.noted(), &context.len())?)
}

/// What a document of the project would be with the notes in it.
#[derive(Debug)]
pub struct Proposal {
    /// Its path from the top of the checkout.
    pub name: &'static str,
    path: PathBuf,
    /// What it is; `None` where it is not there.
    before: Option<String>,
    after: String,
}

impl Proposal {
    /// Puts the notes of a tag into tm's own section of the document.
    ///
    /// # Errors
    /// The document can't be read, leads out of the checkout, or its section is not whole.
    pub fn of(project: &Project, tag: &Tag) -> Result<Self, Error> {
        let root = project.root();
        let is_there = |name: &&&str| root.join(name).symlink_metadata().is_ok();
        let name = DOCUMENTS.iter().find(is_there).unwrap_or(&DOCUMENTS[0]);
        let path = root.join(name);
        let before = read(root, &path)?;
        let notes = project.directory.notes(tag)?;
        let after = with_section(before.as_deref().unwrap_or_default(), &notes);
        let after = after.ok_or(Error::SectionNotWhole(name))?;
        Ok(Self {
            name,
            path,
            before,
            after,
        })
    }

    /// Tells whether it changes anything.
    pub fn is_empty(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after
    }

    /// Returns what it changes, as a patch.
    pub fn diff(&self) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let lines = |text: &'_ str| -> Vec<String> {
            text.split_inclusive('\n').map(ToOwned::to_owned).collect()
        };
        let (old, new) = (lines(before), lines(&self.after));
        let same = |(old, new): &(&String, &String)| old == new;
        let head = old.iter().zip(&new).take_while(same).count();
        let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = rest.take_while(same).count();
        let (from, behind) = (head.saturating_sub(AROUND), tail.min(AROUND));
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        let line = |mark: char, line: &String| match line.strip_suffix('\n') {
            Some(line) => format!("{mark}{line}\n"),
            None => format!("{mark}{line}\n\\ No newline at end of file\n"),
        };
        let range = |end: usize| {
            let length = end + behind - from;
            format!("{},{length}", from + usize::from(length > 0))
        };
        let marked = |mark: char, lines: &[String]| -> String {
            lines
                .iter()
                .map(|one| line(mark, one))
                .collect::<Vec<_>>()
                .concat()
        };
        let name = self.name;
        let source = self
            .before
            .as_ref()
            .map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{name}"));
        [
            format!(
                "--- {source}\n+++ b/{name}\n@@ -{} +{} @@\n",
                range(old_end),
                range(new_end)
            ),
            marked(' ', &old[from..head]),
            marked('-', &old[head..old_end]),
            marked('+', &new[head..new_end]),
            marked(' ', &old[old_end..old_end + behind]),
        ]
        .concat()
    }

    /// Writes it into the checkout, where the document is still what it was.
    ///
    /// # Errors
    /// Somebody else has changed it, or it can't be written.
    pub fn write(&self, project: &Project) -> Result<(), Error> {
        if read(project.root(), &self.path)? != self.before {
            return Err(Error::DocumentChanged(self.name));
        }
        Ok(tm_store::atomic::replace(
            &self.path,
            self.after.as_bytes(),
        )?)
    }
}

/// A document of the checkout; `None` where there is none.
fn read(root: &Path, path: &Path) -> Result<Option<String>, Error> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    if !real.starts_with(root.canonicalize()?) {
        let out = format!("`{}` leads out of the checkout", path.display());
        return Err(io::Error::other(out).into());
    }
    let text = String::from_utf8(tm_untrusted::read(&real, MOST_BYTES)?);
    let text = text.map_err(|_| io::Error::other(format!("`{}` is no text", path.display())))?;
    Ok(Some(text))
}
