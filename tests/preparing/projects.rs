//! Real projects with packages of others, from `git init` to landed, with nothing set but what `tm init` wrote.
//!
//! Packages are installed from folders that were filled before (`.ci/run`); where those are not there, a test says so.

use super::words;
use crate::frameworks::folder_of;
use crate::scene::{Scene, write};
use crate::skipping::lacks;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the packages; says so when there is none.
pub(super) fn packages() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/packages");
    let is_there = ["done", "ms-2.1.3.tgz"]
        .iter()
        .all(|name| folder.join(name).is_file());
    if !is_there {
        lacks("folder of packages to install");
    }
    is_there.then_some(folder)
}

/// A project in a folder of its own, and how its machine is set up.
pub(super) struct Fresh {
    pub(super) scene: Scene,
    variables: Vec<(&'static str, String)>,
    /// Variables for the project's own commands.
    passed: String,
}

impl Fresh {
    /// Puts the files into a folder in which nothing else is but the backlog, and begins a repository there.
    pub(super) fn new(files: &[(&str, &str)], agent: &str, second_depends: &[&str]) -> Self {
        let scene = Scene::new(
            &[
                ("1", "Give the first part", &[]),
                ("2", "Give the second part", second_depends),
            ],
            agent,
        );
        for name in [".git", "t"] {
            std::fs::remove_dir_all(scene.root().join(name)).expect("removed");
        }
        std::fs::remove_file(scene.root().join("run-tests.sh")).expect("removed");
        for (name, text) in files {
            write(&scene.root().join(name), text);
        }
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        for (key, value) in [
            ("user.name", "Somebody"),
            ("user.email", "somebody@example.org"),
        ] {
            scene.git(&["config", key, value]);
        }
        Self {
            scene,
            variables: Vec::new(),
            passed: "AGENT_FOLDER: null".to_owned(),
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl std::fmt::Display) -> Self {
        self.variables.push((name, value.to_string()));
        self
    }

    /// What a user of this machine has in files of the home folder.
    pub(super) fn passing(mut self, name: &'static str, value: impl std::fmt::Display) -> Self {
        self.passed = format!("{}, {name}: \"{value}\"", self.passed);
        self
    }

    fn tm(&self, arguments: &[&str]) -> Command {
        let mut command = self.scene.tm(arguments);
        self.prepare(&mut command);
        command
    }

    pub(super) fn prepare(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("TM_TEST_ENV", format!("{{{}}}", self.passed));
    }

    /// The whole way: `tm init` in a repository without a commit, `tm doctor --tests`, a run of two pairs.
    pub(super) fn goes_all_the_way(&self, expected: &[&str]) {
        let made = self.tm(&["init"]).output().expect("tm");
        assert_eq!(made.status.code(), Some(0), "{}", words(&made));
        let settings = std::fs::read_to_string(self.scene.root().join(".taskmaster/tm.yaml"))
            .expect("settings");
        for line in expected {
            assert!(settings.contains(line), "`{line}` in {settings}");
        }
        self.scene.git(&["add", "--all"]);
        self.scene.git(&["commit", "--quiet", "--message", "start"]);
        let looked = self
            .tm(&["doctor", "--tests"])
            .env("TM_AGENT_DEFAULT", "replay")
            .output()
            .expect("tm");
        let found = String::from_utf8_lossy(&looked.stdout).into_owned();
        assert_eq!(looked.status.code(), Some(0), "{found}");
        let is_made_ready = settings.contains("\n  setup:");
        assert_eq!(
            found.contains("worktrees are made ready by the settings"),
            is_made_ready,
            "{found}"
        );
        let base = found
            .lines()
            .find(|line| line.starts_with("ok    base "))
            .unwrap_or_else(|| panic!("{found}"));
        assert!(
            base.contains(" pass, 0 fail") && !base.contains(" 0 pass"),
            "{base}"
        );
        let mut run = self
            .scene
            .run_command(&["--max-parallel", "5", "--retries", "1"]);
        self.prepare(&mut run);
        let ran = run.output().expect("tm");
        let report = self.scene.report();
        assert_eq!(ran.status.code(), Some(0), "{}\n{report:#}", words(&ran));
        assert_eq!(self.scene.statuses(), ["done"; 2], "{report:#}");
        assert_eq!(report["tdd"]["compliant"], 2, "{report:#}");
        let branch = report["integration_branch"].as_str().expect("a branch");
        let landed = self.scene.git(&["ls-tree", "-r", "--name-only", branch]);
        assert!(
            landed.contains("part1") && landed.contains("part2"),
            "{landed}"
        );
        assert!(
            !landed.contains("node_modules")
                && !landed.contains(".venv")
                && !landed.contains("target"),
            "{landed}"
        );
    }
}

pub(super) const PYTHON: &str = r#"
name=part$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
.venv/bin/python -c 'import pytest' || exit 9
case $TM_PHASE in
red) printf 'from demo.%s import value\n\n\ndef test_%s():\n    assert value() == "%s"\n' $name $name $name > tests/test_$name.py ;;
green) printf 'def value():\n    return "%s"\n' $name > demo/$name.py ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_python_with_packages_of_pip_lands_with_what_init_wrote() {
    let Some((folder, _)) = packages().zip(folder_of("python3")) else {
        return;
    };
    let files = [
        (".gitignore", ".venv\n__pycache__\n.pytest_cache\n"),
        ("requirements.txt", "pytest\n"),
        ("pytest.ini", "[pytest]\npythonpath = .\n"),
        ("demo/__init__.py", ""),
        ("tests/test_old.py", "def test_old():\n    assert True\n"),
    ];
    let wheels = folder.join("wheels");
    let project = Fresh::new(&files, PYTHON, &[])
        .passing("PIP_NO_INDEX", 1)
        .passing("PIP_FIND_LINKS", wheels.display());
    project.goes_all_the_way(&[
        "python3 -m venv .venv",
        "-r requirements.txt",
        ".venv/bin/python -m pytest",
    ]);
}

