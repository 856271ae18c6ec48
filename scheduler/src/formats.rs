//! In which formats agents and tests write what they report, and what each format tells. Reading them is for others.

use schemars::JsonSchema;

words! {
    /// How results of tests are written.
    #[derive(Default, JsonSchema)]
    pub enum ResultFormat {
        /// Found by looking at the command and its output.
        #[default]
        Auto = "auto",
        /// The Test Anything Protocol.
        Tap = "tap",
        /// The text of `cargo test`.
        Cargo = "cargo",
        /// The text of `cargo nextest run`.
        Nextest = "nextest",
        /// `JUnit` XML.
        Junit = "junit",
        /// The JSON of jest and vitest.
        Jest = "jest",
        /// The JSON or the text of `go test`.
        Go = "go",
        /// The `spec` reporter of `node --test`.
        Node = "node",
        /// The text of pytest with `-v` or `-rA`.
        Pytest = "pytest",
        /// The text of `python3 -m unittest -v`.
        Unittest = "unittest",
        /// The JSON of rspec.
        Rspec = "rspec",
        /// The exit status alone, which proves less.
        ExitStatus = "exit-status",
    }
}

words! {
    /// How the output of an agent is written.
    #[derive(Default, JsonSchema)]
    pub enum OutputFormat {
        /// Lines for people, or events of one of the other formats.
        #[default]
        Text = "text",
        /// Claude Code's `--output-format stream-json`.
        ClaudeStreamJson = "claude-stream-json",
        /// Codex's `exec --json`.
        CodexJsonl = "codex-jsonl",
        /// Gemini CLI's `-o stream-json`.
        GeminiStreamJson = "gemini-stream-json",
        /// opencode's `run --format json`.
        OpencodeJson = "opencode-json",
        /// Qwen Code's `-o stream-json`.
        QwenStreamJson = "qwen-stream-json",
        /// Cline's `--json`.
        ClineJson = "cline-json",
        /// Aider's lines.
        Aider = "aider",
        /// None: tm speaks the Agent Client Protocol with it.
        Acp = "acp",
    }
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
