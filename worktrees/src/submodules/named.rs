//! What `.gitmodules` of a tree says of its submodules, and the user's own settings before it.

use super::Parent;
use crate::Result;
use crate::owned::OwnedFolder;
use crate::repository::gitmodules::sections;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is said of a submodule; `None` where the user does not want it.
pub(super) type Named = Option<Saying>;

/// A submodule's name and where it comes from.
pub(super) struct Saying {
    pub(super) name: String,
    pub(super) url: Option<String>,
    /// Whether the user's own settings say so, and no tree.
    pub(super) is_of_user: bool,
}

impl OwnedFolder {
    /// What `.gitmodules` of a tree says: name, address and whether it is wanted, by path. The user's own settings count
    /// before it.
    pub(super) fn named(
        &self,
        parent: &Parent<'_>,
        tree: &str,
    ) -> Result<BTreeMap<PathBuf, Named>> {
        let blob = format!("--blob={tree}:.gitmodules");
        let listing = self
            .call(&parent.place)
            .args(["config", &blob, "--list", "-z"])
            .answer()?;
        let mut named = BTreeMap::new();
        for (name, section) in sections(&listing.stdout) {
            let Some(path) = section.get("path") else {
                continue;
            };
            let own = |key: &str| {
                let key = format!("submodule.{name}.{key}");
                self.repository
                    .git_on_objects("config --get")
                    .arg(&key)
                    .text_if_any()
            };
            let is_skipped = own("active")?.as_deref() == Some("false")
                || own("update")?
                    .or_else(|| section.get("update").cloned())
                    .as_deref()
                    == Some("none");
            let of_user = own("url")?;
            let wanted = (!is_skipped).then(|| Saying {
                name,
                is_of_user: of_user.is_some(),
                url: of_user.or_else(|| section.get("url").cloned()),
            });
            named.insert(PathBuf::from(path), wanted);
        }
        Ok(named)
    }
}

/// Returns an address as git sees it that may be relative to another one.
pub(super) fn resolved(url: &str, base: Option<&str>) -> String {
    let (Some(base), true) = (base, url.starts_with("./") || url.starts_with("../")) else {
        return url.to_owned();
    };
    let (mut base, mut rest) = (base.trim_end_matches('/').to_owned(), url);
    loop {
        if let Some(inner) = rest.strip_prefix("./") {
            rest = inner;
        } else if let Some(outer) = rest.strip_prefix("../") {
            rest = outer;
            let end = base.rfind('/').or_else(|| base.rfind(':')).unwrap_or(0);
            base.truncate(if base[end..].starts_with(':') {
                end + 1
            } else {
                end
            });
        } else {
            break;
        }
    }
    let between = if base.ends_with(':') { "" } else { "/" };
    format!("{base}{between}{}", rest.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_addresses_are_seen_from_that_of_the_repository() {
        for (url, base, expected) in [
            (
                "https://example.org/a.git",
                "https://example.org/b.git",
                "https://example.org/a.git",
            ),
            (
                "../a.git",
                "https://example.org/group/b.git",
                "https://example.org/group/a.git",
            ),
            (
                "../../other/a",
                "https://example.org/group/b",
                "https://example.org/other/a",
            ),
            (
                "../a.git",
                "git@example.org:group/b.git",
                "git@example.org:group/a.git",
            ),
            ("../a.git", "git@example.org:b.git", "git@example.org:a.git"),
            ("./a", "/srv/b/", "/srv/b/a"),
        ] {
            assert_eq!(resolved(url, Some(base)), expected, "{url} from {base}");
        }
        assert_eq!(resolved("../a", None), "../a");
    }
}
