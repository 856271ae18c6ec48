#!/usr/bin/env bash
# Prints one table of what tm costs, each row beside what somebody would take instead, all measured in one run: by hand
# with git (benches/by_hand.sh), the bare spawn of a process, xargs, make, GNU parallel, Ninja, Task Master. What is not
# installed is named and left out. Whatever is compared takes turns; each figure is the least of ROUNDS (3) rounds.
#
#   benches/table.sh [ROW...]         all rows, or those whose names begin so; `benches/table.sh --list` names them
#   benches/table.sh --json FILE      keeps the figures, with the facts of the machine
#   benches/table.sh --check FILE     ends with 1 where a ratio of CPU time has become 1.3 times that of FILE
#
# TM names another tm than the release build, TM_TASK_MASTER a Task Master that is installed. Needs python3 and flock.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --list ]; then exec python3 benches/table.py --list; fi
. benches/surroundings.sh
python3 benches/table.py "$folder" "$tm" "$@"
