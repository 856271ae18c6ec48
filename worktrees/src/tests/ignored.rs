//! Which ignored paths of a checkout are found by patterns.

use super::{Scene, soon, write};
use crate::PathPatterns;

fn scene(files: &[&str]) -> Scene {
    let scene = Scene::new();
    write_all(&scene, &[".gitignore", "packages/a/code"]);
    write(
        &scene.repository.checkout_root().join(".gitignore"),
        "node_modules\n.env\nbuild/\n",
    );
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "files"]);
    write_all(&scene, files);
    scene
}

fn write_all(scene: &Scene, files: &[&str]) {
    for file in files {
        write(&scene.repository.checkout_root().join(file), "x");
    }
}

fn found(scene: &Scene, patterns: &[&str]) -> Vec<String> {
    let paths = scene.repository.ignored_paths(patterns).expect("listed");
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn what_matches_is_found_in_every_folder_and_whole_folders_are_one_path() {
    let scene = scene(&[
        "node_modules/a/b",
        "node_modules/.env",
        "packages/a/node_modules/c",
        ".env",
        "packages/a/.env",
    ]);
    assert_eq!(
        found(&scene, &["node_modules"]),
        ["node_modules", "packages/a/node_modules"]
    );
    assert_eq!(
        found(&scene, &[".env"]),
        [".env", "node_modules/.env", "packages/a/.env"]
    );
    assert_eq!(found(&scene, &["/.env", "# .env", ""]), [".env"]);
    assert_eq!(found(&scene, &["node_modules", ".env"]).len(), 4);
    assert!(found(&scene, &[]).is_empty() && found(&scene, &["nothing"]).is_empty());
}

#[test]
fn what_git_does_not_ignore_is_not_found() {
    let scene = scene(&["plain", "config/plain", "config/.env", ".env"]);
    assert_eq!(
        found(&scene, &["plain", "config", "a.txt", "packages"]),
        ["config/.env"]
    );
}

#[test]
fn parts_of_an_ignored_folder_are_found_and_exceptions_kept() {
    let scene = scene(&[
        "build/x/1.json",
        "build/x/2.txt",
        "build/y/3.json",
        ".env",
        "packages/a/.env",
    ]);
    assert_eq!(found(&scene, &["*.json"]), ["build/x/1.json", "build/y"]);
    assert_eq!(
        found(&scene, &["build/x/**", "!build/x/2.txt"]),
        ["build/x/1.json"]
    );
    assert_eq!(found(&scene, &[".env", "!/packages/a/.env"]), [".env"]);
}

#[test]
fn files_of_a_tree_are_listed_with_what_is_in_them() {
    let scene = scene(&[]);
    let names = PathPatterns::new(&["a.txt", "/none"]).expect("patterns");
    let listed = |scene: &Scene| {
        let tree = scene.repository.tree_of(&scene.head()).expect("a tree");
        scene
            .repository
            .files_covered(&tree, &names)
            .expect("listed")
    };
    let before = listed(&scene);
    assert!(
        before.len() == 1 && before[0].ends_with("\ta.txt"),
        "{before:?}"
    );
    write(&scene.repository.checkout_root().join("a.txt"), "other");
    scene.git(&["commit", "--quiet", "-am", "change"]);
    assert_ne!(listed(&scene), before);
}

#[test]
fn what_is_kept_and_ignored_is_in_nobodys_way_who_looks() {
    let scene = Scene::new();
    write(
        &scene.repository.checkout_root().join(".gitignore"),
        "made/\n",
    );
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "--message", "rules"]);
    let mut worktree = scene.check_out("tm/1", &scene.head());
    for file in ["made/by-setup", "kept.txt", "work.txt"] {
        write(&worktree.path().join(file), "x\n");
    }
    worktree
        .keep(&["made".into(), "kept.txt".into()])
        .expect("kept");
    let seen = worktree.looker().commit(soon()).expect("a look");
    let taken = worktree
        .capture(&PathPatterns::default())
        .expect("captured")
        .tree;
    assert_eq!(scene.repository.tree_of(&seen).expect("a tree"), taken);
    assert_eq!(
        scene.git(&["ls-tree", "-r", "--name-only", seen.as_str()]),
        ".gitignore\na.txt\nwork.txt"
    );
}
