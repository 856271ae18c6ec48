//! Follows what decides how tests run, from the test command on: scripts that it names, what they call, source and
//! import, scripts of packages and rules of makefiles.
//!
//! Pure: knows a tree by its paths and a reader. What the tests themselves reach is code or test, whoever else names it.

use super::references::{Calls, calls, imports, is_script, module_files, resolved};
use super::{TestCommand, names};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::verdict::is_test_path;

/// So many files are read at the most.
const MOST_FILES: usize = 300;
/// What decides how tests run is written by people: a longer text is not followed, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;

/// Folders of code by the conventions of many languages: what a script calls there is what is tested.
const CODE: &str = "src lib app bin cmd pkg internal server dist";

/// The files of a tree.
pub struct TreeFiles<'a> {
    /// All paths.
    pub paths: &'a BTreeSet<String>,
    /// Reads one; `None` where it is no text.
    pub read: &'a dyn Fn(&str) -> Option<String>,
}

impl TreeFiles<'_> {
    fn text(&self, path: &str) -> Option<String> {
        (self.read)(path).filter(|text| text.len() <= LONGEST_TEXT)
    }
}

/// What a test command reaches in a tree.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Closure {
    /// Files, also some that are not there: an import finds the first of many.
    pub(super) files: BTreeSet<String>,
    /// Scripts of packages, by name.
    pub(super) scripts: BTreeSet<String>,
    /// Rules of makefiles, by target.
    pub(super) targets: BTreeSet<String>,
}

impl Closure {
    /// Follows a command through a tree; `tests` are paths of tests whose own reach is not the runner's.
    pub fn of(command: &TestCommand, tree: &TreeFiles<'_>, tests: &[String]) -> Self {
        let mut walk = Walk {
            tree,
            tested: tested(tree, tests),
            closure: Self::default(),
            queue: Vec::new(),
            reads: 0,
        };
        for command in command.each() {
            for word in &command.argv {
                let word = word.to_string_lossy();
                walk.named(&word);
                walk.text("", &word);
            }
            let words = command.argv.iter().map(|word| word.to_string_lossy());
            walk.text("", &words.collect::<Vec<_>>().join(" "));
        }
        walk.follow();
        walk.closure
    }
}

/// What these tests import or call, and what that imports.
fn tested(tree: &TreeFiles<'_>, tests: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut queue: Vec<String> = tests.to_vec();
    let mut reads = 0;
    while let Some(path) = queue.pop().filter(|_| reads < MOST_FILES) {
        reads += 1;
        let Some(text) = tree.text(&path) else {
            continue;
        };
        let Calls { files, sourced, .. } = calls(&text);
        let called = files
            .iter()
            .chain(&sourced)
            .flat_map(|word| resolved(&path, word));
        for candidate in imports(&path, &text).into_iter().chain(called) {
            if tree.paths.contains(&candidate)
                && !is_test_path(&candidate)
                && found.insert(candidate.clone())
            {
                queue.push(candidate);
            }
        }
    }
    found
}

struct Walk<'a> {
    tree: &'a TreeFiles<'a>,
    tested: BTreeSet<String>,
    closure: Closure,
    queue: Vec<String>,
    reads: usize,
}

