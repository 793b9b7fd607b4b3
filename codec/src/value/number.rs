//! How JavaScript spells a number.
//!
//! ECMAScript's `Number::toString` with radix 10: the shortest digits that read back as the same
//! number, in plain form for exponents from -7 to 20 and in exponent form outside. Rust's own
//! shortest digits are the same digits; only their layout differs.

use std::fmt::{self, Write};

/// A number that displays as JavaScript's `String(number)` does. Both zeros are `0`.
///
/// ```
/// use larder_codec::value::JsNumber;
///
/// assert_eq!(JsNumber(1e21).to_string(), "1e+21");
/// assert_eq!(JsNumber(123_456_789_012_345_680_000.0).to_string(), "123456789012345680000");
/// assert_eq!(JsNumber(-1.5e-7).to_string(), "-1.5e-7");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct JsNumber(pub f64);

/// Beyond this, not every whole number is one.
const SAFE_INTEGER_END: f64 = 9_007_199_254_740_992.0;

/// The number as a small integer of V8 (31 bits, as builds with compressed pointers have them), if
/// it is one; -0 is none.
#[inline]
pub(super) fn as_smi(number: f64) -> Option<i32> {
    const SMI_MAX: i32 = (1 << 30) - 1;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "compared with the original right after"
    )]
    let smi = number as i32;
    (f64::from(smi).to_bits() == number.to_bits() && (!SMI_MAX..=SMI_MAX).contains(&smi))
        .then_some(smi)
}

impl fmt::Display for JsNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        if number.is_nan() {
            return f.write_str("NaN");
        }
        if number.is_infinite() {
            return f.write_str(if number > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            });
        }
        if number.abs() < SAFE_INTEGER_END && number.trunc() == number {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return write!(f, "{}", number as i64);
        }
        if number < 0.0 {
            f.write_char('-')?;
        }
        let mut buffer = Digits::default();
        write!(buffer, "{:e}", number.abs())?;
        let (digits, exponent) = buffer.parts();
        layout(f, digits, exponent)
    }
}

/// Lays out digits `d.ddd` times ten to the `exponent`.
fn layout(f: &mut fmt::Formatter<'_>, digits: &str, exponent: i32) -> fmt::Result {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The position of the decimal point, counted from the left of the digits.
    let point = exponent + 1;
    if (count..=21).contains(&point) {
        f.write_str(digits)?;
        zeros(f, point - count)
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        write!(f, "{whole}.{fraction}")
    } else if (-5..=0).contains(&point) {
        f.write_str("0.")?;
        zeros(f, -point)?;
        f.write_str(digits)
    } else {
        let (first, rest) = digits.split_at(1);
        f.write_str(first)?;
        if !rest.is_empty() {
            write!(f, ".{rest}")?;
        }
        write!(f, "e{exponent:+}")
    }
}

fn zeros(f: &mut fmt::Formatter<'_>, count: i32) -> fmt::Result {
    for _ in 0..count {
        f.write_char('0')?;
    }
    Ok(())
}

/// The digits of Rust's `{:e}` without the point, and its exponent, on the stack: at most 17
/// digits.
#[derive(Default)]
struct Digits {
    digits: [u8; 24],
    len: usize,
    exponent: i32,
    negative: bool,
    in_exponent: bool,
}

impl Digits {
    fn parts(&self) -> (&str, i32) {
        let digits = std::str::from_utf8(&self.digits[..self.len]).unwrap_or("0");
        let exponent = if self.negative {
            -self.exponent
        } else {
            self.exponent
        };
        (digits, exponent)
    }
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'.' => {}
                b'e' => self.in_exponent = true,
                b'-' => self.negative = true,
                digit if self.in_exponent => {
                    self.exponent = self.exponent * 10 + i32::from(digit.wrapping_sub(b'0'));
                }
                digit => {
                    *self.digits.get_mut(self.len).ok_or(fmt::Error)? = digit;
                    self.len += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_javascript_prints_them() {
        // Right-hand sides are what `String(x)` gives in a browser.
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-7.0, "-7"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (0.000_012_5, "0.0000125"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (9_007_199_254_740_993.5, "9007199254740994"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (4_294_967_296.5, "4294967296.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(JsNumber(number).to_string(), text);
        }
    }

    #[test]
    fn small_integers_are_those_of_31_bits() {
        for (number, smi) in [
            (0.0, Some(0)),
            (-0.0, None),
            (-1.0, Some(-1)),
            (1_073_741_823.0, Some(1_073_741_823)),
            (1_073_741_824.0, None),
            (-1_073_741_824.0, Some(-1_073_741_824)),
            (-1_073_741_825.0, None),
            (4_294_967_296.0, None),
            (0.5, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(as_smi(number), smi, "{number}");
        }
    }

    #[test]
    fn printed_numbers_read_back_as_themselves() {
        fn holds(bits: u64) -> bool {
            let number = f64::from_bits(bits);
            number.is_nan() || JsNumber(number).to_string().parse() == Ok(number)
        }
        quickcheck::quickcheck(holds as fn(u64) -> bool);
    }
}
