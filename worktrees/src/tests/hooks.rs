//! Hooks of a commit, and settings that come when a run has begun.

use super::*;

/// Runs the hooks on a tree with one more file, in a checkout of a judge's.
fn hooked(scene: &Scene) -> Result<Hooked, Error> {
    let base = scene.head();
    let worktree = scene.check_out("tm/1", &base);
    write(&worktree.path().join("b.txt"), "b");
    let tree = worktree
        .capture(&PathPatterns::default())
        .expect("captured")
        .tree;
    let commit = scene
        .repository
        .commit_to_test(&tree, &base)
        .expect("a commit");
    let mut judge = scene.pool.judge(&tree, &commit).expect("a checkout");
    judge.check_out(&commit, &[]).expect("checked out");
    let on_branch = HookedCommit {
        work: HookedWork::Commit,
        branch: Some(worktree.branch()),
        on: &base,
        merged: None,
        tree: &tree,
        message: "work\n",
        never_commit: &PathPatterns::new(&["never/**"]).expect("a pattern"),
    };
    let hooked = judge.run_hooks(&on_branch, &mut unheld);
    if let Ok(hooked) = &hooked {
        assert_ne!(hooked.tree, tree);
    }
    hooked
}

/// Runs a call of a hook, held by nobody.
#[expect(clippy::unnecessary_wraps, reason = "what starts hooks may fail")]
pub(super) fn unheld(call: &HookCall<'_>) -> Result<HookEnd, Error> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this stands for what starts hooks"
    )]
    let ended = std::process::Command::new(&call.program)
        .args(&call.arguments)
        .envs(call.variables.iter().cloned())
        .current_dir(call.folder)
        .output()
        .expect("git starts");
    let printed = [ended.stdout, ended.stderr].concat();
    let output = String::from_utf8_lossy(&printed).into_owned();
    Ok(if ended.status.success() {
        HookEnd::Passed(output)
    } else {
        HookEnd::Failed(output)
    })
}

#[test]
fn hooks_are_run_on_the_tree_and_a_refusal_brings_their_words() {
    let scene = Scene::new();
    let text = "#!/bin/sh\necho \"no tabs please, in $(ls | tr '\\n' ' ')\" >&2\nexit 1\n";
    hook(
        &scene.folder.path().join("checkout/.git/hooks/pre-commit"),
        text,
    );
    let scene = scene.anew();
    let Err(Error::HookRefused {
        output,
        hook: "pre-commit",
        ..
    }) = hooked(&scene)
    else {
        panic!("a refusal")
    };
    assert_eq!(output, "no tabs please, in a.txt b.txt");
}

#[test]
fn a_worktree_whose_rest_a_hook_refuses_is_as_it_was() {
    let scene = Scene::new();
    let hooks = scene.folder.path().join("checkout/.git/hooks");
    hook(&hooks.join("pre-commit"), "#!/bin/sh\nexit 1\n");
    let scene = scene.anew();
    let worktree = scene.check_out("tm/loop", &scene.head());
    write(&worktree.path().join("b.txt"), "b");
    let rest = || worktree.commit_rest(&PathPatterns::default(), "rest", Some(&mut unheld));
    for _ in 0..2 {
        assert!(matches!(rest(), Err(Error::HookRefused { .. })));
        let git = scene.repository.git_in(worktree.path());
        let head = git.line("rev-parse --abbrev-ref HEAD").text();
        assert_eq!(head.expect("git works there"), "tm/loop");
    }
}

#[test]
fn what_hooks_stage_and_say_is_another_tree_and_message_on_the_tasks_branch() {
    let scene = Scene::new();
    let hooks = scene.folder.path().join("checkout/.git/hooks");
    hook(
        &hooks.join("pre-commit"),
        "#!/bin/sh\ngit symbolic-ref --short HEAD > more.txt\ngit add more.txt\n",
    );
    hook(
        &hooks.join("commit-msg"),
        "#!/bin/sh\necho checked >> \"$1\"\n",
    );
    let scene = scene.anew();
    let hooked = hooked(&scene).expect("hooked");
    assert_eq!(hooked.message, "work\nchecked\n");
    assert_eq!(
        scene
            .repository
            .text_in_tree(&hooked.tree, "more.txt")
            .expect("a tree")
            .as_deref(),
        Some("tm/1\n")
    );
}

