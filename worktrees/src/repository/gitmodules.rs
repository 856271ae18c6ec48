//! What `.gitmodules` says.

use crate::files::{beginning, replace};
use crate::git::fields;
use crate::repository::is_plain;
use crate::repository::own::OwnGit;
use crate::{Repository, Result};
use std::collections::BTreeMap;
use std::path::Path;

const GITMODULES: &str = ".gitmodules";
/// The file with the addresses that were named at the start, one a line.
const ADDRESSES: &str = "addresses";
const ADDRESSES_BYTES: usize = 1024 * 1024;

impl Repository {
    /// Writes down, once, which addresses `.gitmodules` names where the user's checkout is: agents write those of later trees.
    pub(crate) fn keep_addresses(&self, own: &OwnGit) -> Result<()> {
        let file = own.folder.join(ADDRESSES);
        if file.exists() {
            return Ok(());
        }
        let head = self.head()?.commit;
        let mut addresses = String::new();
        // Most have none, which is known without a process.
        if self.text_at(&head, GITMODULES)?.is_some() {
            let listing = self
                .git_on_objects("config --list -z")
                .arg(format!("--blob={head}:{GITMODULES}"))
                .answer()?;
            for mut section in sections(&listing.stdout).into_values() {
                addresses.extend(section.remove("url").into_iter().map(|url| url + "\n"));
            }
        }
        replace(&file, addresses.as_bytes())
    }
}

impl OwnGit {
    /// Tells whether an address was named at the start.
    pub(crate) fn knows_address(&self, url: &str) -> bool {
        let text = beginning(&self.folder.join(ADDRESSES), ADDRESSES_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().any(|line| line == url)
    }
}

/// The settings of each submodule, by its name.
pub(crate) fn sections(listing: &[u8]) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for entry in fields(listing) {
        let text = String::from_utf8_lossy(entry);
        let setting = text.split_once('\n').and_then(|(key, value)| {
            let (name, key) = key.strip_prefix("submodule.")?.rsplit_once('.')?;
            Some((name, key, value))
        });
        // A name with a way up in it would lead out of the folder of submodules.
        if let Some((name, key, value)) = setting.filter(|(name, ..)| is_plain(Path::new(name))) {
            sections
                .entry(name.to_owned())
                .or_default()
                .insert(key.to_owned(), value.to_owned());
        }
    }
    sections
}
