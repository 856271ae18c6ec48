//! What belongs to a tree and lies in no object of the repository, and clones that lack objects or files.

use super::{one_task, runs, scene, words};
use crate::frameworks::on_this_machine;
use crate::scene::{HONEST, Scene, task, write};
use crate::skipping::lacks;
use std::path::Path;

const FILE: &[&str] = &["-c", "protocol.file.allow=always"];

/// A test that passes where a file holds this.
pub(super) fn reads(path: &str, text: &str) -> String {
    format!(
        "echo 1..1\n[ \"$(cat {path})\" = '{text}' ] && echo ok - content || {{ echo not ok - content; exit 1; }}\n"
    )
}

/// Makes a repository beside the scene's, with one file.
fn library(scene: &Scene, name: &str, text: &str) {
    let folder = scene.path(name);
    write(&folder.join("part.txt"), text);
    let at = folder.display().to_string();
    for arguments in [
        &["-C", &at, "init", "--quiet", "--initial-branch=main"][..],
        &["-C", &at, "add", "--all"],
        &[
            "-C",
            &at,
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "--quiet",
            "--message",
            name,
        ],
    ] {
        scene.git(arguments);
    }
}

fn add_submodule(scene: &Scene, at: &Path, from: &str, path: &str) {
    let (at, from) = (
        at.display().to_string(),
        scene.path(from).display().to_string(),
    );
    scene.git(
        &[
            &["-C", &at][..],
            FILE,
            &["submodule", "--quiet", "add", &from, path],
        ]
        .concat(),
    );
    scene.git(&[
        "-C",
        &at,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "--all",
        "--message",
        path,
    ]);
}

/// A project with a submodule `lib`, which has one itself; their origins are gone afterwards.
fn with_submodules(agent: &str, settings: &str) -> Scene {
    let tests = "echo 1..2\n\
        [ \"$(cat lib/part.txt)\" = outer ] && echo ok - outer || echo not ok - outer\n\
        [ \"$(cat lib/deep/part.txt)\" = inner ] && echo ok - inner || echo not ok - inner\n\
        [ \"$(git -C lib rev-parse HEAD)\" = \"$(git rev-parse HEAD:lib)\" ] || exit 1\n\
        [ -e lib/left ] && exit 1; touch lib/left; exit 0\n";
    let scene = scene(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        agent,
        settings,
        tests,
    );
    library(&scene, "inner", "inner");
    library(&scene, "outer", "outer");
    add_submodule(&scene, &scene.path("outer"), "inner", "deep");
    add_submodule(&scene, &scene.root(), "outer", "lib");
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    scene.git(&[FILE, &update].concat());
    scene
}

fn forget_origins(scene: &Scene) {
    for name in ["inner", "outer"] {
        std::fs::remove_dir_all(scene.path(name)).expect("removed");
    }
}

