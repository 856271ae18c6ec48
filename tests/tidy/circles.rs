//! No circle of files: what a file names stands below it. Only a folder's `mod.rs` and its parts may name each other.

use super::{metadata, production, root, sources, test_modules};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names from the root of the crate on.
type Names = Vec<String>;

/// The modules of one crate, and what each names.
#[derive(Default)]
struct Crate {
    files: BTreeMap<Names, PathBuf>,
    /// What a module names, from the root of the crate on.
    named: BTreeMap<Names, Vec<Names>>,
    /// What a module passes on under a name, and where that is.
    passed_on: BTreeMap<Names, BTreeMap<String, Names>>,
}

fn names(path: &str) -> Names {
    path.split("::")
        .map(|name| name.trim().to_owned())
        .collect()
}

/// The paths of `a::{b, c::{d, e as f}}`.
fn paths_of(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, within)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.to_owned()];
    };
    let within = within.strip_suffix('}').expect("a closed brace");
    let mut depth = 0;
    let branches = within.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    branches
        .filter(|branch| !branch.trim().is_empty())
        .flat_map(paths_of)
        .map(|path| format!("{before}{path}"))
        .collect()
}

impl Crate {
    fn read(source: &Path, tests: &BTreeSet<PathBuf>) -> Self {
        let mut files = Vec::new();
        sources(source, &mut files);
        files.retain(|file| {
            let module = file.with_extension("");
            !tests.iter().any(|tests| module.starts_with(tests))
        });
        let mut read = Self::default();
        for file in files {
            let below = file.strip_prefix(source).expect("below").with_extension("");
            let mut module: Names = below
                .iter()
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
            read.files.insert(module, file);
        }
        for (module, file) in read.files.clone() {
            read.look_into(&module, &file);
        }
        read
    }

    fn look_into(&mut self, module: &Names, file: &Path) {
        let statement =
            Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("a pattern");
        let in_passing = Regex::new(r"\b(?:crate|super)(?:::\w+)+").expect("a pattern");
        let text = production(file);
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let mut named = Vec::new();
        for found in statement.captures_iter(&code) {
            for path in paths_of(&found[2]) {
                let Some(path) = self.seen_from_root(module, &path) else {
                    continue;
                };
                if found.get(1).is_some()
                    && let Some(name) = path.last()
                {
                    let passed_on = self.passed_on.entry(module.clone()).or_default();
                    passed_on.insert(name.clone(), path.clone());
                }
                named.push(path);
            }
        }
        let code = statement.replace_all(&code, "");
        let in_passing = in_passing.find_iter(&code);
        named.extend(in_passing.filter_map(|path| self.seen_from_root(module, path.as_str())));
        self.named.insert(module.clone(), named);
    }

    /// `None` for what is of another crate.
    fn seen_from_root(&self, module: &Names, path: &str) -> Option<Names> {
        let path = names(path);
        let child = |name| [module.as_slice(), std::slice::from_ref(name)].concat();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                Some([&module[..module.len().checked_sub(up)?], &path[up..]].concat())
            }
            _ => self
                .files
                .contains_key(&child(&path[0]))
                .then(|| [module.as_slice(), &path].concat()),
        }
    }

    /// The file that a path leads to, through all that is passed on.
    fn file_of(&self, path: &Names) -> &Path {
        let module = (0..=path.len())
            .rev()
            .map(|length| path[..length].to_vec())
            .find(|module| self.files.contains_key(module))
            .expect("the root is a module");
        let rest = &path[module.len()..];
        let passed_on = self.passed_on.get(&module).zip(rest.first());
        match passed_on.and_then(|(passed_on, name)| passed_on.get(name)) {
            Some(target) => self.file_of(&[target, &rest[1..]].concat()),
            None => &self.files[&module],
        }
    }

    /// Files that name each other, also over others, and are more than one folder's `mod.rs` and its parts.
    fn wide_circles(&self) -> Vec<Vec<&Path>> {
        let mut graph = DiGraphMap::<&Path, ()>::new();
        for (module, named) in &self.named {
            for path in named {
                graph.add_edge(self.files[module].as_path(), self.file_of(path), ());
            }
        }
        let mut circles = tarjan_scc(&graph);
        circles.retain(|circle| circle.len() > 1 && !is_one_folder(circle));
        circles
    }
}

fn is_one_folder(circle: &[&Path]) -> bool {
    circle.iter().any(|top| {
        let folder = if top.ends_with("mod.rs") {
            top.parent().expect("a folder").to_path_buf()
        } else {
            top.with_extension("")
        };
        circle
            .iter()
            .all(|file| file == top || file.starts_with(&folder))
    })
}

#[test]
fn no_circle_of_files_is_wider_than_a_folder() {
    let mut all = Vec::new();
    sources(root(), &mut all);
    let tests = test_modules(&all);
    let metadata = metadata();
    let (mut looked_at, mut wide) = (0, Vec::new());
    for package in metadata["packages"].as_array().expect("packages") {
        for target in package["targets"].as_array().expect("targets") {
            let kind = target["kind"][0].as_str().expect("a kind");
            if package["name"] == "tm-benches" || !matches!(kind, "lib" | "bin") {
                continue;
            }
            let main = Path::new(target["src_path"].as_str().expect("a path"));
            let read = Crate::read(main.parent().expect("a folder"), &tests);
            let relative = |file: &&Path| file.strip_prefix(root()).expect("below").to_path_buf();
            let circles = read.wide_circles();
            wide.extend(circles.iter().map(|circle| {
                let files: BTreeSet<PathBuf> = circle.iter().map(relative).collect();
                files
            }));
            looked_at += read.files.len();
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(looked_at > 300, "{looked_at}");
}

/// One circle through what a `mod.rs` passes on, one in a folder, one name that is no circle.
#[test]
fn a_circle_is_found_through_what_is_passed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        crate::scene::write(&path, text);
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\n");
    write(
        "a.rs",
        "use crate::b::{one::One, Two as Three};\npub struct A;\n",
    );
    write("b/mod.rs", "mod one;\nmod two;\npub use two::Two;\n");
    write("b/one.rs", "use super::Two;\npub struct One;\n");
    write("b/two.rs", "// crate::c::C\npub struct Two(crate::A);\n");
    write("c.rs", "use crate::A;\npub struct C;\n");
    let read = Crate::read(folder.path(), &BTreeSet::new());
    let circles: Vec<BTreeSet<&Path>> = read
        .wide_circles()
        .into_iter()
        .map(|circle| circle.into_iter().collect())
        .collect();
    let expected = ["a.rs", "b/one.rs", "b/two.rs"].map(|name| folder.path().join(name));
    assert_eq!(circles, [expected.iter().map(PathBuf::as_path).collect()]);
}
