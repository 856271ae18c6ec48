//! Agents and tests at each level that works here.

use super::*;

/// Every way that a probe within names as tried, and those of them that led out.
pub(super) fn assert_all_refused(text: &str, but: &[&str]) {
    let named = |beginning: &str| -> Vec<&str> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(beginning));
        lines
            .filter_map(|line| Some(line.split_once(" - ")?.1))
            .collect()
    };
    let (refused, out) = (named("ok "), named("not ok "));
    assert!(refused.len() + out.len() == ways::COUNT, "{text}");
    let out: Vec<_> = out.iter().filter(|name| !but.contains(name)).collect();
    assert!(out.is_empty(), "ways out: {out:?}\n{text}");
}

pub(super) fn assert_nothing_changed(outside: &Outside) {
    let scene = &outside.scene;
    let read = |path: &str| std::fs::read_to_string(scene.path(path)).expect("it is there");
    assert_eq!(read("home/.bashrc"), "# of the user\n");
    assert_eq!(
        scene.git(&["rev-parse", "of-others"]),
        scene.git(&["rev-parse", "main"])
    );
    outside.udp.set_nonblocking(true).expect("asked");
    outside.tcp.set_nonblocking(true).expect("asked");
    assert!(outside.udp.recv(&mut [0; 8]).is_err(), "a datagram came");
    assert!(outside.tcp.accept().is_err(), "somebody connected");
}

/// What has too many processes is ended (`processes.rs`), and none is refused; no rule for paths is asked about what a file
/// is besides its content.
const OF_LANDLOCK: [&str; 7] = [
    "processes",
    "processors of another process",
    "rights of a file elsewhere",
    "times of a file elsewhere",
    "owner of a file elsewhere",
    "see what is in the home folder by its name",
    "watch what is done in the home folder",
];

/// What a level does not do, with the reason in the documentation.
pub(super) fn beyond(level: &str) -> &'static [&'static str] {
    match level {
        "landlock" => &OF_LANDLOCK,
        _ => &[],
    }
}

const AGENT: &str = "\
mkdir -p docs; (PROBE) > docs/ways.txt 2>&1
(setsid sleep 1000 &)
printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"
";

fn agent_at(level: &str) {
    if !has(level) {
        return;
    }
    let outside = Outside::new(
        &settings_at(level, "  agents: { network: off }\ntdd: { mode: 'off' }\n"),
        "echo 1..1; echo ok 1\n",
    );
    let scene = &outside.scene;
    write(
        &scene.path("agent.sh"),
        &AGENT.replace("PROBE", &outside.probe()),
    );
    outside.runs_at(level);
    let branch = scene.git(&[
        "for-each-ref",
        "--format=%(refname:short)",
        "refs/heads/tm/master/run-*",
    ]);
    let text = scene.git(&["show", &format!("{branch}:docs/ways.txt")]);
    assert_all_refused(&text, beyond(level));
    assert_nothing_changed(&outside);
}

#[test]
fn an_agent_finds_no_way_out_of_bubblewrap() {
    agent_at("bwrap");
}

#[test]
fn an_agent_finds_no_way_out_of_landlock() {
    agent_at("landlock");
}

fn tests_at(level: &str) {
    if !has(level) {
        return;
    }
    let outside = Outside::new(&settings_at(level, ""), "");
    let scene = &outside.scene;
    let without = beyond(level)
        .iter()
        .map(|name| format!(" | sed 's/^not ok \\(.* {name}\\)$/ok \\1/'"))
        .collect::<Vec<_>>()
        .concat();
    // What the program of these tests says besides is another runner's format.
    let tests = format!(
        "({}) 2>&1 | grep -E '^(1\\.\\.|ok [0-9]|not ok|#)'{without}\n",
        outside.probe()
    );
    write(&scene.root().join("run-tests.sh"), &tests);
    scene.git(&["commit", "--quiet", "--all", "--message", "tests"]);
    scene.git(&["branch", "--force", "of-others"]);
    let mut doctor = scene.tm(&["doctor", "--tests"]);
    doctor
        .env("TM_SANDBOX_LEVEL", level)
        // With a layer over a folder.
        .env("CARGO_HOME", scene.path("caches/cargo"));
    let output = outside.at_a_terminal(&doctor).output().expect("tm");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        words.contains(&format!("{} pass, 0 fail", ways::COUNT)),
        "{words}"
    );
    assert_nothing_changed(&outside);
}

