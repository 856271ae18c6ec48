//! Files by which a project says what it is made of and how it is built, and what package managers and git have: one
//! table, beside that of lock files.
//!
//! None of them is data of tests. Some hold, among other things, how tests are found and run.

use crate::merging::lock_file;
use crate::named_files::file_name;

/// What such a file holds that decides how tests are found and run, and in which form.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TestSettings {
    /// Nothing.
    None,
    /// Scripts and settings of JavaScript tools, in JSON.
    Package,
    /// Those of Cargo, in TOML.
    Cargo,
    /// Those of Python's tools, in TOML.
    PyProject,
    /// Those of Python's tools, in sections of an INI file.
    Sections,
    /// Rules with their commands.
    Rules,
}

const MANIFESTS: [(&str, TestSettings); 18] = [
    ("package.json", TestSettings::Package),
    ("Cargo.toml", TestSettings::Cargo),
    ("pyproject.toml", TestSettings::PyProject),
    ("setup.cfg", TestSettings::Sections),
    ("tox.ini", TestSettings::Sections),
    ("Makefile", TestSettings::Rules),
    ("makefile", TestSettings::Rules),
    ("GNUmakefile", TestSettings::Rules),
    ("justfile", TestSettings::Rules),
    ("Justfile", TestSettings::Rules),
    (".justfile", TestSettings::Rules),
    ("go.mod", TestSettings::None),
    ("bun.lock", TestSettings::None),
    ("Pipfile", TestSettings::None),
    ("Pipfile.lock", TestSettings::None),
    ("composer.json", TestSettings::None),
    (".gitignore", TestSettings::None),
    (".gitattributes", TestSettings::None),
];

/// Returns what a file, by its path, holds of how tests are run; `None` for one that is no such file.
pub fn manifest(path: &str) -> Option<TestSettings> {
    let name = file_name(path);
    if let Some((_, settings)) = MANIFESTS.iter().find(|(known, _)| *known == name) {
        return Some(*settings);
    }
    let is_other = lock_file(name).is_some() || name.starts_with("requirements");
    is_other.then_some(TestSettings::None)
}
