//! How many processes one agent may have where the kernel counts those of its user alone, which are everybody's.

use super::*;
use crate::scene::{task, tm_binary};
use crate::skipping::lacks;
use std::os::unix::process::CommandExt as _;

/// Far fewer than its user has.
const SETTINGS: &str = "sandbox: {processes: 40}\ntdd: {mode: 'off'}\ntest: {command: 'true'}\n";

/// One agent starts more than it may have, and the others start one after the other all along.
const AGENT: &str = r#"
case $TM_TASK_ID in
1) for i in $(seq 120); do sleep 20 & done; wait ;;
*) for i in $(seq 300); do /bin/true || exit 1; done ;;
esac
echo done > "out-$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

/// What the user has running besides.
const BESIDES: &str = "for i in $(seq 60); do sleep 60 & done; echo started; wait";

/// Somebody who is not the superuser, wherever these tests are run.
const ORDINARY: [&str; 3] = ["--reuid=12345", "--regid=12345", "--clear-groups"];

/// Whose run it is.
#[derive(Clone, Copy, Eq, PartialEq)]
enum User {
    OfTheseTests,
    Ordinary,
}

impl User {
    /// Returns the command as this user's.
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    fn runs(self, command: Command) -> Command {
        if self == Self::OfTheseTests {
            return command;
        }
        let mut of_user = Command::new("setpriv");
        of_user
            .args(ORDINARY)
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null())
            .env_clear()
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        if let Some(folder) = command.get_current_dir() {
            of_user.current_dir(folder);
        }
        of_user
    }

    /// Hands a scene to this user; tells whether the program that is tried is there for it.
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    fn is_given(self, scene: &Scene) -> bool {
        if self == Self::OfTheseTests {
            return true;
        }
        if which::which("setpriv").is_err() {
            lacks("setpriv");
            return false;
        }
        let folder = scene.path("");
        let given = Command::new("chown")
            .args(["-R", "12345:12345"])
            .arg(folder)
            .status();
        assert!(given.is_ok_and(|given| given.success()));
        let version = self.runs(scene.tm(&["--version"])).output();
        let runs = version.is_ok_and(|version| version.status.success());
        if !runs {
            let program = tm_binary();
            lacks_what_a_machine_may_have(&format!("{} for others", program.display()));
        }
        runs
    }
}

/// Processes of a user's, until it is dropped.
struct Besides(Child);

impl Besides {
    fn started(user: User, scene: &Scene) -> Self {
        let mut shell = user.runs(scene.shell(BESIDES));
        shell.process_group(0).stdout(Stdio::piped());
        let mut child = shell.spawn().expect("a shell");
        let said = child.stdout.take().expect("a pipe");
        BufReader::new(said)
            .read_line(&mut String::new())
            .expect("they are there");
        Self(child)
    }
}

impl Drop for Besides {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _gone = self.0.wait();
    }
}

fn one_has_too_many(user: User) {
    if !has("landlock") {
        return;
    }
    let tasks = ["1", "2", "3", "4"].map(|id| (id, "Work", &[][..]));
    let scene = Scene::new(&tasks, AGENT);
    write(&scene.root().join(".taskmaster/tm.yaml"), SETTINGS);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    if !user.is_given(&scene) {
        return;
    }
    let besides = Besides::started(user, &scene);
    let mut run = scene.run_command(&["--retries", "0", "--max-parallel", "4"]);
    run.env("TM_SANDBOX_LEVEL", "landlock");
    let output = user.runs(run).output().expect("tm");
    drop(besides);
    let words = String::from_utf8_lossy(&output.stderr);
    let report = user.runs(scene.tm(&["waves", "report", "--json"])).output();
    let report: Value = serde_json::from_slice(&report.expect("tm").stdout).expect("a document");
    let first = task(&report, "1");
    assert_eq!(first["state"], "failed", "{words}");
    let noticed = first["attempts"][0]["noticed"].to_string();
    let expected = "it wanted more processes than `sandbox.processes` gives";
    assert!(noticed.contains(expected), "{noticed}: {words}");
    for id in ["2", "3", "4"] {
        assert_eq!(task(&report, id)["state"], "landed", "{id}: {words}");
    }
}

#[test]
fn an_agent_with_too_many_processes_fails_alone() {
    one_has_too_many(User::OfTheseTests);
}

#[test]
fn an_agent_of_an_ordinary_user_with_too_many_processes_fails_alone() {
    // Elsewhere the other test is of one.
    if rustix::process::geteuid().is_root() {
        one_has_too_many(User::Ordinary);
    }
}
