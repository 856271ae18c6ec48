# Sourced by benchmarks: `tm` is the program that is measured ($TM, else a release build), `folder` a folder of its own, in
# memory where there is room (TMPDIR chooses another place): what a disk makes of thousands of files that come and go
# differs from run to run by more than is measured. HOME and git's settings are nobody's.
if [ -z "${tm:=${TM:-}}" ]; then
    cargo build --quiet --release --bin tm
    tm=${CARGO_TARGET_DIR:-$PWD/target}/release/tm
fi
room=$(df --output=avail /dev/shm 2>/dev/null | tail -1 || true)
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -gt 4000000 ]; then
    export TMPDIR=/dev/shm
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Wrappers that choose a Python or a toolchain each time would be measured as tests.
PATH=$(dirname "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')"):$PATH
export PATH CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export HOME=$folder/home GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
mkdir -p "$HOME"
