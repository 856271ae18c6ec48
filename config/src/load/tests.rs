//! The layers together: precedence, provenance, mistakes, and the defaults against the design.

mod agents;

use super::*;
use crate::{
    Agent, AgentNetwork, AgentRecipe, Argument, Attest, Autopilot, ByPhase, CommandNetwork,
    CommitBacklog, CommitHooks, Compat, CoverageThreshold, Escape, Git, Override, Sandbox,
    SandboxLevel, SandboxedAgents, SandboxedCommands, Storage, StorageLocation, Tdd, Test, Verify,
    Waves, Worktree,
};
use crate::{AgentCommand, CommandLine};
use serde_json::json;
use std::fs::{File, create_dir_all};
use std::io::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;
use tempfile::TempDir;
use tm_scheduler::verdict::{Canary, Strictness};
use tm_scheduler::{Bring, Dispatch, Landing, Overlap, ResultFormat, TddMode, TestHome, Unit};

/// A project folder, a user's file beside it, and what else a configuration comes from.
struct Fixture {
    folder: TempDir,
    inputs: Inputs,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inputs = Inputs {
            user_config: Some(folder.path().join("user.yaml")),
            project: ProjectFiles::InFolder(folder.path().join("project")),
            ..Inputs::default()
        };
        Self { folder, inputs }
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        self
    }

    fn project(text: &str) -> Self {
        Self::new().file("project/.taskmaster/tm.yaml", text)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.inputs
            .environment
            .push((name.to_owned(), value.to_owned()));
        self
    }

    fn flag(mut self, key: &str, flag: &str, value: impl Into<Value>) -> Self {
        self.inputs.overrides.push(Override::new(key, flag, value));
        self
    }

    fn load(&self) -> Loaded {
        load(&self.inputs).unwrap_or_else(|error| panic!("failed to {error}"))
    }

    /// Returns the mistakes, one a line, with the temporary folder cut out.
    fn mistakes(&self) -> Vec<String> {
        let errors = match load(&self.inputs).expect_err("a mistake") {
            Error::Several(errors) => errors,
            error => vec![error],
        };
        let folder = self.folder.path().display().to_string();
        errors
            .iter()
            .map(|error| error.to_string().replace(&folder, ""))
            .collect()
    }
}

type AddLayer = fn(Fixture) -> Fixture;

fn from(loaded: &Loaded, key: &str) -> String {
    let explained = loaded
        .explained
        .iter()
        .find(|explained| explained.key == key)
        .expect("an explained setting");
    format!("{} {}", explained.value, explained.source)
}

fn built_in_test() -> Test {
    Test {
        command: None,
        format: ResultFormat::Auto,
        timeout: Duration::from_mins(5),
        parallel: None,
        results: None,
        env: BTreeMap::new(),
        home: TestHome::Private,
        parts: Vec::new(),
    }
}

fn built_in_git() -> Git {
    Git {
        branch: "tm/{tag}/task-{id}-{slug}".to_owned(),
        integration: "tm/{tag}/run-{run}".to_owned(),
        land: Landing::Each,
        land_batch: None,
        commit_backlog: CommitBacklog::Land,
        never_commit: vec![
            ".taskmaster/**".to_owned(),
            ".aider.tags.cache.v*/**".to_owned(),
        ],
        commit_template: None,
        keep_agent_commits: false,
        hooks: CommitHooks::On,
        merge_driver: None,
        lock_files: BTreeMap::new(),
        escape: Escape::Traced,
        attest: Attest::File,
    }
}

fn built_in_sandbox() -> Sandbox {
    Sandbox {
        level: SandboxLevel::Auto,
        read: Vec::new(),
        write: Vec::new(),
        memory: None,
        processes: NonZeroU32::new(8192),
        file_size: Some(serde_json::from_str("68719476736").expect("bytes")),
        agents: SandboxedAgents {
            network: AgentNetwork::On,
            hosts: Vec::new(),
        },
        setup: SandboxedCommands {
            network: CommandNetwork::On,
        },
        tests: SandboxedCommands {
            network: CommandNetwork::Off,
        },
    }
}

