//! Slots and ports.

use super::scene;
use crate::scene::{HONEST, Scene};
use std::collections::BTreeSet;

const SETTINGS: &str = "worktree:\n  setup: 'echo \"$TM_SLOT $TM_PORT\" > .ready'\n  teardown: 'echo \"$TM_SLOT\" >> \"$AGENT_FOLDER/torn\"'\n";
/// A checkout is set up in the slot in which it is tested.
const TESTS: &str = "echo 1..1\n[ \"$(cat .ready)\" = \"$TM_SLOT $TM_PORT\" ] && [ -n \"$TM_PORT\" ] && echo ok - same slot\n";

fn written(scene: &Scene, name: &str) -> Vec<Vec<u32>> {
    let text = std::fs::read_to_string(scene.path(name)).expect("written");
    text.lines()
        .map(|line| {
            line.split(' ')
                .map(|word| word.parse().expect("a number"))
                .collect()
        })
        .collect()
}

#[test]
fn agents_at_the_same_time_have_slots_and_ports_of_their_own_and_find_them_set_up() {
    // Each waits for the other: both are there at once.
    let agent = format!(
        "[ \"$(cat .ready)\" = \"$TM_SLOT $TM_PORT\" ] || exit 9\n\
         if [ $TM_TASK_ID = 1 ]; then echo 1 > \"$AGENT_FOLDER/a\"; cat \"$AGENT_FOLDER/b\" > /dev/null\n\
         else cat \"$AGENT_FOLDER/a\" > /dev/null; echo 2 > \"$AGENT_FOLDER/b\"; fi\n\
         echo \"$TM_SLOT $TM_PORT\" >> \"$AGENT_FOLDER/slots\"\n{HONEST}"
    );
    let scene = scene(
        &[("1", "Document it", &[]), ("2", "Document that", &[])],
        &agent,
        SETTINGS,
        TESTS,
    );
    scene.pipe("a");
    scene.pipe("b");
    let report = scene.runs(&["--retries", "0"], 0);
    let slots = written(&scene, "slots");
    assert_eq!(slots.len(), 2, "{report:#}");
    assert_ne!(slots[0][0], slots[1][0], "slots");
    assert!(
        slots[0][1].abs_diff(slots[1][1]) >= 10,
        "ten ports for each: {slots:?}"
    );
    let torn: BTreeSet<u32> = written(&scene, "torn")
        .into_iter()
        .map(|line| line[0])
        .collect();
    assert!(
        slots.iter().all(|slot| torn.contains(&slot[0])),
        "the tear-down knows them: {torn:?} {slots:?}"
    );
}
