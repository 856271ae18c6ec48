//! Settings of agents, from whatever layer.

use super::*;

#[test]
fn agents_are_merged_field_by_field_and_lists_as_a_whole() {
    let fixture = Fixture::project("agents:\n  mine:\n    env: {B: 2}\n    command: [b]\n")
        .file(
            "user.yaml",
            "agents: {mine: {env: {A: a}, command: [a, x], model: m}, other: {model: o}}",
        )
        .variable("TM_AGENTS_MINE_PROMPT", "file");
    let loaded = fixture.load();
    let mine: &AgentRecipe = &loaded.settings.agents["mine"];
    assert_eq!(
        serde_json::to_value(&mine.env).unwrap(),
        json!({"A": "a", "B": "2"})
    );
    assert_eq!(
        mine.command,
        Some(AgentCommand::Arguments(vec![Argument::Single(
            "b".to_owned()
        )]))
    );
    assert_eq!(mine.model.as_deref(), Some("m"));
    assert_eq!(mine.prompt, Some(crate::PromptDelivery::File));
    assert_eq!(
        from(&loaded, "agents.mine.command"),
        r#"["b"] .taskmaster/tm.yaml:4"#
    );
    assert_eq!(
        from(&loaded, "agents.mine.prompt"),
        r#""file" TM_AGENTS_MINE_PROMPT"#
    );
}

#[test]
fn name_of_an_agent_that_is_no_safe_file_name_is_refused() {
    for name in ["../x", "a/b", "a b", "a.b"] {
        let mistakes = Fixture::project(&format!("agents: {{'{name}': {{model: m}}}}")).mistakes();
        assert!(
            mistakes[0].starts_with(&format!(
                "use `{name}` from `.taskmaster/tm.yaml:1` as the name"
            )),
            "{mistakes:?}"
        );
    }
}

#[test]
fn agent_for_a_phase_is_the_named_one_or_the_default() {
    let agent = Fixture::project("agent: {by_phase: {red: codex}}")
        .load()
        .settings
        .agent;
    assert_eq!(
        (
            agent.for_phase("red"),
            agent.for_phase("green"),
            agent.for_phase("none")
        ),
        ("codex", "claude", "claude")
    );
}

#[test]
fn model_may_differ_by_phase_with_the_agent_or_alone() {
    let text = "agent: {default: codex, by_phase: {red: {agent: claude, model: opus}, green: {model: small}}}";
    let agent = Fixture::project(text).load().settings.agent;
    let of = |phase| (agent.for_phase(phase), agent.model_for_phase(phase));
    assert_eq!(
        (of("red"), of("green"), of("none")),
        (
            ("claude", Some("opus")),
            ("codex", Some("small")),
            ("codex", None)
        )
    );
    let agent = Fixture::new()
        .variable("TM_AGENT_BY_PHASE_RED", "{model: opus}")
        .load()
        .settings
        .agent;
    assert_eq!(agent.model_for_phase("red"), Some("opus"));
    for wrong in ["{}", "{modell: x}", "[a]", "[claude, opus]", "''"] {
        let mistakes =
            Fixture::project(&format!("agent: {{by_phase: {{red: {wrong}}}}}")).mistakes();
        assert!(
            mistakes[0].contains("agent.by_phase.red"),
            "{wrong}: {mistakes:?}"
        );
    }
}

#[test]
fn command_of_an_agent_from_a_flag_is_text_or_list() {
    let command = |value: Value| {
        let loaded = Fixture::new()
            .flag("agents.custom.command", "--agent-command", value)
            .load();
        loaded.settings.agents["custom"].command.clone().unwrap()
    };
    assert_eq!(
        command(json!("a | b")),
        AgentCommand::Shell("a | b".to_owned())
    );
    assert_eq!(
        command(json!(["a"])),
        AgentCommand::Arguments(vec![Argument::Single("a".to_owned())])
    );
}
