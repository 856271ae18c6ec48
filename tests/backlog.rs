//! The commands on the backlog, with the flags and keys of Task Master.

use crate::scene::{HONEST, Scene};
use serde_json::Value;
use std::process::Child;

/// Calls tm and expects an exit code; the answer is its stdout.
fn answer(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(scene: &Scene, arguments: &[&str], code: i32) -> Value {
    let text = answer(scene, arguments, code);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: not one document: {error}: {text}"))
}

fn backlog(scene: &Scene) -> String {
    std::fs::read_to_string(scene.root().join(".taskmaster/tasks/tasks.json")).expect("a backlog")
}

#[test]
fn calls_that_agents_make_of_task_master_answer_with_its_keys() {
    let scene = Scene::new(&[("1", "Add it", &[]), ("2", "Add more", &["1"])], HONEST);
    let next = json(&scene, &["next", "--format", "json"], 0);
    assert_eq!((&next["task"]["id"], &next["found"], &next["tag"]), (&"1".into(), &true.into(), &"master".into()));
    let list = json(&scene, &["list", "--json", "--status", "pending,review", "--with-subtasks"], 0);
    assert_eq!(list["tasks"][0]["blocks"], serde_json::json!(["2"]));
    assert_eq!((&list["metadata"]["total"], &list["metadata"]["filtered"]), (&2.into(), &2.into()));
    let ready = json(&scene, &["list", "--ready", "--json", "-t", "master"], 0);
    assert_eq!(ready["tasks"].as_array().map(Vec::len), Some(1));
    let set = json(&scene, &["set-status", "--id=1", "--status=done", "-f", "json"], 0);
    assert_eq!(set["updatedTasks"][0]["oldStatus"], "pending");
    assert_eq!(json(&scene, &["show", "1", "--json"], 0)["task"]["status"], "done");
    assert_eq!(json(&scene, &["show", "1,2", "--json"], 0)["tasks"].as_array().map(Vec::len), Some(2));
    assert!(answer(&scene, &["list"], 0).contains("Add more"));
    assert_eq!(answer(&scene, &["list", "--silent"], 0), "");
}

#[test]
fn a_task_that_is_not_there_changes_nothing_and_is_an_error_in_one_document() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let before = backlog(&scene);
    let refusal = json(&scene, &["set-status", "--id=1,9", "--status=done", "--json"], 1);
    assert_eq!(refusal["success"], false);
    assert!(refusal["error"].as_str().is_some_and(|error| error.contains("`9`")), "{refusal}");
    answer(&scene, &["set-status", "1", "finished"], 2);
    answer(&scene, &["set-status", "--status=done"], 2);
    answer(&scene, &["show", "9"], 1);
    assert_eq!(backlog(&scene), before);
}

#[test]
fn there_and_back_without_timestamps_leaves_every_byte() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let before = backlog(&scene);
    answer(&scene, &["set-status", "1", "done", "--no-timestamps"], 0);
    assert_ne!(backlog(&scene), before);
    answer(&scene, &["set-status", "1", "pending", "--no-timestamps"], 0);
    assert_eq!(backlog(&scene), before);
}

fn all_succeed(processes: Vec<Child>) {
    for mut process in processes {
        assert!(process.wait().expect("an end").success());
    }
}

