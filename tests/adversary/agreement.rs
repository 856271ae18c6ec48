//! Whether `tm audit` says of a history what a stranger finds out without it.
//!
//! The tm that is tried made the history (`TM_TEST_BINARY` may be an old one), the tm that was just built audits it. Tried
//! with `TM_TEST_AUDIT=1`, since every history is judged a second time. What was found is printed, agreement or not.

use super::case::Case;
use super::driver::within;
use crate::scene::Scene;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A word that only the case knows to be a cheat: to everybody else it is a file like any other.
const PLANTED: &str = "`BACKDOOR`";

/// What the audit says of a history: its exit code, and each commit that it can't show.
struct Audited {
    code: Option<i32>,
    refused: Vec<String>,
}

/// Whether histories are audited as well.
pub(super) fn is_asked() -> bool {
    std::env::var_os("TM_TEST_AUDIT").is_some()
}

/// Returns where the audit says otherwise than the truth about what is on the branch.
pub(super) fn differences(
    scene: &Scene,
    case: &Case,
    report: &Value,
    truth: &[String],
) -> Option<String> {
    let (branch, base) = (
        report["integration_branch"].as_str()?,
        report["base_commit"].as_str()?,
    );
    let clone = clone(scene, branch)?;
    let audited = audited(scene, case, &clone, &format!("{base}..origin/{branch}"));
    let is_true = truth.iter().all(|what| what.contains(PLANTED));
    let is_shown = audited.code == Some(0);
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let what = format!(
        "{name}: truth: {truth:?}; audit: {:?}, {:?}",
        audited.code, audited.refused
    );
    let verdict = if is_true == is_shown {
        "AGREE"
    } else {
        "DIFFER"
    };
    record(&format!(
        "{verdict} {} {what}\n",
        if is_true { "true" } else { "false" }
    ));
    (is_true != is_shown).then(|| format!("the audit disagrees with the truth: {what}"))
}

/// A clone that has the branch, and is itself at the beginning of it; none where nothing has landed.
fn clone(scene: &Scene, branch: &str) -> Option<PathBuf> {
    let folder = scene.path("audited");
    let from = format!("file://{}", scene.root().display());
    let folder_name = folder.display().to_string();
    let cloned = scene.try_git(&["clone", "--quiet", "--no-checkout", &from, &folder_name]);
    let in_clone = |arguments: &[&str]| git_in(scene, &folder, arguments);
    let has_branch = in_clone(&[
        "rev-parse",
        "--verify",
        "--quiet",
        &format!("origin/{branch}"),
    ])
    .status
    .success();
    if !cloned.status.success() || !has_branch {
        return None;
    }
    Some(folder)
}

fn audited(scene: &Scene, case: &Case, clone: &Path, range: &str) -> Audited {
    let (base, branch) = range.split_once("..").expect("a range");
    git_in(scene, clone, &["checkout", "--quiet", "--detach", base]);
    let settings = scene.root().join(".taskmaster/tm.yaml");
    if settings.is_file() {
        std::fs::create_dir_all(clone.join(".taskmaster")).expect("a folder");
        std::fs::copy(settings, clone.join(".taskmaster/tm.yaml")).expect("a copy");
    }
    let landed = git_in(scene, clone, &["rev-parse", base, branch]);
    let landed = String::from_utf8_lossy(&landed.stdout).into_owned();
    if landed
        .lines()
        .collect::<std::collections::BTreeSet<_>>()
        .len()
        < 2
    {
        return Audited {
            code: Some(0),
            refused: vec!["nothing has landed".to_owned()],
        };
    }
    let mut command = scene.program(assert_cmd::cargo::cargo_bin!("tm"));
    command
        .current_dir(clone)
        .env("PATH", case.language.search_path())
        .env("HOME", scene.path("audit-home"));
    command.env("TM_HOME", scene.path("audit-tm")).args([
        "audit",
        range,
        "--json",
        "--max-parallel",
        "1",
    ]);
    if let Some(place) = case
        .settings
        .iter()
        .position(|word| *word == "--test-command")
    {
        command.args(&case.settings[place..=place + 1]);
    }
    let Some(output) = within(command, 120) else {
        return Audited {
            code: None,
            refused: vec!["the audit had not ended after 120 seconds".to_owned()],
        };
    };
    Audited {
        code: output.status.code(),
        refused: refused(&output),
    }
}

fn refused(output: &Output) -> Vec<String> {
    let Ok(audit) = serde_json::from_slice::<Value>(&output.stdout) else {
        return vec![String::from_utf8_lossy(&output.stderr).into_owned()];
    };
    let items = audit["items"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let refused = items
        .iter()
        .filter(|item| item["outcome"] == "not-shown" || item["outcome"] == "cannot-run");
    refused
        .map(|item| format!("{} {}: {}", item["kind"], item["task"], item["what"]))
        .collect()
}

fn git_in(scene: &Scene, folder: &Path, arguments: &[&str]) -> Output {
    let mut command: Command = scene.program("git".as_ref());
    command
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env("GIT_NO_REPLACE_OBJECTS", "1");
    command.output().expect("git")
}

/// Adds a line to the file that `TM_TEST_AUDIT` names, where it names one.
fn record(line: &str) {
    use std::io::Write as _;
    let path = std::env::var_os("TM_TEST_AUDIT")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    if let Some(path) = path {
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .expect("a file");
        file.write_all(line.as_bytes()).expect("a line");
    }
}