#[test]
fn submodules_are_there_for_agents_and_judges_from_the_users_own_objects() {
    let agent = format!(
        "[ \"$(cat lib/part.txt) $(cat lib/deep/part.txt)\" = 'outer inner' ] || exit 9\necho x > lib/part.txt\n{HONEST}"
    );
    let scene = with_submodules(&agent, "");
    forget_origins(&scene);
    let said = runs(&scene, 0);
    let report = scene.report();
    for id in ["1", "2"] {
        assert_eq!(
            task(&report, id)["attempts"][0]["proof"]["passed"],
            2,
            "{said}\n{report:#}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(scene.root().join("lib/part.txt")).expect("a file"),
        "outer"
    );
}

#[test]
fn submodules_are_left_out_where_they_are_not_wanted() {
    let scene = one_task(
        "worktree: { submodules: off }\n",
        "echo 1..1\n[ -z \"$(ls lib)\" ] && echo ok - empty\n",
    );
    library(&scene, "outer", "outer");
    add_submodule(&scene, &scene.root(), "outer", "lib");
    runs(&scene, 0);
}

#[test]
fn a_submodule_that_nobody_can_reach_stops_the_run_before_an_agent_is_paid() {
    let scene = with_submodules(HONEST, "");
    cloned(&scene, &[]);
    forget_origins(&scene);
    let said = runs(&scene, 1);
    assert!(
        said.contains("get the submodule `lib`") && said.contains("worktree.submodules: off"),
        "{said}"
    );
}

#[test]
fn a_commit_of_a_submodule_that_only_its_agent_has_is_refused_in_words() {
    let commit = "cd lib && echo changed > part.txt && git -c user.name=a -c user.email=a@b commit --quiet --all --message own\ncd ..\n";
    let scene = with_submodules(&format!("{commit}{HONEST}"), "");
    scene.run(&["--retries", "0"]);
    let report = scene.report();
    let attempt = &task(&report, "1")["attempts"][0];
    assert_ne!(attempt["failure"], serde_json::Value::Null, "{report:#}");
    let told = attempt.to_string();
    assert!(told.contains("get the submodule `lib`"), "{told}");
}

#[test]
fn nothing_is_fetched_from_an_address_that_only_an_agent_names() {
    let changes = "git -C lib -c user.name=a -c user.email=a@b commit --quiet --allow-empty --message own\n\
        printf '[submodule \"other\"]\\n\\tpath = lib\\n\\turl = %s\\n' \"$AGENT_FOLDER/inner\" > .gitmodules\n";
    let scene = with_submodules(&format!("{changes}{HONEST}"), "");
    scene.run(&["--retries", "0"]);
    let report = scene.report();
    let told = task(&report, "1")["attempts"][0].to_string();
    assert!(
        told.contains("its address `") && told.contains("inner` is new"),
        "{told}"
    );
}

/// A project one of whose files is kept by LFS; `None` where the program is not there.
pub(super) fn with_lfs(settings: &str, tests: &str) -> Option<Scene> {
    if on_this_machine("git-lfs").is_none() {
        lacks("git-lfs");
        return None;
    }
    let scene = one_task(settings, tests);
    scene.git(&["lfs", "install", "--local", "--skip-repo"]);
    write(
        &scene.root().join(".gitattributes"),
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    write(&scene.root().join("large.bin"), "the content");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "large"]);
    assert!(
        scene
            .git(&["show", "HEAD:large.bin"])
            .starts_with("version https://git-lfs")
    );
    Some(scene)
}

#[test]
fn files_that_lfs_keeps_are_there_without_a_network() {
    let Some(scene) = with_lfs("", &reads("large.bin", "the content")) else {
        return;
    };
    runs(&scene, 0);
    let report = scene.report();
    assert_eq!(
        task(&report, "1")["attempts"][0]["proof"]["passed"],
        1,
        "{report:#}"
    );
}

#[test]
fn files_that_lfs_keeps_are_there_where_nobody_ever_set_lfs_up() {
    let Some(scene) = with_lfs("", &reads("large.bin", "the content")) else {
        return;
    };
    scene.git(&["config", "--remove-section", "filter.lfs"]);
    runs(&scene, 0);
    let report = scene.report();
    assert_eq!(
        task(&report, "1")["attempts"][0]["proof"]["passed"],
        1,
        "{report:#}"
    );
    let branch = report["integration_branch"].as_str().expect("a branch");
    assert!(
        scene
            .git(&["show", &format!("{branch}:large.bin")])
            .starts_with("version https://git-lfs")
    );
}

#[test]
fn files_that_lfs_keeps_are_left_out_where_they_are_not_wanted() {
    let tests = "echo 1..1\ngrep -q '^version https://git-lfs' large.bin && echo ok - named\n";
    let Some(scene) = with_lfs("worktree: { lfs: off }\n", tests) else {
        return;
    };
    runs(&scene, 0);
}

#[test]
fn a_missing_git_lfs_stops_the_run_in_words() {
    let Some(scene) = with_lfs("", "echo 1..1; echo ok - fine\n") else {
        return;
    };
    // Everything else that is in the search path.
    let folder = scene.path("programs");
    std::fs::create_dir(&folder).expect("a folder");
    for entry in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        for program in std::fs::read_dir(entry).into_iter().flatten().flatten() {
            let name = program.file_name();
            if name != "git-lfs" {
                let _first_one_counts =
                    std::os::unix::fs::symlink(program.path(), folder.join(name));
            }
        }
    }
    let output = scene
        .run_command(&["--retries", "0"])
        .env("PATH", &folder)
        .output()
        .expect("tm");
    let said = super::words(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // Whoever meets it first says so: git, where it has to look into the file again, or the look at the base.
    assert!(
        said.contains("`git-lfs` is not ") && said.contains("worktree.lfs: off"),
        "{said}"
    );
}