#[test]
fn thirty_two_processes_set_thirty_two_statuses_and_none_is_lost() {
    let ids: Vec<String> = (1..=32).map(|id| id.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids.iter().map(|id| (id.as_str(), "Add it", &[][..])).collect();
    let scene = Scene::new(&tasks, HONEST);
    let start =
        |id: &String| scene.tm(&["set-status", "--silent", "--id", id, "--status", "done"]).spawn().expect("tm");
    all_succeed(ids.iter().map(start).collect());
    assert!(scene.statuses().iter().all(|status| status == "done"));
}

#[test]
fn every_claim_gives_another_task() {
    let ids: Vec<String> = (1..=8).map(|id| id.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids.iter().map(|id| (id.as_str(), "Add it", &[][..])).collect();
    let scene = Scene::new(&tasks, HONEST);
    let claim = || scene.tm(&["next", "--claim", "--json"]).output().expect("tm");
    let outputs = std::thread::scope(|scope| {
        let claims: Vec<_> = ids.iter().map(|_| scope.spawn(claim)).collect();
        claims.into_iter().map(|claim| claim.join().expect("a claim")).collect::<Vec<_>>()
    });
    let answers = outputs.iter().map(|output| serde_json::from_slice::<Value>(&output.stdout).expect("one document"));
    let mut given: Vec<String> =
        answers.map(|answer| answer["task"]["id"].as_str().expect("an id").to_owned()).collect();
    given.sort();
    assert_eq!(given, ids);
    assert_eq!(json(&scene, &["next", "--claim", "--json"], 0)["found"], false);
}

#[test]
fn layered_graphs_are_validated_at_once_and_what_is_wrong_is_told_in_one_answer() {
    let ids: Vec<String> = (0..51).map(|id| (id + 1).to_string()).collect();
    let layer = |number: usize| &ids[number * 3..number * 3 + 3];
    let before: Vec<Vec<&str>> = (0..51_usize)
        .map(|number| {
            (number / 3).checked_sub(1).map_or_else(Vec::new, |at| layer(at).iter().map(String::as_str).collect())
        })
        .collect();
    let tasks: Vec<(&str, &str, &[&str])> =
        ids.iter().zip(&before).map(|(id, before)| (id.as_str(), "Add it", before.as_slice())).collect();
    let scene = Scene::new(&tasks, HONEST);
    assert_eq!(json(&scene, &["validate-dependencies", "--json"], 0)["valid"], true);
    let scene = Scene::new(&[("1", "A", &["2"]), ("2", "B", &["1", "9"]), ("3", "C", &["3"])], HONEST);
    let problems = json(&scene, &["validate-dependencies", "--json"], 3);
    let types: Vec<&str> =
        problems["problems"].as_array().expect("a list").iter().filter_map(|one| one["type"].as_str()).collect();
    assert_eq!(types, ["missing", "self", "circular"]);
}

#[test]
fn a_backlog_is_built_and_repaired_by_commands_alone() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let added = json(&scene, &["add-task", "--title", "More", "--dependencies=1", "--priority=high", "--json"], 0);
    assert_eq!(added["ids"], serde_json::json!(["2"]));
    answer(&scene, &["add-subtask", "-p", "2", "-t", "Step"], 0);
    let refusal = json(&scene, &["add-dependency", "--id=1", "--depends-on=2", "--json"], 1);
    assert!(refusal["error"].as_str().is_some_and(|error| error.contains("`1` → `2` → `1`")), "{refusal}");
    answer(&scene, &["remove-dependency", "--id=2", "--depends-on=1"], 0);
    answer(&scene, &["remove-dependency", "--id=2", "--depends-on=1"], 1);
    answer(&scene, &["move", "--from=2", "--to=5"], 0);
    assert_eq!(json(&scene, &["show", "5.1", "--json"], 0)["found"], true);
    answer(&scene, &["remove-task", "--id=5"], 1);
    answer(&scene, &["remove-task", "--id=5", "--yes"], 0);
    assert_eq!(scene.statuses().len(), 1);
    let scene = Scene::new(&[("1", "A", &["2"]), ("2", "B", &["1", "9"]), ("3", "C", &["3"])], HONEST);
    assert_eq!(json(&scene, &["fix-dependencies", "--json"], 0)["removed"].as_array().map(Vec::len), Some(3));
    answer(&scene, &["validate-dependencies"], 0);
}

#[test]
fn the_current_tag_is_the_one_that_was_chosen() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    answer(&scene, &["tags", "add", "next", "--copy-from", "master"], 0);
    answer(&scene, &["tags", "use", "next"], 0);
    assert_eq!(json(&scene, &["next", "--json"], 0)["tag"], "next");
    answer(&scene, &["tags", "rename", "next", "later"], 0);
    let tags = json(&scene, &["tags", "--json"], 0);
    assert_eq!((&tags["currentTag"], &tags["totalTags"]), (&"later".into(), &2.into()));
    answer(&scene, &["tags", "use", "nowhere"], 1);
    answer(&scene, &["tags", "remove", "later", "--yes"], 0);
    assert_eq!(json(&scene, &["list", "--json"], 0)["metadata"]["tag"], "master");
}
