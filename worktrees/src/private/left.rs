//! What a git folder of an agent's own says by its files: where HEAD and the branch were left, and the index.
//!
//! Anybody may have written them. No link is followed, nothing is waited for, and what is longer than git writes it is
//! not read.

use super::refused;
use crate::Result;
use crate::git::is_object_id;
use crate::indexed::INDEX_BYTES;
use crate::owned::{LOG_BYTES, SHORT, last_of_log};
use std::io::ErrorKind;
use std::path::Path;
use tm_scheduler::{BranchName, CommitId};

/// The file of all references is no longer than this.
const PACKED_BYTES: usize = 256 * 1024 * 1024;

/// Where whoever worked left things.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// The commit of the task's branch; `None` where there is no such branch any more.
    pub(super) tip: Option<CommitId>,
    /// The commit of HEAD, where it is not on that branch.
    pub(super) head: Option<CommitId>,
    /// The index, where it can be read.
    pub(super) index: Option<Vec<u8>>,
}

impl Left {
    /// Reads what is in the folder.
    pub(super) fn read(folder: &Path, branch: &BranchName) -> Result<Self> {
        let files = Files(folder);
        let tip = files.reference(&branch.reference())?;
        let text = files.text("git/HEAD", SHORT)?.unwrap_or_default();
        let head = match text.strip_prefix("ref: ") {
            Some(name) if name == branch.reference() && tip.is_some() => None,
            Some(name) => files.reference(name)?.or_else(|| files.last_head()),
            None => Some(id("git/HEAD", &text)?),
        };
        let index = files.bytes("git/index", INDEX_BYTES).ok().flatten();
        Ok(Self { tip, head, index })
    }
}

/// The files in the folder.
struct Files<'a>(&'a Path);

impl Files<'_> {
    /// Returns the commit at a full name of a reference; `None` where there is none.
    fn reference(&self, name: &str) -> Result<Option<CommitId>> {
        let file = format!("common/{name}");
        if let Some(text) = self.text(&file, SHORT)? {
            return id(&file, &text).map(Some);
        }
        let packed = self.bytes("common/packed-refs", PACKED_BYTES)?;
        let packed = packed.unwrap_or_default();
        let found = packed.split(|&byte| byte == b'\n').find_map(|line| {
            let id = line.strip_suffix(name.as_bytes())?.strip_suffix(b" ")?;
            std::str::from_utf8(id).ok()
        });
        found.map(|text| id("common/packed-refs", text)).transpose()
    }

    /// Returns where HEAD was last, where its branch was deleted.
    fn last_head(&self) -> Option<CommitId> {
        let log = self.bytes("git/logs/HEAD", LOG_BYTES).ok()??;
        last_of_log(&log).map(CommitId::new)
    }

    fn text(&self, file: &str, most: usize) -> Result<Option<String>> {
        let text = self.bytes(file, most)?;
        Ok(text.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned()))
    }

    /// Returns what is in a file; `None` where there is no file.
    fn bytes(&self, file: &str, most: usize) -> Result<Option<Vec<u8>>> {
        match tm_untrusted::read_beneath(self.0, file.as_ref(), most as u64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => match error.kind() {
                // Names of references may be folders of others.
                ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
                    Ok(None)
                }
                _ => Err(refused(format!("`{file}` can't be read: {error}"))),
            },
        }
    }
}

fn id(file: &str, text: &str) -> Result<CommitId> {
    if is_object_id(text) {
        Ok(CommitId::new(text))
    } else {
        Err(refused(format!("`{file}` names no commit")))
    }
}
