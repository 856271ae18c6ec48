//! Where the project is that a call is about: in the checkout around a folder, and never in one of tm's own worktrees.
//!
//! What lies in those is written by agents, their settings and what leads to git among that. So a person who works there
//! works on the project of the main checkout, as tm wrote down where that is. What lies in a checkout may have come by a
//! commit, and says nothing: there the repository around it is meant.

use crate::setup::{home_of_user, tm_home, variable};
use std::path::{Path, PathBuf};
use tm_config::Inputs;
use tm_store::run::{Home, ProjectDirectory};
use tm_worktrees::{Error, Repository, checkout_root_around, common_dir_around};

/// Finds the repository of the project that a folder belongs to.
///
/// # Errors
/// There is none, or the folder is below tm's worktrees of a repository without a main checkout.
pub fn repository_of_project(start: &Path) -> Result<Repository, Error> {
    Repository::discover(&project_place(start)?)
}

/// Returns a folder of the checkout whose project a folder belongs to: itself, or the main checkout of the repository that a
/// worktree of tm's is of. What tm starts itself works in its worktree as in any checkout: it is held there, and may see no
/// other.
///
/// # Errors
/// The folder is below tm's worktrees of a repository without a main checkout.
pub fn project_place(start: &Path) -> Result<PathBuf, Error> {
    match repository_of_worktree(start) {
        Some(common_dir) if variable("TM_RUN_ID").is_none() => main_checkout(common_dir),
        Some(_) | None => Ok(start.to_owned()),
    }
}

/// Returns the folder that all checkouts of the repository around a folder share; of a worktree of tm's, by what tm wrote
/// down and not by what lies there.
pub fn shared_folder(folder: &Path) -> Option<PathBuf> {
    repository_of_worktree(folder).or_else(|| common_dir_around(folder))
}

/// Tells of which repository the worktree of tm's is that a folder lies in; nothing where it lies in none.
pub fn repository_of_worktree(folder: &Path) -> Option<PathBuf> {
    repository_of_worktree_in(folder, &home_by_user)
}

/// The folder that the user names, whatever lies in checkouts.
fn home_by_user() -> Option<Home> {
    let of_user = tm_config::load_of_user(&Inputs::from_process("")).ok()?;
    home_of_user(&of_user.settings.storage, tm_home().as_deref())
}

fn repository_of_worktree_in(folder: &Path, home: &dyn Fn() -> Option<Home>) -> Option<PathBuf> {
    let around = ProjectDirectory::around_worktree(folder);
    let mut found = around.iter().map(|project| repository_of(project, home));
    found.find_map(|found| found)
}

/// The repository of a project, where it is one of tm's. In a checkout it is that one's, by its name or its place: whatever
/// files lie there, nobody is led from it to another. Elsewhere, or in the folder that the user names, tm alone writes.
fn repository_of(project: &ProjectDirectory, home: &dyn Fn() -> Option<Home>) -> Option<PathBuf> {
    if let Some(root) = checkout_root_around(project.path()) {
        let around = common_dir_around(&root)?;
        if project.is_called_after(&around) {
            return Some(around);
        }
        if !home().is_some_and(|home| is_in(project, &home)) {
            let is_own = project.of_all() == root.join(".taskmaster/projects");
            return is_own.then_some(around);
        }
    }
    let written = project.whereabouts().ok()??.common_dir;
    project.is_called_after(&written).then_some(written)
}

fn is_in(project: &ProjectDirectory, home: &Home) -> bool {
    let projects = home.path().join("projects").canonicalize();
    projects.is_ok_and(|projects| project.of_all() == projects)
}

