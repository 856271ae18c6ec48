#!/usr/bin/env bash
# Measures what a stranger waits for: the release build and the dev build from an empty target folder, the demo after
# the dev build, and the build after an edit of the program's own crate; besides, the crates of the default features,
# with tm's own, and the size of the program.
#
#   benches/fresh_build.sh              the last commit
#   benches/fresh_build.sh OLD NEW …    several revisions in turn, each with its ratio to the first
#
# Crates are fetched before a clock starts. Each revision is cloned, so that nothing that lies about counts. It takes
# some minutes a revision, and says something on a machine that does nothing else. KEEP=FOLDER keeps what `cargo build
# --timings` wrote of each.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset CARGO_TARGET_DIR

# Prints the seconds and the CPU seconds that a command takes; what the command itself says is shown when it fails.
timed() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" >"$folder/said" 2>&1 || { cat "$folder/said" >&3; exit 1; }; } 2>&1 |
        awk '{ printf "%.0f %.0f", $1, $2 + $3 }'
}

ratio() {
    awk -v new="$1" -v old="$2" 'BEGIN { printf "%.2f x", new / old }'
}

first=
exec 3>&2
for revision in "${@:-HEAD}"; do
    commit=$(git rev-parse --short "$revision^{commit}")
    git clone --quiet --no-hardlinks "$repository" "$folder/$commit"
    cd "$folder/$commit"
    git checkout --quiet --detach "$commit"
    cargo fetch --quiet --locked
    crates=$(cargo tree --locked --prefix none --edges normal,build | cut -d' ' -f1,2 | sort -u | wc -l)
    release=($(timed cargo build --locked --release --timings))
    size=$(stat --format=%s target/release/tm)
    if [ -n "${KEEP:-}" ]; then
        mkdir -p "$KEEP"
        cp target/cargo-timings/cargo-timing.html "$KEEP/$commit.html"
    fi
    rm -rf target
    dev=($(timed cargo build --locked))
    demo=($(timed cargo run --locked --quiet -- demo "$folder/demo-$commit"))
    printf '\n#[expect(dead_code)]\nfn edited() {}\n' >>cli/main.rs
    edit=($(timed cargo build --locked))
    cd "$repository"
    rm -rf "$folder/$commit" "$folder/demo-$commit"
    row=("${release[@]}" "${dev[@]}" "${demo[0]}" "${edit[0]}" "$crates" "$((size / 1000000))")
    names=("release s" "release CPU s" "dev s" "dev CPU s" "demo s" "edit s" "crates" "program MB")
    [ -n "$first" ] || first=${row[*]}
    read -ra base <<<"$first"
    echo "$commit"
    for column in "${!names[@]}"; do
        printf '  %-14s %6s  %s\n' "${names[$column]}" "${row[$column]}" "$(ratio "${row[$column]}" "${base[$column]}")"
    done
done
