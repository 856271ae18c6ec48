//! Turns a board into the lines of a screen. Pure: the same board, moment and look give the same lines, none of them
//! wider or more than the screen has room for.

use super::text::{Charset, bar, clock, column, cut, roughly, safe, short_count, toned};
use super::{Board, Names, Row, Totals, Waiting, WaveRow};
use console::measure_text_width;
use std::fmt::Write as _;
use tm_reports::{Colours, Tone};
use tm_scheduler::{Failure, Phase, Remaining, StopReason, Timestamp};

/// So many waves that are under way have a line of their own.
const MOST_WAVES: usize = 4;
/// Below this height only the sum is shown.
const LEAST_HEIGHT: usize = 4;

/// How the screen is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Look {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) charset: Charset,
    pub(crate) colours: Colours,
}

/// Returns the lines of the screen.
pub(crate) fn lines(board: &Board, now: Timestamp, look: &Look) -> Vec<String> {
    // The last column stays empty: some terminals begin a new line when it is written.
    let look = Look {
        width: look.width.saturating_sub(1).max(1),
        ..*look
    };
    let sum = total(&board.totals, now.since(board.began), &look);
    if look.height < LEAST_HEIGHT {
        return vec![sum];
    }
    let room = look.height - 1;
    let mut below = waiting(&board.waiting, now, &look);
    below.extend(waves(&board.waves, &look));
    below.truncate(room / 2);
    below.push(sum);
    let mut lines = rows(board, room - below.len(), now, &look);
    lines.extend(below);
    lines
}

fn rows(board: &Board, room: usize, now: Timestamp, look: &Look) -> Vec<String> {
    let columns = Columns::of(&board.rows, look);
    let running = board.totals.running;
    let shown = if running > room {
        room.saturating_sub(1)
    } else {
        board.rows.len()
    };
    let more = (running > shown && room > 0).then(|| {
        let more = format!("  and {} more under way", running - shown);
        toned(&cut(&more, look.width, look), Tone::Quiet, look)
    });
    board
        .rows
        .iter()
        .take(shown)
        .map(|row| columns.line(row, now, look))
        .chain(more)
        .collect()
}

/// How wide the columns of the rows are.
struct Columns {
    task: usize,
    phase: usize,
    attempt: usize,
    clock: usize,
    tokens: usize,
}

impl Columns {
    fn of(rows: &[Row], look: &Look) -> Self {
        let widest = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
        Self {
            task: widest(|row| measure_text_width(&row.task)).clamp(2, (look.width / 6).max(2)),
            phase: widest(|row| phase(row.phase).len()),
            attempt: widest(|row| attempt(row).len()),
            clock: 7,
            tokens: if rows.iter().any(|row| row.tokens.is_some()) {
                6
            } else {
                0
            },
        }
    }

    fn line(&self, row: &Row, now: Timestamp, look: &Look) -> String {
        let mut line = format!("  {} ", column(&row.task, self.task, look));
        if self.phase > 0 {
            line.push_str(&column(phase(row.phase), self.phase + 1, look));
        }
        let _ = write!(
            line,
            "{:>width$} {:>clock$} ",
            attempt(row),
            clock(now.since(row.since)),
            width = self.attempt,
            clock = self.clock
        );
        let step = column(row.step, 9, look);
        let tokens = row.tokens.map(short_count).unwrap_or_default();
        let tokens = if self.tokens > 0 {
            format!("{tokens:>width$} ", width = self.tokens)
        } else {
            String::new()
        };
        let used = measure_text_width(&line) + measure_text_width(&step) + tokens.len();
        if used >= look.width {
            return cut(&format!("{line}{step}{tokens}"), look.width, look);
        }
        let text = cut(&safe(&row.text, look), look.width - used, look);
        format!(
            "{line}{}{tokens}{}",
            toned(&step, Tone::Busy, look),
            toned(&text, Tone::Quiet, look)
        )
    }
}

/// Returns the half of a pair as a word.
pub(crate) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Red => "RED",
        Phase::Green => "GREEN",
        Phase::None => "",
    }
}

fn attempt(row: &Row) -> String {
    format!("{}/{}", row.attempt, row.attempts)
}

/// A line for each thing that is waited for.
fn waiting(waiting: &Waiting, now: Timestamp, look: &Look) -> Vec<String> {
    let cooldowns = waiting.cooldowns.iter().map(|(&(until, why), tasks)| {
        let why = why.map_or("a pause", Failure::as_str);
        let why = format!("{} more ({why}): ", clock(until.since(now)));
        names_line("wall", &why, tasks, look)
    });
    let rest = [
        ("landing", &waiting.landing),
        ("slot", &waiting.slot),
        ("wave", &waiting.wave),
        ("needs", &waiting.dependencies),
    ]
    .into_iter()
    .filter(|(_, names)| names.count > 0)
    .map(|(what, names)| names_line(what, "", names, look));
    cooldowns.chain(rest).collect()
}

/// Columns in front of everything that has a label.
const LABEL: usize = 10;