#[test]
fn tests_find_no_way_out_of_bubblewrap() {
    tests_at("bwrap");
}

#[test]
fn tests_find_no_way_out_of_landlock() {
    tests_at("landlock");
}

#[test]
fn tests_write_on_top_of_a_toolchain_and_leave_it_as_it_is() {
    if !has("bwrap") {
        return;
    }
    let outside = Outside::new(
        "",
        "echo 1..1; rm -f \"$CARGO_HOME/old\"; echo x > \"$CARGO_HOME/new\" && test ! -e \"$CARGO_HOME/old\" && echo ok 1\n",
    );
    let scene = &outside.scene;
    let kept = scene.path("home/of cargo, mine");
    write(&kept.join("old"), "fetched\n");
    let output = scene
        .tm(&["doctor", "--tests"])
        .env("TM_SANDBOX_LEVEL", "bwrap")
        .env("CARGO_HOME", &kept)
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(words.contains("1 pass, 0 fail"), "{words}");
    assert!(kept.join("old").exists() && !kept.join("new").exists());
}

#[test]
fn limits_with_which_nothing_begins_take_no_holding_away() {
    if !["bwrap", "landlock"].iter().any(|level| has(level)) {
        return;
    }
    let scene = Scene::new(&[("1", "One", &[])], "echo x > \"$AGENT_FOLDER/began\"\n");
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "sandbox: {memory: 8}\n",
    );
    let output = scene
        .run_command(&["--tdd", "off", "--allow-broken-base", "--retries", "0"])
        .env("TM_SANDBOX_LEVEL", "auto")
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("without limits it does: raise `sandbox.memory`"),
        "{words}"
    );
    assert!(!scene.path("began").exists());
}

#[test]
fn processes_one_after_the_other_are_never_too_many() {
    for level in ["bwrap", "landlock"] {
        if !has(level) {
            continue;
        }
        let scene = Scene::new(&[("1", "Look around", &[])], "");
        let tests = "for i in $(seq 700); do /bin/true & wait; done; sleep 0 | sleep 0 | sleep 0\n\
            test $? = 0 && echo 1..1 && echo ok 1\n";
        write(&scene.root().join("run-tests.sh"), tests);
        let settings = "sandbox: {processes: 2000}\n";
        let few = "sandbox: {processes: 20}\n";
        // With bubblewrap all of an ordinary user's are counted on older systems, whoever started them.
        let is_own = level == "landlock" || rustix::process::geteuid().is_root();
        let settings = if is_own { few } else { settings };
        write(&scene.root().join(".taskmaster/tm.yaml"), settings);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "tests"]);
        let mut doctor = scene.tm(&["doctor", "--tests"]);
        let output = doctor.env("TM_SANDBOX_LEVEL", level).output().expect("tm");
        let words = String::from_utf8_lossy(&output.stdout);
        assert!(words.contains("1 pass, 0 fail"), "{level}: {words}");
    }
}

/// Sockets of other people's test runs are there for a moment, and a program starts all the same.
#[test]
fn sockets_that_come_and_go_keep_no_program_from_starting() {
    use std::os::unix::net::UnixListener;
    if !has("bwrap") {
        return;
    }
    let outside = Outside::new(&settings(""), "echo 1..1; echo ok 1\n");
    let place = outside.place.path();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for number in 0.. {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let bind = |socket: usize| {
                    let folder = place.join(format!("{number} {socket}"));
                    std::fs::create_dir(&folder).expect("made");
                    UnixListener::bind(folder.join("socket")).expect("bound")
                };
                let _listening = (0..20).map(bind).collect::<Vec<_>>();
                for socket in 0..20 {
                    std::fs::remove_dir_all(place.join(format!("{number} {socket}")))
                        .expect("gone");
                }
            }
        });
        let words: Vec<String> = (0..10)
            .map(|_| {
                let mut doctor = outside.scene.tm(&["doctor", "--tests"]);
                let output = doctor.env("TM_SANDBOX_LEVEL", "bwrap").output();
                String::from_utf8_lossy(&output.expect("tm").stdout).into_owned()
            })
            .collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        for words in words {
            assert!(words.contains("1 pass, 0 fail"), "{words}");
        }
    });
}

