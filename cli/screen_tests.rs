//! Screens of all sizes, with and without colour and Unicode.

use crate::screen::layout::{Look, lines};
use crate::screen::text::{Charset, clock, roughly, short_count};
use crate::screen::{Board, Said, Totals};
use console::measure_text_width;
use proptest::prelude::*;
use std::num::NonZeroU32;
use tm_reports::Colours;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, Ended, Input, Limits, Place, PlanOptions, Scheduler,
    ServiceRefusal, Task, TaskId, Timestamp, Tokens, WavePlan,
};

fn look(width: usize, height: usize) -> Look {
    Look {
        width,
        height,
        charset: Charset::Unicode,
        colours: Colours::Off,
    }
}

fn report(refusal: Option<ServiceRefusal>, ended: Ended) -> Answer {
    Answer::AgentEnded(AgentReport {
        refusal,
        tokens: Some(Tokens {
            input: 90_000,
            output: 10_000,
        }),
        cost_usd: Some(1.25),
        ..AgentReport::new("scripted", Timestamp(0), Timestamp(0), ended)
    })
}

/// A run of so many tasks, each second one depending on the one before, three minutes on.
fn board(tasks: usize, slots: u32, line: &str) -> Board {
    let backlog: Vec<Task> = (1..=tasks)
        .map(|number| {
            let mut task = Task::new(
                number.to_string(),
                format!("Add the part with the number {number}"),
            );
            if number % 2 == 0 {
                task.dependencies = vec![(number - 1).to_string().into()];
            }
            task
        })
        .collect();
    let plan = WavePlan::new(&backlog, &PlanOptions::default()).expect("a plan");
    let mut run = Scheduler::new(
        plan,
        Limits::with_slots(NonZeroU32::new(slots).expect("slots")),
    );
    run.handle(Timestamp(0), Input::Begin).expect("legal");
    let working: Vec<TaskId> = run
        .tasks()
        .filter(|view| view.state.has_worktree())
        .map(|view| view.placed.task.id.clone())
        .collect();
    let mut answer = |task: &TaskId, answer| {
        let input = Input::Answer {
            task: task.clone(),
            attempt: AttemptNumber(1),
            answer,
        };
        run.handle(Timestamp(60_000), input).expect("legal");
    };
    // The wall comes last: nobody who shares the account would start behind it.
    for (position, task) in working
        .iter()
        .enumerate()
        .rev()
        .filter(|(position, _)| position % 4 != 3)
    {
        answer(
            task,
            Answer::Prepared(Place {
                branch: tm_scheduler::BranchName::new("b").expect("a name"),
                base: "c".into(),
                worktree: "w".into(),
            }),
        );
        match position {
            0 => {
                let cooldown = ServiceRefusal::RateLimited {
                    until: Some(Timestamp(900_000)),
                };
                answer(task, report(Some(cooldown), Ended::Exited(Some(1))));
            }
            1 => answer(task, report(None, Ended::Exited(Some(0)))),
            _ => {}
        }
    }
    let said = working.iter().skip(2).map(|task| {
        let tokens = Some(Tokens {
            input: 1_200,
            output: 34,
        });
        (
            task.clone(),
            Said {
                line: line.to_owned(),
                tokens,
            },
        )
    });
    Board::of(
        &run,
        &said.collect(),
        tm_scheduler::remaining(&run, Timestamp(180_000)),
        Timestamp(0),
    )
}

fn screen(board: &Board, look: &Look) -> String {
    lines(board, Timestamp(180_000), look).join("\n")
}

