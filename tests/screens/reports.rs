//! What a run leaves when it is over, read by those for whom it is: a browser, Python, CI systems, a command.

use crate::scene::{HONEST, Scene, executable, write};
use crate::skipping::lacks;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A pair that lands, a task that fails, and one that it blocks.
fn scene() -> Scene {
    let agent = format!("if [ \"$TM_TASK_ID\" = 3 ]; then echo 'no <idea>'; exit 4; fi\n{HONEST}");
    Scene::new(
        &[
            ("1", "Add the <parser>", &[]),
            ("3", "Document it", &[]),
            ("4", "Document more", &["3"]),
        ],
        &agent,
    )
}

/// A `notify-send` that writes down what it is to show, in front of the path.
fn with_notifier(scene: &Scene) -> String {
    write(
        &scene.path("bin/notify-send"),
        "#!/bin/sh\nprintf %s \"$*\" > \"$AGENT_FOLDER/notice\"\nprintf '%s\\n' \"$*\" >> \"$AGENT_FOLDER/notices\"\n",
    );
    scene
        .shell("chmod +x \"$AGENT_FOLDER/bin/notify-send\"")
        .status()
        .expect("sh");
    format!(
        "{}:{}",
        scene.path("bin").display(),
        std::env::var("PATH").expect("a path")
    )
}

#[test]
fn what_is_done_at_the_end_is_remembered_when_a_run_is_taken_up() {
    let gate = "echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null";
    let agent = format!("if [ \"$TM_TASK_ID\" = 1 ]; then {gate}; fi\n{HONEST}");
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &agent,
    );
    scene.pipe("started");
    scene.pipe("gate");
    let command = "echo \"$TM_STATUS\" >> \"$AGENT_FOLDER/told\"";
    let mut run = scene.start_and_wait_for_agent(&["--on-complete", command, "--ci", "gitlab"]);
    scene.tm(&["waves", "stop"]).output().expect("tm");
    write(&scene.path("gate"), "go\n");
    assert_eq!(run.wait().expect("an end").code(), Some(130));
    let resumed = scene.tm(&["waves", "resume"]).output().expect("tm");
    assert_eq!(
        resumed.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    assert_eq!(text(&scene.path("told")), "interrupted\ncompleted\n");
    assert!(String::from_utf8_lossy(&resumed.stdout).contains("section_start:"));
}

