//! The built-in recipes as they are started, and the user's above them.

use super::*;
use std::io::Write as _;

fn settings(yaml: &str) -> Settings {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("user.yaml");
    std::fs::File::create(&path)
        .expect("a file")
        .write_all(yaml.as_bytes())
        .expect("a written file");
    let inputs = tm_config::Inputs {
        user_config: Some(path),
        ..tm_config::Inputs::default()
    };
    tm_config::load(&inputs).expect("valid settings").settings
}

fn values() -> Placeholders {
    [
        ("prompt", "do it"),
        ("prompt_file", "/run/prompt.md"),
        ("result_file", "/run/result.md"),
        ("context_file", "/run/context.md"),
        ("attempt_folder", "/run"),
        ("worktree", "/work tree"),
        ("task_id", "1; rm -rf $HOME {tm}"),
        ("phase", "red"),
        ("attempt", "2"),
        ("run_id", "r1"),
        ("tag", "master"),
        ("tm", "/bin/tm"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}

fn line(yaml: &str, name: &str, model: Option<&str>) -> Result<Vec<String>, Error> {
    let mut recipe = recipe(name, &settings(yaml))?;
    recipe.model = recipe.model.or_else(|| model.map(str::to_owned));
    recipe.command_line(&values())
}

fn refusal(yaml: &str, name: &str) -> String {
    line(yaml, name, None).expect_err("a refusal").to_string()
}

#[test]
fn built_in_agents_are_started_without_a_terminal_and_without_a_model() {
    let lines = [
        (
            "claude",
            "claude -p --output-format stream-json --verbose --no-session-persistence --dangerously-skip-permissions",
        ),
        (
            "codex",
            "codex exec --json --ephemeral --dangerously-bypass-approvals-and-sandbox -C /work tree -",
        ),
        (
            "gemini",
            "gemini -o stream-json --skip-trust --include-directories /run -y",
        ),
        (
            "opencode",
            "opencode run --format json --print-logs --log-level ERROR --dir /work tree --auto",
        ),
        ("qwen", "qwen -o stream-json --chat-recording=false -y"),
        (
            "cline",
            "cline --json -c /work tree --auto-approve true Do what the file /run/prompt.md says, all of it.",
        ),
        (
            "aider",
            "aider --yes-always --no-auto-commits --no-dirty-commits --no-gitignore --no-check-update --no-analytics \
             --no-pretty --no-stream --no-show-model-warnings --no-show-release-notes --no-detect-urls \
             --chat-history-file /run/aider.chat.md --input-history-file /run/aider.input --message-file /run/prompt.md",
        ),
        ("replay", "/bin/tm replay"),
    ];
    for (name, expected) in lines {
        assert_eq!(line("", name, None).unwrap().join(" "), expected);
    }
}

#[test]
fn model_stands_where_each_agent_wants_it() {
    let with_model = [
        ("claude", "--model"),
        ("codex", "-m"),
        ("gemini", "-m"),
        ("opencode", "-m"),
    ];
    for (name, flag) in with_model {
        let words = line("", name, Some("big model")).unwrap();
        let place = words
            .iter()
            .position(|word| word == flag)
            .expect("the flag");
        assert_eq!(words[place + 1], "big model", "{name}");
    }
    assert_eq!(
        line("", "codex", Some("m"))
            .unwrap()
            .last()
            .map(String::as_str),
        Some("-")
    );
}

#[test]
fn model_of_the_recipe_outweighs_the_one_for_all() {
    let model = |yaml: &str| {
        let words = line(yaml, "claude", Some("given")).unwrap();
        words[words.iter().position(|word| word == "--model").unwrap() + 1].clone()
    };
    assert_eq!(
        model("{agents: {claude: {model: own}}, agent: {model: all}}"),
        "own"
    );
    assert_eq!(model("agent: {model: all}"), "all");
    assert_eq!(model(""), "given");
    let environment = "{agents: {claude: {env: {M: '{model}'}}}, agent: {model: all}}";
    let environment = recipe("claude", &settings(environment))
        .unwrap()
        .environment(&values())
        .unwrap();
    assert_eq!(environment[1], ("M".to_owned(), "all".to_owned()));
}

#[test]
fn users_recipe_changes_the_built_in_one_part_by_part() {
    let settings =
        settings("agents: {claude: {env: {A: b}, drop: [X], polite_stop: term, grace: 5s}}");
    let claude = recipe("claude", &settings).unwrap();
    assert_eq!(
        claude.environment.keys().collect::<Vec<_>>(),
        ["A", "DISABLE_AUTOUPDATER"]
    );
    assert_eq!(claude.dropped.last().map(String::as_str), Some("X"));
    assert_eq!(
        (claude.stop, claude.grace),
        (
            tm_scheduler::StopSignal::Terminate,
            Some(Duration::from_secs(5))
        )
    );
    assert_eq!(
        claude.command,
        recipe("claude", &self::settings("")).unwrap().command
    );
}

#[test]
fn recipe_extends_another_and_changes_it() {
    let yaml = "agents: {a: {extends: b, model: x}, b: {extends: claude, env: {B: 1}}, claude: {env: {C: 2}}}";
    let a = recipe("a", &settings(yaml)).unwrap();
    assert_eq!(a.name, "a");
    assert_eq!(
        a.environment.keys().collect::<Vec<_>>(),
        ["B", "C", "DISABLE_AUTOUPDATER"]
    );
    assert!(
        a.command_line(&values())
            .unwrap()
            .join(" ")
            .contains("--model x")
    );
}

#[test]
fn circle_of_extensions_is_refused() {
    let circle = "agents: {a: {extends: b}, b: {extends: a}, claude: {extends: claude}}";
    assert_eq!(
        refusal(circle, "a"),
        "find the agent `a`, which extends itself"
    );
    assert_eq!(
        refusal(circle, "claude"),
        "find the agent `claude`, which extends itself"
    );
    assert!(
        refusal("agents: {a: {extends: z}}", "a")
            .starts_with("find the agent `z`, there are `a`, `acp`, `aider`")
    );
}

#[test]
fn unknown_agent_is_refused_with_the_names_that_there_are() {
    let names = quoted(BUILT_IN.map(|(name, _)| name));
    let expected = format!("find the agent `clyde`, there are {names}");
    assert_eq!(refusal("", "clyde"), expected);
}

#[test]
fn agent_without_a_command_is_refused() {
    let error = line("agents: {acp: {command: 'agent --acp'}}", "acp", None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "speak with the agent `acp`, whose command is run by a shell"
    );
    let error = line("", "custom", None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "start the agent `custom`, which has no command"
    );
}

#[test]
fn all_recipes_are_listed_even_one_without_a_command() {
    let recipes = recipes(&settings("agents: {mine: {command: x}}")).unwrap();
    let mut names = BUILT_IN.map(|(name, _)| name).to_vec();
    names.push("mine");
    names.sort_unstable();
    assert_eq!(recipes.keys().collect::<Vec<_>>(), names);
    assert_eq!(recipes["custom"].command, None);
}

#[test]
fn text_is_run_by_a_shell_that_sees_no_value() {
    let words = line(
        "agents: {custom: {command: 'agent < \"$TM_PROMPT_FILE\" && x() { a; }; x ${y} {b}'}}",
        "custom",
        None,
    );
    assert_eq!(
        words.unwrap()[..3],
        [
            "sh",
            "-c",
            "agent < \"$TM_PROMPT_FILE\" && x() { a; }; x ${y} {b}"
        ]
    );
}

#[test]
fn placeholder_in_a_text_for_the_shell_is_refused_with_the_variable_to_use() {
    let error = line(
        "agents: {custom: {command: 'agent {prompt_file}'}}",
        "custom",
        None,
    )
    .unwrap_err();
    let expected =
        "fill in `{prompt_file}` for the agent `custom`, whose command is run by a shell";
    assert_eq!(error.to_string(), expected);
    let Error::PlaceholderInShell { variable, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(variable, Some("TM_PROMPT_FILE"));
}

#[test]
fn hostile_value_stays_within_its_argument() {
    let yaml = "agents: {custom: {command: [agent, 'id={task_id}', '{worktree}'], env: {ID: '{task_id}'}}}";
    let words = line(yaml, "custom", None).unwrap();
    assert_eq!(words, ["agent", "id=1; rm -rf $HOME {tm}", "/work tree"]);
    let environment = recipe("custom", &settings(yaml))
        .unwrap()
        .environment(&values())
        .unwrap();
    assert_eq!(
        environment,
        [("ID".to_owned(), "1; rm -rf $HOME {tm}".to_owned())]
    );
}

#[test]
fn unknown_placeholder_is_refused_with_those_that_there_are() {
    for yaml in [
        "agents: {mine: {command: [a, '{nope}']}}",
        "agents: {mine: {command: [a], env: {A: '{nope}'}}}",
    ] {
        let text = refusal(yaml, "mine");
        assert!(
            text.starts_with(
                "fill in `{nope}` for the agent `mine`, there are `{prompt}`, `{prompt_file}`"
            ),
            "{text}"
        );
    }
}

#[test]
fn placeholder_without_a_value_is_left_out_where_optional_and_refused_elsewhere() {
    let optional = line(
        "agents: {mine: {command: [a, [-m, '{model}', '{tag}'], [-v]]}}",
        "mine",
        None,
    )
    .unwrap();
    assert_eq!(optional, ["a", "-v"]);
    assert_eq!(
        refusal("agents: {mine: {command: [a, '{model}']}}", "mine"),
        "fill in `{model}` for the agent `mine`, it has no value"
    );
}

#[test]
fn prompt_as_an_argument_stands_in_its_place_or_at_the_end() {
    let placed = "agents: {mine: {command: [a, '--ask={prompt}', -x], prompt: arg}}";
    assert_eq!(
        line(placed, "mine", None).unwrap(),
        ["a", "--ask=do it", "-x"]
    );
    assert_eq!(
        line(
            "agents: {mine: {command: [a, -x], prompt: arg}}",
            "mine",
            None
        )
        .unwrap(),
        ["a", "-x", "do it"]
    );
    let shell = line(
        "agents: {mine: {command: 'a \"$1\"', prompt: arg}}",
        "mine",
        None,
    )
    .unwrap();
    assert_eq!(shell, ["sh", "-c", "a \"$1\"", "sh", "do it"]);
}

#[test]
fn argument_that_no_system_would_pass_is_refused() {
    let mine = recipe(
        "mine",
        &settings("agents: {mine: {command: [a], prompt: arg}}"),
    )
    .unwrap();
    let with_prompt = |bytes: usize| {
        let mut values = values();
        values.insert("prompt", "x".repeat(bytes));
        mine.command_line(&values)
    };
    assert!(with_prompt(LONGEST_ARGUMENT).is_ok());
    let error = with_prompt(LONGEST_ARGUMENT + 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "pass 131072 bytes to the agent `mine` as one argument, 131071 are allowed"
    );
}

#[test]
fn no_agent_gets_variables_that_send_git_to_the_users_repository() {
    for recipe in recipes(&settings("agents: {mine: {command: x, drop: []}}"))
        .unwrap()
        .values()
    {
        assert!(
            recipe.dropped.contains(&"GIT_DIR".to_owned()),
            "{}",
            recipe.name
        );
        assert!(
            recipe.dropped.contains(&"GIT_INDEX_FILE".to_owned()),
            "{}",
            recipe.name
        );
    }
}

#[test]
fn programs_that_have_events_have_no_words_of_limits() {
    for name in ["claude", "codex", "gemini", "opencode", "qwen", "cline"] {
        let recipe = recipe(name, &settings("")).unwrap();
        assert_ne!(recipe.output, OutputFormat::Text, "{name}");
        assert!(
            recipe.rate_limited.is_empty(),
            "{name}: what a tool printed would be taken for a limit"
        );
    }
}

#[test]
fn tm_speaks_with_a_program_of_the_protocol_and_the_program_is_looked_for() {
    let yaml = "agents: {mine: {extends: acp, prompt: arg, model: small, command: [agent, --acp, ['-m', '{model}']]}}";
    let mine = recipe("mine", &settings(yaml)).unwrap();
    let words = mine.command_line(&values()).unwrap();
    assert_eq!(
        words[1..],
        [
            "acp-agent",
            "--allow",
            "worktree",
            "--",
            "agent",
            "--acp",
            "-m",
            "small"
        ]
    );
    assert_eq!(words[0], values()["tm"]);
    assert_eq!(
        (mine.program("/bin/tm".as_ref()).unwrap(), mine.account()),
        ("agent".to_owned(), "agent".to_owned())
    );
    let careful = recipe(
        "mine",
        &settings(&yaml.replace("prompt: arg", "permissions: edits")),
    )
    .unwrap();
    assert!(
        careful
            .command_line(&values())
            .unwrap()
            .join(" ")
            .contains("acp-agent --allow edits -- agent")
    );
    assert_eq!(mine.prompt, PromptDelivery::Stdin);
}

#[test]
fn permissions_are_chosen_for_all_or_for_one_and_only_from_what_an_agent_has() {
    let words = |yaml: &str, name: &str| line(yaml, name, None).unwrap().join(" ");
    assert!(words("", "claude").ends_with("--dangerously-skip-permissions"));
    assert!(
        words("agent: {permissions: edits}", "claude")
            .ends_with("--permission-mode acceptEdits --add-dir /run")
    );
    assert!(
        words("agents: {codex: {permissions: sandbox}}", "codex")
            .contains("-s workspace-write --add-dir /run")
    );
    let own = "{agent: {permissions: edits}, agents: {gemini: {permissions: own}}}";
    assert_eq!(
        words(own, "gemini"),
        "gemini -o stream-json --skip-trust --include-directories /run"
    );
    assert_eq!(
        refusal("agent: {permissions: sandbox}", "gemini"),
        "start the agent `gemini` with the permissions `sandbox`, it has `bypass`, `edits`, `own`"
    );
    let mine = "agents: {mine: {command: [a, '{permissions}', b], permission_modes: {careful: {arguments: [--ask, x]}}}}";
    assert_eq!(words(mine, "mine"), "a --ask x b");
}

#[test]
fn permissions_of_an_agent_whose_command_has_no_place_for_them_are_refused_or_not_claimed() {
    assert!(
        refusal("agents: {mine: {command: [a], permissions: edits}}", "mine")
            .ends_with("it has no modes")
    );
    let recipe = recipe(
        "claude",
        &settings("{agent: {permissions: edits}, agents: {claude: {command: [c]}}}"),
    )
    .unwrap();
    assert_eq!(recipe.granted().unwrap(), None);
}

#[test]
fn every_built_in_agent_says_what_it_may_do_and_what_to_do_when_it_is_refused() {
    for (name, recipe) in recipes(&settings("")).unwrap() {
        if ["acp", "custom", "replay"].contains(&name.as_str()) {
            continue;
        }
        let granted = recipe
            .granted()
            .unwrap()
            .unwrap_or_else(|| panic!("{name} says nothing of permissions"));
        assert_eq!(granted.mode, "bypass", "{name}");
        assert!(
            recipe
                .permission_modes
                .values()
                .all(|mode| !mode.why.is_empty()),
            "{name}"
        );
        assert!(
            !recipe.if_refused.is_empty() && !recipe.version.is_empty(),
            "{name}"
        );
        assert_eq!(recipe.account(), name);
    }
}

#[test]
fn account_is_the_program_unless_a_shell_runs_it_or_the_settings_name_one() {
    let account = |yaml: &str, name: &str| recipe(name, &settings(yaml)).unwrap().account();
    assert_eq!(
        account("agents: {careful: {extends: claude}}", "careful"),
        "claude"
    );
    assert_eq!(
        account("agents: {mine: {command: [/opt/bin/agent, x]}}", "mine"),
        "agent"
    );
    assert_eq!(
        account("agents: {mine: {command: 'agent x'}}", "mine"),
        "mine"
    );
    assert_eq!(
        account("agents: {mine: {command: [agent], account: work}}", "mine"),
        "work"
    );
}
