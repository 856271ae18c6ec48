//! What agents, set-ups and tests were refused is named by their own words, with what opens it.

use super::*;
use crate::scene::task;

/// Words of a job that tries to change the user's home, and a name outside.
const TRIES: &str = "\
sh -c 'echo x >> \"HOME/.bashrc\"'
sh -c 'echo x > work.txt && chmod 400 work.txt; echo within: work.txt: Permission denied'
git ls-remote https://refused.example.org/x.git
true
";

/// A scene whose agent and tests try it.
fn scene(network: &str, setup: &str) -> Scene {
    let agent = "cd .; (TRIES) >&2; echo more >> notes.txt\nprintf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\n";
    let scene = Scene::new(&[("1", "Write notes", &[])], "");
    let home = scene.path("home").display().to_string();
    let tries = TRIES.replace("HOME", &home);
    write(&scene.path("home/.bashrc"), "# of the user\n");
    write(&scene.path("agent.sh"), &agent.replace("TRIES", &tries));
    write(
        &scene.root().join("run-tests.sh"),
        &format!("(cd \"$TMPDIR\"; {tries}) >&2\necho 1..1; echo \"$(cat outcome) 1 - notes\"\n"),
    );
    write(&scene.root().join("outcome"), "ok\n");
    write(
        &scene.root().join("setup.sh"),
        &tries.replace("true", "exit 3"),
    );
    let settings = format!(
        "sandbox: {{agents: {{network: '{network}'}}, setup: {{network: 'off'}}}}\ntdd: {{mode: 'off'}}\n{setup}"
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

const HOME: &str = "tried to write ~/.bashrc: refused";
const HOST: &str = "wanted refused.example.org:443: refused (could not resolve host)";

fn at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = scene("off", "");
    let output = scene
        .run_command(&["--retries", "0"])
        .env("TM_SANDBOX_LEVEL", level)
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let report = scene.report();
    let attempt = &task(&report, "1")["attempts"][0];
    let (noticed, notes) = (
        attempt["noticed"].to_string(),
        attempt["proof"]["notes"].to_string(),
    );
    for (said, subject, network) in [
        (noticed, "its words say: ", "agents"),
        (notes, "the tests' words say: ", "tests"),
    ] {
        assert!(
            said.contains(&format!("{subject}{HOME}")),
            "{level}: {said}"
        );
        let opened = format!("{subject}{HOST}; `sandbox.{network}.network: on` opens it");
        assert!(said.contains(&opened), "{level}: {said}");
        assert!(!said.contains("work.txt"), "{level}: {said}");
    }
}

#[test]
fn bubblewrap_names_what_an_agent_and_its_tests_were_refused() {
    at("bwrap");
}

#[test]
fn landlock_names_what_an_agent_and_its_tests_were_refused() {
    at("landlock");
}

#[test]
fn tests_that_fail_and_a_set_up_that_fails_name_what_they_were_refused() {
    for level in ["bwrap", "landlock"] {
        if !has(level) {
            continue;
        }
        for (setup, subject) in [
            ("", "the tests' words say: "),
            (
                "worktree: {setup: ['sh setup.sh']}\n",
                "the set-up's words say: ",
            ),
        ] {
            let scene = scene("on", setup);
            write(&scene.root().join("outcome"), "not ok\n");
            scene.git(&["commit", "--quiet", "--all", "--message", "fails"]);
            let doctor = |level| {
                let mut doctor = scene.tm(&["doctor", "--tests"]);
                doctor.env("TM_SANDBOX_LEVEL", level);
                let output = doctor.output().expect("tm");
                String::from_utf8_lossy(&output.stdout).into_owned()
            };
            let words = doctor(level);
            assert!(words.contains(&format!("{subject}{HOME}")), "{words}");
            assert!(words.contains(&format!("{subject}{HOST}")), "{words}");
        }
    }
}

#[test]
fn what_is_not_held_is_refused_nothing() {
    let scene = scene("on", "");
    let output = scene
        .run_command(&["--retries", "0", "--sandbox", "none"])
        .output()
        .expect("tm");
    assert_eq!(output.status.code(), Some(0));
    let report = scene.report().to_string();
    assert!(!report.contains("words say"), "{report}");
}
