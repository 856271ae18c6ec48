//! The jobs of `docs/ci.md`: their commands are taken out and run, their files are checked against their schemas.

use crate::scene::{HONEST, Scene, write};
use crate::skipping::lacks;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../docs/ci.md");

/// The first block of code under a heading.
fn block(heading: &str) -> &'static str {
    let section = PAGE
        .split(&format!("## {heading}\n"))
        .nth(1)
        .expect("the heading");
    let rest = section.split("```").nth(1).expect("a block");
    rest.split_once('\n').expect("a first line").1
}

/// A scene as the jobs expect it: `tm` on the path, an agent in the settings, a tag `nightly`, a remote.
fn scene() -> Scene {
    let task = serde_json::json!({"id": 1, "title": "Add the parser", "description": "", "status": "pending",
                                  "priority": "medium", "dependencies": [], "subtasks": []});
    let backlog = serde_json::json!({"nightly": {"tasks": [task]}}).to_string();
    let scene = Scene::with_backlog(&backlog, HONEST);
    let agent = format!("sh '{}'", scene.path("agent.sh").display());
    let settings = format!(
        "agent: {{ default: mine }}\nagents:\n  mine: {{ command: {} }}\n",
        Value::from(agent)
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
    scene.git(&["remote", "add", "origin", "../remote.git"]);
    scene
}

/// Runs a command of a job, and then looks for the reports and the branches.
fn run_job(scene: &Scene, commands: &[String], reports: &Path) {
    let program = assert_cmd::cargo::cargo_bin!("tm");
    let folder = program.parent().expect("a folder").display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").expect("a path"));
    for command in commands {
        let output = scene
            .shell(command)
            .env("PATH", &path)
            .env("RUNNER_TEMP", scene.path("temp"))
            .env("GITHUB_STEP_SUMMARY", scene.path("steps.md"))
            .output()
            .expect("sh");
        assert!(
            output.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    for name in ["junit.xml", "report.html", "summary.md", "summary.json"] {
        assert!(reports.join(name).is_file(), "{name}");
    }
}

fn assert_pushed(scene: &Scene) {
    let branches = scene.git(&["ls-remote", "origin"]);
    assert!(
        branches.contains("refs/heads/tm/nightly/run-"),
        "{branches}"
    );
    assert!(!branches.contains("refs/heads/main"), "{branches}");
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).expect("valid YAML")
}

fn commands(list: &Value, key: Option<&str>) -> Vec<String> {
    let entries = list.as_array().expect("a list").iter();
    entries
        .filter_map(|entry| {
            key.map_or(entry, |key| &entry[key])
                .as_str()
                .map(ToOwned::to_owned)
        })
        .collect()
}

#[test]
fn the_job_for_github_runs_and_fits_the_schema() {
    let (scene, text) = (scene(), block("GitHub Actions"));
    let job = yaml(text);
    run_job(
        &scene,
        &commands(&job["jobs"]["backlog"]["steps"], Some("run")),
        &scene.path("temp/tm-report"),
    );
    assert_pushed(&scene);
    assert!(
        std::fs::read_to_string(scene.path("steps.md"))
            .expect("a summary")
            .starts_with("# Run ")
    );
    fits(&scene, text, "vendor.github-workflows");
}

#[test]
fn the_required_check_shows_a_run_again_and_fits_the_schema() {
    let (scene, text) = (scene(), block("A required check"));
    let report = scene.runs(&["--tag", "nightly", "--agent", "mine"], 0);
    scene.git(&["push", "--quiet", "origin", "main"]);
    scene.git(&[
        "switch",
        "--quiet",
        "--force",
        report["integration_branch"].as_str().expect("a branch"),
    ]);
    let job = yaml(text);
    let all = commands(&job["jobs"]["audit"]["steps"], Some("run"));
    let [command] = all.as_slice() else {
        panic!("{all:?}")
    };
    std::fs::create_dir_all(scene.path("temp")).expect("a folder");
    let tm = assert_cmd::cargo::cargo_bin!("tm").display().to_string();
    let command =
        command
            .replace("make check", "sh run-tests.sh")
            .replacen("tm ", &format!("{tm} "), 1);
    let mut call = scene.shell(&command);
    call.env("RUNNER_TEMP", scene.path("temp"))
        .env("GITHUB_BASE_REF", "main");
    let output = call.output().expect("sh");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(scene.path("temp/audit.xml").is_file());
    fits(&scene, text, "vendor.github-workflows");
}

#[test]
fn the_job_for_gitlab_runs_and_fits_the_schema() {
    let (scene, text) = (scene(), block("GitLab CI"));
    let job = yaml(text);
    let mut all = commands(&job["backlog"]["script"], None);
    all.extend(commands(&job["backlog"]["after_script"], None));
    run_job(&scene, &all, &scene.root().join("tm-report"));
    assert_pushed(&scene);
    fits(&scene, text, "vendor.gitlab-ci");
}

#[test]
fn the_job_for_cron_runs() {
    let scene = scene();
    let script = scene.path("overnight.sh");
    write(&script, block("cron"));
    std::fs::create_dir_all(scene.path("home")).expect("a home");
    let command = format!("sh '{}' '{}'", script.display(), scene.root().display());
    run_job(&scene, &[command], &scene.path("home/tm-report"));
}

/// Checks a file against the schema that the CI system publishes, where the checker is installed.
fn fits(scene: &Scene, text: &str, schema: &str) {
    let checker: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin/check-jsonschema");
    if !checker.is_file() {
        lacks("check-jsonschema");
        return;
    }
    let file = scene.path("job.yml");
    write(&file, text);
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    let output = Command::new(checker)
        .args(["--builtin-schema", schema])
        .arg(&file)
        .output()
        .expect("the checker");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
