//! Where git need not look into a folder, and where it has to.

use super::*;
use crate::owned::ByIndex;
use proptest::prelude::*;
use std::os::unix::fs::symlink;

/// A folder in which everything is as it was checked out.
fn checked_out(scene: &Scene) -> Worktree {
    let worktree = scene.check_out("tm/1", &scene.head());
    assert!(is_untouched(&worktree));
    worktree
}

fn is_untouched(worktree: &Worktree) -> bool {
    let folder = &worktree.lister().0;
    folder.by_index(&folder.index_file()) == ByIndex::Untouched
}

#[test]
fn whatever_somebody_does_to_a_file_is_seen() {
    type Doing = fn(&Path);
    let ways: [(&str, Doing); 8] = [
        ("other bytes through a mapping", write_mapped),
        ("other words, as long and as old", |file| {
            let before = std::fs::metadata(file)
                .expect("a file")
                .modified()
                .expect("a time");
            write(file, "one\ntwo\nTHREE\n");
            let opened = std::fs::File::options()
                .write(true)
                .open(file)
                .expect("opened");
            opened.set_modified(before).expect("a time");
        }),
        ("the same words in another file", |file| {
            std::fs::remove_file(file).expect("removed");
            write(file, "one\ntwo\nthree\n");
        }),
        ("nothing", |file| {
            std::fs::remove_file(file).expect("removed");
        }),
        ("another mode", |file| {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        }),
        ("a link", |file| {
            std::fs::remove_file(file).expect("removed");
            symlink("elsewhere", file).expect("a link");
        }),
        ("a folder", |file| {
            std::fs::remove_file(file).expect("removed");
            std::fs::create_dir(file).expect("a folder");
        }),
        ("a file beside it", |file| {
            write(&file.with_file_name(".hidden"), "");
        }),
    ];
    for (what, does) in ways {
        let scene = Scene::new();
        let worktree = checked_out(&scene);
        let before = worktree.tree().expect("a tree");
        does(&worktree.path().join("a.txt"));
        assert!(!is_untouched(&worktree), "{what}");
        let taken = worktree.tree().expect("a tree");
        let is_same = what == "the same words in another file";
        assert_eq!(taken == before, is_same, "{what}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_git_has_just_written_is_not_read() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let folder = &worktree.lister().0;
    if !crate::opened::is_in_memory(&folder.path) {
        return;
    }
    let is_to_be_read = || {
        let known = folder.known_by(&folder.index_file()).expect("an index");
        let mut files = known.files_written();
        files.any(|(_, written)| written.is_to_be_read())
    };
    assert!(!is_to_be_read());
    drop(std::fs::File::open(folder.path.join("a.txt")).expect("opened"));
    assert!(is_to_be_read());
}

#[test]
fn a_file_that_was_written_in_the_moment_of_the_index_is_looked_at() {
    let scene = Scene::new();
    let worktree = checked_out(&scene);
    write(&worktree.path().join("a.txt"), "one\ntwo\nFOUR.\n");
    let index = worktree.lister().0.index_file();
    let changed = std::fs::metadata(worktree.path().join("a.txt")).expect("a file");
    worktree.tree().expect("a tree");
    // As if the clock had not moved since.
    let opened = std::fs::File::options()
        .write(true)
        .open(&index)
        .expect("opened");
    opened
        .set_modified(changed.modified().expect("a time"))
        .expect("a time");
    assert!(!is_untouched(&worktree));
}

#[test]
fn what_the_index_does_not_know_is_asked_of_git_and_nothing_else() {
    let scene = Scene::new();
    write(
        &scene.repository.checkout_root().join(".gitignore"),
        "ignored\n",
    );
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "rules"]);
    let scene = scene.anew();
    let worktree = checked_out(&scene);
    let has_nothing_unknown = || worktree.lister().0.has_nothing_unknown();
    assert!(has_nothing_unknown());
    let captured = |expected: &[&str]| {
        let captured = worktree
            .capture(&PathPatterns::default())
            .expect("captured");
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(captured.ignored, expected);
    };
    captured(&[]);
    write(&worktree.path().join("new"), "new\n");
    assert!(!has_nothing_unknown());
    captured(&[]);
    assert!(has_nothing_unknown(), "it is in the index now");
    write(&worktree.path().join("ignored"), "left out\n");
    assert!(!has_nothing_unknown());
    captured(&["ignored"]);
}

