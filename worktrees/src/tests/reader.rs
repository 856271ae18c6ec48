//! What the library reads is what git reads, in repositories of many shapes.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A scene whose pool reads with the library, beside the repository that asks git for everything.
fn both(scene: &Scene) -> (Repository, Repository) {
    let with_library = scene
        .repository
        .with_settings_kept_in(&scene.folder.path().join("kept"))
        .expect("settings");
    assert!(
        with_library.read(|_| Some(())).is_some(),
        "the library reads it"
    );
    (with_library, scene.repository.clone())
}

/// Asks both the same questions about every commit, tree, file and reference that there is, and some that are not.
fn assert_same(scene: &Scene) {
    let (library, git) = both(scene);
    assert_same_to(scene, &library, &git);
}

/// Asks one that reads in this process, or by a git that stays, and one that asks git for everything.
fn assert_same_to(scene: &Scene, library: &Repository, git: &Repository) {
    let commits = scene.git(&["rev-list", "--all"]);
    let mut commits: Vec<CommitId> = commits.lines().map(CommitId::new).collect();
    commits.push(CommitId::new("1".repeat(scene.head().as_str().len())));
    let words = |error: Error| error.to_string();
    let copied = |repository: &Repository, name: &str| {
        let copy = scene.folder.path().join(name);
        std::fs::create_dir_all(&copy).expect("a folder");
        crate::private::copy_references(repository, &copy).expect("copied");
        files_below(&copy)
    };
    assert_eq!(copied(library, "by-library"), copied(git, "by-git"));
    for commit in &commits {
        assert_eq!(
            library.resolve(commit.as_str()).map_err(words),
            git.resolve(commit.as_str()).map_err(words)
        );
        assert_eq!(
            library.tree_of(commit).map_err(words),
            git.tree_of(commit).map_err(words)
        );
        assert_eq!(
            library.parents(commit).ok(),
            git.parents(commit).ok(),
            "{commit}"
        );
        let Ok(tree) = git.tree_of(commit) else {
            continue;
        };
        let files = git.files(&tree, &|_, _| true).expect("files");
        assert_eq!(library.files(&tree, &|_, _| true).expect("files"), files);
        let paths = files
            .iter()
            .map(|file| String::from_utf8_lossy(&file.path).into_owned());
        for path in paths.chain(["nowhere", "a.txt/b", "", "/", "folder"].map(ToOwned::to_owned)) {
            assert_eq!(
                library.bytes_in_tree(&tree, &path).ok(),
                git.bytes_in_tree(&tree, &path).ok(),
                "{path}"
            );
            assert_eq!(
                library.text_in_tree(&tree, &path).ok(),
                git.text_in_tree(&tree, &path).ok(),
                "{path}"
            );
        }
        for other in &commits {
            assert_eq!(
                library.is_ancestor(commit, other).ok(),
                git.is_ancestor(commit, other).ok()
            );
            let changed = |repository: &Repository| repository.differing(commit, other).ok();
            assert_eq!(changed(library), changed(git), "{commit} {other}");
        }
    }
    assert_same_names(scene, library, git);
}

/// What names mean, to both.
fn assert_same_names(scene: &Scene, library: &Repository, git: &Repository) {
    let words = |error: Error| error.to_string();
    let names = scene.git(&["for-each-ref", "--format=%(refname)"]);
    let below: BTreeSet<&str> = names
        .lines()
        .filter_map(|name| name.rsplit_once('/'))
        .map(|(below, _)| below)
        .collect();
    for name in names
        .lines()
        .chain(["refs/heads/none", "refs/heads", "HEAD", "refs/heads/../x"])
    {
        assert_eq!(
            library.at_reference(name).ok(),
            git.at_reference(name).ok(),
            "{name}"
        );
        assert_eq!(
            library.resolve(name).map_err(words),
            git.resolve(name).map_err(words),
            "{name}"
        );
    }
    for below in below {
        assert_eq!(
            library.references_below(below).ok(),
            git.references_below(below).ok(),
            "{below}"
        );
    }
    assert_eq!(library.head().map_err(words), git.head().map_err(words));
}

