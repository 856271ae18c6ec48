//! Moments and durations, as reports write and read them.

use jiff::Timestamp as Moment;
use tm_scheduler::Timestamp;

/// Returns the moment as RFC 3339 in UTC with milliseconds.
pub(crate) fn moment(timestamp: Timestamp) -> String {
    let milliseconds = i64::try_from(timestamp.0).unwrap_or(i64::MAX);
    Moment::from_millisecond(milliseconds)
        .map_or_else(|_| timestamp.0.to_string(), |moment| format!("{moment:.3}"))
}

/// Milliseconds since 1970 of a moment in the summary; 0 for what is none.
pub(crate) fn milliseconds(moment: &str) -> u64 {
    let parsed = moment.parse().unwrap_or(Moment::UNIX_EPOCH);
    u64::try_from(parsed.as_millisecond()).unwrap_or(0)
}

/// Milliseconds between two moments of the summary.
pub(crate) fn between(began: &str, ended: &str) -> u64 {
    milliseconds(ended).saturating_sub(milliseconds(began))
}

/// Returns from when to when, as people write it, in UTC; the day once where it is the same.
pub(crate) fn period(began: &str, ended: &str) -> String {
    let parsed = |moment: &str| moment.parse().unwrap_or(Moment::UNIX_EPOCH);
    let (began, ended) = (parsed(began), parsed(ended));
    let day = |moment: Moment| moment.strftime("%A, %-d %B %Y").to_string();
    let clock = |moment: Moment| moment.strftime("%H:%M").to_string();
    let (first, last) = (day(began), day(ended));
    let between = if first == last {
        "–".to_owned()
    } else {
        format!(" to {last}, ")
    };
    format!("{first}, {}{between}{} UTC", clock(began), clock(ended))
}

/// Returns a duration in milliseconds as `850ms`, `42s`, `3m 05s`, or `2h 07m`.
pub fn human_duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0 => format!("{milliseconds}ms"),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_names_a_day_once() {
        let from = "2026-11-21T21:45:12.000Z";
        assert_eq!(
            period(from, "2026-11-21T23:02:00.000Z"),
            "Saturday, 21 November 2026, 21:45–23:02 UTC"
        );
        assert_eq!(
            period(from, "2026-11-22T07:02:00.000Z"),
            "Saturday, 21 November 2026, 21:45 to Sunday, 22 November 2026, 07:02 UTC"
        );
    }

    #[test]
    fn durations_read_well_at_every_size() {
        let shown: Vec<String> = [0, 850, 42_999, 60_000, 185_000, 3_600_000, 7_620_000]
            .map(human_duration)
            .into();
        assert_eq!(
            shown,
            [
                "0ms", "850ms", "42s", "1m 00s", "3m 05s", "1h 00m", "2h 07m"
            ]
        );
    }
}
