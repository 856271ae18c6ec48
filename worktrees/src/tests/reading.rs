//! Questions about many commits, each asked of git in one call.

use super::*;

#[test]
fn sizes_of_many_changes_come_in_the_order_of_the_questions() {
    let scene = Scene::new();
    let first = scene.head();
    let lines = scene.task("lines", &first, "a.txt", "one\n2\nthree\nfour\n");
    let binary = scene.task("binary", &lines, "b\tin\n.bin", "\0\u{1}\n");
    let nowhere = CommitId::new("1".repeat(40));
    let pairs = [
        (first.clone(), binary.clone()),
        (lines.clone(), lines.clone()),
        (first.clone(), nowhere),
        (lines, binary),
        (first.clone(), scene.task("again", &first, "a.txt", "")),
    ];
    let size = |files, insertions, deletions| {
        Some(Diffstat {
            files,
            insertions,
            deletions,
        })
    };
    let found = scene.repository.diffstats(&pairs).expect("sizes");
    assert_eq!(
        found,
        [
            size(2, 2, 1),
            size(0, 0, 0),
            None,
            size(1, 0, 0),
            size(1, 0, 3)
        ]
    );
    assert_eq!(scene.repository.diffstats(&[]).expect("nothing"), []);
    assert!(scene.repository.diffstat(&pairs[2].0, &pairs[2].1).is_err());
    let whole = scene.repository.patches(&pairs, 10_000).expect("patches");
    let texts = whole
        .iter()
        .map(|patch| patch.as_ref().map(|patch| patch.text.as_str()));
    let texts: Vec<Option<&str>> = texts.collect();
    assert!(
        texts[0].is_some_and(|text| text.contains("\n-two\n+2\n") && text.contains("\n+four\n"))
    );
    assert_eq!((texts[1], texts[2]), (Some(""), None));
    assert!(texts[3].is_some_and(|text| text.contains("Binary files")));
    let cut = scene.repository.patches(&pairs[4..], 90).expect("patches");
    let (cut, whole) = (cut[0].clone().expect("one"), texts[4].expect("one"));
    let left = whole.strip_prefix(&cut.text).expect("its beginning");
    assert!(cut.text.len() < 90 && cut.text.ends_with('\n'));
    assert_eq!(left.lines().count() as u64, cut.left_out);
}

#[test]
fn the_newest_of_commits_on_a_line_is_found_in_any_order_and_what_is_missing_is_named() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("one", &base, "1.txt", "1\n");
    let two = scene.task("two", &one, "2.txt", "2\n");
    let newest = |commits: &[&CommitId]| {
        let commits: Vec<CommitId> = commits.iter().map(|&commit| commit.clone()).collect();
        scene.repository.newest(&base, &commits).expect("one")
    };
    assert_eq!(
        [newest(&[&one, &two]), newest(&[&two, &one]), newest(&[])],
        [two.clone(), two.clone(), base.clone()]
    );
    assert_eq!(newest(&[&base]), base);
    let nowhere = CommitId::new("1".repeat(40));
    assert!(
        scene
            .repository
            .newest(&base, std::slice::from_ref(&nowhere))
            .is_err()
    );
    assert_eq!(
        scene
            .repository
            .missing(&[one, nowhere.clone(), two])
            .expect("asked"),
        [nowhere]
    );
}

#[test]
fn the_last_commit_with_a_trailer_is_found_and_words_that_are_none_are_not_taken_for_it() {
    let scene = Scene::new();
    let base = scene.head();
    let found = || {
        scene
            .repository
            .last_with_trailer(&scene.head(), "Phase", "red")
            .expect("asked")
    };
    assert_eq!(found(), None);
    scene.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "tests\n\nPhase: red\nTask: 1",
    ]);
    let red = scene.head();
    scene.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "more\n\nPhase: redder",
    ]);
    scene.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "more\n\nNow Phase: red is over.\n\nPhase: green",
    ]);
    assert_eq!(found(), Some(red.clone()));
    let trailers = scene.repository.past(&red).expect("trailers").trailers;
    assert_eq!(
        trailers,
        [("Phase".into(), "red".into()), ("Task".into(), "1".into())] as [(String, String); 2]
    );
    assert_eq!(
        scene.repository.first_parent(&red).expect("asked"),
        Some(base.clone())
    );
    assert_eq!(scene.repository.first_parent(&base).expect("asked"), None);
}

#[test]
fn files_of_another_commit_stand_in_a_tree_with_their_content_or_not_at_all() {
    let scene = Scene::new();
    let base = scene.head();
    let odd = "deep/*\to.txt";
    let with = scene.task("with", &base, odd, "new\n");
    let now = scene.task("now", &with, "deep/other.txt", "other\n");
    let tree = scene.repository.tree_of(&now).expect("a tree");
    let files = |files: &[&str], from: &CommitId| {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        scene
            .repository
            .with_files_of(&tree, &files, from)
            .expect("a commit")
    };
    let mut names = vec![odd.to_owned(), "never.txt".to_owned()];
    // More than the arguments of a program may be.
    names.extend((0..12_000).map(|number| format!("{number:0>200}")));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let back = files(&names, &base);
    let text =
        |commit: &CommitId, path: &str| scene.repository.text_at(commit, path).expect("asked");
    assert_eq!(
        (text(&back, odd), text(&back, "deep/other.txt")),
        (None, Some("other\n".to_owned()))
    );
    assert_eq!(text(&files(&[odd], &with), odd), Some("new\n".to_owned()));
    assert_eq!(
        scene
            .repository
            .tree_of(&files(&[], &base))
            .expect("a tree"),
        tree
    );
    assert_eq!(
        (text(&now, "deep"), text(&now, "nowhere")),
        (None, None),
        "a folder is no file"
    );
    assert!(
        scene
            .repository
            .text_in_tree(&TreeId("1".repeat(40)), "a.txt")
            .is_err()
    );
}

