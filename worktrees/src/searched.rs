//! Where git, its helpers and their libraries are looked for: never in a folder that is relative, and git itself never in
//! the checkout.
//!
//! An agent may write the checkout that a loop works in, and people have folders of it in their `PATH` (`.venv/bin`,
//! `node_modules/.bin`): what lies there would be run by tm, which nobody holds. So there nothing else is looked for in it
//! either; where no agent writes it, the user's filters may lie in such a folder.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Variables that name folders, or libraries, and what stands between two of them (`ld.so(8)`, `git(1)`).
const SEARCHED: [(&str, &[u8]); 8] = [
    (PATH, b":"),
    ("LD_LIBRARY_PATH", b":;"),
    ("LD_PRELOAD", b": "),
    ("LD_AUDIT", b":"),
    ("GCONV_PATH", b":"),
    ("LOCPATH", b":"),
    ("BASH_ENV", b""),
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

/// Tells whether a path, or one above it, leads into a folder, which is named with all links followed.
pub fn leads_into(path: &Path, folder: &Path) -> bool {
    let mut real = path
        .ancestors()
        .filter_map(|above| above.canonicalize().ok());
    real.any(|real| real.starts_with(folder))
}

impl Searched {
    /// Leaves out what lies in a checkout, by what the caller has in its variables: of git's helpers and of libraries where
    /// agents write there.
    pub(crate) fn outside(
        checkout: Option<&Path>,
        is_written: bool,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let checkout = checkout.and_then(|folder| folder.canonicalize().ok());
        let is_in_checkout = |path: &Path| {
            let checkout = checkout.as_deref();
            checkout.is_some_and(|folder| leads_into(path, folder))
        };
        let is_within = |path: &Path| !path.is_absolute() || is_written && is_in_checkout(path);
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
        let all = || {
            std::env::split_paths(&of_user)
                .filter(|folder| folder.is_absolute())
                .map(|folder| folder.join(GIT))
                .filter(|program| is_program(program))
        };
        let found = all().find(|program| !is_in_checkout(program));
        Self {
            git: found.or_else(|| all().next()).unwrap_or_else(|| GIT.into()),
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
        Searched::outside(Some(checkout), true, |asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn links_into_a_folder_and_out_of_it_lead_into_it() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().canonicalize().unwrap().join(name);
        for folder in ["checkout/bin", "elsewhere/bin"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(path(to), path(at)).unwrap();
        link("checkout/bin", "linked");
        link("elsewhere/bin", "checkout/out");
        for folder in ["checkout/bin", "linked", "checkout/out"] {
            let program = path(folder).join("x");
            assert!(leads_into(&program, &path("checkout")), "{folder}");
        }
        let program = path("elsewhere/bin/x");
        assert!(!leads_into(&program, &path("checkout")));
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
        let nobody_writes = Searched::outside(Some(&checkout), false, |name| {
            (name == PATH).then(|| format!("{within}:bin:/bin").into())
        });
        let left = format!("{within}:/bin").into();
        assert_eq!(nobody_writes.other, [(PATH, Some(left))]);
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
        std::fs::remove_file(at("text/git")).expect("removed");
        std::os::unix::fs::symlink(at("checkout/git"), at("text/git")).expect("a link");
        assert_eq!(git(&["text", "own"]), at("own/git"));
    }
}