impl Walk<'_> {
    /// Every file that the command itself names, however it does.
    fn named(&mut self, text: &str) {
        for path in words(text).filter(|path| self.tree.paths.contains(*path)) {
            self.reach(path.to_owned());
        }
    }

    /// What a script's text calls.
    fn text(&mut self, path: &str, text: &str) {
        let Calls {
            files,
            sourced,
            modules,
            scripts,
            targets,
        } = calls(text);
        for module in modules {
            let main = module_files("", &format!("{module}.__main__"));
            module_files("", &module)
                .into_iter()
                .chain(main)
                .for_each(|candidate| self.import(candidate));
        }
        for word in files {
            for candidate in resolved(path, &word) {
                self.call(candidate);
            }
        }
        for candidate in sourced.iter().flat_map(|word| resolved(path, word)) {
            self.source(candidate);
        }
        for script in scripts {
            self.script(&script);
        }
        for target in targets {
            self.target(&target);
        }
    }

    /// A file that is not there yet would be found in the place of another one, or of an installed module.
    fn import(&mut self, path: String) {
        if !is_test_path(&path) && !self.is_code(&path) {
            self.reach(path);
        }
    }

    fn call(&mut self, path: String) {
        if self.tree.paths.contains(&path) && !self.is_code(&path) {
            self.reach(path);
        }
    }

    /// What is sourced decides from the moment on in which it is there.
    fn source(&mut self, path: String) {
        if self.tree.paths.contains(&path) {
            self.call(path);
        } else {
            self.import(path);
        }
    }

    fn reach(&mut self, path: String) {
        if self.closure.files.insert(path.clone()) && self.tree.paths.contains(&path) {
            self.queue.push(path);
        }
    }

    fn is_code(&self, path: &str) -> bool {
        let top = path.split_once('/').map(|(top, _)| top);
        self.tested.contains(path) || top.is_some_and(|top| names(CODE, top))
    }

    fn follow(&mut self) {
        while let Some(path) = self.queue.pop().filter(|_| self.reads < MOST_FILES) {
            let Some(text) = self.read(&path) else {
                continue;
            };
            for candidate in imports(&path, &text) {
                self.import(candidate);
            }
            if is_script(&path, &text) {
                self.text(&path, &text);
            }
        }
    }

    fn read(&mut self, path: &str) -> Option<String> {
        self.reads += 1;
        self.tree.text(path)
    }

    /// A script of the package at the top, with what runs before and after it.
    fn script(&mut self, name: &str) {
        if self.reads >= MOST_FILES {
            return;
        }
        let package = self.read("package.json").unwrap_or_default();
        let package = tm_untrusted::json_value(package).unwrap_or_default();
        let of_package = package["scripts"].as_object();
        let is_wanted = |script: &str| {
            name.strip_suffix('*')
                .map_or(script == name, |start| script.starts_with(start))
        };
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for (script, text) in of_package.into_iter().flatten() {
            let within = |hook: &str| script.strip_prefix(hook).is_some_and(is_wanted);
            if is_wanted(script) || within("pre") || within("post") {
                texts.insert(script.clone(), text.as_str().unwrap_or_default().to_owned());
            }
        }
        // Hooks count before anybody writes them.
        self.closure
            .scripts
            .extend([format!("pre{name}"), format!("post{name}")]);
        let is_new = self.closure.scripts.insert(name.to_owned());
        self.closure.scripts.extend(texts.keys().cloned());
        for text in texts.values().filter(|_| is_new) {
            for file in words(text) {
                self.call(file.to_owned());
            }
            self.text("", text);
        }
    }

    /// A rule, and those that its recipe makes.
    fn target(&mut self, name: &str) {
        if self.reads >= MOST_FILES || !self.closure.targets.insert(name.to_owned()) {
            return;
        }
        self.reads += 1;
        for makefile in [
            "Makefile",
            "makefile",
            "GNUmakefile",
            "justfile",
            "Justfile",
            ".justfile",
        ] {
            if !self.tree.paths.contains(makefile) {
                continue;
            }
            let text = self.read(makefile).unwrap_or_default();
            for file in text
                .lines()
                .filter_map(included)
                .flat_map(str::split_whitespace)
            {
                self.source(file.to_owned());
            }
            self.text("", &rule(&text, name));
        }
    }
}

/// The words of a text that may be paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let separates = |character: char| character.is_whitespace() || "\"';&|()=".contains(character);
    text.split(separates)
        .map(|word| word.trim_start_matches("./"))
}

/// What a line of a makefile includes.
fn included(line: &str) -> Option<&str> {
    ["include ", "-include ", "sinclude "]
        .into_iter()
        .find_map(|word| line.strip_prefix(word))
}