fn built_in_slurm() -> crate::Slurm {
    crate::Slurm {
        partition: None,
        account: None,
        qos: None,
        time: None,
        cpus: None,
        mem: None,
        gres: None,
        extra: Vec::new(),
        by_complexity: BTreeMap::new(),
        max_waiting: NonZeroU32::new(50).unwrap(),
        tm: None,
    }
}

fn built_in_kubernetes() -> crate::Kubernetes {
    crate::Kubernetes {
        context: None,
        namespace: None,
        image: None,
        tm: "tm".to_owned(),
        volumes: Vec::new(),
        resources: crate::KubernetesResources::default(),
        by_complexity: BTreeMap::new(),
        env_from: Vec::new(),
        time: Some(Duration::from_hours(24)),
        template: None,
        max_waiting: NonZeroU32::new(50).unwrap(),
    }
}

fn built_in_settings() -> Settings {
    Settings {
        waves: Waves {
            max_parallel: NonZeroU32::new(5).unwrap(),
            on: crate::RunsOn::Local,
            retries: 3,
            dispatch: Dispatch::Rolling,
            conflict_rounds: 3,
            overlap: Overlap::Allow,
            unit: Unit::Task,
            deadline: None,
            keep: None,
            breaker: crate::Breaker {
                tasks: NonZeroU32::new(3),
                attempts: NonZeroU32::new(5),
            },
        },
        tdd: Tdd {
            mode: TddMode::Auto,
            strictness: Strictness::Normal,
            coverage_threshold: None,
            refactor: false,
            red_early: false,
            canary: Canary::On,
        },
        test: built_in_test(),
        worktree: Worktree {
            setup: None,
            // As long as it is: which names are in it is asked of some of them.
            setup_when: load(&Fixture::new().inputs)
                .expect("defaults")
                .settings
                .worktree
                .setup_when,
            setup_timeout: Duration::from_mins(15),
            teardown: None,
            copy: Vec::new(),
            link: Vec::new(),
            cache: Vec::new(),
            submodules: Bring::Auto,
            lfs: Bring::Auto,
        },
        agent: Agent {
            default: "claude".to_owned(),
            timeout: None,
            stall: Some(Duration::from_mins(10)),
            grace: Duration::from_mins(1),
            max_log_mib: NonZeroU32::new(32).unwrap(),
            model: None,
            permissions: None,
            by_phase: ByPhase::default(),
            fallback: Vec::new(),
            notes: true,
            max_cost: None,
            max_tokens: None,
            max_cost_per_task: None,
            max_tokens_per_task: None,
        },
        agents: BTreeMap::new(),
        gates: Vec::new(),
        git: built_in_git(),
        sandbox: built_in_sandbox(),
        secrets: BTreeMap::new(),
        slurm: built_in_slurm(),
        kubernetes: built_in_kubernetes(),
        storage: Storage {
            location: StorageLocation::Global,
            base_path: None,
        },
        autopilot: Autopilot {
            enabled: true,
            require_clean_working_tree: true,
            max_green_attempts: NonZeroU32::new(3).unwrap(),
            verify: Verify::Run,
            commit_template: "{type}({scope}): {msg} (task {taskId})".to_owned(),
            default_commit_type: "feat".to_owned(),
        },
        compat: Compat {
            agent_alchemy: false,
        },
    }
}

#[test]
fn without_any_file_every_setting_is_the_design_default() {
    let loaded = Fixture::new().load();
    assert_eq!(loaded.settings, built_in_settings());
    assert!(loaded.warnings.is_empty());
    assert!(
        loaded
            .explained
            .iter()
            .all(|explained| explained.source.to_string() == "default")
    );
}

