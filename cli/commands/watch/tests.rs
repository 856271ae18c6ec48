//! The screen at 80 and 200 columns, and what keys do.

use super::board::{Board, Link};
use super::evidence::evidence;
use super::view::{Palette, draw};
use super::{Action, Mode, Model, Pane, Tab};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode as Key, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};
use std::num::NonZeroU32;
use tm_app::AgentPlaces;
use tm_runtime::steering::Ask;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, Ended, Failure, Input, Limits, Place, PlanOptions, Proof,
    Request, Scheduler, Task, TaskId, TddMode, Timestamp, WavePlan,
};

const BEGAN: Timestamp = Timestamp(1_000_000);

/// A run with a task in most of the states.
fn run() -> Scheduler {
    let backlog: &[(&str, &str, &[&str])] = &[
        ("1", "Build the parser of the configuration", &[]),
        ("2", "Build the printer", &[]),
        ("3", "Build what needs the parser", &["1"]),
        ("4", "Build what needs the printer", &["2"]),
        ("5", "Build the rest\u{1b}[31m", &[]),
        ("6", "Skip this one", &[]),
        ("7", "Build the end", &["3", "5"]),
    ];
    let tasks: Vec<Task> = backlog
        .iter()
        .map(|(id, title, dependencies)| {
            let mut task = Task::new(*id, *title);
            task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
            task
        })
        .collect();
    let plan = WavePlan::new(
        &tasks,
        &PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        },
    )
    .expect("a plan");
    let mut limits = Limits::with_slots(NonZeroU32::new(3).expect("slots"));
    limits.retries = 1;
    let mut run = Scheduler::new(plan, limits);
    let skip = Request::Skip {
        task: "6".into(),
        dependants: tm_scheduler::Dependants::Blocked,
    };
    for input in [Input::Begin, Input::Request(skip)] {
        run.handle(BEGAN, input).expect("a legal input");
    }
    for task in ["1", "2", "5"] {
        answer(&mut run, task, prepared());
    }
    for _ in 0..2 {
        answer(&mut run, "2", exited(0));
        let proof = Proof {
            failure: Some(Failure::Regression),
            evidence: "1 test that passed before fails:\n  the old one".to_owned(),
            passed: 2,
            failed: 1,
            ..Proof::default()
        };
        answer(&mut run, "2", Answer::Proved(proof));
        if run.task(&"2".into()).expect("a task").attempts.len() == 2 {
            answer_if_preparing(&mut run, "2");
        }
    }
    answer(&mut run, "1", exited(0));
    let proof = Proof {
        passed: 3,
        ..Proof::default()
    };
    let committed = Answer::Committed {
        commit: "0123456789abcdef".into(),
        proof: None,
    };
    let landed = Answer::Landed {
        commit: "fedcba9876543210".into(),
        resolution: None,
    };
    for next in [Answer::Proved(proof), committed, landed] {
        answer(&mut run, "1", next);
    }
    answer(&mut run, "3", prepared());
    run
}

/// A run of two slots whose proven work waits to land.
fn behind() -> Scheduler {
    let tasks = ["1", "2", "3", "4", "5", "6", "7"].map(|id| Task::new(id, "Build a part"));
    let options = PlanOptions {
        tdd: TddMode::Off,
        ..PlanOptions::default()
    };
    let plan = WavePlan::new(&tasks, &options).expect("a plan");
    let slots = NonZeroU32::new(2).expect("slots");
    let mut run = Scheduler::new(plan, Limits::with_slots(slots));
    run.handle(BEGAN, Input::Begin).expect("a legal input");
    for task in ["1", "2", "3", "4"] {
        let committed = Answer::Committed {
            commit: "0123456789abcdef".into(),
            proof: None,
        };
        for next in [
            prepared(),
            exited(0),
            Answer::Proved(Proof::default()),
            committed,
        ] {
            answer(&mut run, task, next);
        }
    }
    run
}

fn answer_if_preparing(run: &mut Scheduler, task: &str) {
    if *run.task(&task.into()).expect("a task").state == tm_scheduler::State::Preparing {
        answer(run, task, prepared());
    }
}

fn answer(run: &mut Scheduler, task: &str, answer: Answer) {
    let task = TaskId::from(task);
    let attempts = u32::try_from(run.task(&task).expect("a task").attempts.len()).expect("few");
    let input = Input::Answer {
        task,
        attempt: AttemptNumber(attempts),
        answer,
    };
    run.handle(BEGAN, input).expect("a legal input");
}

fn prepared() -> Answer {
    Answer::Prepared(Place {
        branch: tm_scheduler::BranchName::new("tm/master/task-1").expect("a name"),
        base: "00aa00bb00cc".into(),
        worktree: "/w/1".into(),
    })
}

