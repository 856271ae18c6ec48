//! Files by which a project says what it is made of and how it is built, and what package managers and git have: one table.
//!
//! None of them is data of tests. Some hold, among other things, how tests are found and run.

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

const MANIFESTS: [(&str, TestSettings); 27] = [
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
    ("go.sum", TestSettings::None),
    ("Cargo.lock", TestSettings::None),
    ("package-lock.json", TestSettings::None),
    ("pnpm-lock.yaml", TestSettings::None),
    ("yarn.lock", TestSettings::None),
    ("bun.lock", TestSettings::None),
    ("poetry.lock", TestSettings::None),
    ("uv.lock", TestSettings::None),
    ("Pipfile", TestSettings::None),
    ("Pipfile.lock", TestSettings::None),
    ("composer.json", TestSettings::None),
    ("composer.lock", TestSettings::None),
    ("Gemfile.lock", TestSettings::None),
    (".gitignore", TestSettings::None),
    (".gitattributes", TestSettings::None),
];

/// Returns what a file, by its path, holds of how tests are run; `None` for one that is no such file.
pub fn manifest(path: &str) -> Option<TestSettings> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = MANIFESTS.iter().find(|(known, _)| *known == name).map(|(_, settings)| *settings);
    known.or_else(|| name.starts_with("requirements").then_some(TestSettings::None))
}
