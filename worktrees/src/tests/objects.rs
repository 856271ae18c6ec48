//! Objects that somebody wrote over in place.

use super::*;

/// Puts the file of another object in the place of one.
fn overwrite(scene: &Scene, id: &str, by: &str) {
    let file = |id: &str| scene.repository.common_dir().join("objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(file(id)).expect("removed");
    std::fs::copy(file(by), file(id)).expect("copied");
}

#[test]
fn an_object_that_was_overwritten_is_named_and_what_is_known_is_not_looked_at() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let other = scene.task("tm/other", &base, "c.txt", "weaker\n");
    let check = |of: &CommitId, known: &CommitId| scene.repository.check_new_objects(of, known, ObjectCheck::Names);
    check(&one, &base).expect("as named");
    check(&base, &base).expect("nothing is new");
    let blob = scene.git(&["rev-parse", &format!("{one}:b.txt")]);
    overwrite(&scene, &blob, &scene.git(&["rev-parse", &format!("{other}:c.txt")]));
    let error = check(&one, &base).expect_err("another content");
    assert!(error.to_string().ends_with(&blob) && error.is_of_surroundings(), "{error}");
    check(&one, &one).expect("it is known");
    check(&other, &base).expect("as named");
}

#[test]
fn an_object_that_is_missing_or_cut_off_is_named() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let blob = scene.git(&["rev-parse", &format!("{one}:b.txt")]);
    let file = scene.repository.common_dir().join("objects").join(&blob[..2]).join(&blob[2..]);
    let check = || scene.repository.check_new_objects(&one, &base, ObjectCheck::NamesAndForm).expect_err("no object");
    std::fs::remove_file(&file).expect("removed");
    assert!(check().to_string().contains(&blob), "{}", check());
    write(&file, "x");
    assert!(check().to_string().contains(&blob), "{}", check());
}
