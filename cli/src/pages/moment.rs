//! Times of pages as text.

use larder_codec::value::IsoDate;
use larder_pages::Timestamp;

/// A time as `2026-01-31T12:00:00.000Z`: what is below a millisecond is left out.
pub(super) fn iso(time: Timestamp) -> String {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 in milliseconds")]
    let ms = time.0.div_euclid(1_000_000) as f64;
    // Every number of nanoseconds is a valid date.
    IsoDate::new(ms).map_or_else(String::new, |date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc_whatever_their_sign() {
        assert_eq!(iso(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(Timestamp(-1)), "1969-12-31T23:59:59.999Z");
        assert_eq!(
            iso(Timestamp(1_600_000_000_123_456_789)),
            "2020-09-13T12:26:40.123Z"
        );
        assert_eq!(iso(Timestamp(i64::MAX)), "2262-04-11T23:47:16.854Z");
        assert_eq!(iso(Timestamp(i64::MIN)), "1677-09-21T00:12:43.145Z");
    }
}
