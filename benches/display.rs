//! What the live screen costs: 500 agents at work at the same time, each of which prints four lines a second, drawn on a
//! terminal of 200 columns that takes everything.
//!
//! Measures the processor time of this process, which does nothing else, and of one that tells the same and draws
//! nothing; the difference is the display's own.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

#[path = "../cli/screen/mod.rs"]
mod screen;

use indicatif::{ProgressDrawTarget, TermLike};
use rustix::time::{ClockId, clock_gettime};
use screen::{Charset, Live, Look, Screen, clock};
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tm_benches::layered_backlog;
use tm_reports::Colours;
use tm_scheduler::{
    Input, Limits, PlanOptions, Scheduler, TaskId, TddMode, Timestamp, Tokens, WavePlan,
};

const AGENTS: u32 = 500;
const LINES_A_SECOND: u32 = 4;
const SECONDS: u32 = 10;
/// Lines come in so many portions a second.
const PORTIONS: u32 = 50;

fn main() {
    let mut scheduler = run();
    scheduler.handle(now(), Input::Begin).expect("a run begins");
    let working: Vec<TaskId> = scheduler
        .tasks()
        .filter(|view| view.state.has_worktree())
        .map(|view| view.placed.task.id.clone())
        .collect();
    let idle = measured(&scheduler, &working, None);
    println!(
        "{} agents, {LINES_A_SECOND} lines a second each, for {}",
        working.len(),
        clock(u64::from(SECONDS) * 1_000)
    );
    for (name, charset, colours) in [
        ("with everything", Charset::Unicode, Colours::On),
        ("plain", Charset::Ascii, Colours::Off),
    ] {
        let drawn = measured(
            &scheduler,
            &working,
            Some(Live::begin(now(), sink(charset, colours), now)),
        );
        let share = drawn.saturating_sub(idle).as_secs_f64() * 100.0 / f64::from(SECONDS);
        println!(
            "{name}: without display {idle:?}, with display {drawn:?}: {share:.2} % of one core"
        );
        assert!(share < 2.0, "the display takes more than 2 % of one core");
    }
}

/// A run of 500 tasks that need nothing of each other, all of them at work.
fn run() -> Scheduler {
    let mut tasks = layered_backlog(AGENTS as usize);
    for task in &mut tasks {
        task.dependencies.clear();
    }
    let plan = WavePlan::new(
        &tasks,
        &PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        },
    )
    .expect("a plan");
    Scheduler::new(
        plan,
        Limits::with_slots(NonZeroU32::new(AGENTS).expect("slots")),
    )
}

/// The processor time of telling everything for so many seconds.
fn measured(scheduler: &Scheduler, working: &[TaskId], mut live: Option<Live>) -> Duration {
    let begin = processor_time();
    let mut told = 0_usize;
    let lines = (AGENTS * LINES_A_SECOND / PORTIONS) as usize;
    for _ in 0..SECONDS * PORTIONS {
        for task in working
            .iter()
            .cycle()
            .skip(told % working.len())
            .take(lines)
        {
            told += 1;
            let line = format!("I am reading the file with the number {told}, to see what it does");
            if let Some(live) = &mut live {
                live.heard(
                    task,
                    &line,
                    Some(Tokens {
                        input: told as u64,
                        output: 10,
                    }),
                );
                live.show(now(), scheduler);
            }
        }
        if let Some(live) = &mut live
            && told.is_multiple_of(working.len())
        {
            live.print(format!("[00:00] {told} lines were said"));
        }
        std::thread::sleep(Duration::from_secs(1) / PORTIONS);
    }
    if let Some(live) = &mut live {
        live.forget(&working[0]);
        live.finish();
    }
    processor_time().saturating_sub(begin)
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).expect("a time"),
        u32::try_from(time.tv_nsec).expect("a time"),
    )
}

fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    Timestamp(u64::try_from(since.as_millis()).expect("before the end of time"))
}

fn sink(charset: Charset, colours: Colours) -> Screen {
    let target = ProgressDrawTarget::term_like(Box::new(Sink));
    let look = Look {
        width: 200,
        height: 60,
        charset,
        colours,
    };
    Screen::on(target, Box::new(|| (200, 60)), Box::new(|_| {}), look)
}

/// A terminal that takes everything and shows nothing.
#[derive(Debug)]
struct Sink;

impl TermLike for Sink {
    fn width(&self) -> u16 {
        200
    }

    fn height(&self) -> u16 {
        60
    }

    fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> std::io::Result<()> {
        std::hint::black_box(text);
        Ok(())
    }

    fn write_str(&self, text: &str) -> std::io::Result<()> {
        std::hint::black_box(text);
        Ok(())
    }

    fn clear_line(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }
}