#[test]
fn files_of_every_kind_in_histories_of_every_shape() {
    let scene = Scene::new();
    assert_same(&scene);
    let root = scene.repository.checkout_root().to_owned();
    for name in ["b-c/d", "b/d", "b.txt", "naïve/日本", "with space/and\ttab"] {
        write(&root.join(name), name);
    }
    write(&root.join("run"), "#!/bin/sh\n");
    std::fs::set_permissions(root.join("run"), std::fs::Permissions::from_mode(0o755))
        .expect("a mode");
    std::os::unix::fs::symlink("../outside", root.join("link")).expect("a link");
    std::os::unix::fs::symlink("b", root.join("to-folder")).expect("a link");
    scene.git(&["add", "--all"]);
    scene.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},nested", "a".repeat(40)),
    ]);
    scene.git(&["commit", "--quiet", "--message", "kinds"]);
    scene.git(&["tag", "plain"]);
    scene.git(&["tag", "--annotate", "--message", "a tag", "told"]);
    assert_same(&scene);
    // A file where a folder was, and a folder where a file was.
    scene.git(&["rm", "--quiet", "-r", "--cached", "b", "a.txt"]);
    std::fs::remove_dir_all(root.join("b")).expect("gone");
    std::fs::remove_file(root.join("a.txt")).expect("gone");
    write(&root.join("b"), "a file\n");
    write(&root.join("a.txt/inner"), "a folder\n");
    std::fs::remove_file(root.join("to-folder")).expect("gone");
    write(&root.join("to-folder"), "now a file\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "turned over"]);
    for number in 1..4 {
        scene.git(&["branch", &format!("side/{number}"), "HEAD~1"]);
        let head = scene.git(&["rev-parse", "HEAD^{tree}"]);
        let tip = scene.git(&[
            "commit-tree",
            &head,
            "-p",
            &format!("side/{number}"),
            "-m",
            &number.to_string(),
        ]);
        scene.git(&["update-ref", &format!("refs/heads/side/{number}"), &tip]);
    }
    let tree = scene.git(&["rev-parse", "HEAD^{tree}"]);
    let many = ["-p", "HEAD", "-p", "side/1", "-p", "side/2", "-p", "side/3"];
    let octopus = scene.git(&[&["commit-tree", &tree], &many[..], &["-m", "octopus"]].concat());
    let alone = scene.git(&["commit-tree", &tree, "-m", "a root of its own"]);
    scene.git(&["update-ref", "refs/tm/octopus", &octopus]);
    scene.git(&["update-ref", "refs/tm/alone", &alone]);
    scene.git(&["symbolic-ref", "refs/heads/other-name", "refs/heads/side/1"]);
    assert_same(&scene);
    scene.git(&["pack-refs", "--all"]);
    scene.git(&["repack", "-a", "-d", "--quiet"]);
    assert_same(&scene);
    scene.git(&["checkout", "--quiet", "--detach", "side/2"]);
    assert_same(&scene);
}

