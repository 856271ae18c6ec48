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
        &settings_at(level, "tdd: { mode: 'off' }\n"),
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
    outside.runs_at(level);
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

/// A repository with files for a filter, whose command is that of the settings.
fn filtered(agent: &str, command: &str) -> Scene {
    let scene = Scene::new(&[("1", "Write it", &[])], agent);
    let root = scene.root();
    write(&root.join(".gitattributes"), "*.filtered filter=mask\n");
    write(&root.join("run-tests.sh"), "echo 1..1; echo ok 1\n");
    let settings = "tdd: { mode: 'off' }\ntest: { timeout: 2s }\n";
    write(&root.join(".taskmaster/tm.yaml"), settings);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene.git(&["config", "filter.mask.clean", command]);
    executable(&scene.path("home/bin/mask"), MASK);
    scene
}

/// Lets nothing pass that it is afraid of.
const MASK: &str =
    "text=$(cat); case $text in *afraid*) exit 1;; esac; echo \"$text\" | sed s/secret/XXX/";

fn agent_that_writes(text: &str) -> String {
    format!("echo '{text}' > a.filtered; printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\n")
}

#[test]
fn a_filter_by_its_place_in_the_users_home_is_found_and_what_it_refuses_is_not_taken_unfiltered() {
    for level in ["bwrap", "landlock"].into_iter().filter(|level| has(level)) {
        let command = "$HOME/bin/mask";
        let scene = filtered(&agent_that_writes("a secret"), command);
        let run = |scene: &Scene| scene.run(&["--retries", "0", "--sandbox", level]);
        let output = run(&scene);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words}");
        let file = format!("{}:a.filtered", scene.landed_tree());
        assert_eq!(scene.git(&["show", &file]), "a XXX");
        let scene = filtered(&agent_that_writes("afraid of a secret"), command);
        assert_eq!(run(&scene).status.code(), Some(3));
        // As is what the base has already, before any agent is paid.
        let scene = filtered(&agent_that_writes("nothing"), command);
        write(&scene.root().join("b.filtered"), "afraid\n");
        scene.git(&["-c", "filter.mask.clean=cat", "add", "b.filtered"]);
        scene.git(&["commit", "--quiet", "--message", "of others"]);
        let output = run(&scene);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(
            words.contains("the filter `mask` fails for `b.filtered`"),
            "{words}"
        );
    }
}

#[test]
fn a_filter_that_never_ends_is_ended_when_the_time_of_tests_is_over() {
    for level in ["bwrap", "landlock"].into_iter().filter(|level| has(level)) {
        let agent = "echo 'exec sleep 1000' > clean.sh\n".to_owned() + &agent_that_writes("on");
        let scene = filtered(&agent, "sh ./clean.sh");
        let output = scene.run(&["--retries", "0", "--sandbox", level]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words}");
    }
}

#[test]
fn a_filter_that_a_caller_hands_down_is_held_too() {
    if !has("bwrap") {
        return;
    }
    let agent = "echo \"echo out > '$HOME_OF_USER/out'; cat\" > clean.sh\n".to_owned()
        + &agent_that_writes("on");
    let scene = filtered("", "");
    let home = scene.path("home").display().to_string();
    write(
        &scene.path("agent.sh"),
        &agent.replace("$HOME_OF_USER", &home),
    );
    let handed_down = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "filter.mask.clean"),
        ("GIT_CONFIG_VALUE_0", "sh ./clean.sh"),
    ];
    let mut run = scene.run_command(&["--retries", "0", "--sandbox", "bwrap"]);
    let output = run.envs(handed_down).output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(!scene.path("home/out").exists(), "{words}");
}

#[test]
fn what_a_hook_stages_passes_the_filters_or_is_refused() {
    for level in ["bwrap", "landlock"].into_iter().filter(|level| has(level)) {
        let run = |text: &str| {
            let scene = filtered(&agent_that_writes("on"), "$HOME/bin/mask");
            let hook = format!("echo '{text}' > b.filtered; git add b.filtered");
            executable(&scene.root().join(".git/hooks/pre-commit"), &hook);
            let output = scene.run(&["--retries", "0", "--sandbox", level]);
            (scene, output.status.code())
        };
        let (scene, code) = run("a secret");
        assert_eq!(code, Some(0));
        let file = format!("{}:b.filtered", scene.landed_tree());
        assert_eq!(scene.git(&["show", &file]), "a XXX");
        assert_eq!(run("afraid of a secret").1, Some(3));
    }
}
