//! Plays a case with the real binary and asserts what has to be true of every case, and what this one expects.

use super::agreement;
use super::belongings::{self, Belongings, PRIVATE};
use super::case::{Case, Expectation};
use super::language::HONESTLY;
use super::truth;
use crate::scene::{Scene, tm_binary, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The value of a variable that nobody may write down.
const KEY: &str = "sk-ant-api03-Zm9yLXRlc3RzLW9ubHktbm90LWEta2V5LWF0LWFsbA";

/// Kibibytes of address space that a run and its agents may have each.
const MOST_MEMORY: u32 = 4_000_000;

/// Attempts that one task may have: four that are charged, ten that are not.
const MOST_ATTEMPTS: usize = 14;

impl Case {
    /// Plays the case.
    pub(super) fn check(&self) {
        let scene = self.scene();
        let _leftovers = Leftovers(&scene);
        let before = Belongings::of(&scene);
        let mut seen = Vec::new();
        let ended = self.run(&scene, &mut seen);
        seen.extend(
            left_processes(&scene)
                .into_iter()
                .map(|(_, words)| format!("a process is left: {words}")),
        );
        seen.extend(secrets(&scene));
        self.call_afterwards(&scene, &mut seen);
        seen.extend(obeyed(&scene));
        before.restore(&scene, &Belongings::of(&scene), self.agent_changes);
        let report = report(&scene);
        seen.extend(before.differences(&Belongings::of(&scene), self.agent_changes));
        if let Some(report) = &report {
            // Nobody else has what the agent left outside of the tree.
            drop(std::fs::rename(
                scene.path("own"),
                scene.path("own-that-nobody-else-has"),
            ));
            let stopped = ended
                .as_ref()
                .filter(|ended| ended.status.code() == Some(1))
                .map(words);
            let untrue = truth::violations(&scene, self, report, stopped.as_deref());
            if agreement::is_asked() {
                seen.extend(agreement::differences(&scene, self, report, &untrue));
            }
            seen.extend(untrue);
            seen.extend(bounds(report));
        }
        seen.extend(self.expected(&scene, ended.as_ref(), report.as_ref()));
        let words = ended.as_ref().map(words).unwrap_or_default();
        assert!(
            seen.is_empty(),
            "- {}\n\n{words}\n{:#}",
            seen.join("\n- "),
            report.unwrap_or_default()
        );
    }

    fn scene(&self) -> Scene {
        let scene = Scene::new(self.tasks, &self.agent());
        self.language.lay_out(&scene);
        write(&scene.root().join("notes.txt"), "notes\n");
        for folder in ["own", "tmp"] {
            std::fs::create_dir_all(scene.path(folder)).expect("a folder");
        }
        shell(&scene, self.project);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "the project"]);
        belongings::lay_out(&scene);
        shell(&scene, self.user);
        scene
    }

    fn agent(&self) -> String {
        let when = if self.phase == "any" {
            "$TM_PHASE"
        } else {
            self.phase
        };
        let instead = |phase: &str, what: Option<&str>| {
            let what = what.unwrap_or_default();
            if what.is_empty() {
                String::new()
            } else {
                format!("if [ $TM_PHASE-$id = {phase}-1 ]; then\n{what}\nclaim\nexit\nfi\n")
            }
        };
        format!(
            "tm='{}'\n{}if [ $id-$TM_ATTEMPT-$TM_PHASE = 1-1-{when} ]; then\n{}\nclaim\nexit\nfi\n{}{}{}",
            tm_binary().display(),
            self.language.words(),
            if self.cheat.is_empty() {
                ":"
            } else {
                self.cheat
            },
            instead("red", self.red),
            instead("green", self.green),
            HONESTLY
        )
    }

    fn command(&self, scene: &Scene, mut command: Command) -> Command {
        command
            .env("PATH", self.language.search_path())
            .env("TMPDIR", scene.path("tmp"))
            .env("FAKE_API_KEY", KEY);
        for (name, value) in &self.variables {
            command.env(
                name,
                value.replace("{home}", &scene.path("home").display().to_string()),
            );
        }
        command
    }

    /// Runs to the end, again when somebody killed it.
    fn run(&self, scene: &Scene, seen: &mut Vec<String>) -> Option<Output> {
        let mut settings = vec!["--retries", "3"];
        settings.extend(&self.settings);
        for _ in 0..4 {
            let call = scene.run_command(&settings);
            let call = if self.is_bounded {
                with_little_memory(scene, &call)
            } else {
                call
            };
            let run = self.command(scene, call);
            let Some(output) = within(run, self.seconds) else {
                seen.push(format!(
                    "the run had not ended after {} seconds",
                    self.seconds
                ));
                return None;
            };
            seen.extend(control_characters("waves run", &output));
            if output.status.signal().is_none() {
                return Some(output);
            }
        }
        seen.push("the run was killed again and again".to_owned());
        None
    }

    fn call_afterwards(&self, scene: &Scene, seen: &mut Vec<String>) {
        for arguments in self.afterwards {
            match within(self.command(scene, scene.tm(arguments)), 20) {
                Some(output) => seen.extend(control_characters(&arguments.join(" "), &output)),
                None => seen.push(format!(
                    "`tm {}` had not ended after 20 seconds",
                    arguments.join(" ")
                )),
            }
        }
    }

    fn expected(
        &self,
        scene: &Scene,
        ended: Option<&Output>,
        report: Option<&Value>,
    ) -> Vec<String> {
        // A run that stopped with an error may have nothing more to report.
        let has_stopped = ended
            .is_some_and(|ended| ended.status.code() == Some(1) && words(ended).contains("error:"));
        let (Some(ended), Some(report)) = (ended, report) else {
            let is_fine = has_stopped && matches!(self.expectation, Expectation::Ends);
            return if is_fine {
                Vec::new()
            } else {
                vec!["there is no report of an ended run".to_owned()]
            };
        };
        let code = ended.status.code();
        let attempts = attempts(report);
        let tried = |most: usize| -> Vec<String> {
            let more = attempts
                .iter()
                .filter(|(id, failures)| failures.len() > if self.is_tried(id) { most } else { 1 });
            more.map(|(id, failures)| {
                format!("task {id} needed {} attempts: {failures:?}", failures.len())
            })
            .collect()
        };
        let mut seen = match self.expectation {
            Expectation::Lands => tried(1),
            Expectation::Refused(failures) => {
                [tried(2), self.first_attempt(report, failures, scene)].concat()
            }
            Expectation::LandsOrIsRefused => tried(2),
            Expectation::LandsInTheEnd | Expectation::Ends => Vec::new(),
            Expectation::NeverLands => {
                let landed = tasks(report).iter().any(|task| task["landed"] == true);
                return landed
                    .then(|| "something landed".to_owned())
                    .into_iter()
                    .collect();
            }
        };
        if !matches!(self.expectation, Expectation::Ends) {
            if code != Some(0) {
                seen.push(format!(
                    "the run ended with exit code {code:?}; attempts: {attempts:?}"
                ));
            }
            let missing = tasks(report).iter().filter(|task| task["landed"] != true);
            seen.extend(missing.map(|task| format!("task {} has not landed", task["id"])));
            if scene.statuses().iter().any(|status| status != "done") {
                seen.push(format!("the backlog says {:?}", scene.statuses()));
            }
        }
        seen
    }

    /// Whether the agent cheats at this task.
    fn is_tried(&self, id: &str) -> bool {
        match self.phase {
            "red" => id == "1:red",
            "green" => id == "1",
            _ => id == "1" || id == "1:red",
        }
    }

    fn first_attempt(&self, report: &Value, expected: &[&str], scene: &Scene) -> Vec<String> {
        let id = if self.phase == "red" { "1:red" } else { "1" };
        let tried = attempts(report)
            .into_iter()
            .find(|(task, _)| task == id)
            .map(|(_, failures)| failures);
        let first = tried
            .and_then(|failures| failures.first().cloned())
            .unwrap_or_default();
        let fits =
            |expected: &&str| first == **expected || first.starts_with(&format!("{expected}/"));
        let mut seen = Vec::new();
        if first.is_empty() {
            seen.push(format!("the first attempt was not refused as {expected:?}"));
        } else if !expected.is_empty() && !expected.iter().any(fits) {
            seen.push(format!(
                "the first attempt was refused as {first}, not as {expected:?}"
            ));
        }
        let prompt = scene.waves_folder().join(format!(
            "tasks/{}/attempt-2/prompt.md",
            id.replace(':', "+")
        ));
        let prompt = std::fs::read_to_string(prompt).unwrap_or_default();
        if !prompt.contains(self.told) {
            seen.push(format!(
                "the prompt of the second attempt does not say `{}`",
                self.told
            ));
        }
        seen
    }
}

