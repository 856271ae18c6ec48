//! A judge's checkout is as its tree again, whatever was done to it.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::time::SystemTime;

/// What a test can do to the folder that it runs in.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Writes other content of the same length, and gives the file its old time back.
    Overwrite,
    /// The same through a mapping that was read before, which leaves all times in memory.
    WriteMapped,
    Remove,
    Replace,
    LinkInPlace,
    FolderInPlace,
    LinkForFolder,
    Executable,
    Unreadable,
    New,
    NewFolder,
    NewRules,
    TouchOnly,
    /// Gives the folder of the file rights that no clone has.
    OpenFolder,
    CloseFolder,
    /// Says which rights everything has that is made in the folder of the file from now on.
    HandDown,
    SecondName,
}

const DEEDS: [Deed; 17] = [
    Deed::Overwrite,
    Deed::WriteMapped,
    Deed::Remove,
    Deed::Replace,
    Deed::LinkInPlace,
    Deed::FolderInPlace,
    Deed::LinkForFolder,
    Deed::Executable,
    Deed::Unreadable,
    Deed::New,
    Deed::NewFolder,
    Deed::NewRules,
    Deed::TouchOnly,
    Deed::OpenFolder,
    Deed::CloseFolder,
    Deed::HandDown,
    Deed::SecondName,
];
const FILES: [&str; 7] = [
    "a.txt",
    "one/b.txt",
    "one/two/c.txt",
    "d.sh",
    "link",
    "wide/3/f.txt",
    "wide/19/f.txt",
];
/// So many folders are looked at by several threads.
const WIDE: usize = 20;

/// Sets the rights of a file, and of nothing that a link leads to.
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    if path.is_symlink() {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Does it, as far as what others did before lets it.
#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn do_to(folder: &Path, deed: Deed, file: &str) {
    let path = folder.join(file);
    let time = fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
    let gone = || fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    let _as_far_as_it_goes = match deed {
        Deed::Overwrite => fs::symlink_metadata(&path).and_then(|metadata| {
            fs::write(
                &path,
                "x".repeat(usize::try_from(metadata.len()).expect("short")),
            )?;
            fs::File::options()
                .write(true)
                .open(&path)?
                .set_modified(time.unwrap_or_else(|_| SystemTime::now()))
        }),
        Deed::WriteMapped => {
            if path.is_file() && !path.is_symlink() {
                write_mapped(&path);
            }
            Ok(())
        }
        Deed::Remove => gone(),
        Deed::Replace => gone().and_then(|()| fs::write(&path, "other\n")),
        Deed::LinkInPlace => gone().and_then(|()| symlink("/dev/null", &path)),
        Deed::FolderInPlace => gone().and_then(|()| fs::create_dir(&path)),
        Deed::LinkForFolder => fs::rename(folder.join("one"), folder.join("moved"))
            .and_then(|()| symlink("moved", folder.join("one"))),
        Deed::Executable => set_mode(&path, 0o777),
        Deed::Unreadable => set_mode(&path, 0o000),
        Deed::New => fs::write(folder.join("new.txt"), "new\n"),
        Deed::NewFolder => fs::create_dir_all(folder.join("one/new/deep")),
        Deed::NewRules => fs::write(folder.join("one/.gitattributes"), "* text eol=crlf\n"),
        Deed::TouchOnly => fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|file| {
                file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1))
            }),
        Deed::OpenFolder => set_mode(path.parent().expect("a folder"), 0o1777),
        Deed::CloseFolder => set_mode(path.parent().expect("a folder"), 0o000),
        Deed::HandDown => hand_down(path.parent().expect("a folder")),
        Deed::SecondName => fs::hard_link(&path, folder.with_file_name(file.replace('/', "-"))),
    };
}

/// As `setfacl --default --modify user::rw-,group::---,other::---` does.
fn hand_down(folder: &Path) -> std::io::Result<()> {
    let list = b"\
        \x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x04\0\0\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";
    Ok(setxattr(folder, HANDED_DOWN, list, XattrFlags::empty())?)
}

const HANDED_DOWN: &str = "system.posix_acl_default";

/// The mode of everything in a folder, how many names it has, and its content; of folders the rights that they hand down.
type Found = BTreeMap<PathBuf, (u32, u64, Vec<u8>)>;

