//! Checkouts as projects need them: what commands of tm's own see and leave, slots and ports, submodules, files that
//! Git LFS keeps, clones that have not everything.

mod audited;
mod beginning;
mod built;
mod content;
mod doctor;
mod kinds;
mod lfs;
mod loops;
mod projects;
mod python;
mod settings;
mod slots;

use crate::scene::{HONEST, Scene, write};
use std::process::Output;

/// A scene with these settings and tests, and what git is to ignore.
fn scene(tasks: &[(&str, &str, &[&str])], agent: &str, settings: &str, tests: &str) -> Scene {
    let scene = Scene::new(tasks, agent);
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    write(&scene.root().join("run-tests.sh"), tests);
    write(&scene.root().join(".gitignore"), ".ready\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

/// One task that writes a file.
fn one_task(settings: &str, tests: &str) -> Scene {
    scene(&[("1", "Document it", &[])], HONEST, settings, tests)
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs to this exit code and returns what was said.
fn runs(scene: &Scene, code: i32) -> String {
    let output = scene.run(&["--retries", "0"]);
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    words(&output)
}
