#!/usr/bin/env bash
# Measures what proving a RED/GREEN pair costs, in wall time and in CPU time of tm with all that it starts: in a
# repository of 20,000 files with a short test, and in a Rust project whose `target` stays (`worktree.cache`).
#
#   benches/judge.sh                    this tm alone, and where the time goes by step
#   benches/judge.sh OLD_TM [NEW_TM]    an older tm and this one in turn, and their ratio
#
# A pair costs what a run of WARM + PAIRS (3 + 8) pairs takes longer than a run of WARM, so that neither the start of a
# run counts nor the first checkouts; the wall time with one slot, where one pair follows on another, is that of the
# median pair, by the journal. Agents are scripts that write a file. Other numbers are the least of ROUNDS (3) rounds, in
# which everything that is compared takes turns; PARALLEL ("1 2") are the slots, FILES (20000) the files,
# KINDS ("files rust") the repositories. Needs python3, and cargo for Rust. KEEP=FOLDER keeps what the runs left there.
# All of it lies in memory where there is room (TMPDIR chooses another place): what a disk makes of thousands of files
# that come and go differs from run to run by more than a pair costs.
set -euo pipefail
cd "$(dirname "$0")/.."
old=${1:-} tm=${2:-}
. benches/surroundings.sh
python3 benches/judge.py "$folder" "$tm" ${old:+"$old"}
