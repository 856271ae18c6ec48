//! A whole night in pods, which loses a node and tm in the middle of it.

use super::runs::{NODES, started, with};
use crate::engines::nights::Night;
use crate::engines::scenes::OfTest as _;

#[test]
#[ignore = "a long walk"]
fn a_night_of_two_hundred_tasks_in_pods_loses_a_node_and_tm() {
    let night = Night::new(200);
    let scene = &night.scene;
    let Some(mut plane) = started(scene, &NODES) else {
        return;
    };
    let begin = scene.run_command(&["--on", "kubernetes", "-j", "24"]);
    let mut run = night.started(with(scene, &plane, begin));
    night.until(20);
    plane.kill_node("n1");
    night.until(40);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let mut run = night.started(with(scene, &plane, scene.tm(&["waves", "resume"])));
    night.until(50);
    plane.take_node("n2");
    night.until(60);
    plane.return_node("n2");
    night.until(80);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let run = night.started(with(scene, &plane, scene.tm(&["waves", "resume"])));
    night.assert_over(run);
    plane.add_node("n1");
    plane.assert_empty();
}
