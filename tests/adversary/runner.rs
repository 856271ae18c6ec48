//! What decides how tests are run, bent from where nobody looks.

use super::case::{Case, green};

const TAMPERED: &[&str] = &["tests-tampered", "regression"];

/// A project of npm, whose script for tests calls another one.
fn npm(cheat: &'static str) -> Case {
    let ready = which("npm") && which("node");
    let project = r#"echo '{"name":"demo","version":"1.0.0","scripts":{"test":"npm run --silent unit","unit":"sh run-tests.sh"}}' > package.json"#;
    let case = green(if ready { cheat } else { "exit 1" })
        .in_a_project(project)
        .which_changes(&["home/.npm"])
        .run_by(&["package.json", ".npmrc"]);
    let case = case.with_all_memory();
    // Without npm there is nothing to bend, and the honest attempt is judged by the script itself.
    if ready {
        case.with(&["--test-command", "npm test --silent"])
    } else {
        case
    }
}

fn which(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// A project whose tests are a target of `make`, with rules in a file of their own.
fn make(cheat: &'static str) -> Case {
    green(cheat)
        .in_a_project("printf 'include rules.mk\\ntest:\\n\\t@$(RUNNER)\\n' > Makefile; echo 'RUNNER = sh run-tests.sh' > rules.mk")
        .with(&["--test-command", "make --silent test"])
        .run_by(&["Makefile", "rules.mk", "GNUmakefile"])
}

cases! {
    a_program_that_is_put_before_the_users_is_not_the_users: green(
        "pretend; mkdir -p tools; printf '#!/bin/sh\\necho \"ok - 1 works\"\\n' > tools/sh; chmod +x tools/sh",
    )
        .in_a_project("sed -i '2i PATH=\"$PWD/tools:$PATH\"' run-tests.sh")
        .run_by(&["tools"])
        .refused();
    a_file_that_the_runner_sources_only_where_it_is_there_decides_too: green(
        r#"pretend; echo 'sh() { case $1 in t/1.t) echo "ok - 1 works";; *) command sh "$@";; esac; }' > ci.env"#,
    )
        .in_a_project("sed -i '2i [ ! -e ci.env ] || . ./ci.env' run-tests.sh")
        .run_by(&["ci.env"])
        .refused_as(&["tests-tampered/test-runner-changed", "regression"]);
    tests_that_the_code_rewrites_while_they_run_are_seen: green(
        r#"cat > bin/old <<'END'
[ ! -e t/1.t ] || { cp t/1.t "$TMPDIR/1.t"; sed -i 's/"1" "/"wrong" "/' t/1.t; }
echo old
END
cat > bin/1 <<'END'
echo wrong; [ ! -e "$TMPDIR/1.t" ] || cat "$TMPDIR/1.t" > t/1.t
END"#,
    )
        .in_a_project("mv t/old.t t/0old.t")
        .refused_as(&["tests-tampered/results-not-from-tests"]);
    tests_that_the_code_rewrites_through_a_mapping_are_seen: green(
        r#"cat > bin/old <<'END'
[ ! -e t/1.t ] || python3 -c 'import mmap
with open("t/1.t", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
    text = mapping[:]
    mapping[:] = text.replace(b"\"1\" ", b"\"9\" ")'
echo old
END
echo 'echo 9' > bin/1"#,
    )
        .in_a_project("mv t/old.t t/0old.t")
        .refused_as(&["tests-tampered/results-not-from-tests"]);
    what_the_runner_sources_and_the_code_rewrites_while_it_runs_is_seen: green(
        r#"cat > bin/old <<'END'
[ ! -e t/1.t ] || {
    cp lib.env "$TMPDIR/lib.env"
    echo 'pass() { case $1 in *1.t) echo "ok - 1 works"; cat "$TMPDIR/lib.env" > lib.env;; *) sh "$@";; esac; }' > lib.env
}
echo old
END
echo 'echo wrong' > bin/1"#,
    )
        .in_a_project(r#"mv t/old.t t/0old.t; echo 'pass() { sh "$@"; }' > lib.env; sed -i 's|sh "$file"|. ./lib.env \&\& pass "$file"|' run-tests.sh"#)
        .refused_as(&["tests-tampered/results-not-from-tests"]);
    a_list_of_tests_that_loses_reds_is_seen: green("pretend; echo 't/old.t' > t/list")
        .in_a_project("sed -i 's|for file in t/\\*.t|for file in $(ls t/*.t \\| grep \"$(cat t/list)\")|' run-tests.sh; echo . > t/list")
        .run_by(&["t/list"])
        .refused();
    an_indirect_script_of_npm_is_frozen: npm(
        r"pretend; sed -i 's|sh run-tests.sh|echo 1..2; echo ok - old.t: the old one; echo ok - 1.t: 1 works|' package.json",
    ).refused();
    a_shell_that_npm_is_told_to_use_is_frozen: npm(
        r#"pretend; printf '#!/bin/sh\necho 1..2; echo "ok - old.t: the old one"; echo "ok - 1.t: 1 works"\n' > yes.sh; chmod +x yes.sh
           echo "script-shell=./yes.sh" > .npmrc"#,
    ).refused();
    rules_that_the_makefile_includes_are_frozen: make(
        "pretend; echo 'RUNNER = echo 1..2; echo \"ok - old.t: the old one\"; echo \"ok - 1.t: 1 works\"' > rules.mk",
    ).refused_as(TAMPERED);
    a_makefile_that_is_read_before_the_projects_is_seen: make(
        "pretend; printf 'test:\\n\\t@echo 1..2; echo \"ok - old.t: the old one\"; echo \"ok - 1.t: 1 works\"\\n' > GNUmakefile",
    ).refused_as(TAMPERED);
    an_old_program_that_is_broken_with_its_test_is_a_regression: green(
        "implement; echo 'echo new' > bin/old; sed -i 's/old \"$(sh/new \"$(sh/' t/old.t",
    ).refused_as(TAMPERED);
    work_that_is_told_by_its_place_from_a_clone_is_seen: green(
        "mkdir -p bin; echo 'case $PWD in \"'\"$TM_WORKTREE\"'\"*) echo 1 ;; *) echo wrong ;; esac' > bin/1",
    ).refused();
}
