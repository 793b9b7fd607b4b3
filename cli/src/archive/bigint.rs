//! Integers of any size, from their text.

use super::json::{Wrong, hex};

/// Decimal digits that are taken: more are written in hexadecimal, since their conversion takes time by the square of their number.
const DECIMAL_DIGITS_MAX: usize = 40_000;

/// An integer from its text, in decimal or hexadecimal, as V8 has it on the wire.
pub(super) fn wire(text: &str) -> Result<Vec<u8>, Wrong> {
    let wrong = || "this is no whole number of any size".to_owned();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut magnitude = match digits.strip_prefix("0x") {
        Some(digits) => {
            let zero = if digits.len().is_multiple_of(2) {
                ""
            } else {
                "0"
            };
            let padded = format!("{zero}{digits}");
            let mut bytes = hex(&padded)?;
            bytes.reverse();
            bytes
        }
        None => {
            let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if !is_decimal || digits.len() > DECIMAL_DIGITS_MAX {
                return Err(wrong());
            }
            from_decimal(digits)
        }
    };
    while magnitude.last() == Some(&0) {
        magnitude.pop();
    }
    // V8 writes whole digits of 64 bits.
    magnitude.resize(magnitude.len().next_multiple_of(8), 0);
    let is_negative = is_negative && !magnitude.is_empty();
    let mut field =
        u32::try_from(magnitude.len() << 1 | usize::from(is_negative)).map_err(|_| wrong())?;
    let mut wire = Vec::with_capacity(magnitude.len() + 5);
    while field > 0x7f {
        wire.push(field.to_le_bytes()[0] | 0x80);
        field >>= 7;
    }
    wire.push(field.to_le_bytes()[0]);
    wire.extend_from_slice(&magnitude);
    Ok(wire)
}

/// The bytes of a decimal number, low byte first.
fn from_decimal(digits: &str) -> Vec<u8> {
    let mut limbs: Vec<u32> = Vec::new();
    for chunk in digits.as_bytes().chunks(9) {
        let (mut value, mut scale) = (0_u64, 1_u64);
        for digit in chunk {
            value = value * 10 + u64::from(digit - b'0');
            scale *= 10;
        }
        let mut carry = value;
        for limb in &mut limbs {
            let next = u64::from(*limb) * scale + carry;
            let [low, high] = [next & 0xffff_ffff, next >> 32];
            *limb = u32::try_from(low).unwrap_or(0);
            carry = high;
        }
        if let Ok(high @ 1..) = u32::try_from(carry) {
            limbs.push(high);
        }
    }
    limbs.into_iter().flat_map(u32::to_le_bytes).collect()
}
