//! Dates in UTC, from seconds since 1970.

/// Year, month and day, by the method of counting years from March.
pub(crate) fn date(seconds: u64) -> (u64, u64, u64) {
    let shifted = seconds / 86_400 + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// `2026-03-01`.
pub(crate) fn day(seconds: u64) -> String {
    let (year, month, day) = date(seconds);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-03-01T12:00:00Z`.
pub(crate) fn timestamp(seconds: u64) -> String {
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", day(seconds))
}

/// `Sun, 01 Mar 2026 12:00:00 +0000`, as in mail and in Debian's changelogs.
pub(crate) fn mail_date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = date(seconds);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let weekday = DAYS.iter().cycle().nth(usize::try_from(seconds / 86_400 % 7).unwrap_or_default());
    let month = MONTHS.get(usize::try_from(month - 1).unwrap_or_default());
    let (weekday, month) = (weekday.unwrap_or(&""), month.unwrap_or(&""));
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} +0000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(seconds), expected);
        }
        assert_eq!(mail_date(1_700_000_000), "Tue, 14 Nov 2023 22:13:20 +0000");
    }
}
