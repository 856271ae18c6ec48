//! The real programs, against models on loopback: a pair to landing, and every way in which a service fails them.
//!
//! A program that is not installed is skipped, and says so.

mod acp;
mod looping;
mod pairs;
mod programs;
mod refusals;

use crate::models::{Behaviour, ModelServer, Script};
use crate::scene::Scene;
use programs::Program;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// A scene with a backlog of one task, and models for one program.
struct Trial {
    scene: Scene,
    server: ModelServer,
    program: Program,
}

impl Trial {
    fn begin(program: Program, behaviour: Behaviour, script: Script) -> Self {
        let scene = Scene::new(&[("1", "Add the parser", &[])], "");
        Self { scene, server: ModelServer::start(behaviour, script), program }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scene.tm(arguments);
        self.program.at_hand(&self.scene, &self.server, &mut command);
        command
    }

    /// Works the backlog off, expects this exit code and returns the report.
    fn run(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.command(&[&["waves", "run", "--yes"], arguments].concat()).output().expect("tm");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}\n{}", self.logs());
        self.scene.assert_no_process_is_left();
        self.scene.report()
    }

    /// Works the backlog off until an event says this, stops the run there and returns the report.
    fn stop_at(&self, words: &str, arguments: &[&str]) -> Value {
        let mut command = self.command(&[&["waves", "run", "--yes", "--json"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tm");
        let mut events = BufReader::new(child.stdout.take().expect("events")).lines();
        let seen = events.by_ref().map_while(Result::ok).any(|event| event.contains(words));
        assert!(seen, "no event says {words}: {}", self.logs());
        let stopped = self.scene.tm(&["waves", "stop", "--now"]).output().expect("tm");
        assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
        assert_eq!(child.wait().expect("tm").code(), Some(130));
        self.scene.assert_no_process_is_left();
        self.scene.report()
    }

    /// Everything that the agents printed, for messages.
    fn logs(&self) -> String {
        let mut logs = vec![format!("{} requests\n", self.server.requests())];
        for entry in
            glob::glob(&format!("{}/**/attempt-*/std*.log", self.scene.path("tm").display())).expect("a pattern")
        {
            let path = entry.expect("a file");
            logs.push(format!("== {}\n{}\n", path.display(), std::fs::read_to_string(&path).unwrap_or_default()));
        }
        logs.concat()
    }
}
