//! `tm audit` in a clone that never got the files that Git LFS keeps.

use super::content::{cloned, reads, with_lfs};
use super::{runs, words};
use crate::scene::Scene;
use std::process::Output;

/// A clone of what a run landed, with the few lines that name the files of LFS and none of their objects.
fn clone_without_objects() -> Option<(Scene, String)> {
    let scene = with_lfs("", &reads("large.bin", "the content"))?;
    let base = scene.git(&["rev-parse", "main"]);
    runs(&scene, 0);
    let landed = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(landed.status.success(), "{}", words(&landed));
    cloned(&scene, &[]);
    assert!(
        !scene.root().join(".git/lfs/objects").exists(),
        "nothing was pulled"
    );
    Some((scene, base))
}

fn audit(scene: &Scene, base: &str) -> Output {
    scene
        .tm(&["audit", &format!("{base}..main")])
        .output()
        .expect("tm")
}

#[test]
fn an_audit_without_the_files_of_lfs_says_what_to_type() {
    let Some((scene, base)) = clone_without_objects() else {
        return;
    };
    std::fs::remove_dir_all(scene.path("origin/.git/lfs")).expect("removed");
    let output = audit(&scene, &base);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("`git lfs fetch --all`") && said.contains("worktree.lfs: off"),
        "{said}"
    );
}
