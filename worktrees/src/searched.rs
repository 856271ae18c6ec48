//! Where git, its helpers and their libraries are looked for: never in the checkout, nor in a folder that is relative.
//!
//! An agent may write the checkout that a loop works in, and people have folders of it in their `PATH` (`.venv/bin`,
//! `node_modules/.bin`): what lies there would be run by tm, which nobody holds.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Variables that name folders, or libraries, and what stands between two of them (`ld.so(8)`, `git(1)`).
const SEARCHED: [(&str, &[u8]); 5] = [
    (PATH, b":"),
    ("LD_LIBRARY_PATH", b":;"),
    ("LD_PRELOAD", b": "),
    ("LD_AUDIT", b":"),
    ("GIT_EXEC_PATH", b""),
];
const PATH: &str = "PATH";
/// Where programs are looked for when nothing else is left.
const ALWAYS_THERE: &str = "/usr/bin:/bin";
const GIT: &str = "git";

/// What a call of git finds programs and libraries by.
#[derive(Debug)]
pub(crate) struct Searched {
    /// The program. Where all are in the checkout, the user has chosen one of them.
    pub(crate) git: PathBuf,
    /// Variables that are not as the caller has them; without a value, those that are left out.
    pub(crate) other: Vec<(&'static str, Option<OsString>)>,
}

impl Searched {
    /// Leaves out what lies in a checkout, by what the caller has in its variables.
    pub(crate) fn outside(
        checkout: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let checkout = checkout.and_then(|folder| folder.canonicalize().ok());
        let is_within = |path: &Path| {
            let leads_into = |folder: &Path| {
                let real = path
                    .ancestors()
                    .filter_map(|above| above.canonicalize().ok());
                real.into_iter().any(|real| real.starts_with(folder))
            };
            !path.is_absolute() || checkout.as_deref().is_some_and(leads_into)
        };
        let other_than_of_user = |(name, between): (&'static str, &[u8])| {
            let list = variable(name)?;
            let entries = || list.as_bytes().split(|byte| between.contains(byte));
            let is_left = |entry: &&[u8]| {
                is_bare_library(name, entry) || !is_within(Path::new(OsStr::from_bytes(entry)))
            };
            let left: Vec<&[u8]> = entries().filter(is_left).collect();
            (left.len() < entries().count()).then(|| (name, joined(name, &left)))
        };
        let other: Vec<_> = SEARCHED
            .into_iter()
            .filter_map(other_than_of_user)
            .collect();
        let of_user = variable(PATH).unwrap_or_default();
        let of_git = other.iter().find(|(name, _)| *name == PATH);
        let found = |list: &OsStr| {
            std::env::split_paths(list)
                .filter(|folder| folder.is_absolute())
                .map(|folder| folder.join(GIT))
                .find(|program| is_program(program))
        };
        let left = of_git.and_then(|(_, list)| list.as_deref());
        Self {
            git: found(left.unwrap_or(&of_user))
                .or_else(|| found(&of_user))
                .unwrap_or_else(|| GIT.into()),
            other,
        }
    }
}

/// A library without a folder is looked for in those that are left.
fn is_bare_library(variable: &str, entry: &[u8]) -> bool {
    variable.starts_with("LD_") && !variable.ends_with("PATH") && !entry.contains(&b'/')
}

fn joined(variable: &str, left: &[&[u8]]) -> Option<OsString> {
    match left {
        [] if variable == PATH => Some(ALWAYS_THERE.into()),
        [] => None,
        left => Some(OsString::from_vec(left.join(&b':'))),
    }
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(checkout: &Path, variables: &[(&str, &str)]) -> Searched {
        Searched::outside(Some(checkout), |asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn nothing_is_found_in_relative_folders_and_in_the_checkout() {
        let folder = tempfile::tempdir().expect("a folder");
        let checkout = folder.path().join("checkout");
        std::fs::create_dir(&checkout).expect("a folder");
        std::os::unix::fs::symlink(&checkout, folder.path().join("link")).expect("a link");
        let (within, through) = (
            format!("{}/.venv/bin", checkout.display()),
            format!("{}/link/../link/bin", folder.path().display()),
        );
        for (name, value, left) in [
            ("PATH", ":/usr/bin".to_owned(), Some("/usr/bin")),
            ("PATH", "/usr/bin:.:/bin".to_owned(), Some("/usr/bin:/bin")),
            ("PATH", format!("{within}:/bin"), Some("/bin")),
            ("PATH", format!("/bin:{through}"), Some("/bin")),
            ("PATH", within.clone(), Some("/usr/bin:/bin")),
            ("LD_LIBRARY_PATH", "/lib;lib;".to_owned(), Some("/lib")),
            ("LD_LIBRARY_PATH", within.clone(), None),
            (
                "LD_PRELOAD",
                format!("liba.so {within}/b.so"),
                Some("liba.so"),
            ),
            ("LD_AUDIT", format!("{within}/b.so"), None),
            ("GIT_EXEC_PATH", "libexec".to_owned(), None),
        ] {
            let found = searched(&checkout, &[(name, &value)]).other;
            assert_eq!(found, [(name, left.map(OsString::from))], "{name}={value}");
        }
        let all = [("PATH", "/usr/bin:/bin"), ("LD_PRELOAD", "liba.so:/b.so")];
        assert_eq!(searched(&checkout, &all).other, []);
    }

    #[test]
    fn the_first_git_outside_of_the_checkout_is_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (place, mode) in [("checkout", 0o755), ("text", 0o644), ("own", 0o755)] {
            std::fs::create_dir(at(place)).expect("a folder");
            crate::files::replace(&at(place).join(GIT), b"").expect("written");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(at(place).join(GIT), mode).expect("set");
        }
        let git = |places: &[&str]| {
            let list = std::env::join_paths(places.iter().map(|place| at(place))).expect("a list");
            searched(&at("checkout"), &[(PATH, list.to_str().expect("text"))]).git
        };
        assert_eq!(git(&["checkout", "text", "own"]), at("own/git"));
        assert_eq!(git(&["text", "checkout"]), at("checkout/git"));
        assert_eq!(git(&["text"]), Path::new(GIT));
    }
}
