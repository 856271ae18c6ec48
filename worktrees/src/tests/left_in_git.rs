//! What somebody leaves in git's folders of the user's checkout besides files and folders.

use super::*;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs::{self, Permissions};
use std::os::unix::fs::symlink;

fn pipe(path: &Path) {
    let _nothing_there = fs::remove_file(path);
    mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).expect("a pipe");
}

fn link(target: &Path, path: &Path) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    let _nothing_there = fs::remove_file(path);
    symlink(target, path).expect("a link");
}

fn snapshot(scene: &Scene) -> CheckoutSnapshot {
    CheckoutSnapshot::of_settings(&scene.of_user).expect("a look")
}

fn put_right(before: &CheckoutSnapshot, repository: &Repository) -> Vec<String> {
    let put_right = before.put_git_right(repository);
    put_right.expect("folders were given").0
}

#[test]
fn links_and_pipes_that_come_into_git_s_folder_are_taken_away_and_named() {
    let scene = Scene::new();
    let git = scene.of_user.common_dir().to_owned();
    let of_user = scene.folder.path().join("of-user");
    write(&of_user, "theirs\n");
    link(&of_user, &git.join("hooks/post-commit"));
    link(&of_user, &git.join("MERGE_MSG"));
    let before = snapshot(&scene);
    let left = [
        "logs/HEAD",
        "logs/refs/heads/new",
        "COMMIT_EDITMSG",
        "hooks/pre-commit",
        "objects/ab",
        "rebase-merge/message",
        "MERGE_MSG",
    ];
    for name in left {
        link(&scene.folder.path().join("nowhere"), &git.join(name));
    }
    let pipes = ["packed-refs", "refs/heads/waits", "logs/waits"];
    for name in pipes {
        pipe(&git.join(name));
    }
    fs::set_permissions(git.join("logs"), Permissions::from_mode(0o500)).expect("rights");
    let said = put_right(&before, &scene.of_user).join("\n");
    for name in [
        &left[..],
        &["packed-refs", "refs/heads/waits", "logs/waits"],
    ]
    .concat()
    {
        assert!(said.contains(&format!("{name} (a ")), "{name} in {said}");
        assert!(git.join(name).symlink_metadata().is_err(), "{name}");
    }
    assert_eq!(said.matches("taken away").count(), 10, "{said}");
    assert!(
        git.join("hooks/post-commit").is_symlink(),
        "it was there before"
    );
    assert_eq!(put_right(&before, &scene.of_user), [""; 0]);
    assert_eq!(fs::read_to_string(&of_user).expect("a file"), "theirs\n");
}

#[test]
fn what_git_makes_itself_stays() {
    let scene = Scene::new();
    let git = scene.of_user.common_dir().to_owned();
    let before = snapshot(&scene);
    link(Path::new("refs/heads/main"), &git.join("HEAD"));
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "more"]);
    scene.git(&["branch", "config"]);
    scene.git(&["branch", "hooks/config"]);
    assert_eq!(put_right(&before, &scene.of_user), [""; 0]);
    let changes = before.changes(&snapshot(&scene), &scene.of_user);
    assert_eq!(changes.settings, [""; 0]);
}

#[test]
fn where_git_s_folder_is_gets_put_back() {
    let scene = Scene::new();
    let linked = scene.folder.path().join("linked");
    let path = linked.display().to_string();
    scene.git(&["worktree", "add", "--quiet", "-b", "linked", &path]);
    let home = scene.folder.path().join("home");
    let repository = Repository::discover_in(&linked, environment(&home)).expect("a repository");
    let before = CheckoutSnapshot::of_settings(&repository).expect("a look");
    let pointer = repository.git_dir().join("commondir");
    let was = fs::read(&pointer).expect("a pointer");
    write(&pointer, "/nowhere\n");
    let said = put_right(&before, &repository).join("\n");
    assert!(said.contains("commondir (changed, put back)"), "{said}");
    assert_eq!(fs::read(&pointer).expect("a pointer"), was);
    let (dot_git, led) = (linked.join(".git"), fs::read(linked.join(".git")));
    write(&dot_git, "gitdir: /nowhere\n");
    let said = put_right(&before, &repository).join("\n");
    assert!(said.contains("/.git (changed, put back)"), "{said}");
    assert_eq!(fs::read(&dot_git).expect("read"), led.expect("read"));
    write(&scene.of_user.git_dir().join("commondir"), "/nowhere\n");
    let later = CheckoutSnapshot::of_settings(&repository).expect("a look");
    let changes = before.changes(&later, &repository).settings.join("\n");
    assert!(changes.contains(".git/commondir (new)"), "{changes}");
}

