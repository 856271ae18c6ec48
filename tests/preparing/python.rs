//! Projects of Python with the package managers that ask an index: one of this machine's own, made of the folder of wheels.
//!
//! The suite has time for one manager; `TM_TEST_EVERY_ROW=1` tries all.

use super::kinds::installed;
use super::projects::{Fresh, PYTHON, packages};
use crate::frameworks::on_this_machine;
use crate::scene::Scene;
use crate::skipping::{has_every_row, lacks};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

/// An index of packages that a server has for as long as this lives.
struct Index {
    _folder: Scene,
    server: Child,
    url: String,
}

impl Drop for Index {
    fn drop(&mut self) {
        self.server.kill().expect("it serves");
        self.server.wait().expect("an end");
    }
}

impl Index {
    /// Serves the wheels; says so where the folder lacks some: a lock file covers every system.
    fn serve() -> Option<Self> {
        let (wheels, python) = (packages()?.join("wheels"), on_this_machine("python3")?);
        let (scene, mut has_all) = (Scene::new(&[], ""), false);
        for wheel in std::fs::read_dir(wheels).expect("wheels").flatten() {
            let name = wheel.file_name().to_string_lossy().into_owned();
            let project = name
                .split('-')
                .next()
                .expect("a name")
                .to_lowercase()
                .replace('_', "-");
            has_all |= project == "colorama";
            let folder = scene.path("index").join(project);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::os::unix::fs::symlink(wheel.path(), folder.join(name)).expect("a link");
        }
        if !has_all {
            lacks("wheel of colorama");
            return None;
        }
        let mut server = scene.program(&python.join("python3"));
        server
            .args([
                "-u",
                "-m",
                "http.server",
                "0",
                "--bind",
                "127.0.0.1",
                "--directory",
            ])
            .arg(scene.path("index"));
        let mut server = server
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        BufReader::new(server.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        let url = line
            .split(['(', ')'])
            .nth(1)
            .unwrap_or_else(|| panic!("{line}"))
            .to_owned();
        Some(Self {
            _folder: scene,
            server,
            url,
        })
    }
}

/// The manager that is always tried.
const OF_SUITE: &str = "poetry";

/// Goes the whole way with a manager of which nothing but its program is in front of the search path.
fn goes_all_the_way_with(
    manager: &str,
    file: &str,
    manifest: impl Fn(&str) -> String,
    lock: &str,
    setup: &str,
) {
    if manager != OF_SUITE && !has_every_row() {
        return;
    }
    let Some(program) = installed(&format!("{manager}/bin"), manager) else {
        return;
    };
    let Some(index) = Index::serve() else { return };
    let manifest = manifest(&index.url);
    let files = [
        (
            ".gitignore",
            ".venv\n.pdm-python\n__pycache__\n.pytest_cache\n",
        ),
        (file, manifest.as_str()),
        ("pytest.ini", "[pytest]\npythonpath = .\n"),
        ("demo/__init__.py", ""),
        ("tests/test_old.py", "def test_old():\n    assert True\n"),
    ];
    let project = Fresh::new(&files, PYTHON, &["1"]);
    let place = project.scene.path("tools");
    std::fs::create_dir_all(&place).expect("a folder");
    std::os::unix::fs::symlink(program.join(manager), place.join(manager)).expect("a link");
    project
        .with_tools(&place)
        .prepared(lock)
        .goes_all_the_way(&[setup, ".venv/bin/python -m pytest"]);
}

const PROJECT: &str =
    "[project]\nname = \"demo\"\nversion = \"0.1\"\nrequires-python = \">=3.11\"\n";

#[test]
fn a_project_of_python_with_packages_of_poetry_lands_with_what_init_wrote() {
    let manifest = |url: &str| {
        format!(
            "{PROJECT}\n[tool.poetry]\npackage-mode = false\n\n[tool.poetry.group.dev.dependencies]\npytest = \"*\"\n\n\
             [[tool.poetry.source]]\nname = \"own\"\nurl = \"{url}\"\n"
        )
    };
    goes_all_the_way_with(
        "poetry",
        "pyproject.toml",
        manifest,
        "poetry lock --no-interaction",
        "poetry install",
    );
}

#[test]
fn a_project_of_python_with_packages_of_pdm_lands_with_what_init_wrote() {
    let manifest = |url: &str| {
        format!(
            "{PROJECT}\n[dependency-groups]\ndev = [\"pytest\"]\n\n[tool.pdm]\ndistribution = false\n\n\
             [[tool.pdm.source]]\nname = \"pypi\"\nurl = \"{url}\"\n"
        )
    };
    goes_all_the_way_with(
        "pdm",
        "pyproject.toml",
        manifest,
        "pdm lock; rm -rf .venv .pdm-python",
        "pdm sync",
    );
}

#[test]
fn a_project_of_python_with_packages_of_pipenv_lands_with_what_init_wrote() {
    let manifest = |url: &str| {
        format!(
            "[[source]]\nname = \"pypi\"\nurl = \"{url}\"\nverify_ssl = false\n\n[dev-packages]\npytest = \"*\"\n"
        )
    };
    goes_all_the_way_with(
        "pipenv",
        "Pipfile",
        manifest,
        "pipenv lock",
        "pipenv sync --dev",
    );
}
