//! Opens files that others can write, and makes their text safe to show.
//!
//! Agents, tests and strangers' repositories put what they like where tm looks: pipes that nobody writes into, links to
//! private keys, files without an end, orders to a terminal. Whatever is read here is a regular file, is no longer than
//! the caller said, and is opened without waiting; what is shown has passed [`clean`] or [`shown`]. Knows nothing of
//! tasks, runs or settings.
//!
//! There is no time limit: no open here waits for anybody, and a read of a regular file waits for its disk alone. On a
//! network file system that hangs, everything else of tm hangs as well, and no thread that waits there can be ended.

mod beneath;
mod kind;
mod mapped;
mod open;
mod redact;
mod removal;
mod rights;
mod text;
mod unguessable;
mod values;

pub use beneath::{open_beneath, read_beneath, read_within};
pub use kind::{is_of_what_is_there, says_what_is_there};
pub use mapped::MappedWrites;
pub use open::{
    append, append_private, create_anew, is_folder, open, open_own, open_private, open_writable,
    read, read_beginning, read_end, read_own, remove, size,
};
pub use redact::{Redactor, keep_secret, redacted};
pub use removal::{empty_folder, remove_folder};
pub use rights::{change_rights, open_up, open_up_if_closed};
pub use text::{json, line, shown};
pub use unguessable::unguessable_name;
pub use values::{json_value, toml_table};

/// Returns what lies in a folder; one that can't be read holds nothing.
pub fn entries(folder: &std::path::Path) -> impl Iterator<Item = std::fs::DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Returns text as it may be shown, sent and kept: without orders to a terminal, and without secrets.
///
/// Orders go first, so that none can stand in the middle of a secret and hide it.
pub fn clean(text: &str) -> String {
    redacted(&shown(text)).into_owned()
}

/// Returns a JSON document as it may be shown, sent and kept: it stays one, and no text in it is cut.
pub fn clean_json(document: &str) -> String {
    redacted(&json(document)).into_owned()
}
