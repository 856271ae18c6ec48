//! The checks of a look ahead, each with a name, what it found, and the setting to change. Another one is a line in
//! `of_tree`, or in `of_checkout` where it needs the files.

use super::Ground;
use crate::step_error::{StepError, blocking};
use std::path::Path;
use tm_scheduler::preflight::Problem;
use tm_worktrees::Error;

/// Everything that can be told of the tree alone.
pub(super) async fn of_tree(ground: &Ground) -> Result<Vec<Problem>, StepError> {
    let ground = ground.clone();
    blocking(move || Ok::<_, Error>([filters(&ground)?].concat())).await
}

/// Everything that a checkout tells, after its set-up.
pub(super) async fn of_checkout(ground: &Ground, folder: &Path) -> Result<Vec<Problem>, StepError> {
    let (ground, folder) = (ground.clone(), folder.to_owned());
    blocking(move || Ok::<_, Error>([submodules(&ground, &folder)?].concat())).await
}

/// Filters that git would call and can't, so that files are not what they stand for: pointers of LFS, for example.
fn filters(ground: &Ground) -> Result<Vec<Problem>, Error> {
    let mut problems = Vec::new();
    for need in ground.repository.filters(&ground.tree)? {
        let program = need
            .command
            .as_deref()
            .and_then(|command| command.split_whitespace().next());
        let missing = match program {
            None => "git knows no such filter here".to_owned(),
            // A program that is given its place, or its name in quotes, is not looked for.
            Some(program)
                if which::which(program).is_err() && !program.contains(['"', '\'', '/', '$']) =>
            {
                format!("`{program}` is not there")
            }
            Some(_) => continue,
        };
        let hint = match need.name.as_str() {
            "lfs" => {
                "install git-lfs, then `git lfs install` and `git lfs pull`; `worktree.lfs: off` leaves its pointers"
                    .to_owned()
            }
            name => format!("set `filter.{name}.clean` and `filter.{name}.smudge` with `git config`"),
        };
        problems.push(Problem {
            check: "filters".to_owned(),
            what: format!(
                "`{}` has the filter `{}`, and {missing}",
                need.file, need.name
            ),
            last_lines: Vec::new(),
            hint,
        });
    }
    Ok(problems)
}

/// Repositories within the repository of which a checkout has an empty folder.
fn submodules(ground: &Ground, folder: &Path) -> Result<Vec<Problem>, Error> {
    if !ground.repository.brings_submodules() {
        return Ok(Vec::new());
    }
    let nested = ground.repository.nested_repositories(&ground.tree)?;
    let is_empty = |path: &String| {
        std::fs::read_dir(folder.join(path)).map_or(true, |mut entries| entries.next().is_none())
    };
    let empty: Vec<String> = nested
        .into_iter()
        .filter(is_empty)
        .map(|path| format!("`{path}`"))
        .collect();
    if empty.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Problem {
        check: "submodules".to_owned(),
        what: format!("nothing is in {}", empty.join(", ")),
        last_lines: Vec::new(),
        hint: "`worktree.submodules: auto` in .taskmaster/tm.yaml fills them from your own checkout; `git submodule update \
               --init` brings there what is missing"
            .to_owned(),
    }])
}
