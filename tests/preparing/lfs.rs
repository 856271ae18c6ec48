//! What is fetched of files that Git LFS keeps: what the user committed, and nothing that an agent names.

use super::content::{reads, with_lfs};
use super::{runs, words};
use crate::scene::{HONEST, Scene, executable, task, write};
use std::path::Path;

/// What is in a file that only somebody else has.
const ELSEWHERE: &str = "of somebody else";

fn agent(scene: &Scene, does: &str) {
    write(&scene.path("agent.sh"), &format!("{does}\n{HONEST}"));
}

/// A server of the user's: it writes down what it is asked for, and has what lies in its folder.
const SERVER: &str = r#"
while read -r order; do
    case $order in
    *'"init"'*) echo '{}' ;;
    *'"download"'*)
        id=$(printf %s "$order" | sed 's/.*"oid":"\([0-9a-f]*\)".*/\1/')
        echo "$id" >> "$1/asked"
        cp "$1/$id" "$1/given"
        printf '{"event":"complete","oid":"%s","path":"%s"}\n' "$id" "$1/given"
        ;;
    *'"terminate"'*) exit ;;
    esac
done
"#;

/// Has LFS ask the server, which gets the files of the scene's LFS.
fn with_server(scene: &Scene) {
    let server = scene.path("server");
    write(&server.join("serve.sh"), SERVER);
    move_objects(&scene.root().join(".git/lfs/objects"), &server);
    // Whoever has the file has what is named: git gives it to LFS whenever it looks at it.
    let named = scene.git(&["show", "HEAD:large.bin"]);
    write(&scene.root().join("large.bin"), &format!("{named}\n"));
    let folder = server.display().to_string();
    for (key, value) in [
        ("lfs.standalonetransferagent", "server"),
        ("lfs.customtransfer.server.path", "sh"),
        (
            "lfs.customtransfer.server.args",
            &format!("{folder}/serve.sh {folder}"),
        ),
        ("lfs.url", "https://user.invalid/"),
    ] {
        scene.git(&["config", key, value]);
    }
}

fn move_objects(folder: &Path, to: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            move_objects(&entry.path(), to);
        } else {
            std::fs::rename(entry.path(), to.join(entry.file_name())).expect("moved");
        }
    }
}

fn asked(scene: &Scene) -> Vec<String> {
    let asked = std::fs::read_to_string(scene.path("server/asked")).unwrap_or_default();
    asked.lines().map(str::to_owned).collect()
}

fn id_of(named: &str) -> String {
    let id = named
        .lines()
        .find_map(|line| line.strip_prefix("oid sha256:"));
    id.expect("an id").to_owned()
}

#[test]
fn what_lfs_keeps_of_the_base_is_fetched_once_where_it_is_not_here() {
    let Some(scene) = with_lfs("", &reads("large.bin", "the content")) else {
        return;
    };
    with_server(&scene);
    runs(&scene, 0);
    assert_eq!(
        asked(&scene),
        [id_of(&scene.git(&["show", "HEAD:large.bin"]))]
    );
}

#[test]
fn nothing_is_fetched_that_an_agent_names() {
    let Some(scene) = with_lfs("", &reads("large.bin", "the content")) else {
        return;
    };
    write(&scene.path("new.bin"), ELSEWHERE);
    let new = scene.path("new.bin").display().to_string();
    let named = scene.git(&["lfs", "pointer", &format!("--file={new}")]);
    with_server(&scene);
    write(&scene.path("server").join(id_of(&named)), ELSEWHERE);
    agent(
        &scene,
        &format!(
            "printf '[lfs]\\n\\turl = https://agent.invalid/\\n\\tskipdownloaderrors = true\\n' > .lfsconfig\n\
             printf '%s\\n' '{named}' > new.bin"
        ),
    );
    let output = scene.run(&["--retries", "0"]);
    let attempt = task(&scene.report(), "1")["attempts"][0].to_string();
    assert!(
        attempt.contains("check out `new.bin`") && attempt.contains("`git lfs fetch --all`"),
        "{attempt}\n{}",
        words(&output)
    );
    assert_eq!(
        asked(&scene),
        [id_of(&scene.git(&["show", "HEAD:large.bin"]))]
    );
}

#[test]
fn what_an_agent_gives_to_lfs_is_there_for_its_tests_and_the_next_agent() {
    let tests = format!(
        "[ ! -f new.bin ] || [ \"$(cat new.bin)\" = '{ELSEWHERE}' ] || exit 1\n{}",
        reads("large.bin", "the content")
    );
    let Some(scene) = with_lfs("", &tests) else {
        return;
    };
    let backlog = scene.root().join(".taskmaster/tasks/tasks.json");
    let text = std::fs::read_to_string(&backlog).expect("a backlog");
    let mut tasks: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut second = tasks["master"]["tasks"][0].clone();
    second["id"] = "2".into();
    second["dependencies"] = serde_json::json!(["1"]);
    tasks["master"]["tasks"]
        .as_array_mut()
        .expect("tasks")
        .push(second);
    write(&backlog, &tasks.to_string());
    scene.git(&["commit", "--quiet", "--all", "--message", "two tasks"]);
    agent(
        &scene,
        &format!(
            "if [ $TM_TASK_ID = 1 ]; then printf '{ELSEWHERE}' > new.bin; printf '[lfs]\\n\\tfetchexclude = *\\n' > .lfsconfig\n\
             else [ \"$(cat new.bin large.bin)\" = '{ELSEWHERE}the content' ] || exit 1; fi"
        ),
    );
    runs(&scene, 0);
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let landed = scene.git(&["show", &format!("{branch}:new.bin")]);
    assert!(landed.starts_with("version https://git-lfs"), "{landed}");
    assert_eq!(scene.statuses(), ["done", "done"]);
}

#[test]
fn what_a_hook_gives_to_lfs_is_kept_too() {
    let tests = format!(
        "[ ! -f of-hook.bin ] || [ \"$(cat of-hook.bin)\" = '{ELSEWHERE}' ] || exit 1\n{}",
        reads("large.bin", "the content")
    );
    let Some(scene) = with_lfs("", &tests) else {
        return;
    };
    agent(&scene, "echo on > on.txt");
    let hook = format!("printf '{ELSEWHERE}' > of-hook.bin; git add of-hook.bin");
    executable(&scene.root().join(".git/hooks/pre-commit"), &hook);
    runs(&scene, 0);
    let named = scene.git(&["show", &format!("{}:of-hook.bin", scene.landed_tree())]);
    let id = id_of(&named);
    let kept = format!(".git/lfs/objects/{}/{}/{id}", &id[..2], &id[2..4]);
    let kept = std::fs::read_to_string(scene.root().join(kept));
    assert_eq!(kept.expect("it is kept"), ELSEWHERE);
}