/// The recipe of a target.
fn rule(text: &str, name: &str) -> String {
    let mut is_wanted = false;
    let lines = text.lines().filter(|line| {
        if line.starts_with([' ', '\t']) {
            return is_wanted;
        }
        is_wanted = line
            .split_once(':')
            .is_some_and(|(targets, _)| targets.split_whitespace().any(|one| one == name));
        false
    });
    lines
        .map(|line| line.trim_start_matches(['\t', ' ', '@', '-', '+']))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The closure of a command in a tree of these files; RED's tests are those in `tests/`.
    fn closure(command: &str, files: &[(&str, &str)]) -> Closure {
        let texts: BTreeMap<String, String> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let paths: BTreeSet<String> = texts.keys().cloned().collect();
        let tests: Vec<String> = paths
            .iter()
            .filter(|path| path.starts_with("tests/"))
            .cloned()
            .collect();
        let tree = TreeFiles {
            paths: &paths,
            read: &|path| texts.get(path).cloned(),
        };
        Closure::of(&TestCommand::shell(command, None), &tree, &tests)
    }

    fn reaches(command: &str, files: &[(&str, &str)], expected: &[&str]) {
        let closure = closure(command, files);
        let there: Vec<&str> = files
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| closure.files.contains(*path))
            .collect();
        assert_eq!(there, expected, "{command}");
    }

    #[test]
    fn scripts_are_followed_through_what_they_call_source_and_import() {
        reaches(
            "cd sub && sh ./run.sh --fast",
            &[
                (
                    "run.sh",
                    ". ./ci/env.sh\nbash \"$(dirname \"$0\")/ci/all.sh\"\n",
                ),
                ("ci/all.sh", ""),
                ("ci/env.sh", ""),
            ],
            &["run.sh", "ci/all.sh", "ci/env.sh"],
        );
        reaches(
            "python3 run.py",
            &[
                (
                    "run.py",
                    "import sys, helper\nfrom tools.report import say\nfrom tests import test_a\n",
                ),
                ("helper.py", "from tools import deep\n"),
                ("tools/__init__.py", ""),
                ("tools/report.py", ""),
                ("tools/deep.py", ""),
                ("tests/test_a.py", ""),
                ("other.py", ""),
            ],
            &[
                "run.py",
                "helper.py",
                "tools/__init__.py",
                "tools/report.py",
                "tools/deep.py",
            ],
        );
        reaches(
            "node scripts/test.mjs",
            &[
                (
                    "scripts/test.mjs",
                    "import { run } from './run.js';\nrequire('../x')\n",
                ),
                ("scripts/run.js", ""),
                ("x.js", ""),
            ],
            &["scripts/test.mjs", "scripts/run.js", "x.js"],
        );
    }

    #[test]
    fn what_the_tests_reach_is_no_runner() {
        let files = [
            ("run.py", "import app, helper\n"),
            ("app.py", "import store\n"),
            ("store.py", ""),
            ("helper.py", ""),
            ("tests/test_a.py", "from app import run\n"),
        ];
        reaches("python3 run.py", &files, &["run.py", "helper.py"]);
        reaches(
            "sh run.sh",
            &[
                (
                    "run.sh",
                    "cc -o calc calc.c\nnode src/server.js &\nsh tool.sh\n",
                ),
                ("calc.c", ""),
                ("src/server.js", ""),
                ("tool.sh", ""),
            ],
            &["run.sh", "tool.sh"],
        );
    }

    #[test]
    fn a_module_that_would_be_found_first_is_reached_before_it_is_there() {
        let closure = closure("python3 ci/run.py", &[("ci/run.py", "import unittest\n")]);
        assert!(
            closure.files.contains("ci/unittest.py") && closure.files.contains("unittest.py"),
            "{closure:?}"
        );
        let closure = self::closure("python3 -m pytest -q", &[]);
        assert!(
            closure.files.contains("pytest.py") && closure.files.contains("pytest/__main__.py"),
            "{closure:?}"
        );
    }

    #[test]
    fn what_is_sourced_only_where_it_is_there_is_reached_before() {
        let files = [
            (
                "run.sh",
                "[ ! -e ci/env.sh ] || . ./ci/env.sh\nsh tool.sh\n. ./src/app.sh\n. ./lib.sh\n",
            ),
            ("tests/a.sh", ". ./lib.sh\n"),
            ("lib.sh", ""),
        ];
        let reached = closure("sh run.sh", &files).files;
        assert!(reached.contains("ci/env.sh"), "{reached:?}");
        assert!(
            !["tool.sh", "src/app.sh", "lib.sh"]
                .iter()
                .any(|path| reached.contains(*path)),
            "{reached:?}"
        );
        let files = [("Makefile", "-include local.mk\ntest:\n\tsh run.sh\n")];
        assert!(closure("make test", &files).files.contains("local.mk"));
    }

    #[test]
    fn scripts_of_packages_are_followed_with_their_hooks() {
        let package = r#"{"scripts": {"test": "npm run unit && run-s check:*", "unit": "node ci/unit.js --x=ci/setup.js",
            "check:a": "pnpm lint", "check:b": "make -s verify", "lint": "eslint .", "preunit": "sh ci/pre.sh", "build": "tsc"}}"#;
        let files = [
            ("package.json", package),
            ("ci/unit.js", ""),
            ("ci/setup.js", ""),
            ("ci/pre.sh", ""),
        ];
        let closure = closure("npm test --silent", &files);
        for script in [
            "test", "pretest", "unit", "preunit", "postunit", "check:a", "check:b", "lint",
        ] {
            assert!(closure.scripts.contains(script), "{script}: {closure:?}");
        }
        assert!(!closure.scripts.contains("build"));
        assert!(
            ["ci/unit.js", "ci/setup.js", "ci/pre.sh"]
                .iter()
                .all(|path| closure.files.contains(*path))
        );
        assert!(closure.targets.contains("verify"), "{closure:?}");
    }

    #[test]
    fn rules_are_followed_through_their_recipes() {
        let makefile = "include ci/more.mk\nall:\n\tcc a.c\ntest: all\n\t@$(MAKE) unit\n\tsh ci/run.sh\nunit:\n\tpython3 ci/unit.py\n";
        let files = [
            ("Makefile", makefile),
            ("ci/run.sh", ""),
            ("ci/unit.py", ""),
            ("ci/more.mk", ""),
            ("a.c", ""),
        ];
        reaches(
            "make test",
            &files,
            &["ci/run.sh", "ci/unit.py", "ci/more.mk"],
        );
        assert_eq!(
            closure("make test", &files).targets,
            ["test", "unit"].map(ToOwned::to_owned).into()
        );
    }

    #[test]
    fn a_long_chain_of_scripts_comes_to_an_end() {
        let scripts: Vec<String> = (0..5_000)
            .map(|number| format!("\"s{number}\": \"npm run s{}\"", number + 1))
            .collect();
        let package = format!("{{\"scripts\": {{{}}}}}", scripts.join(","));
        let closure = closure("npm run s0", &[("package.json", &package)]);
        assert!(closure.scripts.len() < 5_000);
    }

    proptest! {
        #[test]
        fn anything_can_be_followed(
            command in "(sh |\\./|npm run |make |python3 |a|b|\\.py|\\.sh|\"|'|\\$|\\(|\\)|&| |;|é){0,20}",
            text in "(import |from |require\\(|\\. |sh |a|b|\\.|\\.\\.|/|\"|'|\\$|\\(|\\)|,| |\n|é){0,60}",
        ) {
            let files = [("a", text.as_str()), ("a.py", &text), ("b.sh", &text), ("Makefile", &text), ("package.json", &text)];
            let _any = closure(&command, &files);
        }
    }
}