#[test]
fn a_worktree_is_set_up_again_when_what_names_its_dependencies_changes() {
    let names = Fixture::new().load().settings.worktree.setup_when;
    for name in [
        "package-lock.json",
        "uv.lock",
        "requirements*.txt",
        "go.sum",
        "Gemfile.lock",
        ".tool-versions",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
}

#[test]
fn set_up_is_written_as_one_command_or_several() {
    let commands = |text: &str| {
        let setup = Fixture::project(text)
            .load()
            .settings
            .worktree
            .setup
            .expect("a set-up");
        setup
            .all()
            .iter()
            .map(CommandLine::arguments)
            .collect::<Vec<_>>()
    };
    let shell = |line: &str| ["sh", "-c", line].map(str::to_owned).to_vec();
    assert_eq!(commands("worktree: {setup: npm ci}"), [shell("npm ci")]);
    assert_eq!(
        commands("worktree: {setup: [[npm, ci]]}"),
        [["npm", "ci"].map(str::to_owned).to_vec()]
    );
    assert_eq!(
        commands("worktree:\n  setup:\n    - npm ci\n    - make\n"),
        [shell("npm ci"), shell("make")]
    );
    let loaded = Fixture::new()
        .variable("TM_WORKTREE_SETUP", "npm ci")
        .variable("TM_WORKTREE_COPY", ".env,x")
        .load();
    assert_eq!(
        loaded.settings.worktree.setup.expect("a set-up").all(),
        [CommandLine::Shell("npm ci".to_owned())]
    );
    assert_eq!(loaded.settings.worktree.copy, [".env", "x"]);
    let mistakes = Fixture::project("worktree: {setup: 3, setup_timeout: 0}").mistakes();
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
}

#[test]
fn every_setting_is_explained_once_in_the_order_of_the_defaults() {
    let loaded = Fixture::project(
        "agents: {mine: {command: x}}\ntest: {env: {A: b}}\ngit: {lock_files: {A: b}}\n\
         secrets: {A: {command: b}}\nslurm: {by_complexity: {L: {cpus: 2}}}\n\
         kubernetes: {resources: {requests: {cpu: 1}, limits: {cpu: 2}}, by_complexity: {L: {limits: {cpu: 3}}}}",
    )
    .load();
    let keys: Vec<&str> = loaded
        .explained
        .iter()
        .map(|explained| explained.key.as_str())
        .collect();
    let mut expected: Vec<String> = Shape::root()
        .keys(&Key::default())
        .iter()
        .map(ToString::to_string)
        .collect();
    let agents = expected.iter().position(|key| key == "agents").unwrap();
    expected[agents] = "agents.mine.command".to_owned();
    let variables = expected.iter().position(|key| key == "test.env").unwrap();
    expected[variables] = "test.env.A".to_owned();
    let locks = expected
        .iter()
        .position(|key| key == "git.lock_files")
        .unwrap();
    expected[locks] = "git.lock_files.A".to_owned();
    let secrets = expected.iter().position(|key| key == "secrets").unwrap();
    expected[secrets] = "secrets.A".to_owned();
    for (map, entry) in [
        ("slurm.by_complexity", "L.cpus"),
        ("kubernetes.resources.requests", "cpu"),
        ("kubernetes.resources.limits", "cpu"),
        ("kubernetes.by_complexity", "L.limits.cpu"),
    ] {
        let place = expected.iter().position(|key| key == map).unwrap();
        expected[place] = format!("{map}.{entry}");
    }
    assert_eq!(keys, expected);
    let tree = defaults().as_object().unwrap();
    assert!(
        Shape::root().names().into_iter().eq(tree.keys()),
        "default.yaml has another order than `Settings`"
    );
}

#[test]
fn each_layer_outweighs_those_below_it() {
    let layers: [(&str, AddLayer); 6] = [
        ("/user.yaml:1", |fixture| {
            fixture.file("user.yaml", "tdd: {coverage_threshold: 10}")
        }),
        (".taskmaster/config.json", |fixture| {
            fixture.file(
                "project/.taskmaster/config.json",
                r#"{"test": {"coverageThresholds": {"lines": 20}}}"#,
            )
        }),
        (".taskmaster/tm.yaml:3", |fixture| {
            let text = "compat: {agent_alchemy: true}\ntdd:\n  coverage_threshold: 30";
            fixture.file("project/.taskmaster/tm.yaml", text)
        }),
        (".claude/agent-alchemy.local.md", |fixture| {
            fixture.file(
                "project/.claude/agent-alchemy.local.md",
                "---\ntdd: {coverage-threshold: 40}\n---\n",
            )
        }),
        ("TM_TDD_COVERAGE_THRESHOLD", |fixture| {
            fixture.variable("TM_TDD_COVERAGE_THRESHOLD", "50")
        }),
        ("--coverage-threshold", |fixture| {
            fixture.flag("tdd.coverage_threshold", "--coverage-threshold", 60)
        }),
    ];
    let mut fixture = Fixture::new();
    for (depth, (source, add)) in layers.into_iter().enumerate() {
        fixture = add(fixture);
        let loaded = fixture.load();
        let percent = loaded
            .settings
            .tdd
            .coverage_threshold
            .map(CoverageThreshold::percent);
        assert_eq!(
            percent.map(|percent| percent.to_string()),
            Some(format!("{}0", depth + 1)),
            "{source}"
        );
        assert!(
            from(&loaded, "tdd.coverage_threshold").ends_with(source),
            "{source}"
        );
    }
}

#[test]
fn lower_layer_holds_where_the_higher_says_nothing() {
    let fixture = Fixture::project("waves:\n  retries: 1\n")
        .file("user.yaml", "waves: {max_parallel: 9, retries: 7}");
    let loaded = fixture.load();
    assert_eq!(
        (
            loaded.settings.waves.max_parallel.get(),
            loaded.settings.waves.retries
        ),
        (9, 1)
    );
    assert_eq!(from(&loaded, "waves.retries"), "1 .taskmaster/tm.yaml:2");
    assert!(from(&loaded, "waves.max_parallel").ends_with("/user.yaml:1"));
    assert_eq!(from(&loaded, "waves.unit"), r#""task" default"#);
}

#[test]
fn null_unsets_what_a_lower_layer_set() {
    let fixture = Fixture::project("agent: {timeout: null, stall: null}")
        .file("user.yaml", "agent: {timeout: 30m}");
    let agent = fixture.load().settings.agent;
    assert_eq!((agent.timeout, agent.stall), (None, None));
}

#[test]
fn agent_alchemy_counts_only_when_asked_for_by_any_layer() {
    let fixture = || {
        Fixture::new().file(
            "project/.claude/agent-alchemy.local.md",
            "---\nrun-tasks.max_parallel: 2\n---\n",
        )
    };
    let max_parallel = |fixture: Fixture| fixture.load().settings.waves.max_parallel.get();
    assert_eq!(max_parallel(fixture()), 5);
    assert_eq!(
        max_parallel(fixture().file("user.yaml", "compat: {agent_alchemy: true}")),
        2
    );
    assert_eq!(
        max_parallel(fixture().variable("TM_COMPAT_AGENT_ALCHEMY", "true")),
        2
    );
    assert_eq!(
        max_parallel(fixture().flag("compat.agent_alchemy", "--compat", true)),
        2
    );
    let refused = fixture()
        .file("user.yaml", "compat: {agent_alchemy: true}")
        .variable("TM_COMPAT_AGENT_ALCHEMY", "false");
    assert_eq!(max_parallel(refused), 5);
}

#[test]
fn wrong_value_in_the_file_of_another_program_is_a_warning() {
    let text = "---\nexecute-tasks: [max_parallel: many]\ntdd.strictness: strict\n---\n";
    let fixture = Fixture::project("compat: {agent_alchemy: true}")
        .file("project/.claude/agent-alchemy.local.md", text);
    let loaded = fixture.load();
    assert_eq!(loaded.settings.waves.max_parallel.get(), 5);
    assert_eq!(loaded.settings.tdd.strictness, Strictness::Strict);
    let expected = "`waves.max_parallel` of `.claude/agent-alchemy.local.md` is ignored: \
                    expected a whole number from 1, found the text `many`";
    assert_eq!(
        loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [expected]
    );
}

#[test]
fn unknown_key_names_file_line_and_what_was_meant() {
    let fixture = Fixture::project("waves:\n  retries: 1\n  max_paralel: 5\n");
    let expected = "use `waves.max_paralel` from `.taskmaster/tm.yaml:3`: there is no such setting, \
                    did you mean `waves.max_parallel`?";
    assert_eq!(fixture.mistakes(), [expected]);
}

#[test]
fn wrong_types_name_file_line_key_expected_and_found() {
    let mistakes = [
        (
            "waves: {max_parallel: 0}",
            "waves.max_parallel",
            "a whole number from 1, found the number `0`",
        ),
        (
            "waves: {retries: -1}",
            "waves.retries",
            "a whole number from 0, found the number `-1`",
        ),
        (
            "waves: {retries: 1.5}",
            "waves.retries",
            "a whole number from 0, found the number `1.5`",
        ),
        (
            "waves: {retries: '3'}",
            "waves.retries",
            "a whole number from 0, found the text `3`",
        ),
        (
            "waves: {dispatch: fast}",
            "waves.dispatch",
            "`rolling` or `barrier`, found the text `fast`",
        ),
        (
            "waves: {max_parallel: }",
            "waves.max_parallel",
            "a whole number from 1, found nothing",
        ),
        ("waves: 5", "waves", "a map, found the number `5`"),
        (
            "agents: {mine: x}",
            "agents.mine",
            "a map, found the text `x`",
        ),
        (
            "tdd: {refactor: yes}",
            "tdd.refactor",
            "`true` or `false`, found the text `yes`",
        ),
        (
            "test: {timeout: soon}",
            "test.timeout",
            "a duration longer than zero such as `5m`, `90s` or `1h 30m`, or whole seconds, found the text `soon`",
        ),
        (
            "agent: {fallback: codex}",
            "agent.fallback",
            "a list of texts, found the text `codex`",
        ),
        (
            "agent: {default: {a: 1}}",
            "agent.default",
            "a text, found a map",
        ),
        (
            "git: {attest: always}",
            "git.attest",
            "`off`, `file` or `notes`, found the text `always`",
        ),
        (
            "git: {never_commit: [1]}",
            "git.never_commit",
            "a list of texts, found a list",
        ),
    ];
    for (text, key, rest) in mistakes {
        let expected = format!("use `{key}` from `.taskmaster/tm.yaml:1`: expected {rest}");
        assert_eq!(Fixture::project(text).mistakes(), [expected], "{text}");
    }
}

#[test]
fn zero_and_negative_durations_are_refused_but_for_grace() {
    for text in [
        "agent: {timeout: 0}",
        "agent: {stall: 0s}",
        "agent: {grace: -5s}",
        "waves: {deadline: 0m}",
    ] {
        assert_eq!(Fixture::project(text).mistakes().len(), 1, "{text}");
    }
    assert_eq!(
        Fixture::project("agent: {grace: 0}")
            .load()
            .settings
            .agent
            .grace,
        Duration::ZERO
    );
}

#[test]
fn mistakes_of_all_layers_are_reported_together() {
    let fixture = Fixture::project("wave: {}\nwaves: {retries: x}\n")
        .file("user.yaml", "a: 1\na: 2")
        .file(
            "project/.taskmaster/config.json",
            r#"{"autopilot": {"maxGreenAttempts": 0}, "other": 1}"#,
        )
        .variable("TM_TDD_MODE", "sometimes")
        .flag("waves.max_parallel", "--max-parallel", 0)
        .flag("waves.speed", "--set", 1);
    let expected = [
        "parse `/user.yaml`: duplicate entry with key \"a\"",
        "use `autopilot.max_green_attempts` from `.taskmaster/config.json`: expected a whole number from 1, found the \
         number `0`",
        "use `wave` from `.taskmaster/tm.yaml:1`: there is no such setting, did you mean `waves`?",
        "use `waves.retries` from `.taskmaster/tm.yaml:2`: expected a whole number from 0, found the text `x`",
        "use `tdd.mode` from `TM_TDD_MODE`: expected `auto`, `explicit` or `off`, found the text `sometimes`",
        "use `waves.speed` from `--set`: there is no such setting",
        "use `waves.max_parallel` from `--max-parallel`: expected a whole number from 1, found the number `0`",
    ];
    assert_eq!(fixture.mistakes(), expected);
    let text = load(&fixture.inputs).unwrap_err().to_string();
    assert!(
        text.starts_with("read the configuration, 7 mistakes in all:\n- parse"),
        "{text}"
    );
}

#[test]
fn malformed_files_are_named_with_the_place() {
    let yaml = Fixture::project("waves: [\n");
    assert!(
        yaml.mistakes()[0].starts_with(
            "parse `.taskmaster/tm.yaml`: did not find expected node content at line 2"
        )
    );
    let list = Fixture::project("- waves");
    assert_eq!(
        list.mistakes(),
        ["parse `.taskmaster/tm.yaml`: expected a map of sections, found a list"]
    );
    let json = Fixture::new().file("project/.taskmaster/config.json", "{\n\"git\": }");
    assert_eq!(
        json.mistakes(),
        ["parse `.taskmaster/config.json`: expected value at line 2 column 8"]
    );
}

#[test]
fn empty_file_says_nothing() {
    assert_eq!(Fixture::project("").load().settings, built_in_settings());
    assert_eq!(
        Fixture::project("# a comment\nwaves:\n  # retries: 1\n")
            .load()
            .settings,
        built_in_settings()
    );
}

#[test]
fn variables_of_tests_have_a_value_or_pass_the_users_own() {
    let fixture = Fixture::project("test: {env: {A: 1, DATABASE_URL: null}, home: user}")
        .file("user.yaml", "test: {env: {A: x, B: y}}");
    let test = fixture.load().settings.test;
    let values = test
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_ref().map(crate::Text::as_str)));
    assert_eq!(
        values.collect::<Vec<_>>(),
        [("A", Some("1")), ("B", Some("y")), ("DATABASE_URL", None)]
    );
    assert_eq!(test.home, TestHome::User);
    assert_eq!(built_in_settings().test.home, TestHome::Private);
}

