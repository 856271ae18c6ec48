"""Makes repositories with backlogs for the benchmarks, and runs programs in them: what it took, in wall and CPU time."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(root, *words):
    subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)


def commit_all(root):
    """Makes a folder a repository with one commit, packed."""
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Somebody")
    git(root, "config", "user.email", "somebody@example.org")
    git(root, "config", "gc.auto", "0")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "start")
    git(root, "gc", "--quiet")


def backlog(root, tasks, depends_on=lambda number: [], details=""):
    """Writes so many open tasks, unseen by git."""
    task = lambda n: {"id": n, "title": f"Add part {n}", "description": "A function.", "status": "pending",
                      "details": details, "priority": "medium", "dependencies": depends_on(n), "subtasks": []}
    # A file of more than 256 MiB is refused.
    indent = 2 if tasks <= 100_000 else None
    write(root / ".taskmaster/tasks/tasks.json",
          json.dumps({"master": {"tasks": [task(n) for n in range(1, tasks + 1)]}}, indent=indent))
    write(root / ".git/info/exclude", ".taskmaster\n")


def forget_branches(root):
    """Takes away the branches that runs have left."""
    listed = subprocess.run(["git", "for-each-ref", "--format=delete %(refname)", "refs/heads/tm", "refs/heads/by-hand", "refs/tm"],
                            cwd=root, check=True, capture_output=True, text=True).stdout
    subprocess.run(["git", "update-ref", "--stdin"], cwd=root, check=True, input=listed, text=True)


def cost_of(command, root, environment=None, log=None):
    """Runs a command to its end; returns wall and CPU seconds of it with all that it started."""
    log = log or root.with_suffix(".log")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    with open(log, "w") as opened:
        code = subprocess.run(command, cwd=root, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                              stdout=opened, stderr=opened).returncode
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code:
        sys.exit(f"{command[0]} ended with exit code {code}:\n{pathlib.Path(log).read_text()[-3000:]}")
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def run_of_tm(root, program, arguments, home, environment=None):
    """Runs the backlog of a repository; returns wall and CPU seconds, and the folder that the run left."""
    shutil.rmtree(home, ignore_errors=True)
    cost = cost_of([program, "waves", "run", "--yes", "--retries", "0", *arguments], root,
                   {"TM_HOME": str(home), **(environment or {})})
    return *cost, next(home.glob("projects/*/runs/*"))
