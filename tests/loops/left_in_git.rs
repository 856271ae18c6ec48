//! What an agent in the checkout leaves in git's folder for the user's git, and for tm's: links and pipes in the places of
//! git's own files, and another place for git to look.

use super::held::{assert_user_is_unharmed, hostile};
use super::*;
use crate::sandbox::has;
use std::path::Path;

/// A loop of one iteration in a folder, held as the project's settings say. What waits for ever fails within a minute.
#[expect(
    clippy::disallowed_methods,
    reason = "the program that is bounded is tm"
)]
fn bounded(scene: &Scene, folder: &Path) -> String {
    let tm = loop_command(scene, &["-n", "1"]);
    let mut command = Command::new("timeout");
    command.args(["--signal", "KILL", "60"]);
    command.arg(tm.get_program()).args(tm.get_args());
    command.env_clear().current_dir(folder);
    let variables = tm
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(std::env::vars_os()).envs(variables);
    let command = command.env_remove("TM_SANDBOX_LEVEL");
    let output = command.env_remove("TM_SANDBOX_WRITE").output().expect("tm");
    assert!(
        output.status.code().is_some(),
        "it hung: {}",
        words(&output)
    );
    words(&output)
}

const LINKS: &str = r#"
rm -f .git/logs/HEAD .git/COMMIT_EDITMSG
for file in logs/HEAD COMMIT_EDITMSG FETCH_HEAD logs/refs/heads/next; do ln -s "$AT/home/.bashrc" ".git/$file"; done
mkfifo .git/refs/heads/waits
echo worked; exit 0
"#;

fn links_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = hostile(level, LINKS);
    let text = bounded(&scene, &scene.root());
    assert!(
        text.contains("escaped: the user's checkout changed"),
        "{text}"
    );
    for left in [
        ".git/logs/HEAD (a link to",
        ".git/COMMIT_EDITMSG (a link to",
        ".git/FETCH_HEAD (a link to",
        ".git/logs/refs/heads/next (a link to",
        ".git/refs/heads/waits (a pipe, taken away)",
    ] {
        assert!(text.contains(left), "{left} in {text}");
    }
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "mine"]);
    scene.git(&["branch", "next"]);
    scene.git(&["fetch", "--quiet", ".", "next"]);
    assert_user_is_unharmed(&scene);
}

#[test]
fn no_git_writes_where_a_link_leads_that_an_agent_left_in_bubblewrap() {
    links_at("bwrap");
}

#[test]
fn no_git_writes_where_a_link_leads_that_an_agent_left_in_landlock() {
    links_at("landlock");
}

fn pipe_at(level: &str, path: &str, said: &str) {
    if !has(level) {
        return;
    }
    let agent = format!("rm -rf {path}; mkfifo {path}; echo worked; exit 0\n");
    let scene = hostile(level, &agent);
    let text = bounded(&scene, &scene.root());
    assert!(text.contains("iteration 1 "), "{text}");
    assert!(text.contains(said), "{said} in {text}");
}

#[test]
fn a_pipe_in_the_place_of_head_holds_no_loop_up() {
    pipe_at("bwrap", ".git/HEAD", ".git/HEAD (a pipe, taken away)");
    pipe_at("landlock", ".git/HEAD", ".git/HEAD (a pipe, taken away)");
}

#[test]
fn a_pipe_in_the_place_of_the_branch_holds_no_loop_up() {
    let said = ".git/refs/heads/main (a pipe, taken away)";
    pipe_at("bwrap", ".git/refs/heads/main", said);
}

#[test]
fn a_pipe_in_the_place_of_rules_in_the_checkout_holds_no_loop_up() {
    pipe_at("bwrap", ".gitattributes", ".gitattributes`: it is a pipe");
    pipe_at("bwrap", ".gitignore", ".gitignore`: it is a pipe");
}

/// Has git look in a folder whose settings name a program.
const ELSEWHERE: &str = r#"
common=$(git rev-parse --path-format=absolute --git-common-dir)
own=$(git rev-parse --absolute-git-dir)
mkdir evil; cp -r "$common/objects" "$common/refs" "$common/HEAD" "$common/config" evil
cp "$common/packed-refs" evil
git config --file evil/config core.fsmonitor "echo x > '$AT/owned'; false"
echo "$PWD/evil" > "$own/commondir"
echo worked; exit 0
"#;

#[test]
fn a_linked_checkout_has_its_repository_back_where_an_agent_named_another() {
    if !has("landlock") {
        return;
    }
    let scene = hostile("landlock", ELSEWHERE);
    let text = bounded(&scene, &scene.path("other"));
    assert!(
        text.contains("escaped: the user's checkout changed"),
        "{text}"
    );
    assert!(text.contains("commondir (changed, put back)"), "{text}");
    scene.git(&["-C", &scene.path("other").display().to_string(), "status"]);
    assert_user_is_unharmed(&scene);
}

/// Resolves the user's next conflict beforehand, and has git read commits from a file of its own.
const BELIEVED: &str = r#"
root=$PWD there=$TMPDIR/there
git -c core.commitGraph=true commit-graph write --reachable
git clone --quiet --no-hardlinks . "$there"
cd "$there"
git -c rerere.enabled=true merge --quiet origin/other
echo EVIL > w.txt
git -c rerere.enabled=true rerere
cp -r .git/rr-cache "$root/.git/" && echo resolved >> "$root/ways"
cd "$root"
"#;