#[test]
fn repositories_within_are_looked_at_by_git() {
    let scene = Scene::new();
    let nested = format!("160000,{},nested", "a".repeat(40));
    scene.git(&["update-index", "--add", "--cacheinfo", &nested]);
    scene.git(&["commit", "--quiet", "-m", "a repository within"]);
    let scene = scene.anew();
    assert!(!is_untouched(&scene.check_out("tm/1", &scene.head())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn an_index_is_the_same_tree_to_the_library_and_to_git(
        files in proptest::collection::btree_map("[aA.é-]{1,2}(/[ab]{1,2}){0,2}", (0_u8..3, "[xy]{0,3}"), 0..9),
        later in proptest::collection::btree_map("[aA.é-]{1,2}(/[ab]{1,2}){0,2}", "[xy]{0,3}", 0..4),
    ) {
        let scene = Scene::new();
        let worktree = checked_out(&scene);
        let put = |path: &str, kind: u8, text: &str| {
            let path = worktree.path().join(path);
            let Some(folder) = path.parent() else { return };
            if std::fs::create_dir_all(folder).is_err() || path.is_dir() {
                return;
            }
            let _none_there = std::fs::remove_file(&path);
            match kind {
                0 => symlink(text.to_owned() + "x", &path).expect("a link"),
                _ => write(&path, text),
            }
            if kind == 1 {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
            }
        };
        let folder = &worktree.lister().0;
        let assert_same = || {
            folder.add().expect("added");
            let index = folder.index_file();
            let by_library = scene.repository.read(|reader| reader.tree_of_index(&index));
            let by_git = folder.git("write-tree").object_id().expect("a tree");
            assert_eq!(by_library.map(|tree| tree.to_string()), Some(by_git));
        };
        for (path, (kind, text)) in &files {
            put(path, *kind, text);
        }
        assert_same();
        for (path, text) in &later {
            put(path, 2, text);
        }
        let _gone = std::fs::remove_file(worktree.path().join("a.txt"));
        assert_same();
    }
}

#[test]
fn an_index_with_more_than_objects_or_with_objects_that_are_gone_is_for_git() {
    let scene = Scene::new();
    let worktree = checked_out(&scene);
    let folder = &worktree.lister().0;
    let by_library = || {
        let index = folder.index_file();
        scene.repository.read(|reader| reader.tree_of_index(&index))
    };
    assert!(by_library().is_some());
    write(&worktree.path().join("b.txt"), "b\n");
    folder
        .git("add --intent-to-add b.txt")
        .done()
        .expect("added");
    assert_eq!(by_library(), None);
    folder.git("add b.txt").done().expect("added");
    assert!(by_library().is_some());
    let object = format!("100644,{},gone", "1".repeat(40));
    let git = folder.git("update-index --add --cacheinfo").arg(object);
    git.done().expect("added");
    assert_eq!(by_library(), None);
}

#[test]
fn where_the_settings_say_how_objects_are_written_git_writes_them() {
    for (key, value) in [
        ("core.fsync", "all"),
        ("core.sharedRepository", "group"),
        ("core.fsyncObjectFiles", "true"),
        ("i18n.commitEncoding", "ISO-8859-1"),
    ] {
        let scene = Scene::new();
        let writes = |scene: &Scene| {
            let writer = scene
                .repository
                .read(|reader| reader.writer_of_what_lasts().map(drop));
            writer.is_some()
        };
        assert!(writes(&scene));
        scene.git(&["config", key, value]);
        assert!(!writes(&scene.anew()), "{key}");
    }
}

#[test]
fn a_looker_sees_what_is_there_and_touches_nothing() {
    let scene = Scene::new();
    let worktree = checked_out(&scene);
    let tree = |commit: &CommitId| scene.repository.tree_of(commit).expect("a tree");
    let seen = worktree.looker().commit(soon()).expect("seen");
    assert_eq!(tree(&seen), tree(&scene.head()));
    write(&worktree.path().join("a.txt"), "other\n");
    let seen = worktree.looker().commit(soon()).expect("seen");
    let text = scene.repository.text_at(&seen, "a.txt").expect("read");
    assert_eq!(text.as_deref(), Some("other\n"));
    assert!(!is_untouched(&worktree));
    // Of holes: to read it would take longer than anybody waits.
    let long = std::fs::File::create(worktree.path().join("long")).expect("made");
    long.set_len(1 << 40).expect("long");
    worktree
        .looker()
        .commit(soon())
        .expect_err("too long to look at");
}
