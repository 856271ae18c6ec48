"""Makes the repositories of `benches/judge.sh`, runs the pairs, and prints what they cost."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from repository import backlog, commit_all, forget_branches, git, run_of_tm, write

FOLDER = pathlib.Path(sys.argv[1])
PROGRAMS = dict(zip(("new", "old"), (os.path.abspath(path) for path in sys.argv[2:])))
PAIRS = int(os.environ.get("PAIRS", "8"))
WARM = int(os.environ.get("WARM", "3"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SLOTS = [int(slots) for slots in os.environ.get("PARALLEL", "1 2").split()]
FILES = int(os.environ.get("FILES", "20000"))
KINDS = os.environ.get("KINDS", "files rust").split()
MODULES = 40

PYTHON_TEST = """import unittest


class Part{n}(unittest.TestCase):
    def test_part_{n}(self):
        from app.part_{n} import part
        self.assertEqual(part(), {n})
"""
RUST_TEST = """#[test]
fn part_{n}_is_{n}() {{
    assert_eq!(project::part_{n}::part(), {n});
}}
"""
RUST_MODULE = """//! Module {n}.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record{n} {{
    pub name: String,
    pub values: BTreeMap<String, Vec<u64>>,
}}

impl Record{n} {{
    pub fn add(&mut self, name: &str, value: u64) -> &mut Self {{
        self.values.entry(name.to_owned()).or_default().push(value);
        self
    }}

    pub fn total(&self) -> u64 {{
        self.values.values().flatten().sum()
    }}

    pub fn describe(&self) -> String {{
        let parts: Vec<String> = self.values.iter().map(|(name, values)| format!("{{name}}: {{values:?}}")).collect();
        format!("{{}} ({{}})", self.name, parts.join(", "))
    }}
}}
"""


def files_project(root):
    """So many files, and a test in Python."""
    for n in range(FILES):
        name = f"app/lib_{n // 100}/module_{n}.py" if n % 2 else f"data/part_{n // 100}/record_{n}.txt"
        write(root / name, f"# {n}\nVALUE = {n}\n" + "".join(f"# line {m} of {n}\n" for m in range(10)))
    write(root / "app/__init__.py", "")
    write(root / "app/part_0.py", "def part():\n    return 0\n")
    write(root / "tests/__init__.py", "")
    write(root / "tests/test_part_0.py", PYTHON_TEST.format(n=0))
    write(root / ".gitignore", "__pycache__/\n")
    write(root / ".taskmaster/tm.yaml", "test: { command: python3 -m unittest discover -s tests -t . }\n")
    return """
    red) sed "s/@/$n/g" "$BENCH_TEST" > "tests/test_part_$n.py" ;;
    *) printf 'def part():\\n    return %s\\n' "$n" > "app/part_$n.py" ;;"""


def rust_project(root, has_caches):
    """A library of some modules, each of its tests a file of its own."""
    write(root / "Cargo.toml", '[package]\nname = "project"\nversion = "0.1.0"\nedition = "2021"\n')
    write(root / "Cargo.lock", 'version = 3\n\n[[package]]\nname = "project"\nversion = "0.1.0"\n')
    modules, parts = [f"module_{n}" for n in range(MODULES)], [f"part_{n}" for n in range(WARM + PAIRS + 1)]
    write(root / "src/lib.rs", "".join(f"pub mod {name};\n" for name in modules + parts))
    for n, name in enumerate(modules):
        write(root / f"src/{name}.rs", RUST_MODULE.format(n=n))
    for name in parts:
        write(root / f"src/{name}.rs", "// To be written.\n")
    write(root / "src/part_0.rs", "pub fn part() -> u32 {\n    0\n}\n")
    write(root / "tests/part_0.rs", RUST_TEST.format(n=0))
    write(root / ".gitignore", "/target\n")
    write(root / ".taskmaster/tm.yaml", "test: { command: cargo test --offline }\n" + "worktree: { cache: [/target] }\n" * has_caches)
    return """
    red) sed "s/@/$n/g" "$BENCH_TEST" > "tests/part_$n.rs" ;;
    *) printf 'pub fn part() -> u32 {\\n    %s\\n}\\n' "$n" > "src/part_$n.rs" ;;"""


def has_caches(program):
    """An older tm keeps what is ignored anyway."""
    folder = FOLDER / "asked"
    write(folder / ".taskmaster/tm.yaml", "worktree: { cache: [/target] }\n")
    git(folder, "init", "--quiet")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty", "--message", "a")
    return subprocess.run([program, "config", "show"], cwd=folder, capture_output=True).returncode == 0


def project(kind, name, program):
    """Makes the repository for a tm, with the agent that works in it."""
    root = FOLDER / f"{kind}-{name}"
    steps = files_project(root) if kind == "files" else rust_project(root, has_caches(program))
    test = PYTHON_TEST if kind == "files" else RUST_TEST
    write(root.with_suffix(".test"), test.format(n="@"))
    agent = f'n=${{TM_TASK_ID%%:*}}\ncase $TM_PHASE in{steps}\nesac\n'
    write(root.with_suffix(".sh"), agent)
    commit_all(root)
    return root


def run(root, program, pairs, slots):
    """Runs so many pairs; returns wall and CPU seconds, and the folder that the run left."""
    backlog(root, pairs)
    arguments = ["--tdd", "auto", "--max-parallel", str(slots), "--agent-command", f"sh {root.with_suffix('.sh')}"]
    cost = run_of_tm(root, program, arguments, FOLDER / "tm-home", {"BENCH_TEST": str(root.with_suffix(".test"))})
    forget_branches(root)
    return cost


STEPS = {"prepared": "prepare", "agent_ended": "agent", "proved": "prove", "committed": "commit", "landed": "land"}


def steps(left):
    """The mean time of each step but of the warm pairs', from the journal of a run with one slot."""
    spent, before = {}, None
    for line in (left / "journal.jsonl").read_text().splitlines()[1:]:
        entry = json.loads(line)
        text = json.dumps(entry["record"])
        step = next((step for word, step in STEPS.items() if f'"{word}"' in text), None)
        if step and before:
            spent.setdefault((step, "red" if ':red"' in text else "green"), []).append(entry["at"] - before)
        before = entry["at"]
    return {key: sum(values[WARM:]) / max(len(values[WARM:]), 1) for key, values in spent.items()}