pub(super) const NODE: &str = r#"
name=part$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
[ -d node_modules/ms ] || exit 9
case $TM_PHASE in
red) printf "import test from 'node:test';\nimport assert from 'node:assert';\nimport { value } from '../src/%s.js';\ntest('%s', () => assert.equal(value(), 1000));\n" $name $name > test/$name.test.js ;;
green) printf "import ms from 'ms';\nexport const value = () => ms('1s');\n" > src/$name.js ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_node_with_packages_of_npm_lands_with_what_init_wrote() {
    let (Some(folder), Some(_), Some(_)) = (packages(), folder_of("node"), folder_of("npm")) else {
        return;
    };
    let package = r#"{"name": "demo", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}, "dependencies": {"ms": "2.1.3"}}"#;
    let old = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { one } from '../src/old.js';\ntest('old', () => assert.equal(one(), 60000));\n";
    let files = [
        (".gitignore", "node_modules\n"),
        ("package.json", package),
        (
            "src/old.js",
            "import ms from 'ms';\nexport const one = () => ms('1m');\n",
        ),
        ("test/old.test.js", old),
    ];
    let cache = folder.join("npm-cache");
    let project = Fresh::new(&files, NODE, &[])
        .with("npm_config_cache", cache.display())
        .passing("npm_config_offline", true);
    let lock = format!(
        "npm install --package-lock-only --offline --no-audit --cache '{}'",
        cache.display()
    );
    let locked = project.scene.shell(&lock).output().expect("npm");
    assert!(locked.status.success(), "{}", words(&locked));
    project.goes_all_the_way(&["npm ci", "npm test --silent"]);
}

const RUST: &str = r#"
number=$(printf %s "$TM_TASK_ID" | tr -dc 0-9)
case $TM_PHASE in
red) printf '#[test]\nfn part%s() {\n    assert_eq!(demo::part%s::value(), "%s");\n}\n' $number $number $number > tests/part$number.rs ;;
green) printf '\npub mod part%s;\n' $number >> src/lib.rs
    printf '//! A part.\n\n/// Returns its number.\npub fn value() -> String {\n    itoa::Buffer::new().format(%s).to_owned()\n}\n' $number > src/part$number.rs ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_project_of_rust_with_a_crate_lands_with_what_init_wrote() {
    let Some(folder) = packages() else { return };
    let vendored = format!(
        "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \"{}\"\n",
        folder.join("vendor").display()
    );
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"=1.0.15\"\n";
    let files = [
        (".gitignore", "target\n"),
        (".cargo/config.toml", vendored.as_str()),
        ("Cargo.toml", manifest),
        (
            "src/lib.rs",
            "//! A demo.\n\n/// ```\n/// assert_eq!(demo::one(), 1);\n/// ```\npub fn one() -> u8 {\n    1\n}\n",
        ),
        (
            "tests/old.rs",
            "#[test]\nfn old() {\n    assert_eq!(demo::one(), 1);\n}\n",
        ),
    ];
    // cargo says which cargo runs the tests; rustc lies beside it.
    let cargo = PathBuf::from(std::env::var_os("CARGO").expect("cargo runs the tests"));
    let tools = cargo.parent().expect("a folder").display();
    let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
    let project = Fresh::new(&files, RUST, &["1"]).with("PATH", &path);
    let locked = project
        .scene
        .shell("cargo generate-lockfile --offline")
        .env("PATH", &path)
        .output()
        .expect("cargo");
    assert!(locked.status.success(), "{}", words(&locked));
    project.goes_all_the_way(&[
        "cargo fetch --locked",
        "cargo test --no-fail-fast",
        "cache: [\"/target\"]",
    ]);
}

#[test]
fn doctor_says_what_a_clone_and_its_machine_lack() {
    let scene = Scene::new(&[("1", "Document it", &[])], "");
    write(
        &scene.root().join("package.json"),
        r#"{"scripts": {"test": "node --test"}, "dependencies": {"ms": "2"}}"#,
    );
    write(&scene.root().join("package-lock.json"), "{}");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "packages"]);
    for key in ["user.name", "user.email"] {
        scene.git(&["config", "--unset", key]);
    }
    write(
        &scene.root().join(".git/shallow"),
        &scene.git(&["rev-parse", "HEAD"]),
    );
    let looked = scene
        .tm(&["doctor"])
        .env("HOME", scene.path("nobody"))
        .output()
        .expect("tm");
    let found = String::from_utf8_lossy(&looked.stdout).into_owned();
    for part in [
        "npm (package-lock.json)",
        "the clone is shallow",
        "`tm pr` has nowhere to send work",
        "setup: \"npm ci\"",
    ] {
        assert!(found.contains(part), "`{part}` in {found}");
    }
}