#[test]
fn a_run_on_a_screen_of_80_columns() {
    insta::assert_snapshot!(screen(&board(12, 4, "I am reading src/parser.rs, to see what it does with dates"), &look(80, 24)), @"
    3  RED 1/4   03:00 tests           Add the part with the number 3
    5  RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what i…
    7  RED 1/4   03:00 prepare    1.2k I am reading src/parser.rs, to see what i…
    9  RED 1/4   02:00 prepare         Add the part with the number 9
    wall    12:00 more (rate-limited): 1, 11
    needs   2 on 1, 4 on 3, 6 on 5, 8 on 7, 10 on 9, 12 on 11
    wave 1  ░░░░░░░░░░░░░░░░░░░ 0/6
    total   ░░░░░░░░░░░░░░░░░░░ 0/12 · 03:00 · 3 running · 202k tokens · $2.50
    ");
}

#[test]
fn a_run_on_a_screen_of_200_columns() {
    insta::assert_snapshot!(screen(&board(60, 12, "I am reading src/parser.rs, to see what it does with dates"), &look(200, 50)), @"
    3  RED 1/4   03:00 tests           Add the part with the number 3
    5  RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    7  RED 1/4   03:00 prepare    1.2k I am reading src/parser.rs, to see what it does with dates
    9  RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    11 RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    13 RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    15 RED 1/4   03:00 prepare    1.2k I am reading src/parser.rs, to see what it does with dates
    17 RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    19 RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    21 RED 1/4   03:00 agent      1.2k I am reading src/parser.rs, to see what it does with dates
    23 RED 1/4   03:00 prepare    1.2k I am reading src/parser.rs, to see what it does with dates
    25 RED 1/4   02:00 prepare         Add the part with the number 25
    wall    12:00 more (rate-limited): 1, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59
    needs   2 on 1, 4 on 3, 6 on 5, 8 on 7, 10 on 9, 12 on 11, 14 on 13, 16 on 15, 18 on 17, 20 on 19, 22 on 21, 24 on 23, 26 on 25, 28 on 27, 30 on 29, 32 on 31, 34 on 33, 36 on 35 and 12 more
    wave 1  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0/30
    total   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0/60 · 03:00 · 11 running · 212k tokens · $2.50 · 1 in tests
    ");
}

#[test]
fn a_run_without_unicode_and_with_more_agents_than_rows() {
    let look = Look {
        charset: Charset::Ascii,
        ..look(80, 12)
    };
    let shown = screen(&board(200, 40, "schön – \u{1b}[31m日本"), &look);
    assert!(shown.is_ascii(), "{shown}");
    insta::assert_snapshot!(shown, @"
    3  RED 1/4   03:00 tests           Add the part with the number 3
    5  RED 1/4   03:00 agent      1.2k sch?n ?  [31m??
    7  RED 1/4   03:00 prepare    1.2k sch?n ?  [31m??
    9  RED 1/4   03:00 agent      1.2k sch?n ?  [31m??
    11 RED 1/4   03:00 agent      1.2k sch?n ?  [31m??
    13 RED 1/4   03:00 agent      1.2k sch?n ?  [31m??
    and 33 more under way
    wall    12:00 more (rate-limited): 1, 83, 85, 87, 89, 91, 93, 95 and 52 more
    needs   2 on 1, 4 on 3, 6 on 5, 8 on 7, 10 on 9, 12 on 11 and 94 more
    wave 1  ------------------- 0/100
    total   ------------------- 0/200 | 03:00 | 39 running | 246k tokens | $2.50
    ");
}

#[test]
fn colours_add_nothing_but_colours() {
    let board = board(60, 12, "reading");
    let coloured = screen(
        &board,
        &Look {
            colours: Colours::On,
            ..look(80, 24)
        },
    );
    assert_ne!(coloured, screen(&board, &look(80, 24)));
    assert_eq!(
        console::strip_ansi_codes(&coloured),
        screen(&board, &look(80, 24))
    );
}

#[test]
fn estimate_and_sums_stand_beside_the_bar_as_far_as_there_is_room() {
    let mut board = board(12, 4, "reading");
    board.totals = Totals {
        settled: 31,
        tasks: 60,
        failed: 2,
        blocked: 1,
        remaining: Some(tm_scheduler::Remaining {
            least_ms: 1_200_000,
            most_ms: 2_100_000,
        }),
        ..board.totals
    };
    let sum = |width| lines(&board, Timestamp(180_000), &look(width, 3)).remove(0);
    insta::assert_snapshot!(format!("{}\n{}\n{}", sum(40), sum(80), sum(160)), @"
    total   ████░░░░░ 31/60 · 03:00
    total   █████████░░░░░░░░░░ 31/60 · 03:00 · 20m–35m left · 2 failed · $2.50
    total   ████████████████████░░░░░░░░░░░░░░░░░░░ 31/60 · 03:00 · 20m–35m left · 2 failed · 1 blocked · 3 running · 202k tokens · $2.50 · 1 in tests
    ");
    board.totals.landing_behind = Some(8);
    let sum = lines(&board, Timestamp(180_000), &look(80, 3)).remove(0);
    insta::assert_snapshot!(sum, @"  total   █████████░░░░░░░░░░ 31/60 · 03:00 · starts wait: 8 to land · 2 failed");
}

#[test]
fn clocks_show_hours_only_when_there_are_some() {
    assert_eq!(
        (clock(61_000), clock(3_725_000)),
        ("01:01".to_owned(), "1:02:05".to_owned())
    );
}

#[test]
fn counts_and_times_are_short() {
    assert_eq!(
        [950, 1_234, 56_789, 3_456_789].map(short_count),
        ["950", "1.2k", "56k", "3.4M"]
    );
    assert_eq!(
        [0, 61_000, 1_300_000, 3_600_000, 11_000_000].map(roughly),
        ["1m", "2m", "25m", "1h00", "3h10"]
    );
}

proptest! {
    #[test]
    fn no_screen_is_wider_or_higher_than_there_is_room(
        tasks in 1_usize..220, slots in 1_u32..60, width in 1_usize..250, height in 1_usize..60, line in ".{0,60}"
    ) {
        for charset in [Charset::Unicode, Charset::Ascii] {
            let look = Look { charset, colours: Colours::On, ..look(width, height) };
            let lines = lines(&board(tasks, slots, &line), Timestamp(180_000), &look);
            prop_assert!(lines.len() <= height.max(1), "{} lines of {height}", lines.len());
            for line in &lines {
                prop_assert!(measure_text_width(line) <= width, "{line:?} is wider than {width}");
                prop_assert!(!console::strip_ansi_codes(line).chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
