//! What agents find out reaches later runs, people, and the document of the project that people let it into.

use crate::scene::{HONEST, Scene, executable, tm_binary, write};
use std::process::Output;

/// Each attempt finds something out, and the one that writes tests leaves a point open.
fn scene() -> Scene {
    let finds_out = r#"
printf '## Patterns\n- seen by %s\n- said by all\n## Traps\n- <!-- tm:notes --> a trap\n' "$TM_TASK_ID" > "$TM_CONTEXT_FILE"
if [ "$TM_PHASE" = red ]; then printf 'status: PARTIAL\n\n## Issues\n- minus is open\n' > "$TM_RESULT_FILE"; fi
"#;
    let agent = format!("{HONEST}{finds_out}");
    Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &[])],
        &agent,
    )
}

fn notes(scene: &Scene, arguments: &[&str]) -> Output {
    let mut tm = scene.tm(&["waves", "notes"]);
    tm.args(arguments).output().expect("tm")
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn prompt(scene: &Scene, task: &str) -> String {
    let path = format!("tasks/{task}/attempt-1/prompt.md");
    std::fs::read_to_string(scene.waves_folder().join(path)).expect("a prompt")
}

/// Adds a task to what has landed, and runs it.
fn runs_another(scene: &Scene, settings: &[&str]) {
    let landed = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(landed.status.success(), "{:?}", said(&landed));
    let added = scene
        .tm(&["add-task", "--title", "Document more"])
        .output()
        .expect("tm");
    assert!(added.status.success(), "{:?}", said(&added));
    scene.git(&["commit", "--quiet", "--all", "--message", "another"]);
    scene.runs(settings, 0);
}

#[test]
fn what_a_run_found_out_is_told_to_the_next_one_and_red_tells_green_what_is_open() {
    let scene = scene();
    assert!(
        said(&notes(&scene, &[]))
            .2
            .contains("have noted nothing for the tag `master` yet")
    );
    scene.runs(&["--max-parallel", "1"], 0);
    assert!(prompt(&scene, "1").contains("\n> minus is open\n"));
    let (_, shown, _) = said(&notes(&scene, &[]));
    assert_eq!(shown.matches("said by all").count(), 1, "{shown}");
    for part in [
        "## Patterns\n",
        "- seen by 1:red\n",
        "- seen by 2\n",
        "## Known issues\n\n- <! -- tm:notes -- > a trap",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    write(
        &scene.path("mine.md"),
        "## Build\n- use make\n## Patterns\n- seen by 2\n",
    );
    let taken = notes(
        &scene,
        &["--from", scene.path("mine.md").to_str().expect("a path")],
    );
    assert!(taken.status.success(), "{:?}", said(&taken));
    runs_another(&scene, &[]);
    let told = prompt(&scene, "3");
    for part in [
        "Nobody has proven it",
        "\n> - use make\n",
        "\n> - seen by 2\n",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(
        !told.contains("seen by 1"),
        "what a person took out stays out: {told}"
    );
    let (_, shown, _) = said(&notes(&scene, &["--tag", "master"]));
    assert!(
        shown.contains("- seen by 3\n") && shown.contains("- use make\n"),
        "{shown}"
    );
    let other = said(&notes(&scene, &["--tag", "other"])).2;
    assert!(other.contains("`other` yet"), "{other}");
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "agent: { notes: false }\n",
    );
    scene.git(&["add", "--all"]);
    runs_another(&scene, &[]);
    assert!(!prompt(&scene, "4").contains("use make"));
    let (_, after, _) = said(&notes(&scene, &[]));
    assert_eq!(after, shown, "unwanted notes are not kept either");
    assert_eq!(
        said(&notes(&scene, &["--clear"])).0,
        Some(2),
        "nobody is there to ask"
    );
    assert_eq!(said(&notes(&scene, &["--clear", "--yes"])).0, Some(0));
    assert_eq!(
        said(&notes(&scene, &["--json"]))
            .1
            .matches("\"notes\": \"\"")
            .count(),
        1
    );
}

#[test]
fn notes_that_changed_while_they_were_edited_are_not_overwritten_and_what_was_typed_is_kept() {
    let scene = scene();
    let edit = |editor: &str| {
        let mut tm = scene.tm(&["waves", "notes", "--edit"]);
        said(
            &tm.env("EDITOR", "false")
                .env("VISUAL", editor)
                .output()
                .expect("tm"),
        )
    };
    let editor = |how: &str| {
        executable(
            &scene.path("editor"),
            &format!("echo '- mine' > \"$1\"\n{how}"),
        );
        scene.path("editor").display().to_string()
    };
    assert_eq!(edit(&editor("")).0, Some(0));
    assert_eq!(said(&notes(&scene, &[])).1, "- mine\n");
    let other = format!(
        "echo '- of another' > \"$AGENT_FOLDER/o\"; '{}' waves notes --from \"$AGENT_FOLDER/o\"",
        tm_binary().display()
    );
    let (code, _, errors) = edit(&editor(&other));
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(said(&notes(&scene, &[])).1, "- of another\n");
    let kept = errors.split('`').find(|word| word.contains("tm-edit-"));
    let kept = kept.expect("a file that keeps it");
    assert_eq!(std::fs::read_to_string(kept).expect("kept"), "- mine\n");
    std::fs::remove_file(kept).expect("removed");
    let (code, _, errors) = edit(&editor("head -c 20000 /dev/zero | tr '\\0' x > \"$1\""));
    assert!(
        code == Some(1) && errors.contains("20 KiB, and 16 is the most"),
        "{errors}"
    );
    let kept = errors.split('`').find(|word| word.contains("tm-edit-"));
    std::fs::remove_file(kept.expect("kept")).expect("removed");
}

#[test]
fn a_proposal_changes_one_section_of_a_document_when_somebody_says_so_and_commits_nothing() {
    let scene = scene();
    let document = scene.root().join("CLAUDE.md");
    let read = || std::fs::read_to_string(&document).expect("a document");
    let before = "# Ours\n\nno end";
    write(&document, before);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "ours"]);
    let (head, propose) = (scene.git(&["rev-parse", "HEAD"]), |more: &[&str]| {
        said(&notes(&scene, &[&["--propose"], more].concat()))
    });
    assert!(
        propose(&[])
            .2
            .contains("`CLAUDE.md` says what there is to say")
    );
    write(&scene.path("n"), "## Files\n- src/a.rs\n");
    let take = || {
        notes(
            &scene,
            &["--from", scene.path("n").to_str().expect("a path")],
        )
    };
    assert!(take().status.success());
    for arguments in [&[][..], &["--dry-run"]] {
        let (code, diff, words) = propose(arguments);
        assert_eq!(code, Some(0), "{words}");
        assert!(words.contains("nothing was written"), "{words}");
        write(&scene.path("patch"), &diff);
        assert_eq!(read(), before);
    }
    let patch = scene.path("patch").display().to_string();
    scene.git(&["apply", "--check", &patch]);
    let (code, _, words) = propose(&["--yes"]);
    assert!(
        code == Some(0) && words.contains("nothing was committed"),
        "{words}"
    );
    let first = read();
    assert!(
        first.starts_with(before) && first.contains("### Files\n\n- src/a.rs\n"),
        "{first:?}"
    );
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), head);
    write(&document, &format!("{first}\nmore of ours\n"));
    write(&scene.path("n"), "## Files\n- src/b.rs\n");
    assert!(take().status.success());
    let (_, diff, _) = propose(&["--yes"]);
    assert!(diff.contains("\n-- src/a.rs\n+- src/b.rs\n"), "{diff:?}");
    assert_eq!(
        read(),
        format!("{}\nmore of ours\n", first.replace("a.rs", "b.rs"))
    );
    write(&document, "<!-- tm:notes -->\nhalf\n");
    let (code, _, words) = propose(&["--yes"]);
    assert!(code == Some(1) && words.contains("hint:"), "{words}");
    assert_eq!(read(), "<!-- tm:notes -->\nhalf\n");
    std::fs::remove_file(&document).expect("removed");
    std::os::unix::fs::symlink(scene.path("n"), &document).expect("a link");
    let (code, _, words) = propose(&["--yes"]);
    assert!(
        code == Some(1) && words.contains("leads out of the checkout"),
        "{words}"
    );
}
