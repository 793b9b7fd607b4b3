//! Points, rectangles and matrices: plain rows of little-endian doubles.

use crate::Result;
use crate::value::reader::Reader;
use crate::value::writer::Writer;

/// The numbers of a `DOMPoint`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the members of DOMPoint")]
pub struct DomPoint {
    pub x: f64,
    pub y: f64,
    pub z: f64,
    pub w: f64,
}

impl DomPoint {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let [x, y, z, w] = doubles(reader, "DOMPoint")?;
        Ok(Self { x, y, z, w })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        write_doubles(writer, &[self.x, self.y, self.z, self.w]);
    }
}

/// The numbers of a `DOMRect`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the members of DOMRect")]
pub struct DomRect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl DomRect {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let [x, y, width, height] = doubles(reader, "DOMRect")?;
        Ok(Self {
            x,
            y,
            width,
            height,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        write_doubles(writer, &[self.x, self.y, self.width, self.height]);
    }

    /// `top`, `right`, `bottom`, `left`, as the getters compute them. A NaN wins.
    #[must_use]
    pub fn edges(&self) -> [f64; 4] {
        let (right, bottom) = (self.x + self.width, self.y + self.height);
        [
            min(self.y, bottom),
            max(self.x, right),
            max(self.y, bottom),
            min(self.x, right),
        ]
    }
}

/// JavaScript's `Math.min` of two numbers.
fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b)
    }
}

/// JavaScript's `Math.max` of two numbers.
fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

/// The numbers of a `DOMMatrix`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DomMatrix {
    /// Whether it was written as a two-dimensional one (`is2D`).
    pub is_2d: bool,
    /// `m11`, `m12`, … `m44`, row by row.
    pub members: [f64; 16],
}

impl DomMatrix {
    /// Six numbers, `a` to `f`.
    pub(super) fn read_2d(reader: &mut Reader<'_>) -> Result<Self> {
        let [a, b, c, d, e, f] = doubles(reader, "DOMMatrix")?;
        Ok(Self {
            is_2d: true,
            members: [
                a, b, 0.0, 0.0, c, d, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, e, f, 0.0, 1.0,
            ],
        })
    }

    /// Sixteen numbers, `m11` to `m44`.
    pub(super) fn read_3d(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            is_2d: false,
            members: doubles(reader, "DOMMatrix")?,
        })
    }

    /// Six numbers if it is two-dimensional, else sixteen.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        if self.is_2d {
            write_doubles(writer, &self.a_to_f());
        } else {
            write_doubles(writer, &self.members);
        }
    }

    /// `a` to `f`: the members that a two-dimensional matrix consists of.
    #[must_use]
    pub const fn a_to_f(&self) -> [f64; 6] {
        let m = &self.members;
        [m[0], m[1], m[4], m[5], m[12], m[13]]
    }

    /// Whether it maps every point to itself (`isIdentity`).
    #[must_use]
    pub fn is_identity(&self) -> bool {
        (self.members.iter().enumerate()).all(|(at, &m)| m == if at % 5 == 0 { 1.0 } else { 0.0 })
    }
}

fn write_doubles(writer: &mut Writer<'_>, numbers: &[f64]) {
    numbers.iter().for_each(|number| writer.f64(*number));
}

fn doubles<const N: usize>(reader: &mut Reader<'_>, what: &'static str) -> Result<[f64; N]> {
    let mut out = [0.0; N];
    for number in &mut out {
        *number = reader.f64(what)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_a_rect_with_negative_sides_are_in_order() {
        let rect = DomRect {
            x: 5.0,
            y: 6.0,
            width: -7.0,
            height: 8.0,
        };
        assert_eq!(rect.edges(), [6.0, 5.0, 14.0, -2.0]);
        let rect = DomRect {
            width: f64::NAN,
            ..rect
        };
        assert!(rect.edges()[1].is_nan() && rect.edges()[3].is_nan());
    }
}