/// What lies in a worktree of tm's is no main checkout, whoever says so.
fn main_checkout(common_dir: PathBuf) -> Result<PathBuf, Error> {
    match common_dir.parent() {
        Some(main)
            if common_dir.ends_with(".git")
                && common_dir.is_dir()
                && repository_of_worktree(main).is_none() =>
        {
            Ok(main.to_owned())
        }
        _ => Err(Error::NoCheckout(common_dir)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    const NO_HOME: &dyn Fn() -> Option<Home> = &|| None;

    fn scene() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        (folder, root)
    }

    fn repository(folder: &Path) -> PathBuf {
        let git_dir = folder.join(".git");
        fs::create_dir_all(&git_dir).unwrap();
        git_dir
    }

    /// A worktree of the project of a repository, in a home.
    fn worktree_of(home: &Path, git_dir: &Path) -> PathBuf {
        let project = Home::new(home.to_owned()).project(git_dir).unwrap();
        project.create().unwrap();
        project.remember_place(git_dir, &[]).unwrap();
        let worktree = project.worktrees_folder().join("r1/1");
        fs::create_dir_all(&worktree).unwrap();
        worktree
    }

    #[test]
    fn a_worktree_of_tms_is_of_its_repository_wherever_the_home_is() {
        let (_folder, root) = scene();
        let app = repository(&root.join("app"));
        let known = |worktree: &Path| repository_of_worktree_in(worktree, NO_HOME);
        for home in ["home", "app/.taskmaster", "app/runs"] {
            let worktree = worktree_of(&root.join(home), &app);
            assert_eq!(known(&worktree), Some(app.clone()), "{home}");
            repository(&worktree.join("evil"));
            for forged in ["evil/.taskmaster", "home"] {
                let forged = worktree_of(&worktree.join(forged), &worktree.join("evil/.git"));
                assert_eq!(known(&forged), Some(app.clone()), "{home}");
            }
        }
        let user = root.join("dotfiles");
        repository(&user);
        let worktree = worktree_of(&user.join(".taskmaster"), &app);
        let home = || Some(Home::new(user.join(".taskmaster")));
        assert_eq!(repository_of_worktree_in(&worktree, &home), Some(app));
    }

    #[test]
    fn no_file_in_a_checkout_leads_to_another_repository() {
        let (_folder, root) = scene();
        let (app, evil) = (root.join("projects/app"), repository(&root.join("evil")));
        let own = repository(&app);
        let linked = app.join("worktrees/feature");
        fs::create_dir_all(&linked).unwrap();
        let known = |folder: &Path| repository_of_worktree_in(folder, NO_HOME);
        let written = worktree_of(&root.join("home"), &evil);
        let written = written.ancestors().nth(3).unwrap().join("repository.json");
        for folder in ["", "worktrees/feature"] {
            fs::copy(&written, app.join(folder).join("repository.json")).unwrap();
        }
        assert_eq!(known(&linked), None);
        assert_eq!(known(&worktree_of(&app.join("forged"), &evil)), None);
        let beside = worktree_of(&app.join(".taskmaster"), &evil);
        assert_eq!(known(&beside), Some(own));
    }

    #[test]
    fn what_is_not_called_as_tm_calls_it_is_none_of_tms() {
        let (_folder, root) = scene();
        let evil = repository(&root.join("evil"));
        let worktree = worktree_of(&root.join("home"), &evil);
        let project = worktree.ancestors().nth(3).unwrap();
        let other = project.with_file_name("app");
        fs::rename(project, &other).unwrap();
        let worktree = other.join("worktrees/r1/1");
        assert_eq!(repository_of_worktree_in(&worktree, NO_HOME), None);
    }

    #[test]
    fn what_lies_in_a_worktree_is_no_main_checkout() {
        let (_folder, root) = scene();
        let worktree = worktree_of(&root.join("home"), &repository(&root.join("app")));
        let evil = repository(&worktree.join("evil"));
        assert!(matches!(main_checkout(evil), Err(Error::NoCheckout(_))));
        let app = main_checkout(root.join("app/.git")).unwrap();
        assert_eq!(app, root.join("app"));
    }
}
