//! Which file tells of which tool, and what it is told to do in a new checkout. The one list is `table.txt`.

use super::FoundTool;
use crate::testing::{has, matching, package_of, text_of};
use std::collections::BTreeSet;
use std::path::Path;

/// One tool.
pub(super) struct Row {
    /// Of those with the same word, the first counts.
    one_of: &'static str,
    pub(super) name: &'static str,
    /// Any of these tells of it; they may have wildcards.
    files: &'static str,
    program: &'static str,
    /// Installs exactly what the lock file says.
    pub(super) setup: Option<&'static str>,
    /// Where it keeps what it built.
    cache: Option<&'static str>,
}

/// Returns every tool with a file of its own.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    let lines = include_str!("table.txt").lines();
    let row = |line: &'static str| {
        let mut cells = line.split('|').map(str::trim);
        let mut cell = || cells.next();
        Some(Row {
            one_of: cell()?,
            name: cell()?,
            files: cell()?,
            program: cell()?,
            setup: cell().filter(|setup| !setup.is_empty()),
            cache: cell(),
        })
    };
    lines.filter(|line| !line.starts_with('#')).filter_map(row)
}

/// Returns the tools of a project, in the order of the table.
pub(super) fn found(root: &Path) -> Vec<FoundTool> {
    let (mut found, mut kinds) = (Vec::new(), BTreeSet::new());
    for row in rows() {
        let file = row
            .files
            .split_whitespace()
            .find_map(|file| named(root, file));
        let tells = |file: &String| file != "package.json" || depends_on_anything(root);
        if let Some(file) = file.filter(tells)
            && kinds.insert(row.one_of)
        {
            found.push(row.at(root, file));
        }
    }
    found
}

impl Row {
    /// The tool as the files of a project have it.
    fn at(self, root: &Path, file: String) -> FoundTool {
        let has_wrapper = match self.name {
            "Maven" => has(root, "mvnw"),
            "Gradle" => has(root, "gradlew"),
            _ => false,
        };
        let setup = if is_of_new_yarn(root, &file) {
            Some(NEW_YARN)
        } else {
            self.setup
        };
        FoundTool {
            name: self.name,
            file,
            setup: setup.map(ToOwned::to_owned),
            program: if has_wrapper { "sh" } else { self.program },
            cache: self.cache.into_iter().collect(),
        }
    }
}

/// How Yarn is told since its second version, which refuses what the first was told.
const NEW_YARN: &str = "yarn install --immutable";

/// The lock files of the second version on say so themselves; settings there need not be.
fn is_of_new_yarn(root: &Path, file: &str) -> bool {
    file == "yarn.lock" && text_of(root, file).is_some_and(|text| text.contains("__metadata:"))
}

/// The name of a file that is there.
fn named(root: &Path, file: &str) -> Option<String> {
    matching(root, file)
        .into_iter()
        .next()?
        .file_name()?
        .to_str()
        .map(ToOwned::to_owned)
}

fn depends_on_anything(root: &Path) -> bool {
    let package = package_of(root);
    let has = |key: &str| package[key].as_object().is_some_and(|all| !all.is_empty());
    ["dependencies", "devDependencies", "workspaces"]
        .into_iter()
        .any(has)
}
