//! Values that commands tell reach the processes that they are for, and nothing else: no file, no argument, no screen.

use super::*;
use std::path::PathBuf;

/// The values, which no file may hold.
const VALUES: [&str; 2] = ["of-agents-4711-x", "of-everybody-4712-x"];

/// What says in the work what an agent, a set-up and tests have; nobody's arguments have a value.
const AGENT: &str = "\
echo \"agent $OF_AGENTS $OF_ALL\" >&2
values=$(mktemp)
printf '%s\\n' \"$OF_AGENTS\" \"$OF_ALL\" > \"$values\"
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -cFf \"$values\" > notes.txt
rm \"$values\"
test \"$OF_AGENTS\" = of-agents-4711-x && test \"$OF_ALL\" = of-everybody-4712-x && echo has >> notes.txt
printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"
";
const HAS_ONE: &str = "test -z \"$OF_AGENTS\" && test \"$OF_ALL\" = of-everybody-4712-x";

fn scene(of_all: &str) -> Scene {
    let scene = Scene::new(&[("1", "Write notes", &[])], AGENT);
    let asked = scene.path("asked").display().to_string();
    let settings = format!(
        "tdd: {{mode: 'off'}}\n\
         worktree: {{setup: ['{HAS_ONE}']}}\n\
         secrets:\n  OF_AGENTS: {{command: 'echo x >> \"{asked}\"; echo of-agents-4711-x; echo user: me'}}\n  \
         OF_ALL: {{command: [sh, -c, '{of_all}'], for: [agents, setup, tests]}}\n"
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    let tests = format!("{HAS_ONE} && echo 1..1 && echo \"# $OF_ALL\" && echo ok 1\n");
    write(&scene.root().join("run-tests.sh"), &tests);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

const TELLS: &str = "echo of-everybody-4712-x";

/// Every file below a folder that holds a value.
fn holding(folder: &Path) -> Vec<PathBuf> {
    let all = glob::glob(&format!("{}/**/*", folder.display())).expect("a pattern");
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        VALUES.iter().any(|value| text.contains(value))
    };
    all.flatten()
        .filter(|path| path.is_file() && holds(path))
        .collect()
}

fn journal(scene: &Scene) -> String {
    let journal = scene.waves_folder().join("journal.jsonl");
    std::fs::read_to_string(journal).expect("a journal")
}

#[test]
fn a_secret_reaches_whom_it_is_for_and_is_written_nowhere_but_in_what_they_print_themselves() {
    for level in ["none", "landlock", "bwrap"] {
        if level != "none" && !has(level) {
            continue;
        }
        let scene = scene(TELLS);
        let output = scene.run_command(&["--sandbox", level]).output();
        let output = output.expect("tm");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{level}: {words}");
        let report = scene.report();
        let branch = report["integration_branch"].as_str().expect("a branch");
        let notes = scene.git(&["show", &format!("{branch}:notes.txt")]);
        assert_eq!(notes, "0\nhas", "{level}");
        let found = holding(&scene.path("tm"));
        let own = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".log")
        };
        assert!(found.iter().all(own), "{level}: {found:?}");
        assert!(found.iter().any(|path| path.ends_with("stderr.log")));
        let shown = format!("{words}{report}");
        assert!(!VALUES.iter().any(|value| shown.contains(value)), "{shown}");
        assert!(journal(&scene).contains("agent [redacted] [redacted]"));
        let asked = std::fs::read_to_string(scene.path("asked")).expect("asked");
        assert_eq!(asked.lines().count(), 1, "{level}");
    }
}

#[test]
fn a_command_that_tells_nothing_ends_a_run_before_it_begins_and_doctor_says_so() {
    for (of_all, why) in [
        (
            "echo the vault is locked >&2; exit 2",
            "it failed: the vault is locked",
        ),
        ("true", "it printed nothing in its first line"),
    ] {
        let scene = scene(of_all);
        let output = scene.run(&[]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}");
        let named = format!("failed to get the secret `OF_ALL` from `{of_all}`");
        let hint = "`secrets.OF_ALL.command` in .taskmaster/tm.yaml";
        let unwrapped = words.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [named.as_str(), why, hint] {
            assert!(unwrapped.contains(expected), "{expected}: {words}");
        }
        let doctor = scene.tm(&["doctor"]).output().expect("tm");
        let words = String::from_utf8_lossy(&doctor.stdout);
        let unwrapped = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            unwrapped.contains("ok secret OF_AGENTS: told by"),
            "{words}"
        );
        assert!(
            unwrapped.contains(&format!("BAD secret {named}: {why}")),
            "{words}"
        );
        let told = unwrapped.replace("echo of-agents-4711-x", "");
        assert!(!VALUES.iter().any(|value| told.contains(value)), "{words}");
    }
}

#[test]
fn a_tm_that_takes_a_run_up_asks_again() {
    let scene = scene(TELLS);
    scene.pipe("started");
    scene.pipe("gate");
    let waits = format!(
        "echo > '{}'; cat '{}' > /dev/null\n{AGENT}",
        scene.path("started").display(),
        scene.path("gate").display()
    );
    write(&scene.path("agent.sh"), &waits);
    let mut run = scene.start_and_wait_for_agent(&["--sandbox", "none"]);
    run.kill().expect("sent");
    run.wait().expect("an end");
    write(&scene.path("gate"), "go\n");
    let output = scene.run(&["--sandbox", "none"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let asked = std::fs::read_to_string(scene.path("asked")).expect("asked");
    assert_eq!(asked.lines().count(), 2);
    assert!(journal(&scene).contains("agent [redacted] [redacted]"));
}
