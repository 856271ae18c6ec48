//! A repository of its own for each test: own home, own git configuration, an agent that is a shell script.

use rustix::fs::StatVfsMountFlags;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// Does what a good agent does: RED writes a failing test, GREEN makes it pass, other tasks write a file.
pub(crate) const HONEST: &str = r#"
name=$(printf %s "$TM_TASK_ID" | sed 's/:red$//; s/[^A-Za-z0-9]/_/g')
case $TM_PHASE in
red) printf '. t/check.sh\ncheck "%s works" "%s" "$(sh bin/%s 2>/dev/null)"\n' "$name" "$name" "$name" > "t/$name.t" ;;
green) mkdir -p bin; echo "echo $name" > "bin/$name" ;;
none) mkdir -p docs; echo "$name" > "docs/$name" ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

/// A repository with a backlog and an agent.
pub(crate) struct Scene {
    folder: TempDir,
}

#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// Writes a script that can be executed.
pub(crate) fn executable(path: &Path, text: &str) {
    write(path, &format!("#!/bin/sh\n{text}\n"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("permissions");
}

/// The tm that is tried: the one that was just built, or another one that `TM_TEST_BINARY` names.
pub(crate) fn tm_binary() -> PathBuf {
    let other = std::env::var_os("TM_TEST_BINARY").map(PathBuf::from);
    other.unwrap_or_else(|| assert_cmd::cargo::cargo_bin!("tm").to_path_buf())
}

/// Linux's files in memory, and how much has to be free there to be used.
const IN_MEMORY: &str = "/dev/shm";
const ENOUGH: u64 = 4 << 30;

/// A folder for a test: in memory where the machine has room there, since a third of the time goes into the disk's
/// flushes otherwise. Whoever sets TMPDIR chooses.
fn own_folder() -> TempDir {
    let has_room = rustix::fs::statvfs(IN_MEMORY).is_ok_and(|found| {
        // Agents and tests are programs in it.
        found.f_bavail * found.f_frsize > ENOUGH
            && !found.f_flag.contains(StatVfsMountFlags::NOEXEC)
    });
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    let in_memory = (has_room && !is_chosen)
        .then(|| tempfile::tempdir_in(IN_MEMORY).ok())
        .flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a folder"))
}

impl Scene {
    /// Makes a repository whose backlog has these tasks: (id, title, dependencies).
    pub(crate) fn new(tasks: &[(&str, &str, &[&str])], agent: &str) -> Self {
        let tasks: Vec<Value> = tasks
            .iter()
            .map(|(id, title, dependencies)| {
                serde_json::json!({"id": id, "title": title, "description": "", "status": "pending",
                                   "priority": "medium", "dependencies": dependencies, "subtasks": []})
            })
            .collect();
        let backlog =
            serde_json::to_string_pretty(&serde_json::json!({"master": {"tasks": tasks}}))
                .expect("json");
        Self::with_backlog(&backlog, agent)
    }

    pub(crate) fn with_backlog(backlog: &str, agent: &str) -> Self {
        let scene = Self {
            folder: own_folder(),
        };
        let root = scene.root();
        write(
            &root.join("run-tests.sh"),
            include_str!("../cli/demo/repository/run-tests.sh"),
        );
        write(
            &root.join("t/check.sh"),
            include_str!("../cli/demo/repository/t/check.sh"),
        );
        write(
            &root.join("t/old.t"),
            ". t/check.sh\ncheck 'the old one' 1 1\n",
        );
        write(&root.join(".taskmaster/tasks/tasks.json"), backlog);
        write(&scene.path("agent.sh"), agent);
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Somebody"],
            &["config", "user.email", "somebody@example.org"],
            &["add", "--all"],
            &["commit", "--quiet", "--message", "start"],
        ] {
            scene.git(arguments);
        }
        scene
    }

    /// Has tm take what its agent prints for the events of Claude Code.
    pub(crate) fn prints_events(self) -> Self {
        let settings = "agents: {custom: {output: claude-stream-json}}\n";
        write(&self.root().join(".taskmaster/tm.yaml"), settings);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("checkout")
    }

    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    pub(crate) fn command(&self, program: &Path) -> Command {
        std::fs::create_dir_all(self.root()).expect("a folder");
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TM_HOME", self.path("tm"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("AGENT_FOLDER", self.folder.path())
            // The suites of these tests meet their agents there.
            .env("TM_TEST_ENV", "{AGENT_FOLDER: null}")
            // Which is where a sandbox keeps them from: tests of one ask for it, and what is seen of the rest is the same
            // on every machine.
            .env("TM_SANDBOX_LEVEL", "none")
            .stdin(Stdio::null());
        // The whole suite can be run in one, with that folder in it but for what is tm's; who would change the
        // checkout then finds that it can't.
        if let Some(level) = std::env::var_os("TM_TEST_SANDBOX") {
            command
                .env("TM_SANDBOX_LEVEL", level)
                .env(
                    "TM_SANDBOX_READ",
                    format!("[{0}, {0}/.git]", self.root().display()),
                )
                .env("TM_SANDBOX_WRITE", self.folder.path());
        }
        command
    }

    /// A command as `sh` runs it, in the checkout.
    pub(crate) fn shell(&self, command: &str) -> Command {
        let mut shell = self.command(Path::new("sh"));
        shell.args(["-ec", command]);
        shell
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self
            .command(Path::new("git"))
            .args(arguments)
            .output()
            .expect("git");
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// A call of any program.
    pub(crate) fn program(&self, program: &Path) -> Command {
        self.command(program)
    }

    /// Puts a hook into the repository.
    pub(crate) fn hook(&self, name: &str, text: &str) {
        executable(&self.root().join(".git/hooks").join(name), text);
    }

    /// A call of git that may be refused.
    pub(crate) fn try_git(&self, arguments: &[&str]) -> Output {
        self.command(Path::new("git"))
            .args(arguments)
            .output()
            .expect("git")
    }

    /// A call of tm.
    pub(crate) fn tm(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&tm_binary());
        command.args(arguments);
        command
    }

    /// `tm waves run` with the scene's agent.
    pub(crate) fn run_command(&self, arguments: &[&str]) -> Command {
        let agent = format!("sh '{}'", self.path("agent.sh").display());
        let mut command = self.tm(&["waves", "run", "--yes", "--agent-command", &agent]);
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_command(arguments).output().expect("tm")
    }

    /// Runs to the end and expects this exit code.
    pub(crate) fn runs(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        self.report()
    }

    /// Starts a run and returns when its agent says that it works.
    pub(crate) fn start_and_wait_for_agent(&self, arguments: &[&str]) -> Child {
        let child = self
            .run_command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("tm starts");
        // Opening a pipe waits until the agent opens its end.
        drop(std::fs::read(self.path("started")).expect("the agent starts"));
        child
    }

    pub(crate) fn pipe(&self, name: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            self.path(name),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .expect("a pipe");
    }

    pub(crate) fn report(&self) -> Value {
        let output = self
            .tm(&["waves", "report", "--json"])
            .output()
            .expect("tm");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!(
                "one JSON document: {error}: {}",
                String::from_utf8_lossy(&output.stderr)
            )
        })
    }

    pub(crate) fn statuses(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.root().join(".taskmaster/tasks/tasks.json"))
            .expect("a backlog");
        let json: Value = serde_json::from_str(&text).expect("valid JSON");
        let tasks = json["master"]["tasks"].as_array().expect("tasks").iter();
        tasks
            .map(|task| task["status"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The folder of the last run.
    pub(crate) fn waves_folder(&self) -> PathBuf {
        let projects = std::fs::read_dir(self.path("tm/projects"))
            .expect("projects")
            .flatten();
        let runs =
            projects.filter_map(|project| std::fs::read_dir(project.path().join("runs")).ok());
        runs.flatten()
            .flatten()
            .map(|run| run.path())
            // Names don't tell which of two runs of the same second is the later one.
            .max_by_key(|run| {
                let journal = run.join("journal.jsonl").metadata();
                journal.and_then(|journal| journal.modified()).ok()
            })
            .expect("a run")
    }

    /// The tree of the integration branch of the last run.
    pub(crate) fn landed_tree(&self) -> String {
        let branch = self.report()["integration_branch"]
            .as_str()
            .expect("a branch")
            .to_owned();
        self.git(&["rev-parse", &format!("{branch}^{{tree}}")])
    }

    /// No process of an attempt of this scene is alive.
    pub(crate) fn assert_no_process_is_left(&self) {
        let mark = format!("AGENT_FOLDER={}", self.folder.path().display());
        for entry in std::fs::read_dir("/proc")
            .expect("a list of processes")
            .flatten()
        {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_ours = environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == mark.as_bytes());
            assert!(
                !is_ours,
                "{:?} is left",
                std::fs::read_to_string(entry.path().join("cmdline"))
            );
        }
    }
}

/// The attempts of a task in a report.
pub(crate) fn task<'a>(report: &'a Value, id: &str) -> &'a Value {
    let tasks = report["tasks"].as_array().expect("tasks");
    tasks
        .iter()
        .find(|task| task["id"] == id)
        .unwrap_or_else(|| panic!("task {id} in {report}"))
}
