//! Files that are too long to be read are no work.

use super::*;
use crate::difference::LONGEST_DIFFERENCE;
use crate::lengths::{LONGEST_FILE, LONGEST_TEXT};

/// A file of nothing but a hole.
fn hole(path: &Path, length: u64) {
    let file = std::fs::File::create(path).expect("a file");
    file.set_len(length).expect("a length");
}

#[test]
fn a_file_that_nobody_could_read_is_refused_as_the_work_that_it_is() {
    for kind in [&[][..], &["--object-format=sha256"]] {
        let Some(scene) = Scene::of_kind(kind) else {
            continue;
        };
        let worktree = scene.check_out("tm/1", &scene.head());
        hole(&worktree.path().join("big"), LONGEST_FILE + 1);
        let left_out = worktree.capture(&never(&["big"])).expect("captured");
        assert!(!left_out.changed_from_base);
        let error = worktree.capture(&never(&[])).expect_err("too long");
        assert!(error.is_of_work(), "{error}");
        assert!(
            error.to_string().contains("`big` has 268435457 bytes"),
            "{error}"
        );
        hole(&worktree.path().join("big"), LONGEST_TEXT + 1);
        assert!(worktree.capture(&never(&[])).is_ok());
    }
}

#[test]
fn a_text_that_nobody_understands_is_none() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root();
    for (name, length) in [("long", LONGEST_TEXT + 1), ("short", LONGEST_TEXT)] {
        hole(&root.join(name), length);
    }
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "texts"]);
    let scene = scene.anew();
    let tree = scene.repository.tree_of(&scene.head()).expect("a tree");
    let text = |name: &str| scene.repository.text_in_tree(&tree, name).expect("read");
    assert!(text("long").is_none() && text("short").is_some());
    let bytes = scene.repository.bytes_in_tree(&tree, "long");
    assert!(bytes.expect("read").is_some());
}

#[test]
fn of_files_that_nobody_reads_a_difference_has_the_names_alone() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root();
    let base = scene.head();
    write(&root.join("short"), "of one line\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "short"]);
    let short = scene.head();
    let text = scene.repository.diff(&base, &short).expect("a difference");
    assert!(text.contains("+of one line"), "{text}");
    hole(&root.join("long"), LONGEST_DIFFERENCE + 1);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "long"]);
    let scene = scene.anew();
    let text = scene.repository.diff(&base, &scene.head());
    let text = text.expect("a difference");
    let long = "too long for the difference to be shown:\n    long\n";
    assert!(text.contains(long), "{text}");
    assert!(text.contains("+of one line"), "{text}");
}

#[test]
fn the_names_of_files_without_a_line_count_as_well() {
    let scene = Scene::new();
    let base = scene.head();
    let folder = scene.repository.checkout_root().join("n".repeat(200));
    std::fs::create_dir(&folder).expect("a folder");
    for number in 0..1_100 {
        write(&folder.join(format!("{number:0>200}")), "");
    }
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "names"]);
    let scene = scene.anew();
    let most = 4 * 1024 * 1024;
    let text = scene.repository.diff_within(most, &base, &scene.head());
    let text = text.expect("a difference");
    assert!((text.len() as u64) < most, "{}", text.len());
    assert!(text.starts_with("Changed as well"), "{}", &text[..200]);
}
