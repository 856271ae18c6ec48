//! Flags as settings: each with the setting that it gives.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::Value;
use tm_config::Override;

/// The settings that flags give.
#[derive(Debug, Default)]
pub(crate) struct Flags(Vec<Override>);

impl Flags {
    /// Adds a setting, where its flag is given.
    pub(crate) fn set(mut self, key: &str, flag: &str, value: Option<impl Into<Value>>) -> Self {
        self.0
            .extend(value.map(|value| Override::new(key, flag, value)));
        self
    }

    /// Adds the agent and its command.
    pub(crate) fn agent(self, agent: Option<String>, command: Option<String>) -> Self {
        let custom = (command.is_some() && agent.is_none()).then_some("custom");
        self.set("agent.default", "--agent", agent)
            .set("agents.custom.command", "--agent-command", command)
            .set("agent.default", "--agent-command", custom)
    }

    /// Adds how work is judged.
    pub(crate) fn judging(self, how: JudgingArguments) -> Self {
        self.set("test.command", "--test-command", how.test_command)
            .set("tdd.strictness", "--strictness", word(how.strictness))
            .set("sandbox.level", "--sandbox", word(how.sandbox))
    }

    /// Returns all.
    pub(crate) fn given(self) -> Vec<Override> {
        self.0
    }
}

/// How work is judged.
#[derive(Args, Clone, Default)]
pub(crate) struct JudgingArguments {
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
    /// How strictly RED and GREEN are judged.
    #[arg(long, value_name = "LEVEL")]
    strictness: Option<StrictnessArgument>,
    /// How agents, set-ups and tests are held to their checkout.
    #[arg(long, value_name = "LEVEL")]
    sandbox: Option<SandboxArgument>,
}

/// How agents, set-ups and tests are held to their checkout.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum SandboxArgument {
    /// The best that works here, none where nothing does.
    Auto,
    /// The best that works here; where nothing does, nothing is started.
    Required,
    /// Namespaces of their own.
    Bwrap,
    /// Rules of the kernel.
    Landlock,
    /// None.
    None,
}

/// What `tm loop --sandbox` takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LoopSandbox {
    /// `docker sandbox run claude`.
    Docker,
    /// A level of the settings.
    Level(SandboxArgument),
}

impl LoopSandbox {
    /// Returns the level that it sets.
    pub(crate) fn level(self) -> Option<String> {
        match self {
            Self::Docker => None,
            Self::Level(level) => word(Some(level)),
        }
    }
}

impl ValueEnum for LoopSandbox {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Docker,
            Self::Level(SandboxArgument::Auto),
            Self::Level(SandboxArgument::Required),
            Self::Level(SandboxArgument::Bwrap),
            Self::Level(SandboxArgument::Landlock),
            Self::Level(SandboxArgument::None),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Docker => Some(PossibleValue::new("docker").help(
                "Claude Code by `docker sandbox run claude`, whatever the settings say of agents; also without a level",
            )),
            Self::Level(level) => level.to_possible_value(),
        }
    }
}

/// How strictly RED and GREEN are judged.
#[derive(Clone, Copy, ValueEnum)]
enum StrictnessArgument {
    /// A new test that passes in RED fails the attempt.
    Strict,
    /// Some may pass, not all.
    Normal,
    /// Noted only.
    Relaxed,
}

/// Returns the word of the command line for a value.
pub(crate) fn word(value: Option<impl ValueEnum>) -> Option<String> {
    Some(value?.to_possible_value()?.get_name().to_owned())
}