#[test]
fn changes_in_the_users_other_worktrees_are_named_and_those_in_tms_own_are_not() {
    let scene = Scene::new();
    let (other, own) = (
        scene.folder.path().join("other"),
        scene.folder.path().join("worktrees"),
    );
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "mine",
        &other.display().to_string(),
    ]);
    write(&other.join("mine.txt"), "mine\n");
    let take = || OtherWorktrees::take(&scene.repository, &own).expect("looked");
    let before = take();
    let worktree = scene.check_out("tm/1", &scene.head());
    write(&worktree.path().join("b.txt"), "b\n");
    write(&scene.repository.checkout_root().join("c.txt"), "c\n");
    assert_eq!(before.changes(&take()), Vec::<String>::new());
    write(&other.join("a.txt"), "changed\n");
    write(&other.join("mine.txt"), "changed as well\n");
    let named = ["a.txt", "mine.txt"].map(|name| other.join(name).display().to_string());
    assert_eq!(before.changes(&take()), named);
    scene
        .repository
        .git_in(&other)
        .line("commit --quiet -am x")
        .done()
        .expect("committed");
    let head = format!("HEAD of {}", other.display());
    assert_eq!(before.changes(&take()), [head, named[1].clone()]);
}

#[test]
fn the_worktrees_that_are_found_are_those_that_git_lists() {
    let scene = Scene::new();
    let at = |name: &str| scene.folder.path().join(name);
    for name in ["one", "gone", "two"] {
        scene.git(&[
            "worktree",
            "add",
            "--quiet",
            "--detach",
            &at(name).display().to_string(),
        ]);
    }
    std::fs::remove_dir_all(at("gone")).expect("removed");
    let mut listed: Vec<PathBuf> = scene
        .git(&["worktree", "list", "--porcelain"])
        .lines()
        .filter_map(|line| {
            PathBuf::from(line.strip_prefix("worktree ")?)
                .canonicalize()
                .ok()
        })
        .collect();
    let found = || {
        let mut found: Vec<PathBuf> = scene
            .repository
            .main_and_linked()
            .into_iter()
            .map(|(_, root)| root)
            .collect();
        found.sort();
        found
    };
    listed.sort();
    assert_eq!((found(), listed.len()), (listed.clone(), 3));
    // As newer gits write it, from git's own folder on.
    write(
        &scene.repository.common_dir().join("worktrees/two/gitdir"),
        "../../../../two/.git\n",
    );
    assert_eq!(found(), listed);
}

#[test]
fn links_are_told_with_where_they_lead_and_texts_take_their_place() {
    let scene = Scene::new();
    let head = scene.head();
    let worktree = scene.check_out("tm/one", &head);
    std::os::unix::fs::symlink("../a.txt", worktree.path().join("link")).expect("a link");
    let staged = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    let links = scene.repository.links(&staged.tree).expect("links");
    assert_eq!(links, [("link".to_owned(), "../a.txt".to_owned())].into());
    assert!(
        scene
            .repository
            .paths(&staged.tree)
            .expect("paths")
            .is_superset(&["a.txt".into(), "link".into()].into())
    );
    let texts = [
        ("link", "a file"),
        ("a.txt", "other"),
        ("deep/new.txt", "new"),
    ];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let made = scene
        .repository
        .with_texts(&staged.tree, &texts, &head)
        .expect("a commit");
    for (path, text) in texts {
        assert_eq!(
            scene.repository.text_at(&made, &path).expect("asked"),
            Some(text)
        );
    }
    let tree = scene.repository.tree_of(&made).expect("a tree");
    assert!(scene.repository.links(&tree).expect("links").is_empty());
}

#[test]
fn a_commit_that_is_made_to_be_tested_is_the_same_by_the_library_and_by_git() {
    let scene = Scene::new();
    let base = scene.head();
    let tree = scene
        .repository
        .tree_of(&scene.task("tm/1", &base, "b.txt", "b\n"))
        .expect("a tree");
    let made = [scene.pool.repository(), &scene.repository].map(|repository| {
        let commit = repository.commit_to_test(&tree, &base).expect("a commit");
        scene.git(&[
            "show",
            "--no-patch",
            "--format=%T %P%n%an <%ae>%n%cn <%ce>%n%B",
            commit.as_str(),
        ])
    });
    assert!(scene.pool.repository().read(|_| Some(())).is_some());
    assert_eq!(made[0], made[1]);
    let none = CommitId::new("1".repeat(40));
    assert!(
        scene
            .pool
            .repository()
            .commit_to_test(&tree, &none)
            .is_err()
    );
    assert!(
        scene
            .pool
            .repository()
            .commit_to_test(&TreeId("1".repeat(40)), &base)
            .is_err()
    );
}
