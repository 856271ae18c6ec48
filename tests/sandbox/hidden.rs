//! What hides from its job where that has no processes of its own: it is found by its stamp, and ended with its job.

use super::has;
use crate::scene::{HONEST, Scene, tm_binary, write};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tm_executors::engine::{Executor, FILTER, Holding, Job};
use tm_executors::environment::EnvironmentRules;
use tm_executors::process::{Besides, JobKind, Needs, ProcessIdentity, TreeCommand};
use tm_sandbox::{Level, Limits, Wanted};

/// Says who it is once it writes, which it never stops.
const WRITES: &str = "echo $$ > hidden; echo > begun; while :; do echo on > written; done";

/// How a program hides that is the words behind it, and ends before the program does.
const HIDING: [(&str, &str); 5] = [
    (
        "orphan",
        "(env -i PATH=\"$PATH\" setsid sh -c '(\"$@\" > /dev/null 2>&1 < /dev/null &)' sh \"$@\" &)",
    ),
    (
        "another's",
        "(env -i PATH=\"$PATH\" TM_SPARED=1 TM_HIDDEN=other setsid sh -c '(\"$@\" &)' sh \"$@\" &)",
    ),
    (
        "in the group of who started tm",
        "(env -i PATH=\"$PATH\" perl -e 'setpgrp(0, shift) or die $!; fork and exit; exec @ARGV' \"$OUTSIDE\" \"$@\" &)",
    ),
    (
        "in the group of another job",
        "(env -i PATH=\"$PATH\" perl -e 'setpgrp(0, shift) or die $!; fork and exit; exec @ARGV' \"$OTHER\" \"$@\" &)",
    ),
    (
        "behind a first thread that has ended",
        "(env -i PATH=\"$PATH\" setsid python3 -c 'import ctypes, os, threading
def write():
    open(\"hidden\", \"w\").write(str(os.getpid()))
    open(\"begun\", \"w\").write(\"on\\n\")
    while True: open(\"written\", \"w\").write(\"on\")
threading.Thread(target=write).start()
ctypes.CDLL(None).pthread_exit(None)' &)",
    ),
];

/// Changes the limit by an address whose lower half is nothing and by the other call, reads it, and looks at what it is.
const PRLIMIT: &str = "
import ctypes, mmap, resource
system = ctypes.CDLL(None, use_errno=True)
system.mmap.restype = ctypes.c_void_p
there = system.mmap(ctypes.c_void_p(1 << 32), 4096, 3, 0x100022, -1, 0)
assert there == 1 << 32
prlimit, setrlimit = ({'x86_64': (302, 160)}).get(__import__('os').uname().machine, (261, 164))
high = ctypes.c_void_p(there)
changed = system.syscall(prlimit, 0, 10, high, None), system.syscall(setrlimit, 10, high)
read = system.syscall(prlimit, 0, 10, None, high)
print(*changed, read, resource.getrlimit(10)[1] < resource.RLIM_INFINITY % (1 << 63))
";

/// A job at the level of Landlock, in a folder of its own.
struct HeldJob {
    folder: TempDir,
    job: Box<dyn Job>,
}

fn markers(name: &str) -> Vec<(String, String)> {
    vec![("TM_HIDDEN".to_owned(), name.to_owned())]
}

fn executor(folder: &Path) -> Executor {
    let holding = Holding {
        wanted: Wanted::Exactly(Level::Landlock),
        level: Some(Level::Landlock),
        refused: Vec::new(),
        tm_program: tm_binary(),
        hidden: Vec::new(),
        read: Vec::new(),
        write: Vec::new(),
        limits: Limits::default(),
        hosts: None,
        networks: [].into(),
    };
    Executor::local(folder.join("records")).held(holding.into())
}

impl HeldJob {
    async fn start(name: &str, script: &str, words: &[&str], other: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("a path");
        std::fs::create_dir_all(path.join("own/tmp")).expect("a folder");
        let arguments = ["-c", script, "sh"]
            .into_iter()
            .chain(words.iter().copied());
        let outside = rustix::process::getpgrp().as_raw_nonzero();
        let variables = [
            ("OUTSIDE", outside.to_string()),
            ("OTHER", other.to_string()),
        ];
        let command = TreeCommand {
            program: "bash".into(),
            arguments: arguments.map(Into::into).collect(),
            working_folder: path.clone(),
            environment: variables
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec(),
            stdout: path.join("log"),
            stderr: path.join("log"),
            env_markers: markers(name),
            needs: Some(Needs {
                kind: JobKind::Agent,
                own_folder: path.join("own"),
                besides: Besides::default(),
                hosts: None,
                network: None,
                only_reads: false,
                said_by_others: Vec::new(),
                pass: Vec::new(),
            }),
            ..TreeCommand::default()
        };
        let job = executor(&path).start(&command).await.expect("started");
        Self { folder, job }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Who hides, once the program has ended.
    async fn hidden(&mut self) -> ProcessIdentity {
        self.job.wait().await.expect("an end");
        let pid = self.read("hidden");
        let pid = pid
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{}", self.read("log")));
        ProcessIdentity::of(pid).expect("it lives on")
    }
}

async fn begin_hidden(hiding: &str, other: &HeldJob) -> HeldJob {
    let script = format!("mkfifo begun; {hiding}; read -r _ < begun");
    let other = other.job.handle().expect("a handle");
    let other: ProcessIdentity = other.job().expect("a process");
    HeldJob::start("hides", &script, &["sh", "-c", WRITES], other.pid).await
}

/// Runs in a process of its own: what other tests leave behind would come to it, and be ended for what hides.
#[tokio::test]
#[ignore = "is started by the test below"]
async fn apart() {
    let mut other = HeldJob::start("other", "exec sleep 1000", &[], 0).await;
    for (name, hiding) in HIDING {
        let mut job = begin_hidden(hiding, &other).await;
        let hidden = job.hidden().await;
        job.job.end(Duration::ZERO).await;
        assert!(!hidden.is_alive(), "{name}");
        assert!(other.job.is_running().await, "{name}");
    }
    let changed = "ulimit -S -x 5; ulimit -H -x 5; ulimit -x 5; python3 -c \"$1\"; echo over";
    let mut job = HeldJob::start("changes", changed, &[PRLIMIT], 0).await;
    job.job.wait().await.expect("an end");
    let log = job.read("log");
    let log: Vec<&str> = log.lines().collect();
    assert!(
        log.len() == 5
            && log[4] == "over"
            && log[..3].iter().all(|line| line.contains("not permitted")),
        "{log:?}"
    );
    assert_eq!(
        log[3], "-1 -1 0 True",
        "what only reads is let through: {log:?}"
    );
    other.job.end(Duration::ZERO).await;
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn what_hides_from_its_job_ends_with_it_while_another_one_goes_on() {
    if !has("landlock") {
        return;
    }
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "sandbox::hidden::apart",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .output()
        .expect("started");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
}

/// Says who it is before it says that it works, and waits for what is written into the gate.
const HIDES: &str = r#"
out="$AGENT_FOLDER/out"
[ -e "$out/hidden" ] || HIDING
cat "$out/gate" > /dev/null
"#;

/// Whoever goes on has started nobody, and knows the agent by what was written down.
#[test]
fn what_hid_from_an_agent_before_tm_was_killed_is_gone_when_that_is_over() {
    if !has("landlock") {
        return;
    }
    let writes = "sh -c 'echo $$ > \"$1/hidden\"; echo > \"$1/started\"; while :; do echo on > \"$1/written\"; done' sh \"$out\"";
    let hiding = HIDING[0]
        .1
        .replace("sh \"$@\" &", &format!("sh {writes} &"));
    let scene = Scene::new(
        &[("1", "Document it", &[])],
        &(HIDES.replace("HIDING", &hiding) + HONEST),
    );
    let out = scene.path("out");
    std::fs::create_dir(&out).expect("a folder");
    scene.pipe("out/started");
    scene.pipe("out/gate");
    let start = || {
        scene
            .run_command(&[])
            .env("TM_SANDBOX_LEVEL", "landlock")
            .env("TM_SANDBOX_WRITE", &out)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tm")
    };
    let mut killed = start();
    drop(std::fs::read(out.join("started")).expect("it hides"));
    let pid = i32::try_from(killed.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a number"), Signal::KILL).expect("sent");
    killed.wait().expect("an end");
    let hidden = std::fs::read_to_string(out.join("hidden")).expect("it is known");
    let hidden = ProcessIdentity::of(hidden.trim().parse().expect("a number"));
    let hidden = hidden.expect("it lives on");
    let goes_on = start();
    write(&out.join("gate"), "go\n");
    let output = goes_on.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(!hidden.is_alive(), "{words}");
    assert_eq!(scene.statuses(), ["done"]);
}

/// Has somebody go on where nobody looks, who says who that is before the command ends.
const LEAVES: &str = r#"
cat
mkfifo "$TMPDIR/begun"
env -i PATH="$PATH" setsid sh -c '(sh -c "echo \$\$ >&2; echo > \"\$1\"; exec sleep 1000 2> /dev/null" sh "$1" > /dev/null < /dev/null &)' sh "$TMPDIR/begun"
read -r _ < "$TMPDIR/begun"
"#;

#[test]
fn what_the_command_of_a_filter_leaves_behind_ends_with_it() {
    if !has("landlock") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let executor = executor(folder.path());
    let holding = executor.holding().expect("it holds");
    let rules = EnvironmentRules::default();
    let held = holding
        .of_filters(&rules, Duration::from_mins(1), "")
        .expect("written");
    let file = folder.path().join("held.json");
    let held = String::from_utf8(held.expect("they are held")).expect("a text");
    write(&file, &held);
    let output = assert_cmd::Command::new(tm_binary())
        .arg(FILTER)
        .arg(&file)
        .args([LEAVES, "a path"])
        .current_dir(folder.path())
        .write_stdin("content")
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"content", "{words}");
    let pid = words
        .trim()
        .trim_start_matches("filter: ")
        .parse()
        .unwrap_or_else(|_| panic!("{words}"));
    // Nobody may have waited for it yet.
    assert!(!ProcessIdentity::of(pid).is_some_and(ProcessIdentity::is_alive));
}