def spans(left):
    """The seconds of each pair but the warm ones, from what ended before its RED and its GREEN to their own ends: from
    the journal of a run with one slot, in which one follows on the other."""
    by_phase, before = {"red": [], "green": []}, None
    for line in (left / "journal.jsonl").read_text().splitlines()[1:]:
        entry = json.loads(line)
        text = json.dumps(entry["record"])
        phase = "red" if ':red"' in text else "green"
        if f'"{"committed" if phase == "red" else "landed"}"' in text:
            by_phase[phase].append((entry["at"] - (before or entry["at"])) / 1000)
            before = entry["at"]
    return [red + green for red, green in list(zip(by_phase["red"], by_phase["green"]))[WARM:]]


def measure(kind, slots, roots):
    """The seconds of a pair, wall and CPU, by tm."""
    least, left, pairs_of = {}, {}, {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, program in PROGRAMS.items():
            for pairs in (WARM, WARM + PAIRS):
                wall, cpu, folder = run(roots[name], program, pairs, slots)
                known = least.get((name, pairs), (wall, cpu))
                least[name, pairs] = (min(known[0], wall), min(known[1], cpu))
            left[name] = steps(folder)
            pairs_of[name] += spans(folder)
            if keep := os.environ.get("KEEP"):
                shutil.copytree(folder, f"{keep}/{kind}-{slots}-{name}", dirs_exist_ok=True)
    cost = lambda name, which: (least[name, WARM + PAIRS][which] - least[name, WARM][which]) / PAIRS
    wall = lambda name: statistics.median(pairs_of[name]) if slots == 1 else cost(name, 0)
    return {name: (wall(name), cost(name, 1)) for name in PROGRAMS}, left


def milliseconds(seconds):
    return f"{seconds * 1000:9.0f} ms"


for kind in KINDS:
    roots = {name: project(kind, name, program) for name, program in PROGRAMS.items()}
    for slots in SLOTS:
        costs, spent = measure(kind, slots, roots)
        for which, what in enumerate(("wall", "CPU")):
            line = f"{kind}, {slots} slot{'s' * (slots > 1)}: {what} a pair".ljust(36)
            line += "".join(f"{name:>6}{milliseconds(costs[name][which])}" for name in reversed(PROGRAMS))
            if "old" in costs:
                line += f"{costs['new'][which] / costs['old'][which]:9.2f} x"
            print(line, flush=True)
        if slots == 1:
            for name in reversed(PROGRAMS):
                of = sorted(spent[name].items(), key=lambda item: (item[0][1] != "red", list(STEPS.values()).index(item[0][0])))
                each = ", ".join(f"{phase} {step} {value:.0f}" for (step, phase), value in of)
                print(f"  {name}: {each}, in all {sum(spent[name].values()):.0f} ms", flush=True)
    for root in roots.values():
        shutil.rmtree(root)
