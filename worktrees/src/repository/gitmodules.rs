//! What `.gitmodules` says.

use crate::git::fields;
use crate::repository::is_plain;
use crate::{Repository, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the addresses that `.gitmodules` of the commit names at which the user's checkout is, one a line.
pub(crate) fn addresses_at_head(repository: &Repository) -> Result<String> {
    let listing = repository
        .git("config --blob=HEAD:.gitmodules --list -z")
        .answer()?;
    let mut addresses = String::new();
    for section in sections(&listing.stdout).into_values() {
        addresses.extend(
            section
                .get("url")
                .into_iter()
                .flat_map(|url| [url.as_str(), "\n"]),
        );
    }
    Ok(addresses)
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