/// What must not have happened, as those who would have done it note it down.
fn obeyed(scene: &Scene) -> Vec<String> {
    let noted = [
        ("ran", "tm ran a program that the agent had planted"),
        ("leak", "tests saw the user's key"),
        ("obeyed", "an agent was obeyed"),
    ];
    let noted = noted
        .into_iter()
        .filter(|(name, _)| scene.path(name).exists() || scene.path("own").join(name).exists());
    noted.map(|(_, what)| what.to_owned()).collect()
}

fn shell(scene: &Scene, script: &str) {
    if !script.is_empty() {
        let script = format!("home=\"$AGENT_FOLDER/home\"\n{script}");
        let output = scene.shell(&script).output().expect("sh");
        assert!(output.status.success(), "{script}: {}", words(&output));
    }
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn tasks(report: &Value) -> &[Value] {
    report["tasks"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// How each attempt at each task failed, as `failure/reason`; an attempt that did not fail is empty.
fn attempts(report: &Value) -> Vec<(String, Vec<String>)> {
    let failed = |attempt: &Value| match (
        attempt["failure"].as_str(),
        attempt["proof"]["reason"].as_str(),
    ) {
        (Some(failure), Some(reason)) => format!("{failure}/{reason}"),
        (Some(failure), None) => failure.to_owned(),
        (None, _) => String::new(),
    };
    let of = |task: &Value| {
        task["attempts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(failed)
            .collect()
    };
    tasks(report)
        .iter()
        .map(|task| (task["id"].as_str().unwrap_or_default().to_owned(), of(task)))
        .collect()
}

fn bounds(report: &Value) -> Vec<String> {
    let more = attempts(report)
        .into_iter()
        .filter(|(_, attempts)| attempts.len() > MOST_ATTEMPTS);
    more.map(|(id, attempts)| format!("task {id} had {} attempts", attempts.len()))
        .collect()
}

fn report(scene: &Scene) -> Option<Value> {
    let output = within(scene.tm(&["waves", "report", "--json"]), 20)?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Runs a program, but no longer than this.
pub(super) fn within(mut command: Command, seconds: u64) -> Option<Output> {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a program");
    let id = child.id();
    let (ended, end) = channel();
    std::thread::spawn(move || drop(ended.send(child.wait_with_output())));
    let output = end.recv_timeout(Duration::from_secs(seconds));
    if output.is_err() {
        kill(id);
    }
    output.ok().map(|output| output.expect("an end"))
}

/// The same call in a shell that may not take all the memory of this machine.
pub(super) fn with_little_memory(scene: &Scene, call: &Command) -> Command {
    let mut shell = scene.program("sh".as_ref());
    shell.args(["-c", &format!("ulimit -v {MOST_MEMORY}; exec \"$@\""), "sh"]);
    shell.arg(call.get_program()).args(call.get_args());
    shell
}

fn kill(id: u32) {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    // Who has ended already can't be ended.
    pid.map(|pid| kill_process(pid, Signal::KILL).is_ok());
}

/// What a terminal would take for an order.
pub(super) fn control_characters(call: &str, output: &Output) -> Option<String> {
    let text = words(output);
    let is_order = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    text.chars()
        .find(|character| is_order(*character))
        .map(|found| format!("`tm {call}` printed {found:?}"))
}

/// Ends what a case has left running, whatever came of it.
struct Leftovers<'a>(&'a Scene);

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        for (id, _) in left_processes(self.0) {
            kill(id);
        }
    }
}

/// Processes that have to do with the folder of this scene: by a variable, by their arguments, by where they are.
fn left_processes(scene: &Scene) -> Vec<(u32, String)> {
    let folder = scene.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    let read = |path: PathBuf| {
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).replace('\0', " ")
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| {
        Some((
            entry.file_name().to_str()?.parse::<u32>().ok()?,
            entry.path(),
        ))
    });
    processes
        .filter_map(|(id, path)| {
            let arguments = read(path.join("cmdline"));
            let place = std::fs::read_link(path.join("cwd")).unwrap_or_default();
            let is_ours = arguments.contains(folder)
                || place.starts_with(folder)
                || read(path.join("environ")).contains(folder);
            is_ours.then_some((id, arguments))
        })
        .collect()
}

/// Files of the run that hold a secret: all but what agents and tests themselves have printed.
fn secrets(scene: &Scene) -> Vec<String> {
    let mut seen = Vec::new();
    search(&scene.path("tm"), &mut seen);
    let objects = scene.try_git(&["cat-file", "--batch-all-objects", "--batch"]);
    if String::from_utf8_lossy(&objects.stdout).contains(PRIVATE) {
        seen.push("private words of the user are in git".to_owned());
    }
    seen
}

fn search(folder: &Path, seen: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(metadata) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        let is_log =
            path.extension().is_some_and(|extension| extension == "log") && name != "tm.log";
        let is_raw = is_log || path.ends_with("worktrees");
        if metadata.is_dir() && !is_raw {
            search(&path, seen);
        } else if metadata.is_file() && !is_raw && metadata.len() < 1 << 24 {
            let text =
                String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            if text.contains(KEY) || text.contains(PRIVATE) {
                seen.push(format!("a secret is in {}", path.display()));
            }
        }
    }
}