#[test]
fn what_the_user_says_is_read_without_anything_of_the_project() {
    let fixture = Fixture::project("storage: {location: project}\nsandbox: {level: none}")
        .file("user.yaml", "storage: {base_path: /u}")
        .variable("TM_TDD_MODE", "off");
    let of_user = load_of_user(&fixture.inputs).unwrap().settings;
    assert_eq!(of_user.storage.location, StorageLocation::Global);
    assert_eq!(of_user.storage.base_path.as_deref(), Some("/u"));
    assert_eq!(of_user.sandbox.level, SandboxLevel::Auto);
    assert_eq!(of_user.tdd.mode, TddMode::Off);
}

#[test]
fn copy_of_the_defaults_is_a_valid_settings_file() {
    assert_eq!(
        Fixture::project(crate::DEFAULT_YAML).load().settings,
        built_in_settings()
    );
}

#[test]
fn example_of_the_design_is_read() {
    let text = r#"
waves:   { max_parallel: 5, retries: 3, dispatch: rolling, unit: task, deadline: null }
tdd:     { mode: auto, strictness: normal, coverage_threshold: null, refactor: false }
test:    { command: "sh run-tests.sh", format: auto, timeout: 5m, results: null }
agent:   { default: claude, timeout: 30m, stall: 10m, grace: 60s, by_phase: {}, fallback: [],
           max_cost: null, max_tokens: null }
agents:
  mine:  { command: ["python3", "agent.py", "{prompt_file}"], prompt: file, output: text, env: { KEEP: "1" } }
git:     { branch: "tm/{tag}/task-{id}-{slug}", integration: "tm/{tag}/run-{run}", land: each,
           never_commit: [".taskmaster/**", ".aider.tags.cache.v*/**"], commit_template: null }
storage: { location: global }
autopilot: { max_green_attempts: 3, verify: run }
"#;
    let mut settings = Fixture::project(text).load().settings;
    assert_eq!(
        settings.test.command.take(),
        Some(CommandLine::Shell("sh run-tests.sh".to_owned()))
    );
    assert_eq!(settings.agent.timeout.take(), Some(Duration::from_mins(30)));
    let mine = settings.agents.remove("mine").unwrap();
    let arguments =
        ["python3", "agent.py", "{prompt_file}"].map(|text| Argument::Single(text.to_owned()));
    assert_eq!(
        mine.command,
        Some(AgentCommand::Arguments(arguments.to_vec()))
    );
    assert_eq!(mine.env["KEEP"].as_str(), "1");
    assert_eq!(settings, built_in_settings());
}

