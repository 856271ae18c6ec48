//! Settings as a commit has them: whoever is judged does not say by what, nor what is run unheld meanwhile.

use crate::error::Error;
use crate::project::{Caller, Project, loaded_from};
use std::collections::BTreeMap;
use std::fs::{File, create_dir_all};
use std::io::Write as _;
use std::path::{Component, Path};
use tm_config::{Override, PROJECT_FILES, ProjectFiles};
use tm_runtime::Parts;
use tm_scheduler::CommitId;
use tm_worktrees::Repository;

/// So many characters of a commit's id are shown.
const SHORT: usize = 12;

/// Opens the project of a repository by the settings of a commit; where those of the checkout or of another commit are other
/// ones, that is told.
pub(crate) fn project_by(
    (repository, commit): (&Repository, &CommitId),
    judged: &CommitId,
    given: Vec<Override>,
    caller: Caller,
) -> Result<Project, Error> {
    let files = files_of(repository, commit)?;
    let project = Project::with_settings_in(repository, files, given, caller)?;
    let checkout = ProjectFiles::InFolder(repository.checkout_root().to_owned());
    let in_checkout = differing(&project, checkout);
    let at_the_end = differing(&project, files_of(repository, judged)?);
    let is_same = in_checkout == at_the_end;
    let at_the_end = at_the_end.filter(|_| !is_same);
    let told = [
        (in_checkout, "in the checkout".to_owned()),
        (at_the_end, format!("at {judged:.SHORT$}")),
    ];
    for (others, place) in told {
        if let Some(others) = others {
            let words = format!("the settings are those of {commit:.SHORT$}: {others} {place}");
            project.warn(&[words]);
        }
    }
    Ok(project)
}

/// Returns the files of a commit that hold settings.
fn files_of(repository: &Repository, commit: &CommitId) -> Result<ProjectFiles, Error> {
    let mut texts = BTreeMap::new();
    for path in PROJECT_FILES {
        if let Some((_, text)) = repository.regular_file_at(commit, path)? {
            texts.insert(path.to_owned(), text);
        }
    }
    Ok(ProjectFiles::Committed(texts))
}

/// Names the settings that are other ones in these files; `None` where all are the same.
fn differing(project: &Project, files: ProjectFiles) -> Option<String> {
    let Ok(there) = loaded_from(files, &project.given) else {
        return Some("they can't be read".to_owned());
    };
    match project.loaded.differing(&there).as_slice() {
        [] => None,
        [one] => Some(format!("`{one}` is another one")),
        several => Some(format!("`{}` are others", several.join("`, `"))),
    }
}

/// Returns the test commands of a project; one that the settings do not name is looked for in the files of a commit.
pub(crate) fn parts_at(project: &Project, commit: &CommitId) -> Result<Parts, Error> {
    let settings = &project.loaded.settings;
    if settings.test.command.is_some() {
        return Ok(Parts::of(settings, project.root())?);
    }
    let folder = tempfile::tempdir()?;
    lay_out(&project.repository, commit, folder.path())?;
    Ok(Parts::of(settings, folder.path())?)
}

/// Lays out what tells of a test command: the files at the top, and those in the folders there.
fn lay_out(repository: &Repository, commit: &CommitId, folder: &Path) -> Result<(), Error> {
    let tree = repository.tree_of(commit)?;
    let paths = repository.paths(&tree)?;
    for path in paths.iter().filter(|path| is_near_the_top(path)) {
        let text = repository.text_in_tree(&tree, path)?.unwrap_or_default();
        let file = folder.join(path);
        create_dir_all(file.parent().unwrap_or(folder))?;
        File::create(file)?.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn is_near_the_top(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let is_name = |part| matches!(part, Component::Normal(_));
    path.split('/').count() <= 2 && parts.all(is_name)
}
