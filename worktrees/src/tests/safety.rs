//! What is landed, kept and removed, and that nothing is lost with it.

use super::*;

#[test]
fn the_order_of_landing_does_not_change_what_lands() {
    let scene = Scene::new();
    let lines = |changed: usize| -> String {
        (0..30)
            .map(|line| {
                if line == changed {
                    "changed\n".to_owned()
                } else {
                    format!("{line}\n")
                }
            })
            .collect()
    };
    write(
        &scene.repository.checkout_root().join("long.txt"),
        &lines(30),
    );
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "a long file"]);
    let base = scene.head();
    // All three change the same file, in different places.
    let works =
        [0, 14, 29].map(|line| scene.task(&format!("tm/{line}"), &base, "long.txt", &lines(line)));
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let trees: Vec<TreeId> = orders
        .iter()
        .enumerate()
        .map(|(number, order)| {
            let integration = branch(&format!("tm/run-{number}"));
            scene
                .repository
                .create_branch(&integration, &base)
                .expect("created");
            for &work in order {
                let head = scene
                    .repository
                    .resolve(integration.as_str())
                    .expect("a commit");
                let landing = scene
                    .repository
                    .land(&head, &works[work])
                    .expect("an answer");
                let Landing::Clean(preview) = landing else {
                    panic!("{order:?}: {landing:?}")
                };
                scene.advance(&integration, &preview);
            }
            let landed = scene
                .repository
                .resolve(integration.as_str())
                .expect("a commit");
            scene.repository.tree_of(&landed).expect("a tree")
        })
        .collect();
    assert!(trees.iter().all(|tree| *tree == trees[0]), "{trees:?}");
}

#[test]
fn pruning_keeps_what_is_not_safe_and_says_why() {
    let scene = Scene::new();
    let base = scene.head();
    let dirty = scene.check_out("tm/1", &base);
    write(&dirty.path().join("b.txt"), "b");
    let safe = scene.check_out("tm/2", &base);
    let parted = scene.check_out("tm/3", &base);
    let commit_in = |folder: &Path, message: &str| {
        let git = || scene.repository.git_in(folder);
        git()
            .line("checkout --quiet --detach")
            .done()
            .expect("detached");
        git()
            .line("commit --quiet --allow-empty -m")
            .arg(message)
            .done()
            .expect("committed");
    };
    commit_in(parted.path(), "on no branch");
    let mut tested = scene
        .pool
        .judge(&scene.repository.tree_of(&base).expect("a tree"), &base)
        .expect("a checkout");
    tested.check_out(&base, &[]).expect("checked out");
    write(&tested.path().join("left.txt"), "by a test");
    let outcomes = scene
        .repository
        .prune(
            &scene.folder.path().join("worktrees"),
            Pruning::Done,
            |_| None,
        )
        .expect("outcomes");
    let of = |path: &Path| {
        outcomes
            .iter()
            .find(|outcome| outcome.path == path)
            .expect("an outcome")
            .outcome
    };
    assert_eq!(
        (of(dirty.path()), of(safe.path())),
        (Pruned::Kept, Pruned::Removed)
    );
    assert_eq!(
        (of(parted.path()), of(tested.path())),
        (Pruned::Kept, Pruned::Removed)
    );
    let mut reasons: Vec<&str> = outcomes
        .iter()
        .map(|outcome| outcome.why.as_str())
        .collect();
    reasons.sort_unstable();
    let expected = [
        "it holds work that is not committed",
        "it was made for tests only",
        "its commit is on no branch",
        "its work is on a branch",
    ];
    assert_eq!(reasons, expected);
    assert!(dirty.path().join("b.txt").exists());
}

#[test]
fn kept_work_is_never_replaced_by_other_work() {
    let scene = Scene::new();
    let head = scene.head();
    let (one, two) = (
        scene.task("tm/one", &head, "one.txt", "1"),
        scene.task("tm/two", &head, "two.txt", "2"),
    );
    let keep = |commit: &CommitId| {
        scene
            .repository
            .keep("refs/tm/salvage/run/1/1", commit)
            .expect("kept");
    };
    keep(&head);
    keep(&one);
    keep(&head);
    keep(&two);
    keep(&two);
    let kept = scene.repository.kept("refs/tm/salvage/").expect("a list");
    let mut names: Vec<(&str, &CommitId)> = kept
        .iter()
        .map(|kept| (kept.reference.as_str(), &kept.commit))
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            ("refs/tm/salvage/run/1/1", &one),
            ("refs/tm/salvage/run/1/1-2", &two)
        ]
    );
    assert_eq!(kept[0].subject, "tm/one");
}