#[test]
fn tests_move_files_from_one_folder_of_their_checkout_to_another() {
    let tests = "mkdir one other; echo x > one/file; echo 1..1\n\
                 perl -e 'rename(\"one/file\", \"other/file\") || die $!' && echo ok 1 || echo not ok 1\n";
    let outside = Outside::new(&settings(""), tests);
    for level in ["bwrap", "landlock"].into_iter().filter(|level| has(level)) {
        let mut doctor = outside.scene.tm(&["doctor", "--tests"]);
        let output = doctor.env("TM_SANDBOX_LEVEL", level).output().expect("tm");
        let words = String::from_utf8_lossy(&output.stdout);
        assert!(words.contains("1 pass, 0 fail"), "{level}: {words}");
    }
}

#[test]
fn a_service_that_is_started_again_is_not_reached() {
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicBool, Ordering};
    if !has("bwrap") {
        return;
    }
    let outside = Outside::new(&settings(""), "");
    let place = outside.place.path();
    write(&place.join("beside"), "of the service\n");
    let script = format!(
        "connect='for (1 .. 5000) {{ exit 1 if IO::Socket::UNIX->new(Peer => \"again\") }}'\n\
         cd '{}' && perl -MIO::Socket::UNIX -e \"$connect\" && grep -q service beside && [ ! -e \"$TMPDIR/../nothing\" ] && held=yes\n\
         echo 1..1; [ \"$held\" = yes ] && echo ok 1 || echo not ok 1\n",
        place.display()
    );
    write(&outside.scene.root().join("run-tests.sh"), &script);
    outside
        .scene
        .git(&["commit", "--quiet", "--all", "--message", "tests"]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let name = place.join("again");
        let mut listening = UnixListener::bind(&name).expect("bound");
        let is_over = &is_over;
        threads.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::fs::remove_file(&name).expect("its own");
                listening = UnixListener::bind(&name).expect("bound");
            }
            drop(listening);
        });
        let mut doctor = outside.scene.tm(&["doctor", "--tests"]);
        let output = doctor.env("TM_SANDBOX_LEVEL", "bwrap").output();
        is_over.store(true, Ordering::Relaxed);
        let words = String::from_utf8_lossy(&output.expect("tm").stdout).into_owned();
        assert!(words.contains("1 pass, 0 fail"), "{words}");
    });
}

#[test]
fn what_holds_a_program_takes_no_libraries_from_where_the_program_does() {
    let settings = "test: { env: { LD_LIBRARY_PATH: 'libraries:' } }\n";
    let tests = "echo 1..1; [ \"$LD_LIBRARY_PATH\" = libraries: ] && echo ok - has them\n";
    let outside = Outside::new(settings, tests);
    for library in [
        "libcap.so.2",
        "libselinux.so.1",
        "libz.so.1",
        "libgcc_s.so.1",
        "libm.so.6",
    ] {
        for folder in ["libraries", "."] {
            write(
                &outside.scene.root().join(folder).join(library),
                "of an agent's\n",
            );
        }
    }
    outside.scene.git(&["add", "--all"]);
    outside
        .scene
        .git(&["commit", "--quiet", "--message", "libraries"]);
    for level in ["bwrap", "landlock"] {
        if !has(level) {
            continue;
        }
        let mut doctor = outside.scene.tm(&["doctor", "--tests"]);
        let output = doctor.env("TM_SANDBOX_LEVEL", level).output().expect("tm");
        let words = String::from_utf8_lossy(&output.stdout);
        assert!(words.contains("1 pass, 0 fail"), "{level}: {words}");
    }
}

#[test]
fn what_holds_a_program_mounts_nothing_outside_of_bubblewrap() {
    let scene = Scene::new(&[], "");
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let before = mounts();
    let output = scene
        .tm(&["sandbox-enter"])
        .args([ENTRY_BY_HAND, "--", "true"])
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("this is no namespace of bubblewrap's"),
        "{words}"
    );
    assert_eq!(mounts(), before);
}

const ENTRY_BY_HAND: &str = r#"{"level":"bwrap","confinement":{"view":{"rules":{}},"working_folder":"/","own_folder":"/nonexistent","layers":"gone","network":"on","limits":{"memory":null,"processes":null,"file_size":null}},"has_ports_held":false,"lays":true}"#;
