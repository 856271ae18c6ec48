//! Real projects in real frameworks: what RED and GREEN come to in each, one case for every reason.
//!
//! A language whose tools are not on this machine is skipped, and says so.

mod channels;
mod node;
mod python;
mod rust;

use crate::scene::{Scene, write};
use crate::skipping::lacks_what_a_machine_may_have;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is done to the project: a file's new text, or its removal.
pub(crate) type Edit<'a> = (&'a str, Option<&'a str>);
pub(crate) type Edits<'a> = &'a [Edit<'a>];

/// A project in one language, and how its tools are found.
pub(crate) struct Project {
    scene: Scene,
    path: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Project {
    /// Makes a repository of these files. `tools` is a folder that comes first in the search path.
    pub(crate) fn new(files: &[(&str, &str)], tools: &Path, arguments: &[&str]) -> Self {
        let scene = Scene::new(&[], "");
        let root = scene.root();
        for name in ["run-tests.sh", "t/check.sh", "t/old.t"] {
            std::fs::remove_file(root.join(name)).expect("removed");
        }
        for (name, text) in files {
            write(&root.join(name), text);
        }
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "the project"]);
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", tools.display());
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Self {
            scene,
            path,
            arguments,
            variables: Vec::new(),
        }
    }

    /// Adds to tm's own environment.
    pub(crate) fn with_variables(mut self, variables: &[(&str, &str)]) -> Self {
        self.variables.extend(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        self
    }

    /// Brings the checkout back to the project as it was; ignored files, such as build results, stay.
    fn start_over(&self) {
        self.scene
            .git(&["checkout", "--quiet", "--force", "-B", "work", "main"]);
        self.scene.git(&["clean", "-fdq"]);
    }

    fn edit(&self, edits: Edits<'_>) {
        for (name, text) in edits {
            let path = self.scene.root().join(name);
            match text {
                Some(text) => write(&path, text),
                None => std::fs::remove_file(&path).expect("removed"),
            }
        }
    }

    fn verify(&self, arguments: &[&str]) -> Value {
        let mut command = self.scene.tm(&["verify", "--json"]);
        command.args(arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command
            .args(&self.arguments)
            .env("PATH", &self.path)
            .output()
            .expect("tm");
        let text = String::from_utf8_lossy(&output.stdout);
        let words = String::from_utf8_lossy(&output.stderr);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON document: {text}{words}"))
    }

    /// Does work outside of pairs and returns its proof.
    pub(crate) fn plain(&self, edits: Edits<'_>) -> Value {
        self.start_over();
        self.edit(edits);
        self.verify(&["--base", "main"])["proof"].take()
    }

    /// Does RED's work and expects this reason; `holds` when the proof is to hold.
    pub(crate) fn red(&self, case: &str, edits: Edits<'_>, expected: &str) {
        self.start_over();
        self.edit(edits);
        self.expect(case, &["--red", "--base", "main"], expected);
    }

    /// Commits a RED, does GREEN's work and expects this reason.
    pub(crate) fn green(&self, case: &str, red: Edits<'_>, green: Edits<'_>, expected: &str) {
        self.start_over();
        self.edit(red);
        self.scene.git(&["add", "--all"]);
        self.scene
            .git(&["commit", "--quiet", "--message", "the tests\n\nPhase: red"]);
        self.edit(green);
        self.expect(case, &["--green"], expected);
    }

    fn expect(&self, case: &str, arguments: &[&str], expected: &str) {
        let answer = self.verify(arguments);
        let found = answer["proof"]["reason"].as_str().unwrap_or("holds");
        assert_eq!(found, expected, "{case}: {answer:#}");
        assert_eq!(answer["holds"], expected == "holds", "{case}");
        if expected != "holds" {
            assert!(
                !answer["proof"]["evidence"]
                    .as_str()
                    .unwrap_or_default()
                    .is_empty(),
                "{case} has evidence"
            );
        }
    }
}

/// The folder of a program, when it is on this machine; says so when it is not.
pub(crate) fn folder_of(program: &str) -> Option<PathBuf> {
    let found = on_this_machine(program);
    if found.is_none() {
        lacks_what_a_machine_may_have(program);
    }
    found
}

pub(crate) fn on_this_machine(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| folder.join(program).is_file())
}
