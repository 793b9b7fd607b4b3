//! Time values of `Date` objects: JavaScript's range, and its ISO text.

use std::fmt;

/// The last millisecond that a `Date` can hold, before or after 1970 (ECMAScript, "Time Values and
/// Time Range").
const TIME_MS_MAX: f64 = 8.64e15;

/// ECMAScript's `TimeClip`: whole milliseconds towards zero, NaN outside the range, no -0.
#[must_use]
pub fn time_clip(time_ms: f64) -> f64 {
    if time_ms.abs() <= TIME_MS_MAX {
        time_ms.trunc() + 0.0
    } else {
        f64::NAN
    }
}

/// A valid time value that displays as `Date.prototype.toISOString` does.
///
/// ```
/// use larder_codec::value::IsoDate;
///
/// assert_eq!(IsoDate::new(1_577_836_800_000.0).unwrap().to_string(), "2020-01-01T00:00:00.000Z");
/// assert!(IsoDate::new(f64::NAN).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsoDate {
    time_ms: i64,
}

impl IsoDate {
    /// `None` if the date is invalid.
    #[must_use]
    pub fn new(time_ms: f64) -> Option<Self> {
        let clipped = time_clip(time_ms);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within ±8.64e15, or unused"
        )]
        let time_ms = clipped as i64;
        (!clipped.is_nan()).then_some(Self { time_ms })
    }
}

impl fmt::Display for IsoDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY_MS: i64 = 86_400_000;
        let (year, month, day) = civil(self.time_ms.div_euclid(DAY_MS));
        let ms = self.time_ms.rem_euclid(DAY_MS);
        let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
        let (second, ms) = (ms / 1000 % 60, ms % 1000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let year_in_text = if (0..=9999).contains(&year) { year } else { 0 };
        let places: [(usize, usize, i64); 7] = [
            (0, 4, year_in_text),
            (5, 2, month),
            (8, 2, day),
            (11, 2, hour),
            (14, 2, minute),
            (17, 2, second),
            (20, 3, ms),
        ];
        for (at, len, mut number) in places {
            for place in text[at..at + len].iter_mut().rev() {
                *place = b"0123456789"[number.unsigned_abs() as usize % 10];
                number /= 10;
            }
        }
        let text = std::str::from_utf8(&text).unwrap_or_default();
        if (0..=9999).contains(&year) {
            return f.write_str(text);
        }
        write!(f, "{year:+07}{}", text.get(4..).unwrap_or_default())
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// Counts in eras of 400 years (146,097 days) that begin on the first of March, so that the leap
/// day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097;
    // From 0000-03-01 to 1970-01-01.
    let day = day + 719_468;
    let (era, day_of_era) = (day.div_euclid(ERA_DAYS), day.rem_euclid(ERA_DAYS));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March; their lengths repeat as 153 days for five.
    let month_index = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_print_as_to_iso_string_prints_them() {
        // Right-hand sides are what `new Date(x).toISOString()` gives in a browser.
        for (time_ms, text) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000Z"),
            (1_700_000_000_123.0, "2023-11-14T22:13:20.123Z"),
            (-62_198_755_200_000.0, "-000001-01-01T00:00:00.000Z"),
            (-62_167_219_200_000.0, "0000-01-01T00:00:00.000Z"),
            (253_402_300_800_000.0, "+010000-01-01T00:00:00.000Z"),
            (8.64e15, "+275760-09-13T00:00:00.000Z"),
            (-8.64e15, "-271821-04-20T00:00:00.000Z"),
        ] {
            assert_eq!(IsoDate::new(time_ms).unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_calendar_agrees_with_counting_days_one_by_one() {
        let (mut year, mut month, mut day) = (1896, 1, 1);
        let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
        // 27,028 days before 1970 is 1896-01-01; on to 2105 and past the leapless 1900 and 2100.
        for count in -27_028..49_500 {
            assert_eq!(civil(count), (year, month, day), "day {count}");
            let last = match month {
                2 => 28 + i64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, end) if end == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn times_are_clipped_as_javascript_clips_them() {
        assert_eq!(time_clip(1.9), 1.0);
        assert_eq!(time_clip(-1.9), -1.0);
        assert!(time_clip(-0.5).is_sign_positive());
        assert!(time_clip(8.64e15 + 1.0).is_nan());
        assert!(time_clip(f64::INFINITY).is_nan());
        assert!(time_clip(f64::NAN).is_nan());
    }
}
