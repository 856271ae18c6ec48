//! What the project under test is called and depends on, so that its own missing items are told from missing packages.

use super::sources::Sources;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names of a project.
pub(super) struct Project {
    root: PathBuf,
    /// What its own packages are called.
    own: BTreeSet<String>,
    /// What it depends on.
    dependencies: BTreeSet<String>,
    /// What its Rust defines, once it is asked for.
    sources: OnceCell<Sources>,
}

impl Project {
    /// Looks at the manifests in a folder. Those that can't be read tell nothing.
    pub(super) fn new(root: &Path) -> Self {
        let mut project = Self {
            root: root.to_owned(),
            own: BTreeSet::new(),
            dependencies: BTreeSet::new(),
            sources: OnceCell::new(),
        };
        project.read_toml("Cargo.toml");
        project.read_toml("pyproject.toml");
        project.read_package_json();
        project.read_go_mod();
        project.read_requirements();
        project.read_gems();
        project
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        crate::testing::text_of(&self.root, name)
    }

    fn read_toml(&mut self, name: &str) {
        let Some(manifest) = self
            .text(name)
            .and_then(|text| text.parse::<toml::Table>().ok())
        else {
            return;
        };
        let package = manifest.get("package").or_else(|| manifest.get("project"));
        if let Some(name) = package
            .and_then(|package| package.get("name"))
            .and_then(toml::Value::as_str)
        {
            self.own.insert(plain(name));
        }
        let listed = package
            .and_then(|package| package.get("dependencies"))
            .and_then(toml::Value::as_array);
        for requirement in listed.into_iter().flatten().filter_map(toml::Value::as_str) {
            self.dependencies
                .insert(plain(requirement_name(requirement)));
        }
    }

    fn read_package_json(&mut self) {
        let Some(package) = self
            .text("package.json")
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        else {
            return;
        };
        self.own
            .extend(package["name"].as_str().map(ToOwned::to_owned));
    }

    fn read_go_mod(&mut self) {
        let text = self.text("go.mod").unwrap_or_default();
        let module = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("module "));
        self.own
            .extend(module.map(|module| module.trim().to_owned()));
    }

    fn read_requirements(&mut self) {
        for name in [
            "requirements.txt",
            "requirements-dev.txt",
            "dev-requirements.txt",
        ] {
            let text = self.text(name).unwrap_or_default();
            let names = text
                .lines()
                .map(requirement_name)
                .filter(|name| !name.is_empty() && !name.starts_with('-'));
            self.dependencies.extend(names.map(plain));
        }
    }

    /// In the lock file four spaces stand before each gem; a Gemfile alone has calls of `gem`.
    fn read_gems(&mut self) {
        let locked = self.text("Gemfile.lock").unwrap_or_default();
        let gems = locked
            .lines()
            .filter_map(|line| line.strip_prefix("    ")?.split_once(" ("))
            .map(|(name, _)| name);
        self.dependencies
            .extend(gems.map(|name| plain(name.trim())));
        let text = self.text("Gemfile").unwrap_or_default();
        let named = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("gem ")?.split(['"', '\'']).nth(1));
        self.dependencies.extend(named.map(plain));
    }

    fn sources(&self) -> &Sources {
        self.sources.get_or_init(|| Sources::read(&self.root))
    }

    /// Whether a type or a trait of that name is the project's own.
    pub(super) fn defines_in_rust(&self, name: &str) -> bool {
        self.sources().defines(name)
    }

    /// Whether a trait of the project's own is implemented for a type of that name.
    pub(super) fn extends_in_rust(&self, name: &str) -> bool {
        self.sources().extends(name)
    }

    /// Whether a package is the project's own.
    pub(super) fn owns(&self, name: &str) -> bool {
        self.own.contains(&plain(name)) || self.own.contains(name)
    }

    /// Whether a path of packages (`demo/parser`) lies within the project.
    pub(super) fn owns_path(&self, path: &str) -> bool {
        self.own.iter().any(|own| {
            path.strip_prefix(own)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether a package is one that the project says it needs.
    pub(super) fn depends_on(&self, name: &str) -> bool {
        self.dependencies.contains(&plain(name))
    }

    /// Whether a file, by its whole path, is the project's own and not one that was installed.
    pub(super) fn holds(&self, path: &str) -> bool {
        let relative = self.relative(path);
        !relative.starts_with('/') && !relative.contains("node_modules/")
    }

    /// Whether there is a folder of that name.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    /// Returns a path as seen from the project, where it lies within.
    pub(super) fn relative(&self, path: &str) -> String {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let inside = Path::new(path)
            .strip_prefix(&self.root)
            .ok()
            .and_then(Path::to_str);
        inside.unwrap_or(path).trim_start_matches("./").to_owned()
    }
}

/// Names as every ecosystem compares them: `my-crate` is imported as `my_crate`.
fn plain(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// The name in a line such as `requests[socks]>=2.1 ; python_version > "3"`.
fn requirement_name(line: &str) -> &str {
    let line = line.trim();
    let end = line
        .find(|character: char| !character.is_ascii_alphanumeric() && !"-_.".contains(character));
    &line[..end.unwrap_or(line.len())]
}