#[test]
fn salvage_keeps_untracked_files_and_disturbs_nothing() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    assert_eq!(
        worktree
            .salvage("refs/tm/salvage/r/1/1", "kept\n")
            .expect("an answer"),
        None
    );
    write(&worktree.path().join("new file\n.txt"), "b");
    let kept = worktree
        .salvage("refs/tm/salvage/r/1/1", "kept\n")
        .expect("an answer")
        .expect("a commit");
    assert_eq!(
        scene.git(&["rev-parse", "refs/tm/salvage/r/1/1"]),
        kept.to_string()
    );
    assert!(
        scene
            .git(&["ls-tree", "-r", "-z", "--name-only", kept.as_str()])
            .contains("new file\n.txt")
    );
    assert!(!worktree.is_clean().expect("an answer"));
    assert!(worktree.salvage("refs/heads/main", "no\n").is_err());
}

#[test]
fn what_a_killed_process_left_is_kept_before_its_worktree_goes() {
    let scene = Scene::new();
    let base = scene.head();
    let left = scene.check_out("tm/1", &base).path().to_owned();
    write(&left.join("precious.txt"), "precious");
    // Another process: it knows nothing of the worktree but that it is there.
    let pool =
        WorktreePool::open(&scene.of_user, &scene.folder.path().join("worktrees")).expect("a pool");
    pool.close().expect("closed");
    assert!(!left.exists());
    let kept = scene
        .of_user
        .kept("refs/tm/salvage/worktrees/")
        .expect("a list");
    assert_eq!(kept.len(), 1);
    assert_eq!(
        scene.git(&["show", &format!("{}:precious.txt", kept[0].reference)]),
        "precious"
    );
}

#[test]
fn what_changes_in_gits_settings_hooks_and_rules_is_named() {
    let scene = Scene::new();
    let git_dir = scene.folder.path().join("checkout/.git");
    let run = scene.pool.repository();
    let take = || CheckoutSnapshot::take(run, &[]).expect("a snapshot");
    let before = take();
    scene.git(&["config", "branch.main.remote", "."]);
    assert_eq!(
        before.changes(&take(), run),
        CheckoutChanges::default(),
        "everyday commands write that"
    );
    scene.git(&["config", "core.pager", "evil"]);
    scene.git(&["config", "user.name", "Somebody else"]);
    hook(&git_dir.join("hooks/pre-commit"), "#!/bin/sh\n");
    write(&git_dir.join("info/exclude"), "lib/\n");
    let first = scene.head();
    scene.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
    scene.git(&["replace", "-f", first.as_str(), "HEAD"]);
    let changes = before.changes(&take(), run).settings;
    let expected = [
        "git's settings: .git/hooks/pre-commit (new)".to_owned(),
        "git's settings: .git/info/exclude (changed)".to_owned(),
        "git's settings: core.pager (new)".to_owned(),
        format!("git's settings: refs/replace/{first} (new)"),
        "git's settings: user.name (changed)".to_owned(),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn settings_that_are_written_through_a_mapping_are_read_anew() {
    let scene = Scene::new();
    let run = scene.pool.repository();
    let take = || CheckoutSnapshot::of_settings(run).expect("a snapshot");
    let before = take();
    assert_eq!(before.changes(&take(), run), CheckoutChanges::default());
    write_mapped(&scene.folder.path().join("checkout/.git/config"));
    let changes = before.changes(&take(), run).settings;
    let gone = "git's settings: user.name (gone)".to_owned();
    assert!(changes.contains(&gone), "{changes:?}");
}

#[test]
fn a_folder_that_was_exchanged_for_another_one_is_never_touched() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let (path, documents) = (
        worktree.path().to_owned(),
        scene.folder.path().join("documents"),
    );
    write(&documents.join("letter.txt"), "dear");
    std::fs::rename(&path, scene.folder.path().join("aside")).expect("moved");
    std::os::unix::fs::symlink(&documents, &path).expect("a link");
    assert!(matches!(
        worktree.capture(&PathPatterns::default()),
        Err(Error::NotOwn { .. })
    ));
    assert!(worktree.go_back_to(&scene.head()).is_err());
    assert!(worktree.release().is_err());
    std::fs::remove_file(&path).expect("removed");
    std::fs::rename(&documents, &path).expect("moved");
    assert!(matches!(
        scene.pool.take_over(&path, &branch("tm/1"), &scene.head()),
        Err(Error::NotInPool { .. })
    ));
    scene.check_out("tm/2", &scene.head());
    drop(scene.pool.close());
    assert_eq!(
        std::fs::read_to_string(path.join("letter.txt")).expect("it is there"),
        "dear"
    );
}

#[test]
fn gits_own_files_of_a_worktree_are_written_and_never_believed() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let root = scene.folder.path().join("checkout");
    write(&worktree.path().join("b.txt"), "b");
    let own = std::fs::read_to_string(worktree.path().join(".git")).expect("a file");
    write(
        &worktree.path().join(".git"),
        &format!("gitdir: {}\n", root.join(".git").display()),
    );
    let Err(Error::GitFilesChanged(paths)) = worktree.capture(&PathPatterns::default()) else {
        panic!("named")
    };
    assert_eq!(paths, [worktree.path().join(".git")]);
    let path = worktree.path().to_owned();
    worktree
        .salvage("refs/tm/salvage/r/1/1", "kept\n")
        .expect("kept");
    worktree.release().expect("released");
    assert_eq!(scene.git(&["show", "refs/tm/salvage/r/1/1:b.txt"]), "b");
    assert_eq!(
        scene.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/main",
        "the user's HEAD is where it was"
    );
    assert_eq!(
        std::fs::read_to_string(path.join(".git")).expect("a file"),
        own
    );
}