/// All that is in the folder but git's own file: what kind of thing, and its content.
fn found(folder: &Path) -> Found {
    let mode = fs::metadata(folder).expect("a folder").mode();
    let mut all = BTreeMap::from([(PathBuf::new(), (mode, 1, handed_down(folder)))]);
    let mut stack = vec![folder.to_owned()];
    while let Some(path) = stack.pop() {
        for entry in fs::read_dir(&path)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
        {
            let metadata = entry.symlink_metadata().expect("it is there");
            let relative = entry.strip_prefix(folder).expect("within").to_owned();
            if relative == Path::new(".git") {
                continue;
            }
            let content = match () {
                () if metadata.is_symlink() => fs::read_link(&entry)
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes(),
                () if metadata.is_dir() => {
                    stack.push(entry.clone());
                    handed_down(&entry)
                }
                () => fs::read(&entry).expect("a file"),
            };
            let names = if metadata.is_dir() {
                1
            } else {
                metadata.nlink()
            };
            all.insert(relative, (metadata.mode(), names, content));
        }
    }
    all
}

/// The rights that a folder hands down; none where the file system knows of no such thing.
fn handed_down(folder: &Path) -> Vec<u8> {
    let mut list = vec![0; 1024];
    let length = getxattr(folder, HANDED_DOWN, &mut list[..]);
    list.truncate(length.unwrap_or_default());
    list
}

/// A scene with two commits, and what a fresh checkout of each looks like.
fn two_commits() -> (Scene, [(CommitId, Found); 2]) {
    let scene = Scene::new();
    let root = scene.repository.checkout_root().to_owned();
    for file in &FILES[1..4] {
        write(&root.join(file), &format!("{file}\nfirst\n"));
    }
    fs::set_permissions(root.join("d.sh"), fs::Permissions::from_mode(0o755)).expect("set");
    symlink("one/b.txt", root.join("link")).expect("a link");
    for number in 0..WIDE {
        write(&root.join(format!("wide/{number}/f.txt")), "wide\n");
    }
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "second"]);
    let first = scene.head();
    write(&root.join("one/b.txt"), "two, changed\n");
    write(&root.join("three/.gitattributes"), "*.txt text eol=crlf\n");
    write(&root.join("three/e.txt"), "a line\n");
    scene.git(&["rm", "--quiet", "a.txt"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "third"]);
    let second = scene.head();
    let fresh = |commit: CommitId| {
        let tree = scene.repository.tree_of(&commit).expect("a tree");
        // Not given back while the other is made: both are new.
        let mut judge = scene.pool_anew().judge(&tree, &commit).expect("a checkout");
        judge.check_out(&commit, &[]).expect("checked out");
        let files = found(judge.path());
        (commit, files)
    };
    let both = [fresh(first), fresh(second)];
    (scene, both)
}

#[test]
fn whatever_was_done_to_a_checkout_the_next_one_is_as_a_fresh_one() {
    let (scene, commits) = two_commits();
    let deeds = proptest::collection::vec((0..DEEDS.len(), 0..FILES.len()), 0..4);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(40));
    // One checkout goes through all of it: what one case leaves, the next one finds.
    let walked = runner.run(&(any::<bool>(), deeds), |(is_second, deeds)| {
        let (commit, expected) = &commits[usize::from(is_second)];
        let tree = scene.repository.tree_of(commit).expect("a tree");
        let mut judge = scene.pool.judge(&tree, commit).expect("a checkout");
        judge.check_out(commit, &[]).expect("checked out");
        prop_assert_eq!(&found(judge.path()), expected);
        for (deed, file) in deeds {
            do_to(judge.path(), DEEDS[deed], FILES[file]);
        }
        Ok(())
    });
    walked.expect("as a fresh one");
}

#[test]
fn whatever_was_done_to_one_file_it_is_as_a_fresh_one() {
    let (scene, [(commit, expected), _]) = two_commits();
    let tree = scene.repository.tree_of(&commit).expect("a tree");
    for deed in DEEDS.into_iter().chain([Deed::New]) {
        let mut judge = scene.pool.judge(&tree, &commit).expect("a checkout");
        judge.check_out(&commit, &[]).expect("checked out");
        assert_eq!(found(judge.path()), expected, "before {deed:?}");
        do_to(judge.path(), deed, "one/b.txt");
    }
}

#[test]
fn what_is_written_in_the_moment_of_the_checkout_is_seen() {
    let (scene, commits) = two_commits();
    for round in 0..60 {
        let (commit, expected) = &commits[round % 2];
        let tree = scene.repository.tree_of(commit).expect("a tree");
        let mut judge = scene.pool.judge(&tree, commit).expect("a checkout");
        judge.check_out(commit, &[]).expect("checked out");
        assert_eq!(&found(judge.path()), expected, "round {round}");
        let rewritten = || judge.rewritten(&|name| name != "a.txt");
        assert_eq!(rewritten(), Vec::<String>::new(), "round {round}");
        do_to(judge.path(), Deed::Overwrite, "a.txt");
        do_to(judge.path(), Deed::Overwrite, "one/b.txt");
        assert_eq!(rewritten(), ["one/b.txt"], "round {round}");
    }
}

