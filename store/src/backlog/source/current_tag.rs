//! The tag that is current, as Task Master's own state and configuration name it.

use super::BacklogSource;
use crate::backlog::document::{Document, Tree};
use crate::backlog::{BacklogError, ReadOptions, Refusal, file};
use std::path::Path;
use tm_scheduler::Tag;

impl BacklogSource {
    /// The tag that Task Master's state and configuration name as current.
    pub(super) fn current_tag(&self) -> Option<Tag> {
        let home = self.home()?;
        let field = |name: &str, pointer: &str| -> Option<Tag> {
            let text = file::text(&home.join(name)).ok()?;
            let json: serde_json::Value = serde_json::from_str(&text).ok()?;
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
        let text = if path.exists() {
            file::text(&path)?
        } else {
            "{}\n".to_owned()
        };
        let document = Document::parse(text).map_err(|error| error.of_file(&path))?;
        let mut root = Tree::of(&document);
        root.set("currentTag", Tree::text(tag.as_str()));
        file::replace(&path, &root.write(&document))
    }
}
