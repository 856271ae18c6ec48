//! In which formats agents and tests write what they report, and what each format tells. Reading them is for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How results of tests are written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResultFormat {
    /// Found by looking at the command and its output.
    #[default]
    Auto,
    /// The Test Anything Protocol.
    Tap,
    /// The text of `cargo test`.
    Cargo,
    /// The text of `cargo nextest run`.
    Nextest,
    /// `JUnit` XML.
    Junit,
    /// The JSON of jest and vitest.
    Jest,
    /// The JSON or the text of `go test`.
    Go,
    /// The `spec` reporter of `node --test`.
    Node,
    /// The text of pytest with `-v` or `-rA`.
    Pytest,
    /// The text of `python3 -m unittest -v`.
    Unittest,
    /// The JSON of rspec.
    Rspec,
    /// The exit status alone, which proves less.
    ExitStatus,
}

/// How the output of an agent is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Lines for people, or events of one of the other formats.
    #[default]
    Text,
    /// Claude Code's `--output-format stream-json`.
    ClaudeStreamJson,
    /// Codex's `exec --json`.
    CodexJsonl,
    /// Gemini CLI's `-o stream-json`.
    GeminiStreamJson,
    /// opencode's `run --format json`.
    OpencodeJson,
    /// Qwen Code's `-o stream-json`.
    QwenStreamJson,
    /// Cline's `--json`.
    ClineJson,
    /// Aider's lines.
    Aider,
    /// None: tm speaks the Agent Client Protocol with it.
    Acp,
}

impl OutputFormat {
    /// Whether it tells what the attempt cost in dollars, whatever the agent.
    pub const fn tells_cost(self) -> bool {
        matches!(
            self,
            Self::ClaudeStreamJson | Self::OpencodeJson | Self::ClineJson | Self::Aider
        )
    }

    /// Whether it tells how many tokens the attempt took, whatever the agent.
    pub const fn tells_tokens(self) -> bool {
        !matches!(self, Self::Text | Self::Acp)
    }

    /// Whether a program that prints so can write a result, which lies outside of its repository.
    pub const fn writes_results(self) -> bool {
        !matches!(self, Self::Aider)
    }

    /// Whether the program says in events of its own what its service refused.
    pub const fn has_events(self) -> bool {
        !matches!(self, Self::Text | Self::Aider)
    }
}