#[test]
fn names_that_differ_in_case_alternates_and_other_worktrees_are_read_alike() {
    let lender = Scene::new();
    let lent = lender.task("lent", &lender.head(), "lent.txt", "lent\n");
    let scene = Scene::new();
    let objects = lender.repository.common_dir().join("objects");
    let alternates = scene
        .repository
        .common_dir()
        .join("objects/info/alternates");
    lender.repository.publish_objects().expect("published");
    write(&alternates, &format!("{}\n", objects.display()));
    scene.git(&["update-ref", "refs/heads/lent", lent.as_str()]);
    let root = scene.repository.checkout_root().to_owned();
    for name in ["Case/File", "case/file", "CASE", "e\u{301}", "\u{e9}"] {
        write(&root.join(name), name);
    }
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "names"]);
    scene.git(&["mv", "Case/File", "moved"]);
    scene.git(&["commit", "--quiet", "--message", "moved"]);
    scene.git(&["update-ref", "refs/heads/Case", "HEAD"]);
    scene.git(&["update-ref", "refs/heads/case", "HEAD~1"]);
    let other = scene.folder.path().join("other");
    let name = other.to_string_lossy();
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "elsewhere",
        &name,
        "HEAD~1",
    ]);
    assert_same(&scene);
    let seen = Repository::discover_in(&other, environment(scene.folder.path()));
    let seen = seen.expect("a repository");
    let kept = seen.with_settings_kept_in(&scene.folder.path().join("kept-too"));
    let kept = kept.expect("settings");
    assert_eq!(kept.head().expect("read"), seen.head().expect("asked"));
}

/// Versions of git of long ago, and other programs, wrote modes that git still reads.
#[test]
fn modes_of_long_ago_are_read_as_git_reads_them() {
    let scene = Scene::new();
    let objects = git2::Repository::open(scene.repository.checkout_root()).expect("opened");
    let objects = objects.odb().expect("objects");
    for mode in ["100600", "100640", "100664", "100666", "100775", "100777"] {
        for content in ["before", "after"] {
            let blob = objects.write(git2::ObjectType::Blob, content.as_bytes());
            let entry = format!("{mode} a.txt\0");
            let tree = [entry.as_bytes(), blob.expect("written").as_bytes()].concat();
            let tree = objects.write(git2::ObjectType::Tree, &tree);
            let tree = tree.expect("written").to_string();
            let commit = scene.git(&["commit-tree", &tree, "-m", content]);
            let name = format!("refs/heads/{content}/{mode}");
            scene.git(&["update-ref", &name, &commit]);
        }
    }
    assert_same(&scene);
}

#[test]
fn replaced_objects_and_a_forged_graph_of_commits_decide_nothing() {
    let scene = Scene::new();
    let first = scene.head();
    let second = scene.task("two", &first, "2.txt", "2\n");
    let other = scene.git(&[
        "commit-tree",
        &format!("{first}^{{tree}}"),
        "-m",
        "of nobody",
    ]);
    scene.git(&["update-ref", "refs/tm/other", &other]);
    let (library, _) = both(&scene);
    assert!(
        !library
            .is_ancestor(&CommitId::new(other.as_str()), &second)
            .expect("asked")
    );
    // With its parent replaced, and a graph that was written while it was.
    scene.git(&["replace", "--graft", second.as_str(), &other]);
    scene.git(&["commit-graph", "write", "--reachable"]);
    for repository in [&library, &both(&scene).0, &scene.repository] {
        assert_eq!(
            repository.parents(&second).expect("asked"),
            [first.clone()] as [CommitId; 1]
        );
        assert!(repository.is_ancestor(&first, &second).expect("asked"));
        assert!(
            !repository
                .is_ancestor(&CommitId::new(other.as_str()), &second)
                .expect("asked")
        );
    }
}

#[test]
fn what_comes_up_meanwhile_is_seen() {
    let scene = Scene::new();
    let (library, _) = both(&scene);
    let branch = BranchName::new("later".to_owned()).expect("a name");
    assert_eq!(library.branch_tip(&branch).expect("asked"), None);
    let first = scene.head();
    for text in ["1\n", "2\n", "3\n"] {
        let tip = scene.task(&format!("later-{}", text.trim()), &first, "a.txt", text);
        scene.git(&["update-ref", "refs/heads/later", tip.as_str()]);
        assert_eq!(
            library.branch_tip(&branch).expect("asked"),
            Some(tip.clone())
        );
        assert_eq!(
            library.text_at(&tip, "a.txt").expect("asked").as_deref(),
            Some(text)
        );
        scene.git(&["pack-refs", "--all"]);
        scene.git(&["repack", "-a", "-d", "--quiet"]);
        assert_eq!(library.branch_tip(&branch).expect("asked"), Some(tip));
    }
    scene.git(&["update-ref", "-d", "refs/heads/later"]);
    assert_eq!(library.branch_tip(&branch).expect("asked"), None);
}

