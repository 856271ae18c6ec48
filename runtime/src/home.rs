//! Where tm keeps what runs leave behind: the settings, `TM_HOME` and the user's home folder decide. Reads nothing itself.

use std::path::{Path, PathBuf};
use tm_config::{Storage, StorageLocation};
use tm_store::run::Home;
use tm_worktrees::Repository;

/// Returns the folder for a repository: `.taskmaster` of its main checkout with `storage.location: project`, else
/// `TM_HOME`, else `storage.base_path`, else `~/.taskmaster`; `None` where that needs a home folder and there is none.
pub fn home(
    storage: &Storage,
    repository: &Repository,
    tm_home: Option<&Path>,
    user_home: Option<&Path>,
) -> Option<Home> {
    place(storage, &main_checkout(repository), tm_home, user_home).map(Home::new)
}

fn place(
    storage: &Storage,
    main: &Path,
    tm_home: Option<&Path>,
    user_home: Option<&Path>,
) -> Option<PathBuf> {
    if storage.location == StorageLocation::Project {
        return Some(main.join(".taskmaster"));
    }
    if let Some(home) = tm_home {
        return Some(home.to_owned());
    }
    Some(match storage.base_path.as_deref() {
        None => user_home?.join(".taskmaster"),
        Some("~") => user_home?.to_owned(),
        Some(path) => match path.strip_prefix("~/") {
            Some(rest) => user_home?.join(rest),
            None => main.join(path),
        },
    })
}

/// All worktrees of a repository share one place: that of its main checkout.
fn main_checkout(repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let is_usual = common.file_name().is_some_and(|name| name == ".git");
    let main = common.parent().filter(|_| is_usual);
    main.unwrap_or_else(|| repository.checkout_root())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use StorageLocation::{Global, Project};

    #[test]
    fn settings_environment_and_home_folder_decide_in_this_order() {
        let path = |location, base: Option<&str>, tm: Option<&str>, user: Option<&str>| {
            let storage = Storage {
                location,
                base_path: base.map(ToOwned::to_owned),
            };
            place(
                &storage,
                Path::new("/p"),
                tm.map(Path::new),
                user.map(Path::new),
            )
        };
        assert_eq!(
            path(Project, Some("/x"), Some("/tm"), Some("/u")),
            Some("/p/.taskmaster".into())
        );
        assert_eq!(
            path(Global, Some("/x"), Some("/tm"), Some("/u")),
            Some("/tm".into())
        );
        assert_eq!(path(Global, Some("/x"), None, None), Some("/x".into()));
        assert_eq!(
            path(Global, Some("~/runs"), None, Some("/u")),
            Some("/u/runs".into())
        );
        assert_eq!(path(Global, Some("~"), None, Some("/u")), Some("/u".into()));
        assert_eq!(
            path(Global, Some("runs"), None, None),
            Some("/p/runs".into())
        );
        assert_eq!(
            path(Global, None, None, Some("/u")),
            Some("/u/.taskmaster".into())
        );
        assert_eq!(path(Global, None, None, None), None);
    }
}
