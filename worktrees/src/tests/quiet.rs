//! What differs in the user's checkout, where git is asked each time and where it is not.

use super::*;
use std::time::{Duration, Instant};

fn head(repository: &Repository) -> CommitId {
    repository.head().expect("a head").commit
}

fn statuses(repository: &Repository) -> BTreeMap<PathBuf, Vec<u8>> {
    let own = own_files(repository);
    let said = crate::snapshot::statuses(repository, &head(repository), &own);
    let said = said.expect("a status").into_iter();
    said.map(|(letters, path)| (path, letters)).collect()
}

fn own_files(repository: &Repository) -> [PathBuf; 1] {
    [repository.checkout_root().join("own/file")]
}

/// What git says, without what is known.
fn of_git(repository: &Repository) -> BTreeMap<PathBuf, Vec<u8>> {
    let said = repository.git("status --untracked-files=all").statuses();
    let said = said.expect("a status").into_iter();
    said.map(|(letters, path)| (path, letters)).collect()
}

fn is_known(repository: &Repository) -> bool {
    let own = repository.own().expect("settings");
    own.last_status.lock().is_known()
}

/// Asks until what git said holds from then on: what was written just now may be written again unseen.
fn known(repository: &Repository) -> BTreeMap<PathBuf, Vec<u8>> {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let said = statuses(repository);
        if is_known(repository) || Instant::now() > end {
            assert!(is_known(repository));
            return said;
        }
    }
}

fn scene() -> Scene {
    let scene = Scene::new();
    let root = scene.repository.checkout_root().to_owned();
    write(&root.join(".gitignore"), "ignored\nbuilt/\n*.o\n/forced/\n");
    write(&root.join("sub/b.txt"), "b\n");
    write(&root.join("own/file"), "tm's\n");
    write(&root.join("forced/in"), "in\n");
    scene.git(&["add", "."]);
    scene.git(&["add", "--force", "forced/in"]);
    scene.git(&["commit", "--quiet", "-m", "rules"]);
    write(&root.join("new"), "new\n");
    write(&root.join("built/a/b"), "built\n");
    write(&root.join("sub/x.o"), "built\n");
    scene.anew()
}

#[test]
fn nothing_is_asked_again_where_nothing_was_written() {
    let scene = scene();
    let (repository, root) = (&scene.repository, scene.repository.checkout_root());
    let said = known(repository);
    assert_eq!(said, of_git(repository));
    assert_eq!(said.keys().collect::<Vec<_>>(), [Path::new("new")]);
    // What git would not look into, and what tm writes itself.
    write(&root.join("built/a/more"), "built\n");
    write(&root.join("own/file"), "tm's, later\n");
    write(&root.join("own/.tm-1"), "tm's\n");
    assert_eq!(statuses(repository), said);
    assert!(is_known(repository));
}

#[test]
fn whatever_somebody_writes_is_seen() {
    type Doing = fn(&Scene, &Path);
    let ways: [(&str, Doing); 14] = [
        ("as long and as old", |_, root| {
            let file = root.join("a.txt");
            let before = std::fs::metadata(&file).expect("a file").modified();
            write(&file, "one\ntwo\nTHREE\n");
            let opened = std::fs::File::options()
                .write(true)
                .open(&file)
                .expect("opened");
            opened
                .set_modified(before.expect("a time"))
                .expect("a time");
        }),
        ("gone", |_, root| {
            std::fs::remove_file(root.join("sub/b.txt")).expect("removed");
        }),
        ("new", |_, root| write(&root.join("sub/deep/new"), "")),
        ("another mode", |_, root| {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(root.join("a.txt"), mode).expect("a mode");
        }),
        ("moved", |_, root| {
            std::fs::rename(root.join("new"), root.join("newer")).expect("moved");
        }),
        ("a link", |_, root| {
            std::os::unix::fs::symlink("a.txt", root.join("link")).expect("a link");
        }),
        ("rules", |_, root| {
            write(&root.join(".gitignore"), "ignored\n");
        }),
        ("rules within", |_, root| {
            write(&root.join("sub/.gitignore"), "!x.o\n");
        }),
        ("a file for a folder", |_, root| {
            std::fs::remove_dir_all(root.join("built")).expect("removed");
            write(&root.join("built"), "a file\n");
        }),
        ("what git knows in a folder that is left out", |_, root| {
            write(&root.join("forced/in"), "out\n");
        }),
        ("staged", |scene, _| drop(scene.git(&["add", "new"]))),
        ("staged and back", |scene, _| {
            scene.git(&["rm", "--quiet", "--cached", "a.txt"]);
        }),
        ("committed", |scene, _| {
            scene.git(&["add", "new"]);
            scene.git(&["commit", "--quiet", "-m", "new"]);
        }),
        ("a repository within", |_, root| {
            git2::Repository::init(root.join("nested")).expect("made");
            write(&root.join("nested/file"), "");
        }),
    ];
    // All become old enough at the same time.
    for (what, does, scene) in ways.map(|(what, does)| (what, does, scene())) {
        let repository = &scene.repository;
        let before = known(repository);
        does(&scene, repository.checkout_root());
        let seen = statuses(repository);
        assert_eq!(seen, of_git(repository), "{what}");
        assert_ne!(seen, before, "{what}");
    }
}

#[test]
fn where_repositories_lie_within_git_is_asked_each_time() {
    let scene = scene();
    git2::Repository::init(scene.repository.checkout_root().join("nested")).expect("made");
    let end = Instant::now() + Duration::from_millis(300);
    while Instant::now() < end {
        assert_eq!(statuses(&scene.repository), of_git(&scene.repository));
        assert!(!is_known(&scene.repository));
    }
}

#[test]
fn what_was_written_just_now_is_not_relied_upon() {
    let scene = scene();
    let repository = &scene.repository;
    known(repository);
    write(&repository.checkout_root().join("sub/b.txt"), "now\n");
    statuses(repository);
    // On a machine that takes long for that, it is long ago.
    let file = repository.checkout_root().join("sub/b.txt");
    let age = std::fs::metadata(file)
        .expect("a file")
        .modified()
        .expect("a time")
        .elapsed();
    assert!(!is_known(repository) || age.expect("a time") > Duration::from_millis(100));
    assert_eq!(known(repository), of_git(repository));
}
