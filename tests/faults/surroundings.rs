//! What users, other programs and machines do to a repository while a run goes on: each ends in a clear state.

use crate::scene::{HONEST, Scene, task, write};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Does something in the first attempt at a task, as if the user did it meanwhile, then works as a good agent does.
fn meanwhile(id: &str, command: &str) -> String {
    format!(
        "if [ \"$TM_TASK_ID\" = {id} ] && [ \"$TM_ATTEMPT\" = 1 ]; then\n{command}\nfi\n{HONEST}"
    )
}

/// Two tasks one after the other; tests that cost nothing.
fn scene(agent: &str) -> Scene {
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        agent,
    );
    write(
        &scene.root().join("run-tests.sh"),
        "echo 1..1\necho ok - fine\n",
    );
    scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
    scene
}

/// Runs to a good end, in which both tasks have landed after so many attempts.
fn ends_well(scene: &Scene, attempts: [usize; 2]) -> String {
    let output = scene.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let report = scene.report();
    let tried = ["1", "2"].map(|id| {
        task(&report, id)["attempts"]
            .as_array()
            .expect("attempts")
            .len()
    });
    assert_eq!(tried, attempts, "{report:#}");
    let branch = report["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    assert_eq!(
        scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]),
        "1\n2"
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    scene.assert_no_process_is_left();
    words(&output)
}

#[test]
fn a_tasks_branch_that_the_user_deletes_meanwhile_is_made_again() {
    let delete = "git commit --quiet --allow-empty -m 'my own'\n\
                  git -C \"$AGENT_FOLDER/checkout\" update-ref -d \"$(git symbolic-ref HEAD)\"";
    let scene = scene(&meanwhile("1", delete));
    ends_well(&scene, [1, 1]);
    let kept = scene.git(&["log", "--format=%s", "--glob=refs/tm/salvage/*"]);
    assert!(kept.contains("my own"), "the agent's own commit is kept");
}

#[test]
fn an_integration_branch_that_the_user_deletes_meanwhile_is_made_again_with_all_that_has_landed() {
    let delete = "cd \"$AGENT_FOLDER/checkout\"\n\
                  git update-ref -d \"$(git for-each-ref --format='%(refname)' 'refs/heads/tm/*/run-*')\"\ncd \"$TM_WORKTREE\"";
    let scene = scene(&meanwhile("2", delete));
    let words = ends_well(&scene, [1, 1]);
    assert!(words.contains("was deleted; it is made again"), "{words}");
}