fn run_folder(scene: &Scene) -> PathBuf {
    let projects = std::fs::read_dir(scene.path("tm/projects")).expect("projects");
    let runs = projects
        .flatten()
        .next()
        .expect("a project")
        .path()
        .join("runs");
    std::fs::read_dir(runs)
        .expect("runs")
        .flatten()
        .next()
        .expect("a run")
        .path()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_task_that_is_given_up_is_told_where_that_is_asked_for() {
    let scene = Scene::new(&[("1", "Document it", &[])], "exit 1");
    let path = with_notifier(&scene);
    let told = |words: &[&str]| {
        let words = [
            &[
                "--retries",
                "0",
                "--tdd",
                "off",
                "--on-interrupted",
                "fresh",
            ],
            words,
        ];
        let output = scene
            .run_command(&words.concat())
            .env("PATH", &path)
            .output()
            .expect("tm");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let told = std::fs::read_to_string(scene.path("notices")).unwrap_or_default();
        told.matches("is given up: no-result").count()
    };
    assert_eq!(told(&["--notify", "desktop"]), 0);
    assert_eq!(told(&["--notify", "desktop", "--notify-failures"]), 1);
}

#[test]
fn the_end_of_a_run_is_told_to_whoever_wants_to_know() {
    let scene = scene();
    let command = "printf '%s %s %s %s' \"$TM_STATUS\" \"$TM_EXIT_CODE\" \"$TM_FAILED\" \"$TM_BLOCKED\" > told; \
                   test -s \"$TM_REPORT_FILE\" && test -s \"$TM_SUMMARY_FILE\" && echo >> told";
    let steps = scene.path("steps.md");
    let reports = scene.path("reports");
    let output = scene
        .run_command(&["--retries", "0", "--ci", "github", "--on-complete", command])
        .args([
            "--report-dir",
            &reports.display().to_string(),
            "--notify",
            "desktop",
        ])
        .env("GITHUB_STEP_SUMMARY", &steps)
        .env("PATH", with_notifier(&scene))
        .output()
        .expect("tm");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(text(&scene.root().join("told")), "failed 3 1 1\n");
    assert!(text(&steps).starts_with("# Run "));
    let notice = text(&scene.path("notice"));
    assert!(
        notice.starts_with("--app-name=tm -- tm run ") && notice.contains("1 failed, 1 blocked"),
        "{notice}"
    );
    assert!(
        shown.contains("::error title=task 3 Document it::no-result: "),
        "{shown}"
    );
    for name in ["summary.md", "summary.json", "report.html", "junit.xml"] {
        assert_eq!(
            text(&reports.join(name)),
            text(&run_folder(&scene).join(name)),
            "{name}"
        );
    }
    for (flag, name) in [("--html", "report.html"), ("--junit", "junit.xml")] {
        let again = scene.tm(&["waves", "report", flag]).output().expect("tm");
        assert_eq!(
            String::from_utf8_lossy(&again.stdout),
            text(&run_folder(&scene).join(name))
        );
    }
    executable(
        &scene.path("bin/wslview"),
        "cp \"$1\" \"$AGENT_FOLDER/opened\"",
    );
    let opened = scene
        .tm(&["waves", "report", "--open"])
        .env("PATH", with_notifier(&scene))
        .output();
    assert!(opened.expect("tm").status.success());
    assert_eq!(
        text(&scene.path("opened")),
        text(&run_folder(&scene).join("report.html"))
    );
    opens_in_a_browser(&scene, &reports.join("report.html"));
    is_read_by_python(&reports.join("junit.xml"));
}

#[test]
fn a_channel_that_is_none_is_refused_before_anything_runs() {
    let scene = scene();
    let output = scene.run(&["--notify", "carrier-pigeon"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(
        words.contains("carrier-pigeon") && words.contains("hint:"),
        "{words}"
    );
    assert!(!scene.path("tm").exists());
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn program(names: &[&str]) -> Option<Command> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|candidate| candidate.is_file())?;
    Some(Command::new(found))
}

/// The page as a phone shows it: no script error, nothing wider than the screen, headings and pictures.
fn opens_in_a_browser(scene: &Scene, report: &Path) {
    let Some(mut browser) = program(&["chromium", "chromium-browser", "google-chrome"]) else {
        lacks("Chromium");
        return;
    };
    // A frame as wide as a phone, and a script beside it that measures what is in the frame.
    let page = scene.path("phone.html");
    let html = text(report);
    assert!(!html.contains("<script"), "the report needs none");
    let escaped = html.replace('&', "&amp;").replace('"', "&quot;");
    write(
        &page,
        &format!(
            "<!doctype html><iframe id=f style='width:390px;height:20000px;border:0' srcdoc=\"{escaped}\"></iframe><script>\n\
             f.onload = () => {{ const d = f.contentDocument, e = d.documentElement;\n\
             const n = q => d.querySelectorAll(q).length;\n\
             document.title = 'measured';\n\
             const shown = () => [...d.querySelectorAll('article')].filter(a => a.offsetParent).map(a => a.className).join('+');\n\
             const choices = ['all', 'fail', 'pass'].map(c => {{ d.getElementById('show-' + c).click(); return shown(); }});\n\
             document.body.dataset.seen = [e.scrollWidth <= e.clientWidth, e.clientWidth, n('h1'), n('h2'), n('svg[role=img] > title'), n('article'), n('pre ins'), ...choices].join(' ');\n\
             f.remove(); }}</script>"
        ),
    );
    let profile = scene.path("browser");
    let output = browser
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--enable-logging=stderr",
            "--window-size=500,900",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", scene.path("home"))
        .output()
        .expect("Chromium");
    let (dom, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        dom.contains("data-seen=\"true 390 1 6 2 3 5 of-fail+of-blocked+of-pass of-fail of-pass\""),
        "{dom}\n{log}"
    );
    assert!(!log.contains("CONSOLE"), "{log}");
}

/// The `JUnit` file as Python's `junitparser` reads it.
fn is_read_by_python(junit: &Path) {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin/python3");
    let python = if environment.is_file() {
        environment
    } else {
        PathBuf::from("python3")
    };
    let script = "import sys\n\
        try:\n import junitparser\n\
        except ImportError:\n print('skipped'); sys.exit()\n\
        x = junitparser.JUnitXml.fromfile(sys.argv[1])\n\
        print([(s.name, s.tests, s.failures, s.skipped, [c.name for c in s]) for s in x])";
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    let output = Command::new(python)
        .args(["-c", script])
        .arg(junit)
        .output();
    let Ok(output) = output else {
        lacks("Python");
        return;
    };
    let read = String::from_utf8_lossy(&output.stdout).into_owned();
    if read.starts_with("skipped") {
        lacks("junitparser");
        return;
    }
    assert_eq!(
        read.trim_end(),
        "[('1 Add the <parser>', 3, 0, 0, ['RED', 'GREEN', 'landing']), \
         ('3 Document it', 2, 1, 1, ['work', 'landing']), ('4 Document more', 2, 0, 2, ['work', 'landing'])]",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