#[test]
fn what_is_written_through_a_mapping_is_seen_and_not_what_git_writes_by_rules() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root();
    write(&root.join(".gitattributes"), "*.bat text eol=crlf\n");
    write(&root.join("a.bat"), "one\ntwo\n");
    write(&root.join("b.bat"), "one\ntwo\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "rules"]);
    let scene = scene.anew();
    let commit = scene.head();
    let tree = scene.repository.tree_of(&commit).expect("a tree");
    for round in 0..3 {
        let mut judge = scene.pool.judge(&tree, &commit).expect("a checkout");
        judge.check_out(&commit, &[]).expect("checked out");
        let content = |file: &str| fs::read(judge.path().join(file)).expect("a file");
        assert_eq!(content("a.txt"), b"one\ntwo\nthree\n", "round {round}");
        assert_eq!(content("b.bat"), b"one\r\ntwo\r\n", "round {round}");
        let rewritten = || judge.rewritten(&|_| true);
        assert_eq!(rewritten(), Vec::<String>::new(), "round {round}");
        write_mapped(&judge.path().join("a.txt"));
        write_mapped(&judge.path().join("b.bat"));
        let mut seen = rewritten();
        seen.sort();
        assert_eq!(seen, ["a.txt", "b.bat"], "round {round}");
    }
}

/// A file that has another name in a folder of which nobody is told who opens what.
#[test]
fn what_is_written_through_a_mapping_by_another_name_is_seen() {
    let scene = Scene::new();
    let commit = scene.task("tm/1", &scene.head(), ".gitignore", "cache\n");
    let tree = scene.repository.tree_of(&commit).expect("a tree");
    let kept = ["cache".into()];
    let mut judge = scene.pool.judge(&tree, &commit).expect("a checkout");
    judge.check_out(&commit, &kept).expect("checked out");
    let (file, other) = (judge.path().join("a.txt"), judge.path().join("cache/x"));
    for _ in 0..3 {
        fs::create_dir_all(other.parent().expect("a folder")).expect("made");
        let _nothing_there = fs::remove_file(&other);
        fs::hard_link(&file, &other).expect("linked");
        let moment = scene.folder.path().join("moment");
        write(&moment, "");
        crate::indexed::leave_its_moment(&moment).expect("a moment later");
        // Takes the time at which it was linked for its own.
        assert_eq!(judge.tree().expect("a tree"), tree);
        for _ in 0..2 {
            judge.check_out(&commit, &kept).expect("checked out");
        }
        write_mapped(&other);
        judge.check_out(&commit, &kept).expect("checked out");
        assert_eq!(fs::read(&file).expect("a file"), b"one\ntwo\nthree\n");
    }
}

#[test]
fn a_worktree_that_is_about_to_come_back_is_waited_for_and_no_longer() {
    let scene = Scene::new();
    let base = scene.head();
    let first = scene.check_out("tm/1", &base);
    let path = first.path().to_owned();
    let (begins, begun) = std::sync::mpsc::channel();
    let second = std::thread::scope(|scope| {
        let returning = scene.pool.returning();
        let waiting = scope.spawn(|| {
            begins.send(()).expect("somebody listens");
            scene.check_out("tm/2", &base)
        });
        begun.recv().expect("it begins");
        first.release().expect("released");
        drop(returning);
        waiting.join().expect("no panic")
    });
    assert_eq!(second.path(), path);
    let third = std::thread::scope(|scope| {
        let returning = scene.pool.returning();
        let waiting = scope.spawn(|| scene.check_out("tm/3", &base));
        drop(returning);
        waiting.join().expect("no panic")
    });
    assert_ne!(third.path(), path, "what was to come back did not");
}

#[test]
fn files_that_nobody_touched_are_not_written_again() {
    let (scene, [(first, _), (second, _)]) = two_commits();
    let mut written = Vec::new();
    for commit in [&first, &first, &second, &first] {
        let tree = scene.repository.tree_of(commit).expect("a tree");
        let mut judge = scene.pool.judge(&tree, commit).expect("a checkout");
        judge.check_out(commit, &[]).expect("checked out");
        let metadata = |file: &str| fs::metadata(judge.path().join(file)).expect("it is there");
        written.push((metadata("d.sh").ino(), metadata("one/b.txt").ctime_nsec()));
    }
    assert_eq!(written[0], written[1], "nothing was written");
    assert_ne!(written[1].1, written[2].1, "what differs was");
}