#[test]
fn a_worktree_that_the_user_deletes_meanwhile_costs_an_attempt_that_nobody_is_charged_for() {
    let scene = scene(&meanwhile("1", "rm -rf \"$TM_WORKTREE\"; exit 0"));
    let output = scene.run(&["--retries", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let report = scene.report();
    let first = &task(&report, "1")["attempts"][0];
    assert_eq!(first["failure"], "lost", "{report:#}");
    assert_eq!(scene.statuses(), ["done"; 2]);
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn locks_that_other_gits_left_behind_stop_nobody() {
    let scene = scene(&meanwhile(
        "1",
        "touch \"$(git rev-parse --git-dir)/index.lock\"",
    ));
    let lock = scene.root().join(".git/index.lock");
    write(&lock, "");
    ends_well(&scene, [1, 1]);
    assert!(
        lock.exists(),
        "the lock of the user's checkout is the user's"
    );
}

#[test]
fn locks_that_killed_gits_left_are_named_with_their_age_and_stay() {
    let scene = scene(HONEST);
    let names = ["packed-refs.lock", "index.lock", "HEAD.lock"];
    let locks = names.map(|name| scene.root().join(".git").join(name));
    for lock in &locks {
        let made = std::time::SystemTime::now() - std::time::Duration::from_mins(5);
        let file = std::fs::File::create(lock).expect("a lock");
        file.set_modified(made).expect("an age");
    }
    let told = ends_well(&scene, [1, 1]);
    let doctor = scene.tm(&["doctor"]).output().expect("tm");
    let doctor = String::from_utf8_lossy(&doctor.stdout);
    for lock in &locks {
        let command = format!("`rm {}`", lock.display());
        assert!(told.contains(&command), "{told}");
        assert!(doctor.contains(&command), "{doctor}");
        assert!(lock.exists(), "it is somebody else's");
    }
    let named = told.matches("has been there for 5 minutes").count();
    assert_eq!(named, 3, "{told}");
}

#[test]
fn a_branch_whose_lock_stays_stops_the_run_and_says_which() {
    let lock = "touch \"$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD).lock\"";
    let scene = scene(&meanwhile("1", lock));
    let output = scene.run(&[]);
    let words = words(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains(".lock': File exists") && words.contains("hint:"),
        "{words}"
    );
    let lock = scene
        .shell("rm $(find .git/refs -name '*.lock')")
        .output()
        .expect("sh");
    assert!(
        lock.status.success(),
        "{}",
        String::from_utf8_lossy(&lock.stderr)
    );
    ends_well(&scene, [1, 1]);
}

/// Kills a run whose second task is at work, and lets its agent end.
fn killed_in_the_second_task() -> Scene {
    let agent = meanwhile(
        "2",
        "echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null",
    );
    let scene = scene(&agent);
    scene.pipe("started");
    scene.pipe("gate");
    let mut run = scene.start_and_wait_for_agent(&[]);
    run.kill().expect("sent");
    run.wait().expect("an end");
    write(&scene.path("gate"), "go\n");
    scene
}

#[test]
fn an_integration_branch_that_was_deleted_after_a_crash_is_not_begun_anew() {
    let scene = killed_in_the_second_task();
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let tip = scene.git(&["rev-parse", &branch]);
    scene.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    let words = ends_well(&scene, [1, 1]);
    assert!(
        words.contains("was deleted; it is made again") && words.contains(&tip),
        "{words}"
    );
}

#[test]
fn an_integration_branch_that_lost_landed_work_is_refused_with_the_command_that_brings_it_back() {
    let scene = killed_in_the_second_task();
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    scene.git(&["update-ref", &format!("refs/heads/{branch}"), "main"]);
    let refused = scene.run(&[]);
    let words = words(&refused);
    assert_eq!(refused.status.code(), Some(1), "{words}");
    let hint = words
        .lines()
        .find_map(|line| line.strip_prefix("hint: `"))
        .expect("a hint");
    let repair = hint.split('`').next().expect("a command");
    assert!(
        scene.shell(repair).status().expect("sh").success(),
        "{repair}"
    );
    ends_well(&scene, [1, 1]);
}

/// Everything that a refused command must leave as it is.
fn all_that_stays(scene: &Scene) -> (String, String) {
    let journal =
        std::fs::read_to_string(scene.waves_folder().join("journal.jsonl")).expect("a journal");
    (
        journal,
        scene.git(&["for-each-ref"]) + &scene.statuses().join(" "),
    )
}

#[test]
fn a_branch_of_the_last_run_that_somebody_moved_back_is_told_with_the_command_that_brings_it_back()
{
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        HONEST,
    );
    let report = scene.runs(&["--id", "1"], 0);
    let branch = report["integration_branch"].as_str().expect("a branch");
    let plan = || words(&scene.tm(&["waves", "plan"]).output().expect("tm"));
    assert!(!plan().contains("was moved"), "{}", plan());
    scene.git(&["branch", "--force", branch, "main"]);
    let told = plan();
    let line = told.lines().find(|line| line.contains("was moved"));
    let repair = line
        .and_then(|line| line.split('`').nth(3))
        .expect("a command");
    assert!(
        scene.shell(repair).status().expect("sh").success(),
        "{repair}"
    );
    scene.runs(&[], 0);
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let landed = scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]);
    assert_eq!(landed, "1\n2");
}

/// Has everything collected that the branch of the run and that of its second task hold.
fn collect_with_branches(scene: &Scene, branch: &str) -> String {
    let merge = scene.git(&["rev-parse", branch]);
    // The agent has let go of its worktree, and the branch of its task holds the merge too.
    let deleted = format!(
        "git update-ref -d 'refs/heads/{branch}'; git worktree list --porcelain | sed -n 's/^worktree //p' | sed 1d | \
         while read -r path; do git worktree unlock \"$path\"; rm -r \"$path\"; done; git worktree prune\n\
         git branch --list --format='%(refname)' 'tm/*/task-2-*' | xargs -n 1 git update-ref -d\n\
         git gc --quiet --prune=now; ! git cat-file -e {merge}"
    );
    let deleted = scene.shell(&deleted).output().expect("sh");
    assert!(deleted.status.success(), "{}", words(&deleted));
    merge
}

#[test]
fn landed_work_that_was_collected_with_its_branch_is_put_back() {
    let scene = killed_in_the_second_task();
    let report = scene.report();
    let branch = report["integration_branch"].as_str().expect("a branch");
    let merge = collect_with_branches(&scene, branch);
    write(&scene.path("agent.sh"), HONEST);
    scene.runs(&[], 0);
    scene.git(&["merge-base", "--is-ancestor", &merge, branch]);
    scene.git(&["fsck", "--connectivity-only"]);
    assert_eq!(scene.statuses(), ["done"; 2]);
}