fn exited(code: i32) -> Answer {
    Answer::AgentEnded(AgentReport::new(
        "scripted",
        BEGAN,
        BEGAN.plus(5_000),
        Ended::Exited(Some(code)),
    ))
}

fn model(link: Link) -> Model {
    let mut model = Model {
        now: BEGAN.plus(75_000),
        ..Model::default()
    };
    model.update(
        Board::of(
            "20261121-014512-3fa9",
            (BEGAN, BEGAN.plus(60_000)),
            (&run(), &AgentPlaces::default()),
            link,
        ),
        link,
    );
    model
}

fn press(model: &mut Model, keys: &[Key]) -> Option<Action> {
    keys.iter()
        .fold(None, |_, &key| model.press(KeyEvent::from(key)))
}

fn chars(model: &mut Model, text: &str) -> Option<Action> {
    text.chars()
        .fold(None, |_, letter| press(model, &[Key::Char(letter)]))
}

/// The screen as text, spaces at the ends of lines and empty lines at the end left out.
fn screen(width: u16, height: u16, model: &Model) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, model, Palette::Plain))
        .expect("drawn");
    let buffer = terminal.backend().buffer();
    let lines = (0..height).map(|y| {
        (0..width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    });
    lines
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn tasks_stand_by_how_they_are_at_80_columns() {
    insta::assert_snapshot!(screen(80, 16, &model(Link::Live)), @"
     tm  running  4/7 settled  2 failed or blocked  01:15  20261121-014512-3fa9
    at work  2
    > 3  running     01:15  Build what needs the parser
      5  running     01:15  Build the rest [31m
    failed or blocked  2
      2  failed      regression  Build the printer
      4  blocked     by 2  Build what needs the printer
    waiting  1
      7  waiting     Build the end
    done or skipped  2
      1  landed      Build the parser of the configuration
      6  skipped     Skip this one



     enter open  p pause  s stop  r retry  k skip  o shell  / filter  ? help  q quit
    ");
}

#[test]
fn tasks_and_the_chosen_one_stand_side_by_side_at_200_columns() {
    let mut model = model(Link::Live);
    chars(&mut model, "3");
    model.show(evidence(&run().task(&"2".into()).expect("a task")));
    model.selected = Some("2".into());
    insta::assert_snapshot!(screen(200, 22, &model), @"
     tm  running  4/7 settled  2 at work  2 failed or blocked  01:15  20261121-014512-3fa9
    at work  2                                                                       | 2 failed Build the printer
      3  running     01:15  Build what needs the parser                              |  1 log   2 diff  [3 evidence]
      5  running     01:15  Build the rest [31m                                      | 2 is failed
    failed or blocked  2                                                             |
    > 2  failed      regression  Build the printer                                   | attempt 2: regression, 00:00
      4  blocked     by 2  Build what needs the printer                              |   branch tm/master/task-1, from 00aa00bb00
    waiting  1                                                                       |   scripted: exited with 0, claims nothing
      7  waiting     Build the end                                                   |   tests: 2 passed, 1 failed; the proof does not hold
    done or skipped  2                                                               |   1 test that passed before fails:
      1  landed      Build the parser of the configuration                           |     the old one
      6  skipped     Skip this one                                                   |
                                                                                     | attempt 1: regression, 00:00
                                                                                     |   branch tm/master/task-1, from 00aa00bb00
                                                                                     |   scripted: exited with 0, claims nothing
                                                                                     |   tests: 2 passed, 1 failed; the proof does not hold
                                                                                     |   1 test that passed before fails:
                                                                                     |     the old one
                                                                                     |
                                                                                     |
                                                                                     |
     esc back  tab log/diff/evidence  arrows scroll  s stop  r retry  ? help  q quit
    ");
}

#[test]
fn a_log_is_shown_from_its_end_and_folded_at_80_columns() {
    let mut model = model(Link::Live);
    press(&mut model, &[Key::Enter]);
    let mut log: Vec<String> = (1..=30).map(|line| format!("line {line}")).collect();
    log.push("a long line ".repeat(10));
    model.show(log.clone());
    insta::assert_snapshot!(screen(80, 10, &model), @"
     tm  running  4/7 settled  2 failed or blocked  01:15  20261121-014512-3fa9
    3 running Build what needs the parser
    [1 log]  2 diff   3 evidence
    line 27
    line 28
    line 29
    line 30
    a long line a long line a long line a long line a long line a long line a long l
    ine a long line a long line a long line
     esc back  tab log/diff/evidence  arrows scroll  s stop  r retry  ? help  q quit
    ");
    press(&mut model, &[Key::PageUp]);
    assert!(
        screen(80, 10, &model).contains("line 21") && !screen(80, 10, &model).contains("line 22")
    );
    // What is new does not move what is being read.
    log.push("new".to_owned());
    model.show(log);
    assert!(
        screen(80, 10, &model).contains("line 21") && !screen(80, 10, &model).contains("line 22")
    );
    press(&mut model, &[Key::End]);
    assert!(screen(80, 10, &model).contains("new"));
}

#[test]
fn every_size_can_be_drawn() {
    for link in [Link::Live, Link::Over] {
        let mut model = model(link);
        for keys in [
            &[][..],
            &[Key::Enter],
            &[Key::Char('2')],
            &[Key::Char('?')],
            &[Key::Char('/')],
        ] {
            press(&mut model, keys);
            model.show(vec!["+ weiß 漢字漢字漢字 and more".to_owned(); 40]);
            for (width, height) in [
                (1, 1),
                (2, 3),
                (10, 4),
                (39, 8),
                (109, 24),
                (110, 24),
                (300, 100),
            ] {
                screen(width, height, &model);
            }
        }
    }
}

#[test]
fn colours_are_left_out_when_they_are_not_wanted() {
    let model = model(Link::Live);
    for (palette, is_coloured) in [(Palette::Colour, true), (Palette::Plain, false)] {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        terminal
            .draw(|frame| draw(frame, &model, palette))
            .expect("drawn");
        let cells = &terminal.backend().buffer().content;
        assert_eq!(
            cells
                .iter()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset),
            is_coloured
        );
        assert!(
            cells
                .iter()
                .any(|cell| cell.modifier.contains(Modifier::BOLD))
        );
    }
}

#[test]
fn what_a_title_holds_never_reaches_the_terminal_as_an_order() {
    let model = model(Link::Live);
    assert!(screen(200, 24, &model).contains("Build the rest [31m"));
}

#[test]
fn arrows_choose_and_the_choice_survives_what_happens() {
    let mut model = model(Link::Live);
    assert_eq!(
        model.selected,
        Some("3".into()),
        "what is at work comes first"
    );
    press(&mut model, &[Key::Home]);
    let first = model.selected.clone();
    press(&mut model, &[Key::Down, Key::Up]);
    assert_eq!(model.selected, first);
    press(&mut model, &[Key::End]);
    assert_eq!(model.selected, Some("6".into()));
    let board = model.board.clone();
    model.update(board, Link::Live);
    assert_eq!(model.selected, Some("6".into()));
}

#[test]
fn a_filter_shows_what_contains_it_until_it_is_cleared() {
    let mut model = model(Link::Live);
    chars(&mut model, "/printer");
    assert_eq!(
        model.shown().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["2", "4"]
    );
    assert_eq!(model.selected, Some("2".into()));
    press(&mut model, &[Key::Enter]);
    assert_eq!(model.mode, Mode::Looking);
    chars(&mut model, "/q");
    assert!(screen(80, 10, &model).contains("no task matches `printerq`"));
    press(&mut model, &[Key::Esc]);
    assert_eq!(model.shown().count(), 7);
    chars(&mut model, "/blocked");
    assert_eq!(
        model.shown().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["2", "4"]
    );
}

#[test]
fn keys_ask_the_run_and_what_ends_work_asks_first() {
    let mut model = model(Link::Live);
    assert_eq!(chars(&mut model, "p"), Some(Action::Ask(Ask::Pause)));
    model.board.status = "paused".to_owned();
    assert_eq!(chars(&mut model, "p"), Some(Action::Ask(Ask::Resume)));
    model.selected = Some("3".into());
    let task = TaskId::from("3");
    assert_eq!(chars(&mut model, "s"), None);
    assert!(screen(80, 10, &model).contains("stop 3?"));
    assert_eq!(chars(&mut model, "n"), None);
    assert_eq!(model.notice.as_deref(), Some("nothing was done"));
    assert_eq!(
        chars(&mut model, "sy"),
        Some(Action::Ask(Ask::StopTask {
            task: task.clone(),
            now: false
        }))
    );
    assert_eq!(
        chars(&mut model, "s!"),
        Some(Action::Ask(Ask::StopTask {
            task: task.clone(),
            now: true
        }))
    );
    assert_eq!(
        chars(&mut model, "ry"),
        Some(Action::Ask(Ask::Retry { task: task.clone() }))
    );
    assert_eq!(
        chars(&mut model, "ks"),
        Some(Action::Ask(Ask::Skip {
            task: task.clone(),
            satisfied: true
        }))
    );
    assert_eq!(chars(&mut model, "o"), Some(Action::Shell(task)));
    model.selected = Some("2".into());
    assert_eq!(
        chars(&mut model, "r"),
        Some(Action::Ask(Ask::Retry { task: "2".into() }))
    );
    assert_eq!(chars(&mut model, "o"), None);
    assert!(
        model
            .notice
            .as_deref()
            .is_some_and(|notice| notice.contains("no worktree"))
    );
    assert_eq!(chars(&mut model, "q"), Some(Action::Quit));
    chars(&mut model, "s");
    let interrupt = KeyEvent::new(Key::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(model.press(interrupt), Some(Action::Quit));
}

#[test]
fn a_run_that_is_over_can_only_be_looked_at() {
    let mut model = model(Link::Over);
    for letter in ["p", "s", "r", "k", "o"] {
        assert_eq!(chars(&mut model, letter), None);
        assert_eq!(model.mode, Mode::Looking);
        assert!(
            model
                .notice
                .as_deref()
                .is_some_and(|notice| notice.contains("not live"))
        );
    }
    assert!(screen(80, 10, &model).contains("interrupted"));
}

#[test]
fn tabs_open_the_task_and_escape_leads_back() {
    let mut model = model(Link::Live);
    chars(&mut model, "2");
    assert_eq!((model.tab, model.pane), (Tab::Diff, Pane::Detail));
    press(&mut model, &[Key::Tab, Key::Esc]);
    assert_eq!((model.tab, model.pane), (Tab::Evidence, Pane::Board));
}

/// A pair of which RED is at work, and one that waits for it.
fn pairs() -> Scheduler {
    let mut after = Task::new("2", "Build what needs it");
    after.dependencies = ["1".into()].into();
    let tasks = [Task::new("1", "Build the parser"), after];
    let plan = WavePlan::new(&tasks, &PlanOptions::default()).expect("a plan");
    let mut run = Scheduler::new(plan, Limits::with_slots(NonZeroU32::MIN));
    run.handle(BEGAN, Input::Begin).expect("a legal input");
    answer(&mut run, "1:red", prepared());
    run
}

fn model_of(run: &Scheduler) -> Model {
    let mut model = Model {
        now: BEGAN.plus(75_000),
        ..Model::default()
    };
    let board = Board::of(
        "20261121-014512-3fa9",
        (BEGAN, BEGAN),
        (run, &AgentPlaces::default()),
        Link::Live,
    );
    model.update(board, Link::Live);
    model
}

#[test]
fn a_pair_is_one_row_with_two_cells_and_keys_are_about_the_half_under_way() {
    let mut model = model_of(&pairs());
    insta::assert_snapshot!(screen(80, 9, &model), @"
     tm  running  0/2 settled  1 at work  01:15  20261121-014512-3fa9
         RED         GREEN
    at work  1
    > 1  running     waiting     01:15  Build the parser
    waiting  1
      2  waiting     waiting     Build what needs it


     enter open  p pause  s stop  r retry  k skip  o shell  / filter  ? help  q quit
    ");
    assert_eq!(chars(&mut model, "o"), Some(Action::Shell("1:red".into())));
    assert_eq!(
        chars(&mut model, "ry"),
        Some(Action::Ask(Ask::Retry {
            task: "1:red".into()
        }))
    );
    // The scheduler takes the RED with it.
    assert_eq!(
        chars(&mut model, "ky"),
        Some(Action::Ask(Ask::Skip {
            task: "1".into(),
            satisfied: false
        }))
    );
    press(&mut model, &[Key::Enter]);
    assert!(screen(80, 9, &model).contains("1 RED running GREEN waiting Build the parser"));
}

#[test]
fn work_that_waits_to_land_and_holds_starts_back_is_told() {
    let model = model_of(&behind());
    insta::assert_snapshot!(screen(80, 9, &model), @"
     tm  running, starts wait: 4 to land  0/7 settled  01:15  20261121-014512-3fa9
    at work  2
    > 5  preparing   01:15  Build a part
      6  preparing   01:15  Build a part
    landing  4
      1  landing     Build a part
      2  landing     queued  Build a part
      3  landing     queued  Build a part
     enter open  p pause  s stop  r retry  k skip  o shell  / filter  ? help  q quit
    ");
}

#[test]
fn a_pair_whose_tests_failed_is_one_lost_task_and_blocks_by_its_own_name() {
    let mut run = pairs();
    let stop = Request::StopTask {
        task: "1:red".into(),
        order: tm_scheduler::StopMode::Now,
    };
    run.handle(BEGAN, Input::Request(stop)).expect("legal");
    answer(&mut run, "1:red", exited(0));
    let mut model = model_of(&run);
    insta::assert_snapshot!(screen(80, 9, &model), @"
     tm  failed  2/2 settled  2 failed or blocked  00:00  20261121-014512-3fa9
         RED         GREEN
    failed or blocked  2
    > 1  failed      blocked     stopped  Build the parser
      2  blocked     blocked     by 1  Build what needs it



     enter open  p pause  s stop  r retry  k skip  o shell  / filter  ? help  q quit
    ");
    model.selected = Some("1".into());
    assert_eq!(
        chars(&mut model, "r"),
        Some(Action::Ask(Ask::Retry { task: "1".into() })),
        "which tries its RED"
    );
}
