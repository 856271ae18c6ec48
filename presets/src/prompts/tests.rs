//! Every prompt with everything and with nothing, hostile text, and the user's own templates.

use super::*;
use crate::what_to_try;
use std::collections::BTreeSet;
use std::io::Write as _;

const HOSTILE: &str = "{{ task.id }} {% include \"rules\" %} {# gone #} {{ nope() }} <b>&";

fn nowhere() -> &'static Path {
    Path::new("/nowhere")
}

/// Prompts whose attempt is tried again when it fails.
const REPEATED: [Prompt; 3] = [Prompt::Red, Prompt::Green, Prompt::Task];

fn failed(attempt: u32, failure: &str) -> Evidence {
    Evidence {
        attempt,
        failure: failure.to_owned(),
        text: format!("evidence of {attempt}"),
        what_to_try: what_to_try(failure, None).to_owned(),
    }
}

fn full() -> PromptContext {
    PromptContext {
        task: PromptTask {
            id: "7".to_owned(),
            title: "Parse dates".to_owned(),
            description: "the description".to_owned(),
            details: "the details".to_owned(),
            test_strategy: "the strategy".to_owned(),
            acceptance_criteria: vec!["first criterion".to_owned(), "second criterion".to_owned()],
        },
        attempt: 3,
        attempts_allowed: 4,
        tag: "master".to_owned(),
        run_id: "r1".to_owned(),
        worktree: "/work/tree".to_owned(),
        tm: "/bin/tm".to_owned(),
        result_file: Some("/run/result.md".to_owned()),
        context_file: "/run/context.md".to_owned(),
        test_command: Some("make check".to_owned()),
        learnt: "what was learnt".to_owned(),
        noted: "> what was noted".to_owned(),
        red_report: Some(RedReport {
            files: vec!["t/a.t".to_owned(), "t/b.t".to_owned()],
            tests: vec!["adds two".to_owned(), "adds three".to_owned()],
            issues: vec!["minus is open".to_owned()],
        }),
        rejected: vec![RejectedWork {
            reason: "months are off by one".to_owned(),
            branch: "tm/master/task-7".to_owned(),
            commit: "c0ffee".to_owned(),
            is_in_base: true,
        }],
        conflicted: vec!["src/list.rs".to_owned()],
        rivals: vec![PromptTask {
            id: "6".to_owned(),
            title: "Parse times".to_owned(),
            ..PromptTask::default()
        }],
        evidence: vec![failed(1, "regression"), failed(2, "conflict")],
    }
}

fn minimal() -> PromptContext {
    PromptContext {
        task: PromptTask {
            id: "1".to_owned(),
            title: "Add".to_owned(),
            ..PromptTask::default()
        },
        attempt: 1,
        attempts_allowed: 1,
        worktree: "/w".to_owned(),
        tm: "tm".to_owned(),
        result_file: Some("/r".to_owned()),
        context_file: "/c".to_owned(),
        ..PromptContext::default()
    }
}

fn rendered(prompt: Prompt, context: &PromptContext) -> String {
    render(prompt, context, nowhere()).unwrap_or_else(|error| panic!("failed to {error}"))
}

#[test]
fn no_result_is_asked_for_where_none_can_be_written() {
    for prompt in REPEATED {
        let text = rendered(
            prompt,
            &PromptContext {
                result_file: None,
                ..full()
            },
        );
        assert!(text.contains("no result to write"), "{text}");
        assert!(
            !text.contains("tm result") && !text.contains("/run/context.md"),
            "{text}"
        );
    }
}

#[test]
fn every_prompt_says_everything_that_is_known() {
    let parts = [
        "task 7",
        "Parse dates",
        "the description",
        "the details",
        "the strategy",
        "\n- first criterion\n- second criterion\n",
        "months are off by one",
        "git show c0ffee",
        "`/work/tree`",
        "`/run/result.md`",
        "`/run/context.md`",
        "`make check`",
        "what was learnt",
        "Nobody has proven it",
        "\n> what was noted\n",
        "attempt 3 of at most 4",
        "### Attempt 1: regression",
        "evidence of 2",
        what_to_try("regression", None),
        what_to_try("conflict", None),
        "Other work has landed",
        "attempt: 3/4",
        "`/bin/tm result --status pass",
        "[7] Parse dates",
    ];
    for prompt in REPEATED {
        let text = rendered(prompt, &full()).replace("Task 7", "task 7");
        for part in parts {
            assert!(text.contains(part), "{prompt:?} lacks `{part}`:\n{text}");
        }
    }
}

#[test]
fn who_resolves_a_conflict_is_told_of_both_tasks_and_of_nothing_but_the_conflict() {
    let text = rendered(Prompt::Resolve, &full());
    let parts = [
        "task 7, Parse dates",
        "`src/list.rs`",
        "task 6, Parse times",
        "Leave no marker",
        "the description",
    ];
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        !text.contains("add tests") && !text.contains("evidence of"),
        "{text}"
    );
    let without = rendered(
        Prompt::Resolve,
        &PromptContext {
            conflicted: Vec::new(),
            ..full()
        },
    );
    assert!(without.contains("Nothing conflicts any more"), "{without}");
}

#[test]
fn bare_task_gives_a_prompt_without_empty_parts() {
    for &prompt in Prompt::ALL {
        let text = rendered(prompt, &minimal());
        let headings: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        let in_the_example = ["## Verification", "## Files Modified", "## Issues"];
        assert_eq!(headings[..2], ["## Rules", "## When you are done"]);
        assert_eq!(headings[2..], in_the_example);
        assert!(!text.contains("\n\n\n"), "{prompt:?}:\n{text}");
        assert!(text.ends_with("without you.\n"), "{prompt:?}:\n{text}");
    }
}

