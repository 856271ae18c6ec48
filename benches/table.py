"""Measures the rows of `benches/table.sh`, and prints them."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time

from repository import backlog, commit_all, cost_of, forget_branches, git, run_of_tm, write

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = int(os.environ.get("ROUNDS", "3"))
WORSE = 1.3
AGENT = 'printf x > part-$TM_TASK_ID; printf "status: PASS\\n" > "${TM_RESULT_FILE:-/dev/null}"'
ROWS = {}


def row(name, what):
    """Adds a function that measures a row: it yields (column, wall in seconds, CPU in seconds)."""
    def add(measure):
        ROWS[name] = (what, measure)
        return measure
    return add


class Place:
    """Where things are measured, and with which tm."""

    def __init__(self, folder, tm):
        self.folder, self.tm, self.made = pathlib.Path(folder), os.path.abspath(tm), {}

    def repository(self, files):
        """A repository of so many small files, with a test that ends at once; made once."""
        if files not in self.made:
            root = self.folder / f"files-{files}"
            for n in range(files):
                write(root / f"source/part_{n // 100}/file_{n}.txt", "".join(f"line {m} of {n}\n" for m in range(10)))
            write(root / "run-tests.sh", "echo 1..1; echo ok 1 - it works\n")
            write(root / ".taskmaster/tm.yaml", "test: { command: sh run-tests.sh }\n")
            commit_all(root)
            self.made[files] = root
        return self.made[files]

    def run(self, files, tasks, slots=1, sandbox="none", depends_on=lambda number: [], agent=AGENT):
        """Wall and CPU seconds of a run of so many tasks, and what it left."""
        root = self.repository(files)
        backlog(root, tasks, depends_on)
        arguments = ["--tdd", "off", "--max-parallel", str(slots), "--sandbox", sandbox, "--agent-command", agent]
        cost = run_of_tm(root, self.tm, arguments, self.folder / "tm-home")
        forget_branches(root)
        return cost

    def by_hand(self, files, tasks, slots=1, agent=AGENT):
        """The same by hand."""
        root = self.repository(files)
        cost = cost_of([HERE / "by_hand.sh", root, str(tasks), str(slots), agent], root)
        git(root, "worktree", "remove", "--force", f"{root}.by-hand/integration")
        git(root, "branch", "--quiet", "-D", "integration")
        forget_branches(root)
        shutil.rmtree(f"{root}.by-hand")
        return cost


def least(contestants):
    """The least wall and CPU of each in rounds in which they take turns."""
    known = {}
    for _ in range(ROUNDS):
        for name, measure in contestants.items():
            wall, cpu = measure()[:2]
            before = known.get(name, (wall, cpu))
            known[name] = (min(before[0], wall), min(before[1], cpu))
    return known


def marginal(contestants, few, more):
    """What one task costs, by what more of them take longer than few: neither the start counts nor the first checkouts."""
    known = least({(name, count): (lambda run=run, count=count: run(count))
                   for name, run in contestants.items() for count in (few, more)})
    for name in contestants:
        yield name, *((known[name, more][which] - known[name, few][which]) / (more - few) for which in (0, 1))


def task_row(files, few, more):
    @row(f"task-{files}", f"a task that does nothing, {files:,} files")
    def measure(place):
        return marginal({
            "tm": lambda count: place.run(files, count),
            "tm held": lambda count: place.run(files, count, sandbox="auto"),
            "by hand": lambda count: place.by_hand(files, count),
        }, few, more)


for counts in ((200, 5, 25), (2_000, 5, 20), (20_000, 3, 11), (50_000, 3, 9)):
    task_row(*counts)


@row("chain", "a link of a chain of such tasks")
def chain(place):
    return marginal({
        "tm": lambda count: place.run(200, count, 2, depends_on=lambda n: [n - 1] if n > 1 else []),
        "by hand": lambda count: place.by_hand(200, count),
    }, 5, 25)


def growing_row(tasks):
    @row(f"tasks-{tasks}", f"each of {tasks:,} tasks, 2 slots")
    def measure(place):
        known = least({"tm": lambda: place.run(200, tasks, 2), "by hand": lambda: place.by_hand(200, tasks, 2)})
        for name, (wall, cpu) in known.items():
            yield name, wall / tasks, cpu / tasks


for count in (10, 100, 1_000):
    growing_row(count)


def slots_row(slots):
    @row(f"slots-{slots}", f"each of 200 tasks of 20 ms, {slots} slots")
    def measure(place):
        agent = f"sleep 0.02; {AGENT}"
        known = least({"tm": lambda: place.run(200, 200, slots, agent=agent),
                       "by hand": lambda: place.by_hand(200, 200, slots, agent)})
        for name, (wall, cpu) in known.items():
            yield name, wall / 200, cpu / 200


for count in (1, 8, 64):
    slots_row(count)


@row("flat", "each of 2,000 tasks of 20 ms that add a file to 200, 64 slots; the last 500 alone")
def flat(place):
    *cost, left = place.run(200, 2_000, 64, agent=f"sleep 0.02; {AGENT}")
    landed = []
    for line in (left / "journal.jsonl").read_text().splitlines()[1:]:
        entry = json.loads(line)
        if '"landed"' in json.dumps(entry["record"]):
            landed.append(entry["at"] / 1000)
    yield "tm", (landed[-1] - landed[0]) / len(landed), cost[1] / 2_000
    yield "the last 500", (landed[-1] - landed[-500]) / 500, None


@row("spawn", "a task without git, 2 slots")
def spawn(place):
    printed = subprocess.run(["cargo", "bench", "--quiet", "-p", "tm-benches", "--bench", "no_op_run", "--", "1000", "2"],
                             cwd=HERE, check=True, capture_output=True, text=True)
    _, _, floor, ours, _ = printed.stdout.splitlines()[-1].split()
    yield "tm", float(ours) / 1000, None
    yield "posix_spawn", float(floor) / 1000, None
    root = place.repository(200)
    write(root.with_suffix(".mk"), "tasks := $(shell seq 1000)\nall: $(tasks)\n$(tasks):\n\t@/bin/true\n.PHONY: all $(tasks)\n")
    write(root.with_suffix(".ninja"), "rule r\n  command = /bin/true\n" + "".join(f"build t{n}: r\n" for n in range(1_000)))
    known = least({name: (lambda command=command: cost_of(["sh", "-c", command], root)) for name, command in {
        "xargs": "seq 1000 | xargs -P 2 -n 1 /bin/true",
        "make": f"make -s -j2 -f {root.with_suffix('.mk')}",
        "ninja": f"ninja -j2 -f {root.with_suffix('.ninja')}",
        "parallel": "seq 1000 | parallel -j2 /bin/true",
    }.items() if shutil.which(name)})
    for name, (wall, cpu) in known.items():
        yield name, wall / 1_000, cpu / 1_000


def graph(tasks):
    """Up to three dependencies among the hundred tasks before."""
    return lambda n: sorted({m for m in (n - 1 - n * 7 % 100, n - 1 - n * 13 % 100, n - 1 - n * 31 % 100) if m > 0 and n % 4})


def plan_row(tasks):
    @row(f"plan-{tasks}", f"a plan of {tasks:,} tasks, read from its file")
    def measure(place):
        root = place.repository(200)
        backlog(root, tasks, graph(tasks))
        contestants = {"tm": lambda: cost_of([place.tm, "waves", "plan", "--tdd", "off", "--format", "json"], root,
                                             {"TM_HOME": str(place.folder / "tm-home")})}
        if tasks <= 10_000:
            names = " ".join(str(n) for n in range(1, tasks + 1))
            lines = [f"{n}: {' '.join(map(str, graph(tasks)(n)))}\n\t@/bin/true\n" for n in range(1, tasks + 1)]
            write(root.with_suffix(".mk"), f"all: {names}\n.PHONY: all {names}\n" + "".join(lines))
            contestants["make -n"] = lambda: cost_of(["make", "-s", "-n", "-f", root.with_suffix(".mk")], root)
        for name, cost in least(contestants).items():
            yield name, *cost


for count in (10_000, 100_000, 1_000_000):
    plan_row(count)


def command_row(name, *words, what="tasks", details=""):
    @row(f"command-{name}", f"`{' '.join(words)}`, 10,000 {what}")
    def measure(place):
        root = place.repository(200)
        backlog(root, 10_000, graph(10_000), details)
        write(root / ".taskmaster/state.json", json.dumps({"currentTag": "master", "migrationNoticeShown": True}))
        write(root / ".taskmaster/config.json", json.dumps({"models": {}, "global": {}}))
        contestants = {"tm": lambda: cost_of([place.tm, *words], root)}
        if theirs := os.environ.get("TM_TASK_MASTER"):
            contestants["Task Master"] = lambda: cost_of([theirs, *words], root, {"TASKMASTER_SKIP_AUTO_UPDATE": "1"})
        known = least(contestants)
        for left in ("state.json", "config.json"):
            (root / ".taskmaster" / left).unlink()
        for name, cost in known.items():
            yield name, *cost


command_row("list", "list")
command_row("list --json", "list", "--json")
command_row("list --json of long tasks", "list", "--json", what="long tasks",
            details="Read the header, check its length, and say \"why\" where it is cut off.\n" * 20)
command_row("next", "next")
command_row("set-status", "set-status", "--id=1", "--status=done")


class SilentAgents:
    """A run of so many agents that say nothing."""

    def __init__(self, place, agents):
        root = place.repository(200)
        backlog(root, agents)
        self.up, home = place.folder / "up", place.folder / "tm-home"
        shutil.rmtree(self.up, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)
        self.up.mkdir()
        command = [place.tm, "waves", "run", "--yes", "--tdd", "off", "--max-parallel", str(agents), "--sandbox", "none",
                   "--agent-command", f": > {self.up}/$TM_TASK_ID; exec sleep 1000"]
        self.log = open(root.with_suffix(".log"), "w")
        self.run = subprocess.Popen(command, cwd=root, env={**os.environ, "TM_HOME": str(home)}, stdin=subprocess.DEVNULL,
                                    stdout=self.log, stderr=self.log)
        self.root = root
        while len(list(self.up.iterdir())) < agents:
            if self.run.poll() is not None:
                sys.exit(f"the run ended: {root.with_suffix('.log').read_text()[-3000:]}")
            time.sleep(0.1)
        time.sleep(2)

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.run.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        status = pathlib.Path(f"/proc/{self.run.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def stop(self):
        self.run.send_signal(signal.SIGINT)
        time.sleep(0.2)
        begun = time.monotonic()
        self.run.send_signal(signal.SIGINT)
        self.run.wait()
        self.log.close()
        forget_branches(self.root)
        return time.monotonic() - begun


@row("idle-100", "a second of 100 silent agents")
def idle(place):
    agents = SilentAgents(place, 100)
    before = agents.cpu()
    time.sleep(20)
    share = (agents.cpu() - before) / 20
    agents.stop()
    yield "tm", 1, share


@row("stop-500", "the end of 500 agents, asked twice")
def stop(place):
    agents = SilentAgents(place, 500)
    memory = agents.memory()
    yield "tm", agents.stop(), None
    print(f"  at most {memory:.0f} MiB with 500 agents", flush=True)


def ratios(columns):
    """Of tm to each of the others, by wall and by CPU time."""
    (first, *ours), *others = columns
    of = lambda mine, theirs: mine / theirs if mine is not None and theirs else None
    return {name: [of(mine, theirs) for mine, theirs in zip(ours, values)] for name, *values in others}


def show(name, what, columns):
    print(f"{name:14} {what}")
    time_of = lambda value: "         " if value is None else f"{value * 1000:9.2f}"
    compared = ratios(columns)
    for column, wall, cpu in columns:
        wall_ratio, cpu_ratio = compared.get(column, (None, None))
        beside = "".join(f"   tm / it: {words} {value:.2f}" for words, value in (("wall", wall_ratio), ("CPU", cpu_ratio)) if value)
        print(f"    {column:14} wall {time_of(wall)} ms   CPU {time_of(cpu)} ms{beside}", flush=True)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    said = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
    return {"processors": os.cpu_count(), "model": model, "system": platform.release(), "git": said.split()[2],
            "load": os.getloadavg()[0]}


def check(figures, path):
    """Returns the rows whose ratio of CPU time got worse than what is kept."""
    kept, worse = json.loads(pathlib.Path(path).read_text())["rows"], []
    for name, found in figures.items():
        for column, (_, now) in found["ratios"].items():
            before = kept.get(name, {}).get("ratios", {}).get(column, [None, None])[1]
            if now and before and now > WORSE * before:
                worse.append(f"{name}: tm takes {now:.2f} times the CPU time of {column}, where it took {before:.2f}")
    return worse


def measured(place, names):
    figures = {}
    for name in names:
        what, measure = ROWS[name]
        columns = list(measure(place))
        show(name, what, columns)
        figures[name] = {"what": what, "seconds": {column: [wall, cpu] for column, wall, cpu in columns}, "ratios": ratios(columns)}
    return figures


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(f"{name:16} {what}" for name, (what, _) in ROWS.items()))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("tm")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--json")
    parser.add_argument("--check")
    arguments = parser.parse_intermixed_args()
    is_meant = lambda name: any(name == wanted or name.startswith(f"{wanted}-") for wanted in arguments.rows)
    names = [name for name in ROWS if not arguments.rows or is_meant(name)]
    if not names:
        sys.exit(f"no row is called {' or '.join(arguments.rows)}; benches/table.sh --list names them")
    facts, place = machine(), Place(arguments.folder, arguments.tm)
    print(", ".join(f"{key} {value}" for key, value in facts.items()))
    figures = measured(place, names)
    worse = check(figures, arguments.check) if arguments.check else []
    if worse:
        # A neighbour's work is in the figures too: what is worse is measured once more.
        worse = check(measured(place, sorted({line.split(":")[0] for line in worse})), arguments.check)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"version": 1, "machine": facts, "rows": figures}, indent=1) + "\n")
    if worse:
        sys.exit("\n".join(worse))


main()