#[test]
fn what_git_goes_on_with_and_what_a_submodule_runs_is_watched() {
    let scene = Scene::new();
    let git = scene.of_user.common_dir().to_owned();
    let before = snapshot(&scene);
    let names = [
        "rebase-merge/git-rebase-todo",
        "sequencer/todo",
        "modules/a/config",
        "modules/a/hooks/update",
    ];
    for name in names {
        write(&git.join(name), "exec evil\n");
    }
    let settings = before.changes(&snapshot(&scene), &scene.of_user).settings;
    let expected = names.map(|name| format!("git's settings: .git/{name} (new)"));
    assert!(
        expected.iter().all(|name| settings.contains(name)),
        "{settings:?}"
    );
}

#[test]
fn settings_are_seen_wherever_they_come_from() {
    let scene = Scene::new();
    let repository = scene.of_user.written_by_agents();
    let look = || CheckoutSnapshot::of_settings(&repository).expect("a look");
    let root = repository.checkout_root();
    scene.git(&["config", "include.path", "../local.config"]);
    link(&root.join("conf.yaml"), &root.join(".taskmaster/tm.yaml"));
    link(&root.join("rules"), &root.join(".git/info/attributes"));
    let mut before = look();
    let mut is_told = |what: &str, make: &dyn Fn()| {
        make();
        let later = look();
        let told = before.changes(&later, &repository).settings.join("\n");
        assert!(told.contains(what), "{what} in {told:?}");
        before = later;
    };
    is_told("core.fsmonitor (new)", &|| {
        write(
            &root.join("local.config"),
            "[core]\n\tfsmonitor = touch owned\n",
        );
    });
    is_told("tm.yaml (changed)", &|| {
        write(&root.join("conf.yaml"), "test: {}\n");
    });
    is_told("attributes (changed)", &|| {
        write(&root.join("rules"), "* -text\n");
    });
    let head = scene.head();
    is_told(&format!("refs/replace/{head} (new)"), &|| {
        let packed =
            format!("# pack-refs with: peeled fully-peeled sorted \n{head} refs/replace/{head}\n");
        write(&root.join(".git/packed-refs"), &packed);
    });
}

#[test]
fn a_branch_that_leads_elsewhere_is_told_and_everyday_words_on_it_are_not() {
    let scene = Scene::new();
    let config = scene.of_user.common_dir().join("config");
    let was = fs::read_to_string(&config).expect("the settings");
    let was = format!("{was}[remote \"Origin\"]\n\turl = https://example.org\n");
    let told = |text: &str| {
        write(&config, &was);
        let before = snapshot(&scene);
        write(
            &config,
            &format!("{was}[branch \"a.b\"]\n\tremote = .\n{text}"),
        );
        let changes = before.changes(&snapshot(&scene), &scene.of_user);
        changes.settings.join("\n")
    };
    let rows = [
        ("remote = Origin", ""),
        ("pushRemote = Origin", ""),
        ("merge = refs/heads/a\n\trebase = true", ""),
        ("description = any\n\tvscode-merge-base = origin/a", ""),
        ("remote = ./.evil", "remote"),
        ("remote = origin", "remote"),
        ("remote = ../evil\n\tremote = Origin", "remote"),
        ("remote", "remote"),
        ("pushRemote = https://example.net", "pushremote"),
        ("mergeOptions = --strategy=evil", "mergeoptions"),
    ];
    for (line, key) in rows {
        let expected = match key {
            "" => String::new(),
            key => format!("git's settings: branch.a.b.{key} (new)"),
        };
        assert_eq!(told(&format!("\t{line}\n")), expected, "{line}");
    }
}

