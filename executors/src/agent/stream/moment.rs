//! Reads the time of the clock at which a limit is said to end: `try again at Nov 22nd, 2026 9:06 AM`, `resets 3pm (UTC)`.
//!
//! Programs cut off the seconds, so a limit that is said to end at 9:06 ends within that minute, and is waited for to the
//! end of it: whoever asks at 9:06:00 is told 9:06 again.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _, Zoned};
use regex::{Captures, Regex};
use std::sync::LazyLock;
use tm_scheduler::Timestamp;

static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?ix) (?:again|resets?) \s (?:at\s|on\s)?
        (?: (?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \s (?<day>\d{1,2})(?:st|nd|rd|th)? ,? \s
            (?: (?<year>\d{4}) ,? \s )? (?:at\s)? )?
        (?<hour>\d{1,2}) (?: :(?<minute>\d{2}) )? \s? (?<half>am|pm)
        (?: \s \( (?<zone>[A-Za-z_/+-]+) \) )?";
    Regex::new(pattern).expect("a valid pattern")
});
/// What was over so short a while ago is not taken for tomorrow's.
const JUST_OVER_MINUTES: i32 = 10;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Returns the end of the first such minute after `now`, which is where it says neither day nor year; in `here` unless it
/// names a time zone itself. One that was over a moment ago is returned as it is: clocks differ, and no limit that ended at
/// 9:06 is meant to end tomorrow when this clock says 9:08.
pub(super) fn declared(words: &str, now: Timestamp, here: &TimeZone) -> Option<Timestamp> {
    let found = MOMENT.captures(words)?;
    let zone = match found.name("zone") {
        Some(name) => TimeZone::get(name.as_str()).ok()?,
        None => here.clone(),
    };
    let now = jiff::Timestamp::from_millisecond(i64::try_from(now.0).ok()?)
        .ok()?
        .to_zoned(zone);
    u64::try_from(first_after(&found, &now)?.timestamp().as_millisecond())
        .ok()
        .map(Timestamp)
}

fn first_after(found: &Captures<'_>, now: &Zoned) -> Option<Zoned> {
    let number = |name: &str| {
        found
            .name(name)
            .and_then(|digits| digits.as_str().parse::<i16>().ok())
    };
    let at = |date: Date| {
        let minute = date
            .to_datetime(time(found)?)
            .to_zoned(now.time_zone().clone())
            .ok()?;
        minute.checked_add(1.minute()).ok()
    };
    let is_ahead = |moment: &Zoned, tolerance: Span| {
        now.checked_sub(tolerance)
            .is_ok_and(|earliest| *moment > earliest)
    };
    let Some(month) = found.name("month").and_then(|name| month(name.as_str())) else {
        let today = at(now.date())?;
        return if is_ahead(&today, JUST_OVER_MINUTES.minutes()) {
            Some(today)
        } else {
            at(now.date().tomorrow().ok()?)
        };
    };
    let day = i8::try_from(number("day")?).ok()?;
    if let Some(year) = number("year") {
        return at(Date::new(year, month, day).ok()?);
    }
    let this_year = at(Date::new(now.year(), month, day).ok()?)?;
    // A limit that ended a moment ago is no limit of next year.
    if is_ahead(&this_year, 1.day()) {
        Some(this_year)
    } else {
        at(Date::new(now.year() + 1, month, day).ok()?)
    }
}

fn month(name: &str) -> Option<i8> {
    let position = MONTHS
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name))?;
    i8::try_from(position + 1).ok()
}

fn time(found: &Captures<'_>) -> Option<Time> {
    let number = |name: &str| {
        found
            .name(name)
            .map_or(Some(0), |digits| digits.as_str().parse::<i8>().ok())
    };
    let hour = number("hour").filter(|hour| (1..=12).contains(hour))? % 12;
    let afternoon = if found["half"].eq_ignore_ascii_case("pm") {
        12
    } else {
        0
    };
    Time::new(hour + afternoon, number("minute")?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 08:00 UTC.
    const NOW: Timestamp = Timestamp(1_795_248_000_000);
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;

    #[test]
    fn a_time_of_the_clock_is_the_end_of_its_next_minute() {
        for (words, hours) in [
            (
                "You’ve hit your usage limit. Visit a page or try again at Nov 22nd, 2026 9:00 AM.",
                25,
            ),
            ("You've hit your usage limit. Try again at 10:00 AM.", 2),
            ("You've hit your limit · resets 7am", 23),
            (
                "Claude usage limit reached. Your limit will reset at 8pm (UTC).",
                12,
            ),
            ("You've hit your limit · resets Nov 23, 12am (UTC)", 40),
            ("limit: resets Jan 1 at 8am", 41 * 24),
        ] {
            assert_eq!(
                declared(words, NOW, &TimeZone::UTC),
                Some(NOW.plus(hours * HOUR + MINUTE)),
                "{words}"
            );
        }
    }

    #[test]
    fn a_minute_that_has_begun_or_was_over_just_now_is_of_today() {
        for (words, minutes) in [
            ("You've hit your 5-hour limit · resets 8am (UTC)", 1),
            ("try again at 7:59 AM", 0),
            ("try again at 7:51 AM", -8),
            ("try again at 7:30 AM", 24 * 60 - 29),
        ] {
            let moment = NOW
                .0
                .checked_add_signed(minutes * MINUTE.cast_signed())
                .map(Timestamp);
            assert_eq!(declared(words, NOW, &TimeZone::UTC), moment, "{words}");
        }
    }

    #[test]
    fn what_is_no_time_declares_nothing() {
        for words in [
            "try again later",
            "try again at 25:00 AM",
            "resets 13pm",
            "resets Feb 30, 1am",
            "again at 9:75 PM",
            "resets 3pm (No/Where)",
        ] {
            assert_eq!(declared(words, NOW, &TimeZone::UTC), None, "{words}");
        }
    }
}
