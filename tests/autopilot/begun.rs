//! Autopilot and a checkout that whoever drives it writes: where a run is and by what it is judged is said by the note of its
//! beginning, in tm's home.

use crate::autopilot::{backlog, scene};
use crate::scene::{Scene, write};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Settings with which tm would run what they say outside of every sandbox.
fn unheld(scene: &Scene) -> String {
    let touch = |name: &str| format!("touch {}", scene.path(name).display());
    let (tests, secret) = (touch("by-tests"), touch("by-secret"));
    format!(
        "test: {{ command: '{tests}; echo 1..1; echo ok 1', format: tap }}\n\
         storage: {{ location: project }}\nsandbox: {{ level: none }}\n\
         secrets: {{ X: {{ command: '{secret}; echo abcdefghijk', for: [tests] }} }}\n"
    )
}

fn settings(scene: &Scene) -> PathBuf {
    scene.root().join(".taskmaster/tm.yaml")
}

/// Changes a JSON file.
fn change(file: &Path, change: impl FnOnce(&mut Value)) {
    let text = std::fs::read_to_string(file).expect("a file");
    let mut json: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut json);
    write(file, &json.to_string());
}

/// Puts a run of tm's home into the checkout, as a run of no repository, and has the settings name that place.
pub(crate) fn forge(scene: &Scene, run: &Path) -> PathBuf {
    let reports = scene.root().join(".taskmaster/reports");
    let script = format!(
        "mkdir -p {0} && cp -r {1}/runs {1}/tags {0}/",
        reports.display(),
        run.join("../..").display()
    );
    assert!(scene.shell(&script).status().expect("sh").success());
    let state = reports
        .join("runs")
        .join(run.file_name().expect("a name"))
        .join("state.json");
    change(&state, |state| {
        state["repository"] = Value::Null;
        state["decides"] = json!({});
    });
    write(&settings(scene), &unheld(scene));
    state
}

/// Nothing ran that is named by settings in the checkout.
pub(crate) fn assert_unrun(scene: &Scene) {
    for name in ["by-tests", "by-secret"] {
        assert!(!scene.path(name).exists(), "{name}");
    }
}

const CALLS: [&[&str]; 4] = [
    &["complete", "red"],
    &["commit"],
    &["finalize"],
    &["resume"],
];

#[test]
fn a_state_in_the_checkout_is_not_that_of_the_run_that_has_begun() {
    let scene = scene();
    let id = scene.autopilot_ok(&["start", "2"])["runId"].clone();
    let run = scene.run_folder();
    forge(&scene, &run);
    scene.work("red", "2.1");
    for call in CALLS {
        let words = scene.refused(call, 3);
        assert!(
            words.contains("other values of `secrets`, `storage`, `test`"),
            "{words}"
        );
        assert!(words.contains("tm autopilot abort"), "{words}");
    }
    assert_eq!(scene.run_folder(), run, "the run is where it was");
    let second = scene.refused(&["start", "1"], 5);
    assert!(second.contains(id.as_str().expect("an id")), "{second}");
    assert_unrun(&scene);
    // The person puts the settings back, and the run goes on.
    std::fs::remove_file(settings(&scene)).expect("removed");
    scene.autopilot_ok(&["complete", "red"]);
    // Or gives it up, whatever they are.
    write(&settings(&scene), &unheld(&scene));
    assert_eq!(scene.autopilot_ok(&["abort"])["runId"], id);
    assert_unrun(&scene);
}

#[test]
fn a_state_that_nobody_began_is_shown_and_given_up_but_not_gone_on_with() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    let run = scene.run_folder();
    let state = forge(&scene, &run);
    // The run that was begun is over, and what was made of it is not.
    std::fs::remove_file(settings(&scene)).expect("removed");
    scene.autopilot_ok(&["abort"]);
    write(&settings(&scene), &unheld(&scene));
    let refused = || {
        for call in CALLS {
            let words = scene.refused(call, 3);
            assert!(
                words.contains("keeps no note of its beginning")
                    && words.contains("`tm autopilot start ID`"),
                "{call:?}: {words}"
            );
        }
    };
    refused();
    // One that says that all is proven, too.
    change(&state, |state| {
        state["machine"]["stage"] = json!("finalize");
    });
    refused();
    let status = scene.autopilot_ok(&["status"]);
    let shown = status["runDirectory"].as_str().expect("a folder");
    assert!(shown.contains(".taskmaster/reports"), "{status:#}");
    scene.autopilot_ok(&["abort"]);
    assert_eq!(scene.autopilot_ok(&["status"])["status"], "aborted");
    assert_unrun(&scene);
    let statuses = scene.all_statuses();
    assert!(statuses.contains("2:pending 2.1:pending"), "{statuses}");
}

