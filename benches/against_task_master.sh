#!/usr/bin/env bash
# Compares tm with Task Master's program on the same backlogs, in one run: 10,000 tasks, and 51 tasks in 17 layers.
#
# Usage: benches/against_task_master.sh. Needs node, npm and python3. TM names another tm than the release build,
# TM_TASK_MASTER a Task Master that is installed already. Each number is the median of RUNS (default 3) after one
# warm-up; both programs start from the same file each time.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -z "${TM:-}" ]; then
    cargo build --quiet --release
    TM=$(cargo metadata --no-deps --format-version 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["target_directory"])')/release/tm
fi
if [ -z "${TM_TASK_MASTER:-}" ]; then
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder/npm" task-master-ai >/dev/null
    TM_TASK_MASTER=$folder/npm/node_modules/.bin/task-master
fi
export TM TM_TASK_MASTER HOME="$folder/home" TASKMASTER_SKIP_AUTO_UPDATE=1
mkdir -p "$HOME"

python3 - "$folder" <<'PYTHON'
import json, os, shutil, statistics, subprocess, sys, time

folder = sys.argv[1]
runs = int(os.environ.get("RUNS", "3"))

def task(number, dependencies):
    return {"id": str(number), "title": f"Add part {number}", "description": "A sentence on what is to be done.",
            "details": "", "testStrategy": "", "status": "done" if number % 5 == 0 else "pending", "priority": "medium",
            "dependencies": [str(one) for one in dependencies], "subtasks": []}

def project(name, tasks):
    root = os.path.join(folder, name)
    os.makedirs(os.path.join(root, ".taskmaster/tasks"))
    path = os.path.join(root, ".taskmaster/tasks/tasks.json")
    for file, content in ((path, {"master": {"tasks": tasks, "metadata": {}}}),
                          (os.path.join(root, ".taskmaster/state.json"),
                           {"currentTag": "master", "migrationNoticeShown": True}),
                          (os.path.join(root, ".taskmaster/config.json"), {"models": {}, "global": {}})):
        with open(file, "w") as opened:
            json.dump(content, opened, indent=2)
    shutil.copy(path, path + ".before")
    return root, path

def seconds(program, arguments, root, path):
    taken = []
    for run in range(runs + 1):
        shutil.copy(path + ".before", path)
        begun = time.monotonic()
        subprocess.run([program, *arguments], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        if run:
            taken.append(time.monotonic() - begun)
    return statistics.median(taken)

def compare(name, arguments, place):
    ours = seconds(os.environ["TM"], arguments, *place)
    theirs = seconds(os.environ["TM_TASK_MASTER"], arguments, *place)
    print(f"{name:36} {ours * 1000:10.1f} ms {theirs * 1000:12.1f} ms {theirs / ours:10.1f} x", flush=True)

large = project("large", [task(n, [m for m in (n - 1, n - 7) if m > 0 and n % 3]) for n in range(1, 10_001)])
layered = project("layered", [task(n + 1, [m + 1 for m in range(n // 3 * 3 - 3, n // 3 * 3) if m >= 0])
                              for n in range(51)])
print(f"{'':36} {'tm':>13} {'Task Master':>15} {'ratio':>12}")
compare("list, 10,000 tasks", ["list"], large)
compare("next, 10,000 tasks", ["next"], large)
compare("set-status, 10,000 tasks", ["set-status", "--id=1", "--status=done"], large)
runs = 1
compare("validate-dependencies, 17 layers of 3", ["validate-dependencies"], layered)
PYTHON
