# Lists the commands.
default:
    @just --list

# Runs all tests.
test:
    cargo test --workspace --features full

# Checks formatting and lints.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --features full -- -D warnings

# Checks licences and advisories; needs cargo-deny.
deny:
    cargo deny check

# Builds the documentation with warnings as errors.
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

# Measures what tm costs beside what people would take instead, in one table: all rows, or those that are named.
bench *rows:
    benches/table.sh {{rows}}

# Measures planning, reading and a run of no-op tasks within the process.
bench-parts:
    cargo bench -p tm-benches

# Measures what proving a pair costs; with another tm, what it cost there: just bench-judge OLD_TM [NEW_TM].
bench-judge *programs:
    benches/judge.sh {{programs}}

# Runs the demo.
demo:
    cargo run -- demo

# Does what CI does.
ci:
    bash .ci/run
