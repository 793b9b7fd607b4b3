//! Dates as `Date.prototype.toISOString` writes them, read back.

/// Milliseconds since 1970 of `2020-01-01T00:00:00.000Z`, with years of four digits, or of six behind a sign.
pub(crate) fn milliseconds(text: &str) -> Option<f64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let year_len = if rest.len() == text.len() { 4 } else { 6 };
    let (year, rest) = rest.split_at_checked(year_len)?;
    let year = sign * number(year, year_len)?;
    // -MM-DDTHH:MM:SS.mmmZ
    let part = |at: usize, len: usize| number(rest.get(at..at + len)?, len);
    let separators = [
        (0, '-'),
        (3, '-'),
        (6, 'T'),
        (9, ':'),
        (12, ':'),
        (15, '.'),
        (19, 'Z'),
    ];
    let is_at =
        |(at, wanted): (usize, char)| rest.get(at..=at).is_some_and(|c| c.starts_with(wanted));
    if rest.len() != 20 || !separators.into_iter().all(is_at) {
        return None;
    }
    let (month, day) = (part(1, 2)?, part(4, 2)?);
    let (hour, minute, second, ms) = (part(7, 2)?, part(10, 2)?, part(13, 2)?, part(16, 3)?);
    let is_valid = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let time = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + ms;
    #[expect(clippy::cast_precision_loss, reason = "within ±8.64e15, or refused")]
    let time = time as f64;
    (is_valid && time.abs() <= 8.64e15).then_some(time)
}

fn number(digits: &str, len: usize) -> Option<i64> {
    let is_number = digits.len() == len && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, which counts backwards as well.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leaps = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    /// Days from 0001-01-01 to 1970-01-01.
    const EPOCH: i64 = 719_162;
    before * 365 + leaps + months + day - 1 - EPOCH
}

#[cfg(test)]
mod tests {
    use larder_codec::value::IsoDate;

    use super::*;

    #[test]
    fn every_date_that_is_written_is_read_back() {
        let mut time = -8.64e15;
        // Odd steps: through leap years and centuries, and every time of day.
        while time <= 8.64e15 {
            let text = IsoDate::new(time).unwrap().to_string();
            assert_eq!(milliseconds(&text), Some(time), "{text}");
            time += 86_399_123_457.0 * 13.0;
        }
        for text in [
            "1970-01-01T00:00:00.000Z",
            "+275760-09-13T00:00:00.000Z",
            "-000001-12-31T23:59:59.999Z",
        ] {
            let time = milliseconds(text).unwrap();
            assert_eq!(IsoDate::new(time).unwrap().to_string(), text);
        }
        for text in [
            "",
            "-",
            "2020",
            "2020-13-01T00:00:00.000Z",
            "2021-02-29T00:00:00.000Z",
            "2020-01-01T24:00:00.000Z",
            "2020-01-01 00:00:00.000Z",
            "+275760-09-13T00:00:00.001Z",
            "2020-01-01T00:00:00.000",
            "é020-01-01T00:00:00.000Z",
            "2020-01-01T00:00:00.00éZ",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
