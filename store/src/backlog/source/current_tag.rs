//! The tag that is current, as Task Master's own state and configuration name it.

use super::{BacklogSource, replace};
use crate::Error;
use crate::backlog::document::{Document, Tree};
use crate::backlog::{BacklogError, MOST_BYTES, ReadOptions, Refusal};
use std::path::Path;
use tm_scheduler::Tag;

impl BacklogSource {
    /// The tag that Task Master's state and configuration name as current.
    pub(super) fn current_tag(&self) -> Option<Tag> {
        let home = self.home()?;
        let field = |file: &str, pointer: &str| -> Option<Tag> {
            let bytes = tm_untrusted::read_own(&home.join(file), MOST_BYTES).ok()?;
            let json: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
            let value = json.pointer(pointer)?.as_str();
            value.filter(|tag| !tag.is_empty()).map(Tag::from)
        };
        field("state.json", "/currentTag")
            .or_else(|| field("state.json", "/activeTag"))
            .or_else(|| field("config.json", "/global/defaultTag"))
    }

    /// The folder with Task Master's state and configuration.
    fn home(&self) -> Option<&Path> {
        self.path.parent()?.parent()
    }

    /// Makes a tag the current one, for Task Master too; what else its state holds stays.
    ///
    /// # Errors
    /// The file has no such tag, or the state can't be written.
    pub fn use_tag(&self, tag: &Tag) -> Result<(), BacklogError> {
        self.read(&ReadOptions::of_tag(tag))?;
        let home = self.home().filter(|home| home.ends_with(".taskmaster"));
        let why = "only a backlog in `.taskmaster/tasks/` has a current tag; use `--tag`";
        let refused = BacklogError::refused(&self.path);
        let home = home.ok_or_else(|| refused(Refusal::NoPlace(why)))?;
        let path = home.join("state.json");
        let text = match tm_untrusted::read_own(&path, MOST_BYTES) {
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(|_| BacklogError::syntax(&path, "it is not UTF-8"))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}\n".to_owned(),
            Err(error) => return Err(Error::read(&path)(error).into()),
        };
        let document = Document::parse(text).map_err(|error| error.of_file(&path))?;
        let mut root = Tree::of(&document);
        root.set("currentTag", Tree::text(tag.as_str()));
        replace(&path, &root.write(&document))
    }
}
