//! What the project under test is called and depends on, so that its own missing items are told from missing packages.

use super::sources::Sources;
use crate::testing::{package_of, text_of};
use regex::Regex;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

patterns! {
    GO_MODULE = r"(?m)^[ \t]*module[ \t]+(\S+)";
    /// The name in a line such as `requests[socks]>=2.1 ; python_version > "3"`.
    REQUIREMENT = r"(?m)^[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)";
    /// In the lock file four spaces stand before each gem; a Gemfile alone has calls of `gem`.
    LOCKED_GEM = r"(?m)^    [ \t]*(\S+) \(";
    GEM = r#"(?m)^[ \t]*gem [^"'\n]*["']([^"'\n]*)"#;
}

/// Names of a project.
pub(super) struct Project {
    root: PathBuf,
    /// Where its commands work, the root first.
    folders: Vec<PathBuf>,
    /// What its own packages are called.
    own: BTreeSet<String>,
    /// What it depends on.
    dependencies: BTreeSet<String>,
    /// What its Rust defines, once it is asked for.
    sources: OnceCell<Sources>,
}

impl Project {
    /// Looks at the manifests in some folders, of which the first is the project's own. Those that can't be read tell
    /// nothing.
    pub(super) fn new(folders: &[PathBuf]) -> Self {
        let mut project = Self {
            root: folders.first().cloned().unwrap_or_default(),
            folders: folders.to_vec(),
            own: BTreeSet::new(),
            dependencies: BTreeSet::new(),
            sources: OnceCell::new(),
        };
        for folder in folders {
            project.read(folder);
        }
        project
    }

    fn read(&mut self, folder: &Path) {
        self.read_toml(folder, "Cargo.toml");
        self.read_toml(folder, "pyproject.toml");
        let text = |name: &str| text_of(folder, name).unwrap_or_default();
        let package = package_of(folder);
        let module = text("go.mod");
        let module = GO_MODULE.captures(&module).map(|found| found[1].to_owned());
        self.own.extend(
            package["name"]
                .as_str()
                .map(ToOwned::to_owned)
                .into_iter()
                .chain(module),
        );
        let lists: [(&str, &Regex); 5] = [
            ("requirements.txt", &REQUIREMENT),
            ("requirements-dev.txt", &REQUIREMENT),
            ("dev-requirements.txt", &REQUIREMENT),
            ("Gemfile.lock", &LOCKED_GEM),
            ("Gemfile", &GEM),
        ];
        for (file, pattern) in lists {
            let text = text(file);
            let names = pattern.captures_iter(&text).map(|found| plain(&found[1]));
            self.dependencies.extend(names);
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        text_of(&self.root, name)
    }

    fn read_toml(&mut self, folder: &Path, name: &str) {
        let Some(manifest) = text_of(folder, name).and_then(|text| tm_untrusted::toml_table(&text))
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
        let names = package
            .and_then(|package| package.get("dependencies"))
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            .filter_map(|text| REQUIREMENT.captures(text));
        self.dependencies
            .extend(names.map(|found| plain(&found[1])));
    }

    /// What its Rust defines.
    pub(super) fn sources(&self) -> &Sources {
        self.sources.get_or_init(|| Sources::read(&self.root))
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
        self.folders.iter().any(|folder| folder.join(path).is_dir())
    }

    /// Returns a path as seen from the project, where it lies within: one that is said from a folder in which the command
    /// works may be of that folder.
    pub(super) fn relative(&self, path: &str) -> String {
        let path = path
            .strip_prefix("file://")
            .unwrap_or(path)
            .trim_start_matches("./");
        self.folders
            .iter()
            .map(|folder| folder.join(path))
            .find(|place| place.exists())
            .unwrap_or_else(|| PathBuf::from(path))
            .strip_prefix(&self.root)
            .ok()
            .and_then(Path::to_str)
            .unwrap_or(path)
            .to_owned()
    }
}

/// Names as every ecosystem compares them: `my-crate` is imported as `my_crate`.
fn plain(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}
