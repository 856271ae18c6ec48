//! How each real program is pointed to the models of a test, and at nothing else.
//!
//! A home of its own, a key that is none, no updates, no telemetry, no retries that only take time.

use crate::models::ModelServer;
use crate::scene::{Scene, write};
use crate::skipping::lacks;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A real program, by the name of its recipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// The recipe and the command.
    pub(crate) name: &'static str,
    /// The model, as the program names it.
    pub(crate) model: &'static str,
    /// How it is started to speak the Agent Client Protocol; empty where its own recipe is meant.
    pub(crate) command: &'static [&'static str],
    /// Variables that point it to the server.
    environment: fn(&str) -> Vec<(&'static str, String)>,
    /// Files in its home that do.
    files: fn(&str) -> Vec<(&'static str, String)>,
}

pub(crate) const CLAUDE: Program = Program {
    name: "claude",
    model: "claude-sonnet-4-5",
    command: &[],
    environment: |url| {
        vec![
            ("ANTHROPIC_BASE_URL", url.to_owned()),
            ("ANTHROPIC_API_KEY", "none".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            // Tests may run as root, as in a container.
            ("IS_SANDBOX", "1".to_owned()),
        ]
    },
    files: |_| Vec::new(),
};

/// Logged in with a subscription, whose limit says when it is over.
pub(crate) const CLAUDE_BY_SUBSCRIPTION: Program = Program {
    environment: |url| {
        let by_key = (CLAUDE.environment)(url)
            .into_iter()
            .filter(|(name, _)| *name != "ANTHROPIC_API_KEY");
        by_key
            .chain([("CLAUDE_CODE_OAUTH_TOKEN", "none".to_owned())])
            .collect()
    },
    ..CLAUDE
};

pub(crate) const CODEX: Program = Program {
    name: "codex",
    model: "a-model",
    command: &[],
    environment: |_| vec![("LOCAL_KEY", "none".to_owned())],
    files: |url| {
        let settings = format!(
            "model_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = \"{url}/v1\"\n\
             env_key = \"LOCAL_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
        );
        vec![(".codex/config.toml", settings)]
    },
};

pub(crate) const GEMINI: Program = Program {
    name: "gemini",
    model: "gemini-2.5-flash",
    command: &[],
    environment: |url| {
        vec![
            ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
            ("GEMINI_API_KEY", "none".to_owned()),
        ]
    },
    files: |_| {
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"maxAttempts": 1},
                              "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}});
        vec![(".gemini/settings.json", settings.to_string())]
    },
};

pub(crate) const OPENCODE: Program = Program {
    name: "opencode",
    model: "local/a-model",
    command: &[],
    environment: |url| {
        let model = json!({"cost": {"input": 1, "output": 10}, "limit": {"context": 100_000, "output": 10_000}});
        let settings = json!({"model": "local/a-model", "provider": {"local": {"npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"}, "models": {"a-model": model}}}});
        vec![
            ("OPENCODE_CONFIG_CONTENT", settings.to_string()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ]
    },
    files: |_| Vec::new(),
};

pub(crate) const QWEN: Program = Program {
    name: "qwen",
    model: "a-model",
    command: &[],
    environment: |url| {
        vec![
            ("OPENAI_BASE_URL", format!("{url}/v1")),
            ("OPENAI_API_KEY", "none".to_owned()),
        ]
    },
    files: |_| {
        let settings = json!({"security": {"auth": {"selectedType": "openai"}},
                              "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}});
        vec![(".qwen/settings.json", settings.to_string())]
    },
};

pub(crate) const GEMINI_OVER_ACP: Program = Program {
    command: &["gemini", "--acp", "-m", "gemini-2.5-flash", "--skip-trust"],
    ..GEMINI
};

pub(crate) const OPENCODE_OVER_ACP: Program = Program {
    command: &["opencode", "acp"],
    ..OPENCODE
};

/// The folder of what the package manager installed for these tests.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/node/node_modules/.bin")
}

impl Program {
    /// Tells whether the program is installed, and says so where it is not.
    pub(crate) fn is_installed(&self) -> bool {
        let is_there = installed().join(self.name).exists();
        if !is_there {
            lacks(self.name);
        }
        is_there
    }

    /// Gives a call of tm the program, its configuration and the server.
    pub(crate) fn at_hand<'a>(
        &self,
        scene: &Scene,
        server: &ModelServer,
        command: &'a mut Command,
    ) -> &'a mut Command {
        let (url, temporary) = (server.url(), scene.path("temporary"));
        std::fs::create_dir_all(&temporary).expect("a folder");
        for (path, text) in (self.files)(&url) {
            write(&scene.path("home").join(path), &text);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(installed()).chain(std::env::split_paths(&path));
        command
            .env(
                "PATH",
                std::env::join_paths(folders).expect("a search path"),
            )
            // Whatever looks beyond loopback finds nobody.
            .envs(["HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name, "http://127.0.0.1:9")))
            .envs([("NO_PROXY", "127.0.0.1"), ("npm_config_offline", "true")])
            .env("TMPDIR", temporary)
            .env(
                "TM_AGENT_DEFAULT",
                if self.command.is_empty() {
                    self.name
                } else {
                    "acp"
                },
            )
            .env("TM_AGENTS_ACP_COMMAND", json!(self.command).to_string())
            .env("TM_AGENT_MODEL", self.model)
            .envs((self.environment)(&url))
    }
}
