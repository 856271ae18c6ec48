//! Limits of whole jobs, by control groups, on a kernel of the test's own that has them (User Mode Linux).

use crate::scene::{executable, tm_binary, write};
use crate::skipping::{lacks, lacks_what_a_machine_may_have};
use std::path::Path;
use std::process::{Command, Stdio};

/// The kernel, a program like any other.
const KERNEL: &str = "linux.uml";

/// Comes first: a file system for what the night writes and for temporary files, where these tests are not among those, and a
/// group that is handed to whoever runs tm.
const BOOT: &str = r#"#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc
mount -t sysfs none /sys
export ROOM=${0%/*}/room
mkdir $ROOM
mount -t tmpfs none $ROOM
case $0 in /tmp/*) ;; *) mount -t tmpfs none /tmp ;; esac
mount -t cgroup2 none /sys/fs/cgroup || { echo 'no groups'; halt -f; }
echo booted
G=/sys/fs/cgroup
echo '+memory +pids' > $G/cgroup.subtree_control
mkdir $G/handed
python3 -c 'import os; os.setxattr("/sys/fs/cgroup/handed", "user.delegate", b"1")'
echo $$ > $G/handed/cgroup.procs
(sh "$(dirname "$0")/night.sh") 2>&1
halt -f
"#;

/// A run of three agents: one whose processes take more memory together than a job may have, each of them less; one that
/// wants more processes; and one that leaves a process which shows no mark of it.
const NIGHT: &str = r#"
# A tm outside would take temporary files in a folder of its own for those of processes that are gone.
export HOME=$ROOM/home TM_HOME=$ROOM/tm TMPDIR=$ROOM/temporary GIT_CONFIG_NOSYSTEM=1
mkdir -p $HOME $TMPDIR $ROOM/r/.taskmaster/tasks
cd $ROOM/r
git init -q -b main .
git config user.name Somebody
git config user.email somebody@example.org
echo '{"master": {"tasks": [{"id": 1, "title": "Eat", "status": "pending", "dependencies": []},
  {"id": 2, "title": "Breed", "status": "pending", "dependencies": []},
  {"id": 3, "title": "Linger", "status": "pending", "dependencies": []}]}}' > .taskmaster/tasks/tasks.json
echo 'sandbox: { level: bwrap, memory: 64MiB, processes: 40 }
test: { command: "true" }' > .taskmaster/tm.yaml
git add -A
git commit -qm start
cat > $ROOM/agent.sh <<'A'
case $TM_TASK_ID in
1) python3 - <<'P'
import subprocess, sys
fill = "x = bytearray(30 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(60)"
eaters = [subprocess.Popen([sys.executable, "-c", fill]) for _ in range(4)]
# The kernel ends one of them, and nobody has to wait for the others.
import os
os.wait()
for eater in eaters: eater.kill()
P
;;
2) i=0; while [ $i -lt 60 ]; do sleep 60 > /dev/null 2>&1 & i=$((i + 1)); done 2>&1 | tail -3 ;;
3) env -i setsid sh -c 'exec sleep 1234' & ;;
esac
echo done > "out-$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
A
$TM doctor | grep limits
$TM waves run --yes --tdd off -j 1 --retries 0 --agent-command "sh $ROOM/agent.sh" > $ROOM/said 2>&1 ||
    tail -20 $ROOM/said
python3 -c 'import json, sys
for task in json.load(sys.stdin)["tasks"]: print("task", task["id"], task["state"], task["attempts"][0]["noticed"])' \
    < "$(ls $ROOM/tm/projects/*/runs/*/summary.json)"
echo "groups: $(ls /sys/fs/cgroup/handed | grep -c tm-job)"
echo "left: $(grep -l '12[3]4' /proc/[0-9]*/cmdline | wc -l)"
"#;

#[test]
fn a_job_as_a_whole_has_no_more_memory_and_processes_than_it_may_have() {
    if which::which(KERNEL).is_err() {
        lacks("User Mode Linux");
        return;
    }
    // The kernel has devices of its own, where this machine may have its temporary files.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (boot, night) = (
        folder.path().join("boot.sh"),
        folder.path().join("night.sh"),
    );
    executable(&boot, BOOT);
    write(&night, &format!("TM='{}'\n{NIGHT}", tm_binary().display()));
    let said = booted(&boot);
    if !said.contains("booted") {
        lacks_what_a_machine_may_have(&format!("User Mode Linux that starts: {said}"));
        return;
    }
    for wanted in [
        "of whole jobs",
        "task 1 landed ['its processes used more memory together than `sandbox.memory` gives",
        "task 2 landed ['it wanted more processes than `sandbox.processes` gives",
        "task 3 landed",
        "groups: 0",
        "left: 0",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

/// What the kernel's first process printed.
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn booted(first: &Path) -> String {
    let output = Command::new(KERNEL)
        .args(["mem=1G", "rootfstype=hostfs", "rootflags=/", "rw", "quiet"])
        .args(["con=null", "con0=fd:0,fd:1", "panic=-1"])
        .arg(format!("init={}", first.display()))
        .stdin(Stdio::null())
        .output()
        .expect("a kernel");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
