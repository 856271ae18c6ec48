#!/usr/bin/env bash
# Runs a backlog of tasks whose agents sleep for skewed times, and says how much longer the run takes than the least time in
# which those agents could have done it (`lower_bound_ms` of its summary), and where the rest goes.
#
#   benches/skewed_tasks.sh [TASKS] [SLOTS] [MEAN_MS]     60, 5 and 1000 when not given
#   TM=PATH runs that binary instead of a release build; SEED (1) chooses the backlog; TEST_MS (20) is how long its tests
#   take; ARGUMENTS ("") are given to `tm waves run`; ROUNDS (1) runs it so often, in repositories of their own, or with HISTORY=1
#   in the same, each time with what the times before tell
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/surroundings.sh
python3 benches/skewed_tasks.py "$folder" "$tm" "${1:-60}" "${2:-5}" "${3:-1000}"