#[test]
fn settings_written_as_json_read_back_the_same() {
    let settings =
        Fixture::project("agent: {timeout: 90m}\nagents: {mine: {command: [a, [b]], grace: 1s}}")
            .load()
            .settings;
    let written = serde_json::to_value(&settings).unwrap();
    assert_eq!(
        serde_json::from_value::<Settings>(written).unwrap(),
        settings
    );
}

#[test]
fn settings_of_a_commit_are_read_from_its_texts_and_from_no_folder() {
    let fixture = Fixture::project("test: {command: 'true'}\ntdd: {strictness: strict}\n");
    let in_folder = fixture.load();
    let text = "\u{feff}test: {command: make check}\ntdd: {strictness: strict}\n";
    let json = r#"{"storage": {"location": "project"}}"#;
    let texts = [(PROJECT_FILE, text), (task_master::SHOWN, json)];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let committed = load(&Inputs {
        project: ProjectFiles::Committed(texts.into()),
        ..fixture.inputs.clone()
    })
    .expect("settings");
    assert_eq!(
        committed.settings.test.command,
        Some(CommandLine::Shell("make check".to_owned()))
    );
    assert_eq!(
        committed.differing(&in_folder),
        ["test.command", "storage.location"]
    );
    assert_eq!(committed.differing(&committed), [""; 0]);
    let without = load(&Inputs {
        project: ProjectFiles::Committed(BTreeMap::new()),
        ..fixture.inputs
    });
    assert_eq!(without.expect("settings").settings, built_in_settings());
}

#[test]
fn format_of_test_results_is_named_as_in_the_file() {
    let formats = [
        ResultFormat::Auto,
        ResultFormat::Nextest,
        ResultFormat::ExitStatus,
    ];
    for (name, format) in ["auto", "nextest", "exit-status"].into_iter().zip(formats) {
        let text = format!("test: {{format: {name}}}");
        assert_eq!(Fixture::project(&text).load().settings.test.format, format);
    }
    let mistakes = Fixture::project("test: {format: xml}").mistakes();
    assert!(
        mistakes[0].contains("`junit`") && mistakes[0].ends_with("found the text `xml`"),
        "{}",
        mistakes[0]
    );
}

#[test]
fn value_of_a_variable_that_is_no_setting_is_never_shown() {
    let fixture = Fixture::new().variable("TM_WAVE_MAX_PARALLEL", "hidden-value");
    assert!(!format!("{:?}", fixture.load()).contains("hidden-value"));
}