#[test]
fn landed_work_that_was_collected_with_its_branch_is_told_with_the_command_that_goes_on() {
    let scene = killed_in_the_second_task();
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let merge = collect_with_branches(&scene, &branch);
    let own = "rm -r \"$TM_HOME\"/projects/*/worktrees/*/git/common/objects";
    let removed = scene.shell(own).output().expect("sh");
    assert!(removed.status.success(), "{}", words(&removed));
    let before = all_that_stays(&scene);
    for command in [&["waves", "run", "--yes"][..], &["waves", "resume"]] {
        let refused = scene.tm(command).output().expect("tm");
        let words = words(&refused);
        assert_eq!(refused.status.code(), Some(1), "{words}");
        assert_eq!(
            words.matches("error:").count() + words.matches("hint:").count(),
            2,
            "{words}"
        );
        assert!(words.contains(&branch) && words.contains(&merge), "{words}");
        assert!(
            words.contains("still on `tm/master/task-1-document-it`"),
            "{words}"
        );
        assert_eq!(all_that_stays(&scene), before, "nothing was changed");
    }
    let hint = words(&scene.run(&[]));
    let repair = hint
        .lines()
        .find_map(|line| line.strip_prefix("hint: `"))
        .expect("a hint");
    let repair = repair.split('`').next().expect("a command");
    assert!(
        scene.shell(repair).status().expect("sh").success(),
        "{repair}"
    );
    write(&scene.path("agent.sh"), HONEST);
    let fresh = scene.run(&["--on-interrupted", "fresh"]);
    assert_eq!(fresh.status.code(), Some(0), "{}", words(&fresh));
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    assert_eq!(
        scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]),
        "1\n2"
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
    scene.assert_no_process_is_left();
}

#[test]
fn runs_of_a_repository_that_was_deleted_are_told_as_such_in_its_clone() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    scene.git(&["clone", "--quiet", "--bare", ".", "../kept.git"]);
    scene.runs(&[], 0);
    let said = |command: &[&str]| {
        let output = scene.tm(command).output().expect("tm");
        assert!(output.status.success(), "{command:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let words = "is of another repository that was in this place";
    assert!(!said(&["waves", "status"]).contains(words));
    std::fs::remove_dir_all(scene.root()).expect("removed");
    let clone = "git clone --quiet ../kept.git . && git config user.name S && git config user.email s@example.org";
    assert!(scene.shell(clone).status().expect("sh").success());
    assert!(said(&["waves", "status"]).contains(words));
    let output = scene.run(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains(words));
    assert_eq!(scene.statuses(), ["done"]);
    assert!(!said(&["waves", "status"]).contains(words));
}

#[test]
fn a_repository_that_was_moved_after_a_crash_takes_its_run_along() {
    let scene = killed_in_the_second_task();
    let elsewhere = scene.path("elsewhere");
    std::fs::rename(scene.root(), &elsewhere).expect("moved");
    let agent = format!("sh '{}'", scene.path("agent.sh").display());
    let arguments = [
        "-C",
        elsewhere.to_str().expect("a path"),
        "waves",
        "run",
        "--yes",
        "--agent-command",
        &agent,
    ];
    let output = scene.tm(&arguments).output().expect("tm");
    let words = words(&output);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains("was moved") && words.contains("taking up the run"),
        "{words}"
    );
    std::fs::remove_dir(scene.root()).expect("tests make an empty folder there");
    std::fs::rename(&elsewhere, scene.root()).expect("moved back");
    assert_eq!(scene.statuses(), ["done"; 2]);
}

#[test]
fn a_clock_that_was_set_back_after_a_crash_holds_nobody_up() {
    use serde_json::Value;
    use tm_store::run::{JournalContents, JournalWriter, read_journal};
    const DAY: u64 = 86_400_000;
    let scene = killed_in_the_second_task();
    let journal = scene.waves_folder().join("journal.jsonl");
    let contents: JournalContents<Value, Value> = read_journal(&journal).expect("a journal");
    std::fs::remove_file(&journal).expect("removed");
    let mut writer = JournalWriter::create(&journal, &contents.header).expect("a journal");
    for line in contents.records {
        writer
            .append(line.at.plus(DAY), &line.record)
            .expect("written");
    }
    drop(writer);
    ends_well(&scene, [1, 1]);
    let contents: JournalContents<Value, Value> = read_journal(&journal).expect("a journal");
    assert!(
        contents.records.is_sorted_by_key(|line| line.at),
        "time goes on"
    );
}

