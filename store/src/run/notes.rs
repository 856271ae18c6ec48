//! What agents found out, over all runs: a file for each tag in the project's folder, which people write too.
//!
//! Knows nothing of what is in it. Each change is made of what stands there at that moment, under a lock.

use super::home::ProjectDirectory;
use super::name::encode;
use crate::file_system::create_durable;
use crate::{Error, atomic};
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use tm_scheduler::Tag;

/// No file of notes that tm writes is longer.
pub const MOST_NOTES: usize = 16 * 1024;
/// So much is read of one that people wrote.
const MOST_READ: u64 = 1024 * 1024;

impl ProjectDirectory {
    fn notes_folder(&self) -> PathBuf {
        self.path().join("notes")
    }

    /// Returns the file with the notes of a tag, which need not exist.
    pub fn notes_file(&self, tag: &Tag) -> PathBuf {
        self.notes_folder().join(encode(tag.as_str()) + ".md")
    }

    /// Returns the notes of a tag; nothing where there are none.
    ///
    /// # Errors
    /// The file can't be read, or is far too long.
    pub fn notes(&self, tag: &Tag) -> Result<String, Error> {
        let file = self.notes_file(tag);
        match tm_untrusted::read(&file, MOST_READ) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(Error::read(&file)(error)),
        }
    }

    /// Replaces the notes of a tag by what is made of them; tells whether something was, or they stay as they are.
    ///
    /// # Errors
    /// The file can't be read or written.
    pub fn change_notes(
        &self,
        tag: &Tag,
        change: impl FnOnce(&str) -> Option<String>,
    ) -> Result<bool, Error> {
        let folder = self.notes_folder();
        create_durable(&folder)?;
        // It ends with the process at the latest.
        let lock = File::open(&folder).map_err(Error::lock(&folder))?;
        lock.lock().map_err(Error::lock(&folder))?;
        let Some(notes) = change(&self.notes(tag)?) else {
            return Ok(false);
        };
        let file = self.notes_file(tag);
        atomic::replace_own(&file, notes.as_bytes()).map_err(Error::write(&file))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::run::Home;

    #[test]
    fn notes_of_a_tag_are_changed_by_many_at_once_and_none_is_lost() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("app/.git")).unwrap();
        let home = Home::new(root.path().join("home"));
        let project = home.project(&root.path().join("app/.git")).unwrap();
        let (tag, other) = ("../a".into(), "b".into());
        assert_eq!(project.notes(&tag).unwrap(), "");
        std::thread::scope(|scope| {
            for number in 0..20 {
                let (project, tag) = (&project, &tag);
                let add = move |notes: &str| Some(format!("{notes}{number} "));
                scope.spawn(move || project.change_notes(tag, add).unwrap());
            }
        });
        let notes = project.notes(&tag).unwrap();
        assert_eq!(notes.split_whitespace().count(), 20, "{notes}");
        assert!(!project.change_notes(&tag, |_| None).unwrap());
        assert_eq!(project.notes(&tag).unwrap(), notes);
        assert_eq!(project.notes(&other).unwrap(), "");
        assert!(
            project
                .notes_file(&tag)
                .starts_with(project.path().join("notes"))
        );
    }
}