/// Makes the scene's checkout a clone of what it was, with these arguments.
pub(super) fn cloned(scene: &Scene, arguments: &[&str]) {
    let origin = scene.path("origin");
    std::fs::rename(scene.root(), &origin).expect("moved");
    let at = origin.display().to_string();
    scene.git(&["-C", &at, "config", "uploadpack.allowFilter", "true"]);
    scene.git(&["-C", &at, "config", "uploadpack.allowAnySHA1InWant", "true"]);
    let url = format!("file://{at}");
    std::fs::remove_dir(scene.root()).expect("an empty folder");
    let root = scene.root().display().to_string();
    let origin_folder = ["-C", &at, "clone", "--quiet"];
    scene.git(&[&origin_folder[..], arguments, &[&url, &root]].concat());
    for (key, value) in [
        ("user.name", "Somebody"),
        ("user.email", "somebody@example.org"),
    ] {
        scene.git(&["config", key, value]);
    }
}

#[test]
fn what_a_partial_clone_lacks_is_fetched_for_agents_and_judges() {
    let scene = one_task("", &reads("old/part.txt", "deep"));
    write(&scene.root().join("old/part.txt"), "deep");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "more"]);
    cloned(&scene, &["--filter=blob:none", "--sparse"]);
    assert!(
        !scene.root().join("old").exists(),
        "the checkout is sparse, and its blob was never fetched"
    );
    let missing = scene.git(&["rev-list", "--objects", "--missing=print", "HEAD"]);
    assert!(missing.contains('?'), "{missing}");
    // The tests lie in the root; the backlog has to be in sight.
    scene.git(&["sparse-checkout", "set", ".taskmaster"]);
    runs(&scene, 0);
    let report = scene.report();
    assert_eq!(
        task(&report, "1")["attempts"][0]["proof"]["passed"],
        1,
        "{report:#}"
    );
    assert!(
        !scene.root().join("old").exists(),
        "the checkout is as sparse as it was"
    );
    let branch = report["integration_branch"].as_str().expect("a branch");
    assert_eq!(
        scene.git(&["show", &format!("{branch}:old/part.txt")]),
        "deep",
        "nothing was taken for deleted"
    );
}

#[test]
fn nothing_is_fetched_of_a_partial_clone_that_only_an_agent_names() {
    let scene = one_task("", "echo 1..1; echo ok 1\n");
    let server = scene.path("server").display().to_string();
    let checkout = scene.root().display().to_string();
    scene.git(&["clone", "--quiet", "--bare", &checkout, &server]);
    write(&scene.path("secret"), "of somebody else");
    let secret = scene.path("secret").display().to_string();
    let named = scene.git(&["-C", &server, "hash-object", "-w", &secret]);
    let url = format!("file://{server}");
    for setting in [
        ["-C", &server, "config", "uploadpack.allowFilter", "true"],
        [
            "-C",
            &server,
            "config",
            "uploadpack.allowAnySHA1InWant",
            "true",
        ],
        [
            "-C",
            &checkout,
            "config",
            "core.repositoryFormatVersion",
            "1",
        ],
        [
            "-C",
            &checkout,
            "config",
            "extensions.partialClone",
            "origin",
        ],
        ["-C", &checkout, "config", "remote.origin.promisor", "true"],
        ["-C", &checkout, "config", "remote.origin.url", &url],
    ] {
        scene.git(&setting);
    }
    let takes = format!(
        "tree=$(printf '100644 blob {named}\\ttaken.txt\\n' | git mktree --missing)\n\
         git update-ref HEAD $(git -c user.name=x -c user.email=x commit-tree $tree -p HEAD -m x)\n\
         git reset --quiet; mkdir -p docs; echo more > docs/more.md\n\
         printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\n"
    );
    write(&scene.path("agent.sh"), &takes);
    let output = scene.run(&["--retries", "0"]);
    assert!(output.status.code().is_some(), "{}", words(&output));
    let is_here = scene
        .command(Path::new("git"))
        .args(["cat-file", "-e", &named])
        .env("GIT_NO_LAZY_FETCH", "1")
        .output()
        .expect("git");
    assert!(!is_here.status.success(), "{}", words(&output));
    assert!(
        scene
            .git(&["cat-file", "-p", &named])
            .starts_with("of somebody"),
        "it could be"
    );
}