fn believed_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = hostile(level, BELIEVED);
    let root = scene.root();
    let commit = |text: &str| {
        write(&root.join("w.txt"), text);
        scene.git(&["add", "w.txt"]);
        scene.git(&["commit", "--quiet", "--message", text]);
    };
    scene.git(&["checkout", "--quiet", "-b", "other"]);
    commit("theirs");
    scene.git(&["checkout", "--quiet", "main"]);
    commit("ours");
    let graph = || std::fs::read(root.join(".git/objects/info/commit-graph")).ok();
    let was = graph();
    let text = bounded(&scene, &root);
    assert!(!text.contains("escaped"), "{text}");
    assert!(root.join("ways").exists(), "it resolved nothing: {text}");
    assert!(graph().is_none_or(|now| Some(now) == was));
    scene.git(&["stash", "--quiet"]);
    let merged = words(&scene.try_git(&["merge", "other"]));
    assert!(merged.contains("CONFLICT"), "{merged}");
    let conflict = std::fs::read_to_string(root.join("w.txt")).expect("a file");
    assert!(conflict.contains("<<<<<<<"), "{conflict}");
}

#[test]
fn no_resolution_of_an_agent_s_is_taken_in_the_user_s_merge_in_bubblewrap() {
    believed_at("bwrap");
}

#[test]
fn no_resolution_of_an_agent_s_is_taken_in_the_user_s_merge_in_landlock() {
    believed_at("landlock");
}

/// Has git take a folder for another one than what is staged, and not look at a file.
const INDEXED: &str = r#"
cp "$AT/forged" .git/index
echo EVIL > top.txt
git update-index --skip-worktree top.txt
echo worked; exit 0
"#;

/// Writes an index of HEAD in which the tree of `sub` is that of the commit before.
#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn forge_index(scene: &Scene) {
    let tree = |of: &str| {
        let id = scene.git(&["rev-parse", of]);
        let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("digits");
        (0..40).step_by(2).map(byte).collect::<Vec<u8>>()
    };
    scene.git(&["read-tree", "HEAD"]);
    let (was, other) = (tree("HEAD:sub"), tree("HEAD~1:sub"));
    let mut bytes = std::fs::read(scene.root().join(".git/index")).expect("an index");
    let at = bytes.windows(20).rposition(|it| it == was);
    let at = at.expect("it names the tree");
    bytes[at..at + 20].copy_from_slice(&other);
    std::fs::write(scene.path("forged"), bytes).expect("a file");
}

fn indexed_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = hostile(level, INDEXED);
    let root = scene.root();
    let commit = |path: &str, text: &str| {
        write(&root.join(path), text);
        scene.git(&["add", path]);
        scene.git(&["commit", "--quiet", "--message", text]);
    };
    commit("top.txt", "good\n");
    commit("sub/lib.sh", "EVIL\n");
    commit("sub/lib.sh", "good\n");
    forge_index(&scene);
    let text = bounded(&scene, &root);
    assert!(!text.contains("escaped"), "{text}");
    let status = scene.git(&["status", "--porcelain"]);
    assert!(status.contains("M top.txt"), "{status}");
    commit("mine.txt", "mine\n");
    assert_eq!(scene.git(&["show", "HEAD:sub/lib.sh"]), "good");
}

#[test]
fn the_user_commits_and_sees_what_is_there_whatever_an_agent_wrote_into_the_index_in_bubblewrap() {
    indexed_at("bwrap");
}

#[test]
fn the_user_commits_and_sees_what_is_there_whatever_an_agent_wrote_into_the_index_in_landlock() {
    indexed_at("landlock");
}

/// Has git find a former folder under the id of that of HEAD.
const NAMED: &str = r#"
file() { git rev-parse "$1" | sed 's|^..|.git/objects/&/|'; }
chmod u+w "$(file HEAD:sub)"
cat "$(file HEAD~1:sub)" > "$(file HEAD:sub)"
echo EVIL > sub/lib.sh; git add sub/lib.sh
test -z "$(git status --porcelain sub)" && echo unseen >> ways
echo worked; exit 0
"#;

fn named_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = hostile(level, NAMED);
    let root = scene.root();
    for text in ["EVIL\n", "good\n"] {
        write(&root.join("sub/lib.sh"), text);
        scene.git(&["add", "sub"]);
        scene.git(&["commit", "--quiet", "--message", text]);
    }
    let id = scene.git(&["rev-parse", "HEAD:sub"]);
    scene.git(&["clone", "--quiet", "--bare", "--no-local", ".", "../whole"]);
    let text = bounded(&scene, &root);
    assert!(root.join("ways").exists(), "git sees it: {text}");
    let said = format!("{} (not what its name says, taken away)", &id[2..]);
    assert!(text.contains("escaped") && text.contains(&said), "{text}");
    let status = words(&scene.try_git(&["status"]));
    assert!(status.contains(&id), "{status}");
    scene.git(&["fetch", "--quiet", "--refetch", "../whole", "main"]);
    let status = scene.git(&["status", "--porcelain", "sub"]);
    assert_eq!(status, "M  sub/lib.sh");
}

#[test]
fn an_object_that_an_agent_wrote_over_is_named_and_missing_in_bubblewrap() {
    named_at("bwrap");
}

#[test]
fn an_object_that_an_agent_wrote_over_is_named_and_missing_in_landlock() {
    named_at("landlock");
}
