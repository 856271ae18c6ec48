//! `tm config set` and `unset` change one value of a settings file, and what could not be read again is refused.

use crate::scene::{HONEST, Scene, write};

const SETTINGS: &str = "# ours\nwaves:\n  max_parallel: 3 # slots\n  retries: 1\n";

/// What a command says, with this exit code.
fn said(scene: &Scene, words: &[&str], code: i32) -> String {
    let output = scene.tm(words).output().expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

fn scene() -> (Scene, impl Fn() -> String) {
    let scene = Scene::new(&[("1", "One", &[])], HONEST);
    let file = scene.root().join(".taskmaster/tm.yaml");
    write(&file, SETTINGS);
    (scene, move || {
        std::fs::read_to_string(&file).expect("settings")
    })
}

#[test]
fn a_setting_is_written_and_taken_out_and_all_else_stays() {
    let (scene, settings) = scene();
    said(&scene, &["config", "set", "waves.max_parallel", "5"], 0);
    assert_eq!(settings(), SETTINGS.replace("parallel: 3", "parallel: 5"));
    said(
        &scene,
        &["config", "set", "test.command", "npm test -- --ci"],
        0,
    );
    assert!(
        settings().ends_with("test:\n  command: npm test -- --ci\n"),
        "{}",
        settings()
    );
    said(&scene, &["config", "unset", "test.command"], 0);
    said(&scene, &["config", "set", "waves.max_parallel", "3"], 0);
    assert_eq!(settings(), SETTINGS);
    let shown = scene.tm(&["config", "show"]).output().expect("tm");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("= 3  # .taskmaster/tm.yaml:3"), "{shown}");
}

#[test]
fn what_is_no_setting_or_no_value_of_it_changes_nothing() {
    let (scene, settings) = scene();
    for (words, why) in [
        (
            ["waves.max_paralel", "5"],
            "did you mean `waves.max_parallel`?",
        ),
        (
            ["waves.max_parallel", "0"],
            "expected a whole number from 1",
        ),
        (["agent.max_cost", "-1"], "not negative"),
    ] {
        let said = said(&scene, &["config", "set", words[0], words[1]], 1);
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(settings(), SETTINGS);
    write(&scene.root().join(".taskmaster/tm.yaml"), "waves: [");
    said(&scene, &["config", "set", "waves.retries", "5"], 1);
    assert_eq!(settings(), "waves: [");
}

#[test]
fn your_own_settings_need_no_project_and_what_counts_more_is_told() {
    let (scene, settings) = scene();
    let nowhere = scene.path("nowhere").display().to_string();
    std::fs::create_dir_all(&nowhere).expect("a folder");
    let set = ["-C", &nowhere, "config", "set", "waves.retries", "7"];
    assert!(said(&scene, &set, 1).contains("git repository"));
    said(&scene, &[&set[..], &["--user"]].concat(), 0);
    let said = said(
        &scene,
        &["config", "set", "--user", "waves.retries", "8"],
        0,
    );
    assert!(
        said.contains("warning: `waves.retries` of .taskmaster/tm.yaml:4 counts more"),
        "{said}"
    );
    let own = scene.path("home/.config/tm/config.yaml");
    assert_eq!(
        std::fs::read_to_string(own).expect("settings"),
        "waves:\n  retries: 8\n"
    );
    assert_eq!(settings(), SETTINGS);
}
