//! What git starts of the user's, a hook and a filter, runs what an agent wrote: no way leads out of that either.

use super::levels::{assert_all_refused, assert_nothing_changed, beyond};
use super::*;
use crate::scene::executable;

/// The agent has both run what tries the ways out.
const AGENT: &str = "\
cat > check.sh <<'END'
PROBE
END
cp check.sh clean.sh
echo anything > ways.filtered
printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"
";

/// Runs what lies in the tree, as hooks of projects do, and stages what that printed. What git tells a hook names the git
/// folder that is the hook's own, and so no way out.
const HOOK: &str = "test ! -e check.sh || env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE sh check.sh > ways.hooked 2>&1
git add .";
/// Does the same; the pipe by which git gives it the content is its own too.
const FILTER: &str = "env -u GIT_DIR -u GIT_WORK_TREE sh ./clean.sh 2>&1 < /dev/null";

fn of_git_at(level: &str) {
    if !has(level) {
        return;
    }
    let outside = Outside::new(
        &settings("tdd: { mode: 'off' }\n"),
        "echo 1..1; echo ok 1\n",
    );
    let scene = &outside.scene;
    write(
        &scene.root().join(".gitattributes"),
        "*.filtered filter=probe\n",
    );
    scene.git(&["add", ".gitattributes"]);
    scene.git(&["commit", "--quiet", "--message", "a filter"]);
    scene.git(&["branch", "--force", "of-others"]);
    scene.git(&["config", "filter.probe.clean", FILTER]);
    executable(&scene.root().join(".git/hooks/pre-commit"), HOOK);
    write(
        &scene.path("agent.sh"),
        &AGENT.replace("PROBE", &outside.probe()),
    );
    let mut run = scene.run_command(&["--retries", "0"]);
    run.env("TM_SANDBOX_LEVEL", level)
        // With a layer over a folder.
        .env("CARGO_HOME", scene.path("caches/cargo"));
    let output = outside.at_a_terminal(&run).output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    for file in ["ways.hooked", "ways.filtered"] {
        let text = scene.git(&["show", &format!("{}:{file}", scene.landed_tree())]);
        assert_all_refused(&text, beyond(level));
    }
    assert_nothing_changed(&outside);
}

#[test]
fn a_hook_and_a_filter_that_run_what_an_agent_wrote_find_no_way_out_of_bubblewrap() {
    of_git_at("bwrap");
}

#[test]
fn a_hook_and_a_filter_that_run_what_an_agent_wrote_find_no_way_out_of_landlock() {
    of_git_at("landlock");
}
