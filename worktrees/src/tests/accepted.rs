//! What servers that check what they are sent would refuse does not land.

use super::*;

fn gitmodules(name: &str, path: &str, url: &str) -> String {
    format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = {url}\n")
}

#[test]
fn files_of_gits_own_that_servers_refuse_are_no_work() {
    let good = gitmodules("lib", "lib", "../lib.git");
    let cases = [
        (".gitmodules", good.clone(), None),
        ("deep/.gitmodules", good, None),
        (".gitattributes", "* text\n".to_owned(), None),
        (".github/x.yml", "on: push\n".to_owned(), None),
        (
            ".gitmodules",
            gitmodules("a", "a", "-u./evil"),
            Some("gitmodulesUrl"),
        ),
        (
            ".gitmodules",
            gitmodules("a", "a", "https://x/%0ay"),
            Some("gitmodulesUrl"),
        ),
        (
            ".gitmodules",
            gitmodules("../a", "a", "../a"),
            Some("gitmodulesName"),
        ),
        (
            ".gitmodules",
            gitmodules("a", "-a", "../a"),
            Some("gitmodulesPath"),
        ),
        (
            "deep/.GITMODULES",
            gitmodules("a", "a", "-u./evil"),
            Some("gitmodulesUrl"),
        ),
        (".gi\u{200c}t/config", "x\n".to_owned(), Some("hasDotgit")),
    ];
    for (path, content, refused) in cases {
        let scene = Scene::new();
        let worktree = scene.check_out("tm/1", &scene.head());
        write(&worktree.path().join(path), &content);
        match (worktree.capture(&never(&[])), refused) {
            (Ok(captured), None) => assert!(captured.changed_from_base),
            (Err(error), Some(refused)) => {
                assert!(error.is_of_work(), "{path}: {error}");
                assert!(error.to_string().contains(refused), "{path}: {error}");
            }
            (found, _) => panic!("{path}: {content}: {found:?}"),
        }
    }
}

#[test]
fn what_was_refused_before_the_work_is_no_fault_of_the_work() {
    let scene = Scene::new();
    let root = scene.of_user.checkout_root();
    write(&root.join(".gitmodules"), &gitmodules("a", "a", "-u./evil"));
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "as it is"]);
    let worktree = scene.check_out("tm/1", &scene.head());
    write(&worktree.path().join(".gitattributes"), "* text\n");
    worktree.capture(&never(&[])).expect("captured");
}

#[test]
fn a_merge_that_servers_refuse_is_made_by_nobody() {
    let scene = Scene::new();
    let head = scene.head();
    let evil = gitmodules("a", "a", "-u./evil");
    let file = ("100644".to_owned(), &b".gitmodules"[..], evil.as_bytes());
    let repository = &scene.repository;
    let tree = repository.tree_of(&head).expect("a tree");
    let tree = repository.tree_with_files(&tree, [file]).expect("a tree");
    let commit = repository.commit_tree(&tree, &[&head], "x\n");
    let preview = MergePreview {
        tree,
        head: head.clone(),
        commit: commit.expect("a commit"),
        resolution: None,
    };
    let error = repository.merge_commit(&preview, "Land\n");
    assert!(error.is_err_and(|error| error.is_of_work()));
}

#[test]
fn folders_with_names_of_gits_own_files_are_refused_where_a_server_refuses_them() {
    let cases = [
        (".gitmodules/x", Some("gitmodulesBlob")),
        (".gitattributes/x", Some("gitattributesBlob")),
        ("deep/.GITMODULES/a/x", Some("gitmodulesBlob")),
        ("gitmod~1/x", Some("gitmodulesBlob")),
        (".gitattributes/.gitignore", Some("gitattributesBlob")),
        (".gitignore/x", None),
        (".mailmap/x", None),
        (".github/x.yml", None),
    ];
    for (path, refused) in cases {
        let scene = Scene::new();
        let server = scene.folder.path().join("server.git");
        let server = server.to_str().expect("text");
        scene.git(&["init", "--quiet", "--bare", server]);
        scene.git(&["-C", server, "config", "receive.fsckObjects", "true"]);
        let worktree = scene.check_out("tm/1", &scene.head());
        write(&worktree.path().join(path), "x\n");
        let captured = worktree.capture(&never(&[]));
        match (&captured, refused) {
            (Ok(captured), None) => assert!(captured.changed_from_base),
            (Err(error), Some(refused)) => {
                assert!(error.is_of_work(), "{path}: {error}");
                assert!(error.to_string().contains(refused), "{path}: {error}");
            }
            (found, _) => panic!("{path}: {found:?}"),
        }
        let file = ("100644".to_owned(), path.as_bytes(), &b"x\n"[..]);
        let repository = &scene.repository;
        let base = repository.tree_of(&scene.head()).expect("a tree");
        let tree = repository.tree_with_files(&base, [file]).expect("a tree");
        let commit = repository.commit_tree(&tree, &[&scene.head()], "x\n");
        let order = format!("{}:refs/heads/x", commit.expect("a commit"));
        repository.publish_objects().expect("published");
        let push = repository.git_in(repository.checkout_root());
        let pushed = push.args(["push", "--quiet", server, &order]).done();
        match (pushed, refused) {
            (Ok(()), None) => {}
            (Err(Error::Git { message, .. }), Some(refused)) => {
                assert!(message.contains(refused), "{path}: {message}");
            }
            (found, _) => panic!("{path}: {found:?}"),
        }
    }
}
