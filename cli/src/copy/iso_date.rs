//! Moments as a person writes them: `2026-01-31`, `2026-01-31T12:00`, `2026-01-31T12:00:00.5+01:00`. Without a zone they are in UTC.

use larder_codec::value::IsoDate;

const DAY_MS: i64 = 86_400_000;

/// Milliseconds since 1970, if the text is such a moment.
pub(super) fn parse(text: &str) -> Option<f64> {
    let (day, rest) = text.split_at_checked(10)?;
    let day_ms = days(day)? * DAY_MS;
    // A day that its month does not have would be one of the next.
    let is_a_day = IsoDate::new(day_ms as f64)?.to_string().starts_with(day);
    let ms = match rest.strip_prefix(['T', ' ']) {
        Some(time) => day_ms + time_ms(time)?,
        None if rest.is_empty() => day_ms,
        None => return None,
    };
    is_a_day.then_some(ms as f64)
}

/// Days since 1970 of `YYYY-MM-DD`. Years begin in March here, so that the day that some of them lack is their last.
fn days(day: &str) -> Option<i64> {
    let mut parts = day.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let leap_days = year / 4 - year / 100 + year / 400;
    let of_months = (153 * ((month + 9) % 12) + 2) / 5;
    Some(year * 365 + leap_days + of_months + day - 719_469)
}

/// Milliseconds of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fff`, and of the zone behind it.
fn time_ms(time: &str) -> Option<i64> {
    let zone = time.find(['Z', '+', '-']);
    let (clock, zone) = time.split_at(zone.unwrap_or(time.len()));
    let offset = match zone.split_at_checked(1) {
        None | Some(("Z", "")) => 0,
        Some(("+", of)) => clock_ms(of)?,
        Some(("-", of)) => -clock_ms(of)?,
        Some(_) => return None,
    };
    Some(clock_ms(clock)? - offset)
}

fn clock_ms(clock: &str) -> Option<i64> {
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0), number)?;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let thousandths = number(format!("{fraction:0<3}").get(..3)?)?;
    Some(((hours * 60 + minutes) * 60 + seconds) * 1000 + thousandths)
}

fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_that_are_printed() {
        let far = (-719_000..2_000_000).step_by(997);
        for day in far.chain(-1500..1500) {
            let ms = (day * DAY_MS) as f64;
            let text = IsoDate::new(ms).unwrap().to_string();
            let (text, _) = text.split_at(10);
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn times_and_zones_count_and_what_is_no_moment_is_none() {
        let noon = 1_769_860_800_000.0;
        for text in [
            "2026-01-31T12:00",
            "2026-01-31 12:00:00",
            "2026-01-31T12:00:00.000Z",
            "2026-01-31T13:30:00+01:30",
            "2026-01-31T07:00-05:00",
        ] {
            assert_eq!(parse(text), Some(noon), "{text}");
        }
        assert_eq!(parse("2026-01-31T12:00:00.25"), Some(noon + 250.0));
        assert_eq!(parse("2024-02-29"), Some(1_709_164_800_000.0));
        for text in [
            "",
            "2026",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "2026-01-31x",
            "2026-01-31T",
            "2026-01-31T24:00",
            "2026-01-31T12:00:00.é",
            "2026-01-31T12:00+1",
            "éééééé",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
