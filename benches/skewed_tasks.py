"""Makes the backlog of `skewed_tasks.sh`, runs it, and reads from the summary where the time went."""

import json
import math
import os
import random
import shlex
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

FOLDER, TM = Path(sys.argv[1]), sys.argv[2]
TASKS, SLOTS, MEAN_MS = map(int, sys.argv[3:6])
SEED = int(os.environ.get("SEED", "1"))
TEST_MS = int(os.environ.get("TEST_MS", "20"))
ROUNDS = int(os.environ.get("ROUNDS", "1"))
ARGUMENTS = shlex.split(os.environ.get("ARGUMENTS", ""))
SIGMA = 1.0


def backlog():
    """Returns the times of the tasks in milliseconds, and what each waits for: about four on a level."""
    chance = random.Random(SEED)
    times = [MEAN_MS * math.exp(SIGMA * chance.gauss(0, 1) - SIGMA**2 / 2) for _ in range(TASKS)]
    before = [[] for _ in range(TASKS)]
    for task in range(TASKS):
        near = range(max(0, task - 12), max(0, task - 3))
        if near and chance.random() < 0.7:
            before[task] = sorted(chance.sample(near, min(len(near), chance.choice([1, 1, 2]))))
    return [max(1, round(time)) for time in times], before


def make(folder, times, before):
    """Makes the repository with its backlog."""
    folder.mkdir(parents=True)
    git = lambda *arguments: subprocess.run(["git", *arguments], cwd=folder, check=True)
    git("init", "--quiet", "--initial-branch=main")
    git("config", "user.name", "Somebody")
    git("config", "user.email", "somebody@example.org")
    tasks = [
        {"id": task + 1, "title": f"Document part {task + 1}", "status": "pending",
         "dependencies": [other + 1 for other in waits]}
        for task, waits in enumerate(before)
    ]
    (folder / ".taskmaster/tasks").mkdir(parents=True)
    (folder / ".taskmaster/tasks/tasks.json").write_text(json.dumps({"master": {"tasks": tasks}}))
    (folder / ".taskmaster/tm.yaml").write_text("test: {command: sh tests.sh}\n")
    (folder / "tests.sh").write_text(f"sleep {TEST_MS / 1000}\necho '1..1'\necho 'ok 1 - all'\n")
    (folder / "README.md").write_text("hello\n")
    cases = "".join(f"{task + 1}) t={time / 1000};; " for task, time in enumerate(times))
    (FOLDER / "agent.sh").write_text(
        f'case $TM_TASK_ID in {cases}esac\nsleep $t\necho x > "part-$TM_TASK_ID.txt"\n'
    )
    git("add", "--all")
    git("commit", "--quiet", "--message", "start")


def run(folder, home):
    """Carries the backlog out, and returns the summary."""
    environment = os.environ | {"TM_HOME": str(home)}
    command = [TM, "waves", "run", "--yes", "--tdd", "off", "--max-parallel", str(SLOTS), *ARGUMENTS,
               "--agent-command", f"sh {FOLDER}/agent.sh"]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stdout[-3000:] + ran.stderr[-3000:])
    newest = max((home / "projects").glob("*/runs/*/summary.json"), key=lambda path: path.stat().st_mtime)
    return json.loads(newest.read_text())


def moment(text):
    """Returns a moment in milliseconds."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


def schedule_alone(times, before):
    """Returns the time that the agents take where nothing but they takes any, the longest chain of tasks first."""
    after = [[task for task, waits in enumerate(before) if other in waits] for other in range(TASKS)]
    chain = [1] * TASKS
    for task in reversed(range(TASKS)):
        chain[task] += max((chain[other] for other in after[task]), default=0)
    unmet, running, now, begun = [len(waits) for waits in before], [], 0, set()
    while len(begun) < TASKS or running:
        ready = [task for task in range(TASKS) if unmet[task] == 0 and task not in begun]
        ready.sort(key=lambda task: (-chain[task], -len(after[task]), task))
        for task in ready[: SLOTS - len(running)]:
            begun.add(task)
            running.append((now + times[task], task))
        now, ended = min(running)
        running.remove((now, ended))
        for task in after[ended]:
            unmet[task] -= 1
    return now


def show(summary, times, before):
    """Prints the ratio and the parts."""
    wall, bound = summary["wall_ms"], summary["lower_bound_ms"]
    steps = {"prepare": [], "agent": [], "prove, commit": [], "wait to land": [], "land": []}
    for task in summary["tasks"]:
        last = task["attempts"][-1]
        keys = ["started_at", "agent_started_at", "agent_ended_at", "queued_at", "landing_at", "ended_at"]
        moments = [moment(last[key]) for key in keys]
        for values, begin, end in zip(steps.values(), moments, moments[1:]):
            values.append(end - begin)
    attempts = [attempt for task in summary["tasks"] for attempt in task["attempts"]]
    first = min(moment(attempt["started_at"]) for attempt in attempts) - moment(summary["started_at"])
    last = moment(summary["ended_at"]) - max(moment(attempt["ended_at"]) for attempt in attempts)
    alone = schedule_alone(times, before)
    print(f"wall {wall} ms, bound {bound} ms, ratio {wall / bound:.3f}; the schedule alone {alone / bound:.3f}")
    means = ", ".join(f"{name} {sum(values) / len(values):.0f}" for name, values in steps.items())
    print(f"  a task, mean ms: {means}; before the first task {first:.0f}, after the last {last:.0f}")


TIMES, BEFORE = backlog()
for number in range(ROUNDS):
    # What tm knows of a repository it knows by its place: a second night is one of a repository in the same.
    place = FOLDER / ("1" if os.environ.get("HISTORY") else str(number + 1))
    shutil.rmtree(place / "work", ignore_errors=True)
    make(place / "work", TIMES, BEFORE)
    show(run(place / "work", place / "home"), TIMES, BEFORE)