/// What was read of history stays known, also where the same commits are read for what is in them.
#[test]
fn a_way_through_history_is_read_from_the_disk_once() {
    let scene = Scene::new();
    let first = scene.head();
    for _ in 0..3 {
        scene.git(&["commit", "--quiet", "--allow-empty", "--message", "more"]);
    }
    let (library, _) = both(&scene);
    let listed = scene.git(&["rev-list", "HEAD"]);
    let commits: Vec<CommitId> = listed.lines().map(CommitId::new).collect();
    let [last, middle, before, ..] = &commits[..] else {
        panic!("{listed}");
    };
    let follows = |ancestor| library.read(|reader| reader.is_ancestor(ancestor, last));
    assert_eq!(follows(&first), Some(true));
    for commit in &commits {
        library.tree_of(commit).expect("a tree");
    }
    let (folder, file) = middle.as_str().split_at(2);
    let objects = scene.repository.checkout_root().join(".git/objects");
    std::fs::remove_file(objects.join(folder).join(file)).expect("it is loose");
    assert_eq!(follows(before), Some(true));
}

/// Repositories that the library can't read, as git makes them here.
fn unreadable() -> impl Iterator<Item = Scene> {
    let kinds = ["--object-format=sha256", "--ref-format=reftable"];
    kinds.into_iter().filter_map(|kind| Scene::of_kind(&[kind]))
}

#[test]
fn what_the_library_can_not_read_is_read_by_git() {
    for scene in unreadable() {
        let root = scene.repository.checkout_root().to_owned();
        for name in [
            "b-c/d",
            "b/d",
            "b.txt",
            "naïve/日本",
            "with space/and\ttab",
            "line\nfeed",
        ] {
            write(&root.join(name), name);
        }
        std::os::unix::fs::symlink("../outside", root.join("link")).expect("a link");
        write(&root.join("empty"), "");
        scene.git(&["add", "--all"]);
        let nested = format!("160000,{},nested", "a".repeat(scene.head().as_str().len()));
        scene.git(&["update-index", "--add", "--cacheinfo", &nested]);
        scene.git(&["commit", "--quiet", "--message", "kinds"]);
        scene.git(&["rm", "--quiet", "-r", "--cached", "b", "a.txt"]);
        scene.git(&["commit", "--quiet", "--message", "gone"]);
        scene.git(&["tag", "--annotate", "--message", "a tag", "told"]);
        let head = scene.git(&["rev-parse", "HEAD^{tree}"]);
        let many = [
            "-p", "HEAD", "-p", "HEAD~1", "-p", "HEAD~2", "-m", "octopus",
        ];
        let octopus = scene.git(&[&["commit-tree", &head], &many[..]].concat());
        scene.git(&["update-ref", "refs/tm/octopus", &octopus]);
        let kept = scene
            .of_user
            .with_settings_kept_in(&scene.folder.path().join("kept"));
        let kept = kept.expect("settings");
        assert!(kept.read(|_| Some(())).is_none());
        assert_same_to(&scene, &kept, &scene.of_user);
        assert!(kept.own().expect("settings").asked.is_started());
        // What comes up meanwhile is seen.
        let first = scene.head();
        let next = scene.git(&["commit-tree", &head, "-p", "HEAD", "-m", "next"]);
        scene.git(&["update-ref", "refs/tm/next", &next]);
        assert_eq!(kept.resolve("refs/tm/next").expect("asked").as_str(), next);
        scene.git(&["update-ref", "refs/tm/next", first.as_str()]);
        scene.git(&["repack", "-a", "-d", "--quiet"]);
        assert_eq!(kept.resolve("refs/tm/next").expect("asked"), first);
    }
}

