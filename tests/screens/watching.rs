//! `tm waves watch` on a terminal of its own, driven as a person drives it.

use crate::scene::{HONEST, Scene, write};
use crate::skipping::lacks;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long something may take to come onto the screen.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal of 80 columns and 24 lines with a shell in the checkout; gone when dropped.
struct Terminal<'a> {
    scene: &'a Scene,
    tmux: PathBuf,
}

impl<'a> Terminal<'a> {
    /// Opens one; `None`, and says so, on a machine without tmux.
    fn open(scene: &'a Scene) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(tmux) = std::env::split_paths(&path)
            .map(|folder| folder.join("tmux"))
            .find(|tmux| tmux.is_file())
        else {
            lacks("tmux");
            return None;
        };
        let terminal = Self { scene, tmux };
        let mut command = terminal.command(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "sh",
        ]);
        let output = command
            .env("PS1", "shell> ")
            .env("SHELL", "/bin/sh")
            .output()
            .expect("tmux");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some(terminal)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scene.program(&self.tmux);
        command
            .arg("-S")
            .arg(self.scene.path("tmux"))
            .args(arguments)
            .env("LC_ALL", "C.UTF-8");
        command
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("tmux");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as it should be.
    fn shows(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{what} never came:\n{screen}");
        }
    }

    fn watches(&self) {
        let tm = assert_cmd::cargo::cargo_bin!("tm").display().to_string();
        let note_pid = "echo $$ > \"$AGENT_FOLDER/pid\"";
        self.press(&[
            &format!("clear; sh -c '{note_pid}; exec \"{tm}\" waves watch'; echo left with $?"),
            "Enter",
        ]);
        self.shows("the board", |screen| screen.contains("enter open"));
    }

    /// The shell has its terminal back as it was: no other screen, lines and echo.
    fn has_left(&self) {
        self.shows("the shell", |screen| screen.contains("left with 0"));
        assert_eq!(
            self.tmux(&["display-message", "-p", "#{alternate_on}"]),
            "0"
        );
        self.press(&[
            "stty -a | tr ' ' '\\n' | grep -c -e '^echo;*$' -e '^icanon$'",
            "Enter",
        ]);
        self.shows("lines and echo", |screen| {
            screen.lines().any(|line| line.trim() == "2")
        });
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _gone = self.command(&["kill-server"]).output();
    }
}

/// The agent of the first task says that it works, prints, and waits.
fn scene() -> Scene {
    let agent = format!(
        "if [ \"$TM_TASK_ID\" = 1 ]; then echo 'I read the code'; mkdir -p docs; echo draft > docs/draft\n\
         echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null; fi\n{HONEST}"
    );
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &agent,
    );
    scene.pipe("started");
    scene.pipe("gate");
    scene
}

#[test]
fn a_run_is_watched_and_steered_on_a_terminal_that_is_given_back() {
    let scene = scene();
    let Some(terminal) = Terminal::open(&scene) else {
        return;
    };
    let mut run = scene.start_and_wait_for_agent(&[]);
    terminal.watches();
    terminal.shows("the task at work", |screen| {
        screen.contains("> 1  running") && screen.contains("0/2 settled")
    });
    terminal.press(&["Down"]);
    terminal.shows("the next task", |screen| screen.contains("> 2  waiting"));
    terminal.press(&["p"]);
    terminal.shows("the pause", |screen| {
        screen.contains(" tm  paused") && screen.contains("paused the run")
    });
    terminal.press(&["Up", "Enter"]);
    terminal.shows("the log", |screen| {
        screen.contains("[1 log]") && screen.contains("I read the code")
    });
    terminal.press(&["2"]);
    terminal.shows("the difference", |screen| screen.contains("+draft"));
    terminal.press(&["3"]);
    terminal.shows("what is known", |screen| {
        screen.contains("attempt 1: under way")
    });
    terminal.press(&["Left"]);
    terminal.press(&["o"]);
    terminal.shows("a shell", |screen| screen.contains("shell>"));
    terminal.press(&["ls docs; exit", "Enter"]);
    terminal.shows("the board again", |screen| screen.contains("enter open"));
    terminal.press(&["p"]);
    terminal.shows("the run going on", |screen| screen.contains(" tm  running"));
    terminal.press(&["q"]);
    terminal.has_left();
    write(&scene.path("gate"), "go\n");
    assert_eq!(run.wait().expect("an end").code(), Some(0));
    terminal.watches();
    terminal.shows("the end", |screen| {
        screen.contains(" tm  completed  2/2 settled")
    });
    terminal.press(&["p"]);
    terminal.shows("a refusal", |screen| screen.contains("the run is not live"));
    terminal.press(&["C-c"]);
    terminal.has_left();
}