#[test]
fn pipes_and_closed_folders_that_were_left_are_gone_for_the_next() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let path = worktree.path().to_owned();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path.join("pipe"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .expect("a pipe");
    std::fs::remove_file(path.join("a.txt")).expect("removed");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path.join("a.txt"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .expect("a pipe");
    write(&path.join("closed/in/it.txt"), "x");
    std::fs::set_permissions(
        path.join("closed/in"),
        std::fs::Permissions::from_mode(0o000),
    )
    .expect("closed");
    write(&path.join("lib/.git/HEAD"), "ref: refs/heads/x\n");
    worktree.release().expect("released");
    let again = scene.check_out("tm/2", &scene.head());
    assert_eq!(again.path(), path);
    let mut names: Vec<_> = std::fs::read_dir(&path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "a.txt"]);
    assert_eq!(
        std::fs::read_to_string(path.join("a.txt")).expect("a file"),
        "one\ntwo\nthree\n"
    );
}

#[test]
fn what_is_ignored_is_named_and_taken_where_it_was_added_by_force() {
    let scene = Scene::new();
    write(
        &scene.repository.checkout_root().join(".gitignore"),
        "lib/\n*.log\n",
    );
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "rules"]);
    let worktree = scene.check_out("tm/1", &scene.head());
    for file in ["lib/a.txt", "lib/b.txt", "x.log", "__pycache__/x.pyc"] {
        write(&worktree.path().join(file), "text");
    }
    let captured = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    assert_eq!(
        captured.ignored,
        [PathBuf::from("lib/"), PathBuf::from("x.log")]
    );
    let git = scene.repository.git_in(worktree.path());
    git.line("add --force lib/a.txt").done().expect("added");
    let captured = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    let text = |path: &str| {
        scene
            .repository
            .text_in_tree(&captured.tree, path)
            .expect("a tree")
    };
    assert_eq!(
        (text("lib/a.txt").as_deref(), text("lib/b.txt")),
        (Some("text"), None)
    );
}

#[test]
fn a_checkout_whose_git_folder_is_another_one_is_named() {
    let scene = Scene::new();
    let at = |name: &str| scene.folder.path().join(name);
    let path = |name: &str| at(name).display().to_string();
    scene.git(&["worktree", "add", "--quiet", "--detach", &path("linked")]);
    scene.git(&["clone", "--quiet", ".", &path("clone")]);
    let linked = Repository::discover(&at("linked")).expect("a repository");
    let expected = "git's settings: .git (changed)".to_owned();
    for (repository, other) in [
        (&linked, at("linked/.git")),
        (&scene.of_user, at("clone/.git")),
    ] {
        let git = repository.checkout_root().join(".git");
        let take = || CheckoutSnapshot::take(repository, &[]).expect("a snapshot");
        let before = take();
        assert_eq!(before.changes(&take(), repository).settings, [""; 0]);
        if other == git {
            write(&git, &format!("gitdir: {}\n", path("clone/.git")));
        } else {
            std::fs::rename(&git, at("aside")).expect("moved");
            std::fs::rename(&other, &git).expect("moved");
        }
        let changes = before.changes(&take(), repository).settings;
        assert!(changes.contains(&expected), "{changes:?}");
    }
}

