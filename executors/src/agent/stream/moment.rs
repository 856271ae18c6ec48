//! Reads the time of the clock at which a limit is said to end: `try again at Nov 22nd, 2026 9:06 AM`, `resets 3pm (UTC)`.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
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
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns the first such moment after `now`, which is where it says neither day nor year; in `here` unless it names a
/// time zone itself.
pub(super) fn declared(words: &str, now: Timestamp, here: &TimeZone) -> Option<Timestamp> {
    let found = MOMENT.captures(words)?;
    let zone = match found.name("zone") {
        Some(name) => TimeZone::get(name.as_str()).ok()?,
        None => here.clone(),
    };
    let now = jiff::Timestamp::from_millisecond(i64::try_from(now.0).ok()?).ok()?.to_zoned(zone);
    let moment = first_after(&found, &now)?;
    u64::try_from(moment.timestamp().as_millisecond()).ok().map(Timestamp)
}

fn first_after(found: &Captures<'_>, now: &Zoned) -> Option<Zoned> {
    let number = |name: &str| found.name(name).and_then(|digits| digits.as_str().parse::<i16>().ok());
    let at = |date: Date| date.to_datetime(time(found)?).to_zoned(now.time_zone().clone()).ok();
    let Some(month) = found.name("month").and_then(|name| month(name.as_str())) else {
        let today = at(now.date())?;
        return if today > *now { Some(today) } else { at(now.date().tomorrow().ok()?) };
    };
    let day = i8::try_from(number("day")?).ok()?;
    if let Some(year) = number("year") {
        return at(Date::new(year, month, day).ok()?);
    }
    let this_year = at(Date::new(now.year(), month, day).ok()?)?;
    // A limit that ended a moment ago is no limit of next year.
    if this_year > now.checked_sub(1.day()).ok()? {
        Some(this_year)
    } else {
        at(Date::new(now.year() + 1, month, day).ok()?)
    }
}

fn month(name: &str) -> Option<i8> {
    let position = MONTHS.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    i8::try_from(position + 1).ok()
}

fn time(found: &Captures<'_>) -> Option<Time> {
    let number = |name: &str| found.name(name).map_or(Some(0), |digits| digits.as_str().parse::<i8>().ok());
    let hour = number("hour").filter(|hour| (1..=12).contains(hour))? % 12;
    let afternoon = if found["half"].eq_ignore_ascii_case("pm") { 12 } else { 0 };
    Time::new(hour + afternoon, number("minute")?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 08:00 UTC.
    const NOW: Timestamp = Timestamp(1_795_248_000_000);
    const HOUR: u64 = 3_600_000;

    #[test]
    fn a_time_of_the_clock_is_the_next_one() {
        for (words, hours) in [
            ("You’ve hit your usage limit. Visit a page or try again at Nov 22nd, 2026 9:00 AM.", 25),
            ("You've hit your usage limit. Try again at 10:00 AM.", 2),
            ("You've hit your limit · resets 7am", 23),
            ("Claude usage limit reached. Your limit will reset at 8pm (UTC).", 12),
            ("You've hit your limit · resets Nov 23, 12am (UTC)", 40),
            ("limit: resets Jan 1 at 8am", 41 * 24),
        ] {
            assert_eq!(declared(words, NOW, &TimeZone::UTC), Some(NOW.plus(hours * HOUR)), "{words}");
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