#[test]
fn a_pair_is_one_row_with_two_cells_and_its_view_has_both_halves() {
    let agent = format!(
        "echo \"I am $TM_PHASE\"\n{HONEST}\n\
         if [ $TM_PHASE = green ]; then echo started > \"$AGENT_FOLDER/started\"\n\
         cat \"$AGENT_FOLDER/gate\" > /dev/null; fi\n"
    );
    let scene = Scene::new(&[("1", "Implement it", &[])], &agent);
    scene.pipe("started");
    scene.pipe("gate");
    let Some(terminal) = Terminal::open(&scene) else {
        return;
    };
    let mut run = scene.start_and_wait_for_agent(&[]);
    terminal.watches();
    let cells = |screen: &str, red: &str, green: &str| {
        let row = screen.lines().find(|line| line.starts_with("> 1 "));
        let words = row.map(|row| row.split_whitespace().skip(2).take(2));
        words.is_some_and(|words| words.eq([red, green]))
    };
    terminal.shows("one row, RED before GREEN", |screen| {
        let heads = screen
            .lines()
            .any(|line| line.split_whitespace().eq(["RED", "GREEN"]));
        heads && cells(screen, "held", "running")
    });
    let both = |what: &str, of_red: &str, of_green: &str| {
        terminal.shows(what, |screen| {
            let at = |text: &str| {
                screen
                    .lines()
                    .position(|line| line.trim().starts_with(text))
            };
            let places = ["RED", of_red, "GREEN", of_green].map(at);
            screen.contains("1 RED held GREEN running Implement it")
                && places.iter().all(Option::is_some)
                && places.is_sorted()
        });
    };
    terminal.press(&["Enter"]);
    both("both logs", "I am red", "I am green");
    terminal.press(&["3"]);
    both("both kinds of evidence", "1:red is held", "1 is running");
    terminal.press(&["2"]);
    both("both differences", "t/1.t", "bin/1");
    terminal.press(&["End"]);
    terminal.shows("the end of the last one", |screen| {
        screen.contains("+echo 1")
    });
    terminal.press(&["Escape"]);
    write(&scene.path("gate"), "go\n");
    assert_eq!(run.wait().expect("an end").code(), Some(0));
    terminal.shows("both at their end", |screen| {
        cells(screen, "landed", "landed")
    });
    terminal.press(&["q"]);
    terminal.has_left();
}

#[test]
fn a_watch_that_is_ended_gives_the_terminal_back() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let Some(terminal) = Terminal::open(&scene) else {
        return;
    };
    scene.runs(&[], 0);
    terminal.watches();
    kill_process(watcher(&scene), Signal::TERM).expect("sent");
    terminal.has_left();
}

#[test]
fn a_watch_whose_terminal_goes_away_ends_with_it() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let Some(terminal) = Terminal::open(&scene) else {
        return;
    };
    scene.runs(&[], 0);
    terminal.watches();
    let watcher = watcher(&scene);
    drop(terminal);
    let began = Instant::now();
    while test_kill_process(watcher).is_ok() {
        assert!(
            began.elapsed() < PATIENCE,
            "somebody still watches on a terminal that is gone"
        );
        std::thread::yield_now();
    }
}

/// The process that watches.
fn watcher(scene: &Scene) -> Pid {
    let pid = std::fs::read_to_string(scene.path("pid")).expect("a pid");
    Pid::from_raw(pid.trim().parse().expect("a number")).expect("a pid")
}

#[test]
fn without_a_terminal_there_is_nothing_to_watch_with() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let none = scene.tm(&["waves", "watch"]).output().expect("tm");
    assert!(String::from_utf8_lossy(&none.stderr).contains("there has been none"));
    scene.runs(&[], 0);
    let refused = scene.tm(&["waves", "watch"]).output().expect("tm");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{words}");
    assert!(
        words.contains("this is no terminal") && words.contains("tm waves status"),
        "{words}"
    );
}