fn labelled(label: &str, text: &str, look: &Look) -> String {
    let label = column(&format!("  {label}"), LABEL, look);
    let label = toned(&label, Tone::Quiet, look);
    cut(&(label + text), look.width, look)
}

fn names_line(label: &str, why: &str, names: &Names, look: &Look) -> String {
    let room = look.width.saturating_sub(LABEL + why.len());
    labelled(label, &format!("{why}{}", listed(names, room, look)), look)
}

/// Names as far as there is room, and how many more there are.
fn listed(names: &Names, room: usize, look: &Look) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for name in &names.first {
        let name = safe(name, look);
        let separator = if shown == 0 { "" } else { ", " };
        let left = names.count - shown - 1;
        let more = if left == 0 {
            String::new()
        } else {
            format!(" and {left} more")
        };
        if shown > 0
            && measure_text_width(&text) + separator.len() + measure_text_width(&name) + more.len()
                > room
        {
            break;
        }
        text.push_str(separator);
        text.push_str(&name);
        shown += 1;
    }
    if names.count > shown {
        let _ = write!(text, " and {} more", names.count - shown);
    }
    text
}

/// A bar for each wave that is under way, and a line for how many there are besides.
fn waves(waves: &[WaveRow], look: &Look) -> Vec<String> {
    if waves.len() < 2 {
        return Vec::new();
    }
    let mut under_way = waves
        .iter()
        .filter(|wave| wave.is_open && wave.settled < wave.tasks);
    let mut lines: Vec<String> = under_way
        .by_ref()
        .take(MOST_WAVES)
        .map(|wave| wave_line(wave, look))
        .collect();
    let left = under_way.count();
    if left > 0 {
        let more = format!("and {left} more waves under way");
        lines.push(labelled("", &more, look));
    }
    lines
}

fn wave_line(wave: &WaveRow, look: &Look) -> String {
    let mut text = progress(wave.settled, wave.tasks, look);
    if wave.lost > 0 {
        let lost = format!(", {} failed or blocked", wave.lost);
        text += &toned(&lost, Tone::Bad, look);
    }
    labelled(&format!("wave {}", wave.number), &text, look)
}

/// A bar, and how many are settled.
fn progress(settled: usize, tasks: usize, look: &Look) -> String {
    let width = (look.width / 4).min(40);
    let bar = bar(settled, tasks, width, look);
    format!("{bar} {settled}/{tasks}")
}

/// The sum: what matters most first, as much as there is room for.
fn total(totals: &Totals, elapsed: u64, look: &Look) -> String {
    let label = column("  total", LABEL - 1, look);
    let progress = progress(totals.settled, totals.tasks, look);
    let mut line = format!("{label} {progress}");
    let separator = look.charset.sign(" · ", " | ");
    for (part, tone) in parts(totals, elapsed, look) {
        let widths = [&line, separator, &part].map(measure_text_width);
        if widths.iter().sum::<usize>() <= look.width {
            line += separator;
            line += &tone.map_or_else(|| part.clone(), |tone| toned(&part, tone, look));
        }
    }
    cut(&line, look.width, look)
}

fn parts(totals: &Totals, elapsed: u64, look: &Look) -> Vec<(String, Option<Tone>)> {
    let plain = |words: String| (words, None);
    let bad = |words: String| (words, Some(Tone::Bad));
    let counted = |count, what| (count > 0).then(|| bad(format!("{count} {what}")));
    let parts = [
        Some(plain(clock(elapsed))),
        totals.stopping.map(|why| bad(stopping(why).to_owned())),
        totals.is_paused.then(|| bad("paused".to_owned())),
        (totals.landing_behind).map(|queued| (landing_behind(queued), Some(Tone::Busy))),
        (totals.remaining.filter(|_| totals.settled < totals.tasks))
            .map(|left| plain(range(left, look))),
        counted(totals.failed, "failed"),
        counted(totals.blocked, "blocked"),
        Some(plain(format!("{} running", totals.running))),
        (totals.tokens > 0).then(|| plain(format!("{} tokens", short_count(totals.tokens)))),
        (totals.cost_usd > 0.0).then(|| plain(format!("${:.2}", totals.cost_usd))),
        (totals.tested > 0).then(|| plain(format!("{} in tests", totals.tested))),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns why nothing is started although slots are free.
pub(crate) fn landing_behind(queued: u32) -> String {
    format!("starts wait: {queued} to land")
}

fn range(left: Remaining, look: &Look) -> String {
    let (least, most) = (roughly(left.least_ms), roughly(left.most_ms));
    if least == most {
        return format!("{least} left");
    }
    let dash = look.charset.sign("–", "-");
    format!("{least}{dash}{most} left")
}

const fn stopping(why: StopReason) -> &'static str {
    match why {
        StopReason::Interrupted => "stopping",
        StopReason::Deadline => "stopping at the deadline",
        StopReason::Budget => "stopping, the budget is spent",
        StopReason::Surroundings => "stopping, something has to be put right first",
        StopReason::Breaker => "stopping, everything ends the same way",
    }
}
