//! The real programs, against models on loopback: a pair to landing, and every way in which a service fails them.
//!
//! A program that is not installed is skipped, and says so.

mod acp;
mod checking;
#[cfg(target_os = "linux")]
mod held;
mod looping;
mod pairs;
mod permissions;
mod printed;
mod programs;
mod refusals;
mod walls;

use crate::models::{Behaviour, ModelServer, Script};
use crate::scene::Scene;
use programs::Program;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A scene with a backlog of one task, and models for one program.
struct Trial {
    scene: Scene,
    server: ModelServer,
    program: Program,
}

impl Trial {
    fn begin(program: Program, behaviour: Behaviour, script: Script) -> Self {
        Self::begin_with(&[("1", "Add the parser", &[])], program, behaviour, script)
    }

    fn begin_with(
        tasks: &[(&str, &str, &[&str])],
        program: Program,
        behaviour: Behaviour,
        script: Script,
    ) -> Self {
        let scene = Scene::new(tasks, "");
        Self {
            scene,
            server: ModelServer::start(behaviour, script),
            program,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scene.tm(arguments);
        self.program
            .at_hand(&self.scene, &self.server, &mut command);
        command
    }

    /// Works the backlog off, expects this exit code and returns the report.
    fn run(&self, arguments: &[&str], code: i32) -> Value {
        let output = self
            .command(&[&["waves", "run", "--yes"], arguments].concat())
            .output()
            .expect("tm");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}\n{}", self.logs());
        self.scene.assert_no_process_is_left();
        self.scene.report()
    }

    /// Works the backlog off until an event says this, stops the run there and returns the report.
    fn stop_at(&self, words: &str, arguments: &[&str]) -> Value {
        let mut command = self.command(&[&["waves", "run", "--yes", "--json"], arguments].concat());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("tm");
        let mut events = BufReader::new(child.stdout.take().expect("events")).lines();
        let seen = events
            .by_ref()
            .map_while(Result::ok)
            .any(|event| event.contains(words));
        assert!(seen, "no event says {words}: {}", self.logs());
        let stopped = self
            .scene
            .tm(&["waves", "stop", "--now"])
            .output()
            .expect("tm");
        assert!(
            stopped.status.success(),
            "{}",
            String::from_utf8_lossy(&stopped.stderr)
        );
        assert_eq!(child.wait().expect("tm").code(), Some(130));
        self.scene.assert_no_process_is_left();
        self.scene.report()
    }

    /// Everything that the agents printed, for messages.
    fn logs(&self) -> String {
        let logs = self.texts("std*.log", "*");
        let logs = logs
            .iter()
            .map(|(path, text)| format!("== {}\n{text}\n", path.display()));
        format!(
            "{} requests\n{}",
            self.server.requests(),
            logs.collect::<String>()
        )
    }

    /// The prompts of every task's attempt of this number.
    fn prompts(&self, attempt: u32) -> Vec<String> {
        let prompts = self.texts("prompt.md", &attempt.to_string());
        assert!(!prompts.is_empty(), "there is such an attempt");
        prompts.into_iter().map(|(_, text)| text).collect()
    }

    /// The files of this name that attempts of this number left.
    fn texts(&self, name: &str, attempt: &str) -> Vec<(PathBuf, String)> {
        let pattern = format!(
            "{}/**/attempt-{attempt}/{name}",
            self.scene.path("tm").display()
        );
        let paths = glob::glob(&pattern)
            .expect("a pattern")
            .map(|path| path.expect("a file"));
        paths
            .map(|path| {
                (
                    path.clone(),
                    std::fs::read_to_string(path).unwrap_or_default(),
                )
            })
            .collect()
    }
}