/// Does what a user at work does in a repository, again and again, until told to stop; returns how often.
fn user_at_work(scene: &Scene, is_over: &AtomicBool) -> u32 {
    let mut rounds = 0;
    scene.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    while !is_over.load(Ordering::SeqCst) {
        rounds += 1;
        patiently(scene, &["status", "--short"]);
        patiently(
            scene,
            &[
                "-C",
                "../side",
                "commit",
                "--quiet",
                "--allow-empty",
                "--message",
                "on the side",
            ],
        );
        patiently(scene, &["branch", "--force", "another", "side"]);
        patiently(
            scene,
            &["fetch", "--quiet", ".", "side:refs/remotes/self/side"],
        );
        let collected = scene.try_git(&["gc", "--quiet", "--prune=now"]);
        let words = String::from_utf8_lossy(&collected.stderr).into_owned();
        assert!(
            collected.status.success() || words.contains("gc is already running"),
            "{words}"
        );
    }
    rounds
}

/// Calls git, as often as it stumbles over a worktree that another git is just making.
fn patiently(scene: &Scene, arguments: &[&str]) {
    for _ in 0..20 {
        let called = scene.try_git(arguments);
        let words = String::from_utf8_lossy(&called.stderr).into_owned();
        if called.status.success() {
            return;
        }
        assert!(words.contains("worktrees/"), "{arguments:?}: {words}");
    }
    panic!("{arguments:?}: git stumbles over worktrees again and again");
}

#[test]
fn a_user_who_works_and_collects_garbage_meanwhile_disturbs_nobody() {
    let tasks: Vec<(String, &str, &[&str])> = (1..=8)
        .map(|id| (id.to_string(), "Document it", &[][..]))
        .collect();
    let tasks: Vec<(&str, &str, &[&str])> = tasks
        .iter()
        .map(|(id, title, on)| (id.as_str(), *title, *on))
        .collect();
    let make = || {
        let scene = Scene::new(&tasks, HONEST);
        write(
            &scene.root().join("run-tests.sh"),
            "echo 1..1\necho ok - fine\n",
        );
        scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
        scene
    };
    let undisturbed = make();
    undisturbed.runs(&["--max-parallel", "5"], 0);
    let (scene, is_over) = (make(), AtomicBool::new(false));
    let rounds = std::thread::scope(|scope| {
        let user = scope.spawn(|| user_at_work(&scene, &is_over));
        let output = scene.run(&["--max-parallel", "5"]);
        is_over.store(true, Ordering::SeqCst);
        let rounds = user.join().expect("the user's own commands go well");
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        rounds
    });
    assert!(rounds > 0);
    let report = scene.report();
    for id in 1..=8 {
        let attempts = task(&report, &id.to_string())["attempts"]
            .as_array()
            .expect("attempts")
            .len();
        assert_eq!(attempts, 1, "{report:#}");
    }
    assert_eq!(scene.landed_tree(), undisturbed.landed_tree());
    assert_eq!(scene.statuses(), ["done"; 8]);
    scene.git(&["gc", "--quiet", "--prune=now"]);
    scene.git(&["fsck", "--connectivity-only"]);
}

/// A shell in which the run's folder is a file system of its own with so little space, when that can be had here.
fn on_a_small_disk(scene: &Scene, kilobytes: u32, then: &str) -> Option<Output> {
    let home = scene.path("tm");
    std::fs::create_dir_all(&home).expect("a folder");
    let mount = format!(
        "mount -t tmpfs -o size={kilobytes}k none '{}'",
        home.display()
    );
    let can = scene
        .program("unshare".as_ref())
        .args(["-rm", "sh", "-ec", &mount])
        .output();
    if !can.is_ok_and(|can| can.status.success()) {
        return None;
    }
    let script = format!("{mount}\n{then}");
    Some(
        scene
            .program("unshare".as_ref())
            .args(["-rm", "sh", "-c", &script])
            .output()
            .expect("unshare"),
    )
}

#[test]
fn a_disk_that_is_really_full_is_told_and_the_run_goes_on_when_there_is_space() {
    let scene = scene(HONEST);
    let tm = assert_cmd::cargo::cargo_bin!("tm").display().to_string();
    let run = format!(
        "'{tm}' waves run --yes --agent-command \"sh '{}'\"",
        scene.path("agent.sh").display()
    );
    let home = scene.path("tm").display().to_string();
    // What is left is too little for the worktrees.
    let then = format!(
        "'{tm}' waves plan > /dev/null && head -c 100M /dev/zero > '{home}/filler' 2> /dev/null; truncate -s -24k '{home}/filler'\n\
         {run}; echo \"first: $?\" >&2; rm '{home}/filler'; {run}; echo \"second: $?\" >&2"
    );
    let Some(output) = on_a_small_disk(&scene, 20_000, &then) else {
        eprintln!("left out: no file system can be mounted here");
        return;
    };
    let words = words(&output);
    assert!(
        words.contains("first: 1") && words.contains("second: 0"),
        "{words}"
    );
    assert!(
        words.contains("o space left") && words.contains("hint:"),
        "{words}"
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
}
