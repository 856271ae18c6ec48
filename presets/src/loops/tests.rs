//! Names and paths told apart, presets of the user's own, and what each prompt holds.

use super::*;

fn write(path: &Path, text: &str) {
    use std::io::Write as _;
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("a file");
}

fn folders(root: &Path) -> PresetFolders {
    PresetFolders {
        project: root.join("project"),
        user: Some(root.join("user")),
    }
}

fn context() -> LoopContext {
    LoopContext {
        iteration: 3,
        iterations: 10,
        tag: Some("backend".to_owned()),
        tm: "tm".to_owned(),
        flags: " --tag backend".to_owned(),
        progress_file: ".taskmaster/loop-progress.txt".to_owned(),
        progress: "learnt {{ nothing }}".to_owned(),
        last_failure: Some("timed-out".to_owned()),
        test_command: Some("make check".to_owned()),
        coverage_target: "80".to_owned(),
        statuses: "review".to_owned(),
    }
}

#[test]
fn a_name_and_a_path_are_told_apart() {
    for path in [
        "./a",
        "a/b",
        "a\\b",
        "a.md",
        "workflow.txt",
        "/etc/prompt",
        "..\\x",
        "a b.md",
    ] {
        assert!(is_path(path), "{path}");
    }
    for name in [
        "default",
        "test-coverage",
        "linting",
        "duplication",
        "entropy",
        "nope",
        "a b",
        ".md",
    ] {
        assert!(!is_path(name), "{name}");
    }
}

#[test]
fn every_preset_has_a_title_steps_a_measure_and_the_right_file() {
    let presets = loop_presets(&PresetFolders::default()).expect("presets");
    let reasons = [
        "ALL_TASKS_DONE",
        "COVERAGE_TARGET",
        "ZERO_ERRORS",
        "LOW_DUPLICATION",
        "LOW_ENTROPY",
    ];
    assert_eq!(presets.len(), reasons.len());
    for (preset, reason) in presets.into_iter().zip(reasons) {
        assert!(!preset.title().is_empty());
        let prompt = preset.framed(&context()).expect("a prompt");
        for part in [
            "Iteration 3 of 10 (tag `backend`)",
            "## Steps",
            "## Measure",
            reason,
            "`.taskmaster/loop-progress.txt`",
            "learnt {{ nothing }}",
            "timed-out",
            "`make check`",
            "`<loop-complete>…</loop-complete>`",
            "`<loop-blocked>…</loop-blocked>`",
        ] {
            assert!(prompt.contains(part), "{part} in {prompt}");
        }
        assert!(
            !prompt.contains("{%") && !prompt.contains("progress.txt."),
            "{prompt}"
        );
    }
}

#[test]
fn the_default_preset_works_with_the_commands_of_tm_on_its_tag() {
    let prompt =
        loop_prompt("default", Path::new(""), &PresetFolders::default()).expect("a preset");
    let text = prompt.framed(&context()).expect("a prompt");
    for command in [
        "`tm next --tag backend`",
        "`tm show ID --tag backend`",
        "`tm set-status --id=ID --status=done --tag backend`",
    ] {
        assert!(text.contains(command), "{command} in {text}");
    }
}

#[test]
fn a_prompt_without_past_says_so() {
    let context = LoopContext {
        tag: None,
        progress: String::new(),
        last_failure: None,
        test_command: None,
        ..context()
    };
    let prompt =
        loop_prompt("linting", Path::new(""), &PresetFolders::default()).expect("a preset");
    let text = prompt.framed(&context).expect("a prompt");
    assert!(text.starts_with("Iteration 3 of 10\n"), "{text}");
    assert!(
        text.contains("It holds no entry yet.")
            && !text.contains("failed\n")
            && !text.contains("## Check"),
        "{text}"
    );
}

#[test]
fn a_file_is_text_and_stays_as_it_is() {
    let root = tempfile::tempdir().expect("a folder");
    write(
        &root.path().join("mine.md"),
        "Use {{ braces }} and {% blocks %}.\n",
    );
    let prompt = loop_prompt("./mine.md", root.path(), &folders(root.path())).expect("a prompt");
    let text = prompt.framed(&context()).expect("a prompt");
    assert!(
        text.contains("Use {{ braces }} and {% blocks %}.\n\n## Progress file"),
        "{text}"
    );
}

#[test]
fn files_that_are_missing_or_empty_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    write(&root.path().join("empty.md"), " \n");
    for (name, part) in [
        ("none.md", "read the prompt"),
        ("empty.md", "it is empty"),
        ("./", "read the prompt"),
    ] {
        let error = loop_prompt(name, root.path(), &folders(root.path())).expect_err("no prompt");
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = loop_prompt("coverage", root.path(), &folders(root.path())).expect_err("no prompt");
    assert!(error.to_string().contains("`test-coverage`"), "{error}");
}

#[test]
fn own_presets_are_found_and_the_project_comes_first() {
    let root = tempfile::tempdir().expect("a folder");
    for (place, text) in [
        ("user/docs.md", "# The user's docs"),
        ("user/linting.md", "# The user's linting"),
        (
            "project/linting.md",
            "# The project's linting, {{ iteration }}",
        ),
        ("project/notes.txt", "no preset"),
        ("project/a b.md", "no name"),
    ] {
        write(&root.path().join(place), text);
    }
    let folders = folders(root.path());
    let presets = loop_presets(&folders).expect("presets");
    let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "default",
            "test-coverage",
            "linting",
            "duplication",
            "entropy",
            "docs"
        ]
    );
    let linting = loop_prompt("linting", Path::new(""), &folders).expect("a preset");
    assert!(
        linting
            .framed(&context())
            .expect("a prompt")
            .contains("# The project's linting, 3\n")
    );
    write(&root.path().join("project/docs.md"), "# Mine {{ nope }}");
    let wrong = loop_prompt("docs", Path::new(""), &folders)
        .expect("a preset")
        .framed(&context());
    assert!(wrong.expect_err("a mistake").to_string().contains("`docs`"));
}

#[test]
fn a_new_preset_begins_with_another_or_with_blanks() {
    let nowhere = PresetFolders::default();
    assert!(
        new_preset("mine", None, &nowhere)
            .expect("a text")
            .contains("## Measure")
    );
    let copy = new_preset("mine", Some("linting"), &nowhere).expect("a text");
    assert!(copy.starts_with("# One finding"), "{copy}");
    assert!(
        new_preset("../mine", None, &nowhere).is_err()
            && new_preset("mine", Some("nope"), &nowhere).is_err()
    );
    let blank = PromptTemplate {
        name: "blank.md".to_owned(),
        own: None,
        text: new_preset("mine", None, &nowhere).expect("a text"),
    };
    assert!(has_no_marker(&blank.framed(&context()).expect("a prompt")));
}

/// No prompt holds a line that would count as a marker when an agent copies it.
fn has_no_marker(prompt: &str) -> bool {
    prompt
        .lines()
        .all(|line| !line.trim().starts_with("<loop-"))
}

#[test]
fn no_prompt_holds_a_line_that_would_be_a_marker() {
    for preset in loop_presets(&PresetFolders::default()).expect("presets") {
        let text = preset.framed(&context()).expect("a prompt");
        assert!(has_no_marker(&text));
    }
}