#[test]
fn hooks_and_settings_that_come_later_are_not_used() {
    let scene = Scene::new();
    let root = scene.folder.path().join("checkout");
    hook(&root.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    scene.git(&[
        "config",
        "core.hooksPath",
        &root.join(".git/hooks").display().to_string(),
    ]);
    scene.git(&["config", "filter.x.clean", "echo changed"]);
    write(&root.join(".git/info/attributes"), "* filter=x\n");
    write(&root.join(".git/info/exclude"), "b.txt\n");
    let commit = scene.task("tm/1", &scene.head(), "b.txt", "b");
    assert_eq!(scene.git(&["show", &format!("{commit}:b.txt")]), "b");
}

#[test]
fn a_folder_of_hooks_that_is_named_later_is_seen_each_time_wherever_it_is_named() {
    let scene = Scene::new();
    let repository = scene.pool.repository();
    let look = || repository.put_hooks_path_back();
    for name in ["evil", "other", "evil"] {
        assert_eq!(look().expect("looked"), None);
        scene.git(&["config", "core.hooksPath", name]);
        assert!(
            look()
                .expect("put back")
                .is_some_and(|words| words.contains(name))
        );
    }
    let more = scene.folder.path().join("more");
    scene.git(&["config", "include.path", &more.display().to_string()]);
    assert_eq!(look().expect("looked"), None);
    write(&more, "[core]\n\thooksPath = evil\n");
    assert!(
        look().is_err(),
        "it stands in a file that is none of the repository's"
    );
    write(&more, "");
    assert_eq!(look().expect("looked"), None);
}

#[test]
fn it_is_known_which_files_a_filter_of_the_users_writes() {
    let written = |smudge: &str| {
        let scene = Scene::new();
        scene.git(&["config", "filter.mask.clean", "cat"]);
        scene.git(&["config", "filter.mask.smudge", smudge]);
        let scene = scene.anew();
        let commit = scene.task(
            "tm/1",
            &scene.head(),
            ".gitattributes",
            "*.txt filter=mask\n",
        );
        let repository = scene.pool.repository();
        let tree = repository.tree_of(&commit).expect("a tree");
        repository.written_by_filter(&tree).expect("asked")
    };
    let found = Some(("a.txt".to_owned(), "mask".to_owned()));
    assert_eq!(written("tr a b"), found);
    assert_eq!(written("cat"), None);
}

#[test]
fn what_a_caller_hands_down_is_taken_with_the_settings_and_counts_no_more() {
    let scene = Scene::new();
    let handed_down = |value: &str| {
        let variables = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "filter.mask.clean"),
            ("GIT_CONFIG_VALUE_0", value),
        ];
        let environment = variables
            .into_iter()
            .fold(scene.of_user.environment.clone(), |all, (name, value)| {
                all.with(name, value)
            });
        let mut repository = scene.of_user.clone();
        repository.environment = environment;
        let kept = repository.with_settings_kept_in(&scene.folder.path().join("kept"));
        let kept = kept.expect("kept");
        kept.configured("filter.mask.clean").expect("asked")
    };
    assert_eq!(handed_down("first").as_deref(), Some("first"));
    assert_eq!(handed_down("second").as_deref(), Some("first"));
}

#[test]
fn hooks_that_a_merge_brings_are_not_run_by_it() {
    for folder in [".husky", ".husky/_"] {
        let scene = Scene::new();
        let root = scene.repository.checkout_root().to_owned();
        scene.git(&["config", "core.hooksPath", folder]);
        write(&root.join(".husky/kept"), "");
        scene.git(&["add", "."]);
        scene.git(&["commit", "--quiet", "-m", "hooks"]);
        scene.git(&["switch", "--quiet", "-c", "other"]);
        let (ran, named) = (
            scene.folder.path().join("ran"),
            format!("{folder}/post-merge"),
        );
        let lines = format!("#!/bin/sh\necho ran >> {}\n", ran.display());
        hook(&root.join(&named), &lines);
        scene.git(&["add", "."]);
        scene.git(&["commit", "--quiet", "-m", "one more"]);
        scene.git(&["switch", "--quiet", "main"]);
        let scene = scene.anew();
        let merged = || {
            let merged = scene
                .of_user
                .merge_into_checkout(&branch("other"), FastForwardPolicy::MergeCommit);
            merged.expect("merged")
        };
        assert_eq!(merged().brought_hooks, [PathBuf::from(&named)]);
        assert!(root.join(&named).exists() && !ran.exists(), "{folder}");
        // By then they are the user's.
        scene.git(&["switch", "--quiet", "other"]);
        write(&root.join("more"), "");
        scene.git(&["add", "."]);
        scene.git(&["commit", "--quiet", "-m", "more"]);
        scene.git(&["switch", "--quiet", "main"]);
        assert!(merged().brought_hooks.is_empty());
        assert!(ran.exists(), "{folder}");
    }
}

#[test]
fn a_branch_is_opened_without_the_hooks_that_it_has() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root().to_owned();
    let ran = scene.folder.path().join("ran");
    let lines = format!("#!/bin/sh\necho ran >> {}\n", ran.display());
    scene.git(&["config", "core.hooksPath", ".husky"]);
    scene.git(&["switch", "--quiet", "-c", "other"]);
    hook(&root.join(".husky/post-checkout"), &lines);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "a hook"]);
    scene.git(&["switch", "--quiet", "main"]);
    scene.git(&["branch", "another", "other"]);
    let opened = |scene: Scene, name: &str| {
        let (scene, folder) = (scene.anew(), ran.with_file_name(name));
        let opened = scene.of_user.open_worktree(&branch(name), &folder);
        opened.expect("opened");
        assert!(folder.join(".husky/post-checkout").exists());
        scene
    };
    let _none = std::fs::remove_file(&ran);
    let scene = opened(scene, "other");
    assert!(!ran.exists());
    scene.git(&["config", "--unset", "core.hooksPath"]);
    hook(&root.join(".git/hooks/post-checkout"), &lines);
    let _scene = opened(scene, "another");
    assert!(ran.exists(), "that is the user's");
}
