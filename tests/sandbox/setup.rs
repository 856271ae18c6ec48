//! A set-up that runs what an agent wrote changes nothing of the user's: what it fetches is there for this checkout alone.

use super::*;

/// The first task has the set-up change a program of the user's and fetch something, and the second looks for both.
const AGENT: &str = "\
if test \"$TM_TASK_ID\" = 1; then
    echo more > lock
    echo 'echo evil > \"$CARGO_HOME/bin/tool\" && echo x > \"$CARGO_HOME/fetched\"' > setup.sh
else
    ls \"$CARGO_HOME\" > listing.txt
fi
printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"
";

/// What the first task needs is there, and so it is for the second, which begins with the same.
const TESTS: &str = "echo 1..1; test ! -s lock || test -e \"$CARGO_HOME/fetched\" && echo ok 1\n";

fn scene() -> Scene {
    let scene = Scene::new(&[("1", "Add one", &[]), ("2", "Look", &["1"])], AGENT);
    let root = scene.root();
    write(&scene.path("home/cargo/bin/tool"), "of the user\n");
    write(&root.join("lock"), "");
    write(&root.join("setup.sh"), "echo x > \"$CARGO_HOME/of-user\"\n");
    write(&root.join("run-tests.sh"), TESTS);
    let settings = "tdd: {mode: 'off'}\nworktree: {setup: ['sh setup.sh'], setup_when: [lock]}\n";
    write(&root.join(".taskmaster/tm.yaml"), settings);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

fn run(scene: &Scene, level: &str) -> Option<i32> {
    let output = scene
        .run_command(&["--retries", "0", "--sandbox", level])
        .env("CARGO_HOME", scene.path("home/cargo"))
        .output()
        .expect("tm");
    let read = |name: &str| std::fs::read_to_string(scene.path("home/cargo").join(name)).ok();
    assert_eq!(
        read("bin/tool").as_deref(),
        Some("of the user\n"),
        "{level}"
    );
    assert!(read("fetched").is_none(), "{level}");
    assert!(
        read("of-user").is_some(),
        "{level}: the user's own set-up writes there"
    );
    let kept = format!("{}/**/layers", scene.path("tm").display());
    assert_eq!(glob::glob(&kept).expect("a pattern").count(), 0, "{level}");
    output.status.code()
}

#[test]
fn what_a_set_up_of_an_agents_tree_fetches_is_there_in_its_checkout_alone() {
    if !has("bwrap") {
        return;
    }
    let scene = scene();
    assert_eq!(run(&scene, "bwrap"), Some(0));
    let listing = format!("{}:listing.txt", scene.landed_tree());
    assert_eq!(scene.git(&["show", &listing]), "bin\nfetched\nof-user");
}

#[test]
fn where_nothing_can_be_layered_a_set_up_of_an_agents_tree_changes_no_cache() {
    if !has("landlock") {
        return;
    }
    let scene = scene();
    assert_eq!(run(&scene, "landlock"), Some(3));
}