#[test]
fn what_others_do_in_the_repository_meanwhile_is_no_change_of_settings() {
    let scene = Scene::new();
    let git = scene.of_user.common_dir().to_owned();
    for module in ["modules/a", "modules/refs"] {
        for name in ["HEAD", "config", "objects/1", "refs/1"] {
            write(&git.join(module).join(name), "");
        }
    }
    let before = snapshot(&scene);
    let linked = scene.folder.path().join("linked").display().to_string();
    scene.git(&["worktree", "add", "--quiet", "-b", "linked", &linked]);
    for name in [
        "modules/a/refs/remotes/origin/main",
        "modules/a/logs/refs/heads/hooks/config",
        "worktrees/linked/rebase-merge/git-rebase-todo",
    ] {
        write(&git.join(name), "new\n");
    }
    let told =
        |before: &CheckoutSnapshot| before.changes(&snapshot(&scene), &scene.of_user).settings;
    assert_eq!(told(&before), [""; 0]);
    let with_linked = snapshot(&scene);
    let common = "git's settings: .git/worktrees/linked/commondir";
    write(&git.join("worktrees/linked/commondir"), "/nowhere\n");
    assert_eq!(told(&with_linked), [format!("{common} (changed)")]);
    assert_eq!(told(&before), [format!("{common} (new)")]);
    fs::remove_file(git.join("worktrees/linked/commondir")).expect("removed");
    assert_eq!(told(&with_linked), [""; 0]);
    for name in ["objects/1", "refs/1"] {
        write(&git.join("worktrees/linked").join(name), "");
    }
    let alone = "git's settings: .git/worktrees/linked/HEAD (new)";
    assert_eq!(told(&with_linked), [alone]);
    std::fs::remove_dir_all(git.join("worktrees")).expect("gone");
    assert_eq!(told(&before), [""; 0]);
    write(&git.join("modules/HEAD"), "");
    write(&git.join("modules/objects/1"), "");
    write(&git.join("modules/refs/config"), "[core]\n");
    assert_eq!(
        told(&before),
        ["git's settings: .git/modules/refs/config (changed)"]
    );
}

#[test]
fn nothing_is_merged_where_git_would_write_through_a_link() {
    let scene = Scene::new();
    let head = scene.head();
    scene.git(&["branch", "other"]);
    for name in ["logs/HEAD", "logs/refs/heads/main", "MERGE_MSG"] {
        let path = scene.of_user.git_dir().join(name);
        link(&scene.folder.path().join("home/.profile"), &path);
        let merged = scene
            .of_user
            .merge_into_checkout(&branch("other"), FastForwardPolicy::MergeCommit);
        let refused = merged.expect_err("it is refused").to_string();
        assert!(
            refused.contains(&format!("{name}` is a link to")),
            "{refused}"
        );
        fs::remove_file(&path).expect("removed");
    }
    let logs = scene.of_user.git_dir().join("logs");
    let aside = logs.with_file_name("aside");
    fs::rename(&logs, &aside).expect("renamed");
    link(&aside, &logs);
    assert!(GitFolders::written_elsewhere(&scene.of_user).is_none());
    link(&scene.folder.path().join("home"), &logs);
    let elsewhere = GitFolders::written_elsewhere(&scene.of_user);
    assert_eq!(elsewhere.map(|(path, _)| path), Some(logs.clone()));
    fs::remove_file(&logs).expect("removed");
    pipe(&scene.of_user.git_dir().join("ORIG_HEAD"));
    assert!(GitFolders::written_elsewhere(&scene.of_user).is_some());
    assert_eq!(scene.head(), head);
}

#[test]
fn nobody_waits_for_a_pipe_in_the_place_of_rules() {
    let scene = Scene::new();
    for name in [".gitattributes", ".gitignore", "folder/.gitignore"] {
        let path = scene.of_user.checkout_root().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        pipe(&path);
        let refused = scene.of_user.work_snapshot().expect_err("it is refused");
        assert!(refused.is_of_work(), "{name}: {refused}");
        fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn what_is_asked_in_the_checkout_waits_for_no_pipe_either() {
    let scene = Scene::new();
    let base = scene.head();
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "more"]);
    let head = scene.head();
    for name in [".gitattributes", ".gitignore"] {
        let path = scene.of_user.checkout_root().join(name);
        pipe(&path);
        let compared = scene.of_user.diffstat(&base, &head);
        assert_eq!(compared.is_ok(), name == ".gitignore", "{name}");
        let asked = [
            scene.of_user.files_in_checkout().map(drop),
            scene
                .of_user
                .changed_paths(&PathPatterns::default())
                .map(drop),
            scene.of_user.git_with_hooks("status").done(),
        ];
        for refused in asked {
            let said = refused.expect_err("it is refused").to_string();
            assert!(said.contains(&format!("{name}`: it is a pipe")), "{said}");
        }
        assert_eq!(scene.of_user.head().expect("a HEAD").commit, head);
        fs::remove_file(&path).expect("removed");
    }
}