/// A project whose user has the runs in the checkout.
fn in_project() -> Scene {
    let scene = Scene::with_backlog(&backlog(), "");
    write(
        &settings(&scene),
        "storage: { location: project }\nautopilot: { verify: reported }\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

/// The notes of runs in tm's home; a kill may leave other files beside them.
pub(crate) fn notes(scene: &Scene) -> Vec<PathBuf> {
    let projects = std::fs::read_dir(scene.path("tm/projects")).expect("a folder");
    let begun = projects.map(|project| project.expect("an entry").path().join("begun"));
    let entries = begun.filter_map(|folder| std::fs::read_dir(folder).ok());
    let files = entries
        .flatten()
        .map(|entry| entry.expect("an entry").path());
    let is_note = |file: &PathBuf| file.extension().is_none_or(|ending| ending != "tmp");
    files.filter(is_note).collect()
}

#[test]
fn a_state_that_lies_in_the_checkout_is_gone_on_with_as_tm_left_it() {
    let scene = in_project();
    scene.autopilot_ok(&["start", "2"]);
    let state = scene.run_folder().join("state.json");
    assert!(state.starts_with(scene.root()), "{}", state.display());
    assert_eq!(notes(&scene).len(), 1);
    let first = std::fs::read_to_string(&state).expect("a state");
    scene.work("red", "2.1");
    let red = ["complete", "red", "--results", "failed:1"];
    scene.autopilot_ok(&red);
    let own = std::fs::read_to_string(&state).expect("a state");
    let refused = |call: &[&str]| {
        let words = scene.refused(call, 3);
        assert!(words.contains("is not as tm left it"), "{words}");
    };
    // One of before, one that says more than was done, and what pausing leaves of it.
    write(&state, &first);
    refused(&red);
    write(&state, &own);
    change(&state, |state| state["greenKept"] = json!("1234"));
    let forged = std::fs::read_to_string(&state).expect("a state");
    for call in CALLS {
        refused(call);
    }
    scene.autopilot_ok(&["pause"]);
    refused(&["resume"]);
    assert_ne!(std::fs::read_to_string(&state).expect("a state"), forged);
    write(&state, &own);
    assert_eq!(scene.follow(), ["green 2.1", "commit 2.1", "finalize "]);
    assert_eq!(notes(&scene), [] as [PathBuf; 0]);
    assert_eq!(scene.autopilot_ok(&["status"])["status"], "completed");
}

#[test]
fn a_forged_state_can_be_given_up() {
    let scene = in_project();
    scene.autopilot_ok(&["start", "2"]);
    let state = scene.run_folder().join("state.json");
    change(&state, |state| state["taskTitle"] = json!("x"));
    assert!(scene.refused(&["resume"], 3).contains("not as tm left it"));
    scene.autopilot_ok(&["status"]);
    scene.autopilot_ok(&["abort"]);
    assert_eq!(notes(&scene), [] as [PathBuf; 0]);
    scene.git(&["switch", "--quiet", "main"]);
    scene.autopilot_ok(&["start", "2"]);
    assert_eq!(notes(&scene).len(), 1);
}

/// A run whose state names another branch than its own, and other statuses of before.
fn with_forged_branch() -> Scene {
    let scene = in_project();
    scene.git(&["branch", "release"]);
    scene.autopilot_ok(&["start", "2"]);
    change(&scene.run_folder().join("state.json"), |state| {
        state["branch"] = json!("release");
        state["startBranch"] = json!("release");
        state["statusesBefore"] = json!({"2": "done", "2.1": "done"});
    });
    scene
}

fn branches(scene: &Scene) -> String {
    scene.git(&["branch", "--format=%(refname:short)"])
}

#[test]
fn what_is_removed_of_a_forged_run_is_what_its_note_names() {
    let scene = with_forged_branch();
    let statuses = scene.all_statuses();
    let ended = scene.autopilot_ok(&["abort", "--cleanup"]);
    assert_eq!(branches(&scene), "main\nrelease");
    assert_eq!(scene.git(&["branch", "--show-current"]), "main");
    assert_eq!(ended["branchName"], "tm/master/task-2-other-work");
    let said = ended.to_string();
    assert!(
        said.contains("`tm/master/task-2-other-work` is removed"),
        "{said}"
    );
    assert!(said.contains("statuses stay as they are"), "{said}");
    assert_eq!(scene.all_statuses(), statuses);
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    assert_eq!(notes(&scene), [] as [PathBuf; 0]);
}

#[test]
fn nothing_is_removed_of_a_run_without_a_note_but_that_it_is_the_current_one() {
    let scene = with_forged_branch();
    let (before, statuses) = (branches(&scene), scene.all_statuses());
    std::fs::remove_file(&notes(&scene)[0]).expect("removed");
    let run = scene.run_folder();
    let ended = scene.autopilot_ok(&["abort", "--cleanup"]);
    assert_eq!(ended["branchName"], Value::Null);
    let said = ended["note"].as_str().expect("words");
    assert!(said.contains("its branch and its files stay"), "{said}");
    assert_eq!((branches(&scene), scene.all_statuses()), (before, statuses));
    assert!(run.exists());
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
}

#[test]
fn a_run_that_was_given_up_is_cleaned_up_later() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.autopilot_ok(&["abort"]);
    scene.autopilot_ok(&["abort", "--cleanup"]);
    assert_eq!(branches(&scene), "main");
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
}

/// What a driver may leave in the folder of runs, and whether the run can still be gone on with.
const RUBBISH: [(&str, bool); 12] = [
    ("rm tags/master/current-run.json", true),
    ("echo '{' > tags/master/current-run.json", true),
    (
        "rm tags/master/current-run.json; mkfifo tags/master/current-run.json",
        true,
    ),
    ("rm -r tags; echo x > tags", true),
    ("rm runs/*/state.json", false),
    ("echo '{' | tee runs/*/state.json >&2", false),
    ("s=$(echo runs/*/state.json); rm $s; mkfifo $s", false),
    ("s=$(echo runs/*/state.json); rm $s; mkdir $s", false),
    (
        "sed -i 's/\"version\": 1/\"version\": 99/' runs/*/state.json",
        false,
    ),
    ("rm -r runs; echo x > runs", false),
    ("rm -r ../reports", false),
    ("rm -r ../reports; echo x > ../reports", false),
];

/// A call that may not wait for what never comes.
fn assert_returns(scene: &Scene, rubbish: &str) {
    let call = scene.autopilot_command(&["status"]);
    let bounded = scene
        .command(Path::new("timeout"))
        .arg("30")
        .arg(call.get_program())
        .args(call.get_args())
        .output()
        .expect("timeout");
    assert_ne!(bounded.status.code(), Some(124), "{rubbish}");
}

/// The run is shown, or every call says how it is given up.
fn assert_known(scene: &Scene, id: &Value, (rubbish, is_usable): (&str, bool)) {
    if is_usable {
        assert_eq!(scene.autopilot_ok(&["status"])["runId"], *id, "{rubbish}");
    } else {
        for call in [
            &["status"][..],
            &["next"],
            &["pause"],
            &["resume"],
            &["commit"],
        ] {
            let words = scene.refused(call, 1);
            assert!(
                words.contains("`tm autopilot abort` gives it up"),
                "{rubbish}: {words}"
            );
        }
    }
    let second = scene.refused(&["start", "1"], 5);
    assert!(
        second.contains(id.as_str().expect("an id")),
        "{rubbish}: {second}"
    );
}

/// A run in whose folder that lies, and its id.
fn littered(rubbish: &str) -> (Scene, Value) {
    let scene = in_project();
    let id = scene.autopilot_ok(&["start", "2"])["runId"].clone();
    let script = format!(
        "cd '{}/.taskmaster/reports'; {rubbish}",
        scene.root().display()
    );
    let littered = scene.shell(&script).status().expect("sh");
    assert!(littered.success(), "{rubbish}");
    (scene, id)
}

#[test]
fn whatever_lies_where_runs_are_a_run_is_known_made_way_for_and_given_up() {
    for (rubbish, is_usable) in RUBBISH {
        let (scene, id) = littered(rubbish);
        assert_returns(&scene, rubbish);
        assert_known(&scene, &id, (rubbish, is_usable));
        let second = scene.autopilot_ok(&["start", "1", "--force"]);
        let warnings = second["warnings"].to_string();
        let names = warnings.contains(id.as_str().expect("an id"));
        assert_eq!(names, !is_usable, "{rubbish}: {warnings}");
        assert_eq!(scene.autopilot_ok(&["abort"])["runId"], second["runId"]);
        let statuses = scene.all_statuses();
        let ended = scene.autopilot_ok(&["abort", "--cleanup"]);
        assert_eq!(ended["runId"], id, "{rubbish}");
        assert_eq!(
            branches(&scene),
            "main\ntm/master/task-1-metrics",
            "{rubbish}"
        );
        assert_eq!(scene.all_statuses() == statuses, !is_usable, "{rubbish}");
        assert_eq!(notes(&scene), [] as [PathBuf; 0], "{rubbish}");
        assert_ne!(scene.autopilot_ok(&["status"])["runId"], id, "{rubbish}");
    }
}

#[test]
fn a_run_whose_state_can_not_be_read_is_given_up_and_its_branch_and_statuses_stay() {
    for (rubbish, _) in RUBBISH.into_iter().filter(|(_, is_usable)| !is_usable) {
        let (scene, id) = littered(rubbish);
        let (before, statuses) = (branches(&scene), scene.all_statuses());
        let ended = scene.autopilot_ok(&["abort"]);
        assert_eq!(ended["runId"], id, "{rubbish}");
        let said = ended.to_string();
        for words in [
            "statuses stay as they are",
            "the branch `tm/master/task-2-other-work` stays",
        ] {
            assert!(said.contains(words), "{rubbish}: {said}");
        }
        assert_eq!(
            (branches(&scene), scene.all_statuses()),
            (before, statuses),
            "{rubbish}"
        );
        assert_eq!(
            scene.autopilot_ok(&["status"])["active"],
            false,
            "{rubbish}"
        );
    }
}

#[test]
fn a_kill_between_the_note_and_the_state_is_recovered_from_by_the_next_call() {
    let scene = in_project();
    scene.autopilot_ok(&["start", "2"]);
    scene.work("red", "2.1");
    let within = |script: &str| {
        let script = format!("cd '{}'; {script}", scene.path("").display());
        assert!(scene.shell(&script).status().expect("sh").success());
    };
    within("mkdir kept; cp -a checkout tm kept/");
    let red = ["complete", "red", "--results", "failed:1"];
    let log = scene.path("points");
    let mut logged = scene.autopilot_command(&red);
    let logged = logged.env("CRASH_POINT_LOG", &log).output().expect("tm");
    assert!(logged.status.success(), "{logged:?}");
    let names = std::fs::read_to_string(&log).expect("points");
    let points = names.lines().zip(1..);
    // Before a file takes the place of the one before it.
    let points = points.filter(|(name, _)| name.starts_with("replace: rename"));
    let mut states = std::collections::BTreeSet::new();
    for (_, point) in points {
        within("rm -rf checkout tm; cp -a kept/checkout kept/tm .");
        let point: u32 = point;
        let cut = scene
            .autopilot_command(&red)
            .env("CRASH_POINT", point.to_string())
            .output()
            .expect("tm");
        assert_eq!(cut.status.code(), None, "killed at point {point}");
        let next = scene.autopilot_ok(&["next"])["action"].clone();
        states.insert((notes_say(&scene), next.to_string()));
        if next == "red" {
            scene.autopilot_ok(&red);
        }
        scene.autopilot_ok(&["resume"]);
        assert_eq!(scene.autopilot_ok(&["next"])["action"], "green", "{point}");
        assert_eq!(notes_say(&scene), 1, "{point}");
    }
    // Before all, between the note and the state, between that and the note, and after all.
    let seen: Vec<(usize, &str)> = states.iter().map(|(said, next)| (*said, &**next)).collect();
    assert_eq!(
        seen,
        [
            (1, "\"green\""),
            (1, "\"red\""),
            (2, "\"green\""),
            (2, "\"red\"")
        ]
    );
}

/// How many states the note of the only run vouches for.
fn notes_say(scene: &Scene) -> usize {
    let notes = notes(scene);
    let text = std::fs::read_to_string(&notes[0]).expect("a note");
    let note: Value = serde_json::from_str(&text).expect("JSON");
    note["states"].as_array().expect("a list").len()
}