#[test]
fn no_prompt_leaves_a_placeholder_or_a_missing_value_behind() {
    for &prompt in Prompt::ALL {
        for context in [full(), minimal()] {
            let text = rendered(prompt, &context);
            for leftover in [
                "{{",
                "}}",
                "{%",
                "%}",
                "{#",
                "none\n",
                "undefined",
                "[]",
                "\n\n\n",
            ] {
                assert!(
                    !text.contains(leftover),
                    "{prompt:?} has `{leftover}`:\n{text}"
                );
            }
        }
    }
}

#[test]
fn task_text_is_never_read_as_a_template() {
    let hostile = || HOSTILE.to_owned();
    let context = PromptContext {
        task: PromptTask {
            id: "7".to_owned(),
            title: hostile(),
            description: hostile(),
            details: hostile(),
            test_strategy: hostile(),
            acceptance_criteria: vec![hostile()],
        },
        learnt: hostile(),
        noted: hostile(),
        test_command: Some(hostile()),
        red_report: Some(RedReport {
            files: vec![hostile()],
            tests: vec![hostile()],
            issues: vec![hostile()],
        }),
        evidence: vec![Evidence {
            attempt: 1,
            failure: hostile(),
            text: hostile(),
            what_to_try: hostile(),
        }],
        ..minimal()
    };
    for (prompt, times) in [(Prompt::Red, 12), (Prompt::Green, 15), (Prompt::Task, 12)] {
        assert_eq!(
            rendered(prompt, &context).matches(HOSTILE).count(),
            times,
            "{prompt:?}"
        );
    }
}

#[test]
fn only_green_is_told_the_tests_of_its_red() {
    for &prompt in Prompt::ALL {
        let text = rendered(prompt, &full());
        let is_told =
            text.contains("Files: `t/a.t`, `t/b.t`\n\n- adds two\n- adds three\n\nWhoever wrote them left open, in their own words:\n\n> minus is open\n\n## What\n");
        assert_eq!(is_told, prompt == Prompt::Green, "{text}");
    }
}

#[test]
fn example_of_a_result_names_the_phase() {
    let phases = [
        (Prompt::Red, Some("RED")),
        (Prompt::Green, Some("GREEN")),
        (Prompt::Task, None),
    ];
    for (prompt, phase) in phases {
        let text = rendered(prompt, &minimal());
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("tdd_phase: "));
        assert_eq!(line, phase);
        let after = if phase.is_some() {
            "1/1\ntdd_phase: "
        } else {
            "1/1\n\n## Verification"
        };
        assert!(text.contains(after), "{text}");
    }
}

#[test]
fn landed_work_is_spoken_of_only_after_the_last_attempt_met_it() {
    let says = |failures: &[&str]| {
        let evidence = failures.iter().map(|failure| failed(1, failure)).collect();
        rendered(
            Prompt::Task,
            &PromptContext {
                evidence,
                ..minimal()
            },
        )
        .contains("Other work has landed")
    };
    assert!(says(&["conflict"]) && says(&["stalled", "landing-regression"]));
    assert!(!says(&[]) && !says(&["conflict", "stalled"]));
}

#[test]
fn rules_and_result_come_last_in_every_prompt() {
    for prompt in REPEATED {
        let text = rendered(prompt, &full());
        let place = |heading: &str| text.find(heading).expect("the heading");
        assert!(place("## What\n") < place("## What went wrong before"));
        assert!(place("## What went wrong before") < place("## Rules"));
        assert!(place("## Rules") < place("## When you are done"));
    }
}

/// A folder of the user's own templates.
fn own_prompts(templates: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in templates {
        let file = std::fs::File::create(folder.path().join(name));
        file.expect("a file")
            .write_all(text.as_bytes())
            .expect("a written file");
    }
    folder
}

#[test]
fn users_own_template_takes_the_place_of_the_embedded_one() {
    let folder = own_prompts(&[
        ("task.md", "Do {{ task.id }}.\n{% include \"rules\" %}"),
        ("rules.md", "Be good."),
    ]);
    assert_eq!(
        render(Prompt::Task, &full(), folder.path()).unwrap(),
        "Do 7.\nBe good."
    );
    let red = render(Prompt::Red, &full(), folder.path()).unwrap();
    assert!(red.starts_with("# RED") && red.contains("Be good."));
    assert!(check_prompts(folder.path()).is_ok());
}

#[test]
fn mistake_in_a_template_is_named_before_a_run_begins() {
    let mistakes = [
        (
            "task.md",
            "Do\n{{ task.nope }}",
            "fill in the prompt `task`: undefined value: `task.nope` is undefined (in task:2)",
        ),
        (
            "green.md",
            "{% if %}",
            "fill in the prompt `green`: syntax error: unexpected end of block (in green:1)",
        ),
        ("rules.md", "{{ worktee }}", "(in rules:1)"),
        (
            "red.md",
            "{% include \"../secret\" %}",
            "template not found",
        ),
    ];
    for (name, text, expected) in mistakes {
        let error = check_prompts(own_prompts(&[(name, text)]).path())
            .expect_err(name)
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn template_that_can_not_be_read_is_named() {
    let folder = own_prompts(&[]);
    std::fs::create_dir(folder.path().join("red.md")).unwrap();
    let error = check_prompts(folder.path()).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!(
            "read the prompt `{}`",
            folder.path().join("red.md").display()
        )),
        "{error}"
    );
}

#[test]
fn every_embedded_template_is_a_file_of_the_prompts_folder() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts")).unwrap();
    let names: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let embedded: BTreeSet<String> = TEMPLATES
        .iter()
        .map(|(name, _)| format!("{name}.md"))
        .collect();
    assert_eq!(names, embedded);
}