/// Commits everything in a repository.
fn commit_all(repository: &git2::Repository) -> CommitId {
    let mut index = repository.index().expect("an index");
    index
        .add_all(["*"], git2::IndexAddOption::DEFAULT, None)
        .expect("added");
    index.write().expect("written");
    let tree = index.write_tree().expect("a tree");
    let tree = repository.find_tree(tree).expect("a tree");
    let who = git2::Signature::now("Agent", "agent@example.org").expect("a name");
    let parent = repository
        .head()
        .ok()
        .and_then(|head| head.peel_to_commit().ok());
    let parents: Vec<_> = parent.iter().collect();
    let made = repository.commit(Some("HEAD"), &who, &who, "made", &tree, &parents);
    CommitId::new(made.expect("a commit").to_string())
}

#[test]
fn repositories_of_agents_are_asked_nothing_by_their_own_settings() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let folder = &worktree.lister().0;
    let outside = tempfile::tempdir().expect("a folder");
    let mark = outside.path().join("mark");
    let place = worktree.path().join("nested");
    let nested = git2::Repository::init(&place).expect("a repository");
    write(&place.join("file"), "a\n");
    write(&place.join(".gitattributes"), "* filter=evil\n");
    commit_all(&nested);
    let clean = format!("touch '{}'; cat", mark.display());
    let mut settings = nested.config().expect("settings");
    settings
        .set_str("filter.evil.clean", &clean)
        .expect("a setting");
    // From now on git knows it.
    folder.add().expect("added");
    write(&place.join("file"), "b\n");
    worktree.tree().expect("a tree");
    worktree.looker().commit(soon()).expect("seen");
    folder.tree_of_what_can_be_taken().expect("a tree");
    assert!(!mark.exists());

    // Where its HEAD is counts, as ever, and so does that it is gone.
    let head = commit_all(&nested);
    let within = |tree: &TreeId| {
        let listing = scene.git(&["ls-tree", &tree.to_string(), "nested"]);
        listing.split_whitespace().nth(2).map(ToOwned::to_owned)
    };
    let tree = worktree.tree().expect("a tree");
    assert_eq!(within(&tree).as_deref(), Some(head.as_str()));
    // A tm that was killed meanwhile leaves it passed over.
    let passed_over = folder.git("update-index --skip-worktree nested");
    passed_over.done().expect("passed over");
    let tree = worktree.tree().expect("a tree");
    assert_eq!(within(&tree).as_deref(), Some(head.as_str()));
    write(&place.join("file"), "c\n");
    folder.git("add --all -- .").done().expect("added");
    assert!(mark.exists(), "git itself asks it");
    std::fs::remove_dir_all(&place).expect("removed");
    let tree = worktree.tree().expect("a tree");
    assert_eq!(within(&tree), None);
    write(&place, "a file now\n");
    let tree = worktree.tree().expect("a tree");
    assert!(within(&tree).is_some());

    // One in a folder that became a link to where it is now.
    let deep = worktree.path().join("deep");
    commit_all(&git2::Repository::init(deep.join("nested")).expect("a repository"));
    worktree.tree().expect("a tree");
    std::fs::rename(&deep, worktree.path().join("moved")).expect("moved");
    std::os::unix::fs::symlink("moved", &deep).expect("a link");
    let tree = worktree.tree().expect("a tree").to_string();
    let listing = scene.git(&["ls-tree", "-r", "--name-only", &tree]);
    assert!(
        listing.contains("deep\nmoved/nested") && !listing.contains("deep/"),
        "{listing}"
    );
}

#[test]
fn words_about_the_machine_in_names_of_files_are_no_trouble_of_the_machine() {
    let scene = Scene::new();
    let asked = |name: &str| {
        let git = scene.repository.git_in(scene.repository.checkout_root());
        git.once().args(["hash-object", "--"]).arg(name).done()
    };
    for words in ["No space left on device", "Permission denied"] {
        let error = asked(words).expect_err("no such file");
        assert!(!error.is_of_surroundings(), "{error}");
        assert!(
            error.to_string().contains("not met by tm itself"),
            "{error}"
        );
    }
    let base = scene.head();
    write(
        &scene
            .repository
            .common_dir()
            .join("refs/heads/tm/locked.lock"),
        "",
    );
    let update = scene.repository.git("update-ref refs/heads/tm/locked");
    let error = update.once().commit(&base).done();
    let error = error.expect_err("a lock");
    assert!(error.is_of_surroundings(), "{error}");
}