#[test]
fn work_lands_in_repositories_that_the_library_can_not_read() {
    for scene in unreadable() {
        let base = scene.head();
        let run = branch("tm/run");
        scene
            .repository
            .create_branch(&run, &base)
            .expect("created");
        for name in ["tm/1", "tm/2"] {
            let commit = scene.task(name, &base, &format!("{name}.txt"), name);
            assert!(matches!(scene.land(&commit), Landing::Clean(_)));
        }
        let landed = scene
            .repository
            .branch_tip(&run)
            .expect("asked")
            .expect("a commit");
        assert_eq!(
            scene.git(&["ls-tree", "-r", "--name-only", landed.as_str()]),
            "a.txt\ntm/1.txt\ntm/2.txt"
        );
    }
}

#[test]
fn ten_thousand_references_are_read_alike() {
    let scene = Scene::new();
    let head = scene.head();
    let create = |range: std::ops::Range<u32>| {
        let lines = range.map(|number| format!("create refs/heads/many/{number:05} {head}\n"));
        let git = scene.repository.git_in(scene.repository.checkout_root());
        let git = git.line("update-ref --stdin");
        git.input(lines.collect::<String>())
            .done()
            .expect("created");
    };
    create(0..9_000);
    scene.git(&["pack-refs", "--all"]);
    create(9_000..10_000);
    let (library, git) = both(&scene);
    let below = |repository: &Repository| repository.references_below("refs/heads/many");
    let found = below(&library).expect("read");
    assert_eq!(found.len(), 10_000);
    assert_eq!(found, below(&git).expect("read"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn random_histories_are_read_alike(
        steps in proptest::collection::vec((0_usize..6, 0_usize..6, "[ab]{1,2}(/[ab]{1,2})?", "[xy]{0,3}"), 1..7)
    ) {
        let scene = Scene::new();
        let mut commits = vec![scene.head()];
        for (number, (one, other, path, text)) in steps.into_iter().enumerate() {
            let parent = commits[one % commits.len()].clone();
            let second = commits[other % commits.len()].clone();
            let tree = scene.repository.tree_of(&parent).expect("a tree");
            // A path that is a folder there stays one.
            let Ok(made) = scene.repository.with_texts(&tree, &[(path, text)], &parent) else { continue };
            let tree = scene.repository.tree_of(&made).expect("a tree").to_string();
            let (message, parent, second) = (number.to_string(), parent.to_string(), second.to_string());
            let mut words = vec!["commit-tree", &tree, "-m", &message, "-p", &parent];
            if second != parent {
                words.extend(["-p", &second]);
            }
            let commit = scene.git(&words);
            scene.git(&["update-ref", &format!("refs/tm/{number}"), &commit]);
            commits.push(CommitId::new(commit));
        }
        assert_same(&scene);
    }
}

#[test]
fn trees_to_test_are_made_alike() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root().to_owned();
    write(&root.join("folder/run"), "#!/bin/sh\n");
    std::fs::set_permissions(
        root.join("folder/run"),
        std::fs::Permissions::from_mode(0o755),
    )
    .expect("a mode");
    std::os::unix::fs::symlink("a.txt", root.join("link")).expect("a link");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "kinds"]);
    let (library, git) = both(&scene);
    let head = scene.head();
    let tree = git.tree_of(&head).expect("a tree");
    for paths in [
        &["a.txt"][..],
        &["folder/run", "folder/new"],
        &["link"],
        &["new/deep/er", "a.txt"],
        &["a.txt/within"],
        &["folder"],
    ] {
        let texts: Vec<(String, String)> = paths
            .iter()
            .map(|path| ((*path).to_owned(), format!("{path}\n")))
            .collect();
        let made = |repository: &Repository| {
            let commit = repository
                .with_texts(&tree, &texts, &head)
                .expect("a commit");
            repository.tree_of(&commit).expect("a tree")
        };
        assert_eq!(made(&library), made(&git), "{paths:?}");
    }
}
