//! Objects of a blob, and their names: `docs/format/remote-files.md`.

use crate::blobs::Segment;
use crate::error::{Error, Result};
use std::fmt::Write;
use std::ops::Range;

/// Characters of a name's runs. With a prefix, a namespace and the numbers a name has less than the 1024 bytes that S3 takes.
const RUNS_LEN_MAX: usize = 120;
/// Bytes and segments that an object may have: more than one call of `append` has.
const LEN_MAX: u64 = 2 << 20;
const SEGMENTS_MAX: u64 = 1 << 20;

/// Segments of one length, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    count: u64,
    /// From an offset to the next one; that of the object's last segment is not used.
    step: u64,
    /// Bytes of a segment.
    len: u64,
}

/// The segments of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    /// The offset of its first segment.
    pub(super) first: u64,
    runs: Vec<Run>,
}

/// Where a segment lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// Its bytes in the object.
    pub(super) position: Range<u64>,
}

impl Object {
    /// An object of the first segments: as many as have ascending offsets and a name of a length that S3 takes. How many those are.
    pub(super) fn of(segments: &[Segment]) -> Option<(Object, usize)> {
        let shape = |segment: &Segment| (segment.offset, segment.bytes.len() as u64);
        let shape: Vec<(u64, u64)> = segments.iter().map(shape).collect();
        Object::of_shape(&shape)
    }

    /// The object of segments of these offsets and lengths.
    pub(super) fn of_shape(shape: &[(u64, u64)]) -> Option<(Object, usize)> {
        let mut object = Object {
            first: shape.first()?.0,
            runs: Vec::new(),
        };
        let mut taken = 0;
        for (at, (offset, len)) in shape.iter().copied().enumerate() {
            let next = shape.get(at + 1).map(|(next, _)| next);
            // Without one, or with one that another object begins with, the last one steps as those before it.
            let step = next.and_then(|next| next.checked_sub(offset));
            let step = step.filter(|step| *step > 0);
            let before = object.runs.len();
            match object.runs.last_mut() {
                Some(run) if run.len == len && step.is_none_or(|step| step == run.step) => {
                    run.count += 1;
                }
                _ => object.runs.push(Run {
                    count: 1,
                    step: step.unwrap_or(0),
                    len,
                }),
            }
            if taken > 0 && object.runs_text().len() > RUNS_LEN_MAX {
                object.take_back(before);
                break;
            }
            taken += 1;
            if step.is_none() {
                break;
            }
        }
        Some((object, taken))
    }

    /// Takes back the last segment, before which there were so many runs.
    fn take_back(&mut self, runs_before: usize) {
        if self.runs.len() > runs_before {
            self.runs.pop();
        } else if let Some(run) = self.runs.last_mut() {
            run.count -= 1;
        }
    }

    fn runs_text(&self) -> String {
        let mut text = String::new();
        for (at, Run { count, step, len }) in self.runs.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(text, "{dot}{count:x}x{step:x}x{len:x}").ok();
        }
        text
    }

    /// The end of its name.
    pub(super) fn name(&self) -> String {
        format!("{:016x}-{}", self.first, self.runs_text())
    }

    /// The object of a name.
    pub(super) fn parse(name: &str) -> Result<Object> {
        let parsed = Object::parsed(name).filter(|object| object.name() == name);
        parsed.ok_or_else(|| {
            let what = format!("{name:?} is no name of a blob's object");
            Error::corruption(what)
        })
    }

    fn parsed(name: &str) -> Option<Object> {
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (first, runs) = name.split_once('-')?;
        let first = hex(first)?;
        let (mut offset, mut len_bytes, mut segments) = (first, 0u64, 0u64);
        let mut object = Object {
            first,
            runs: Vec::new(),
        };
        for run in runs.split('.').take(RUNS_LEN_MAX) {
            let mut numbers = run.split('x').map(hex);
            let (count, step, len) = (numbers.next()??, numbers.next()??, numbers.next()??);
            if numbers.next().is_some() || count == 0 {
                return None;
            }
            // All of it is within what an object may have, and what numbers can say.
            segments = segments.checked_add(count)?;
            len_bytes = len_bytes.checked_add(count.checked_mul(len)?)?;
            offset = offset.checked_add(count.checked_mul(step)?)?;
            object.runs.push(Run { count, step, len });
        }
        (segments <= SEGMENTS_MAX && len_bytes <= LEN_MAX).then_some(object)
    }

    /// The segments whose offsets are in a range, ascending.
    pub(super) fn places(&self, offsets: &Range<u64>) -> Vec<Place> {
        let (mut offset, mut position) = (self.first, 0);
        let mut places = Vec::new();
        for Run { count, step, len } in &self.runs {
            for _ in 0..*count {
                if offset >= offsets.end {
                    return places;
                }
                if offset >= offsets.start {
                    places.push(Place {
                        offset,
                        position: position..position + len,
                    });
                }
                offset += step;
                position += len;
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn segments(shape: &[(u64, usize)]) -> Vec<Segment> {
        let segment = |&(offset, len): &(u64, usize)| Segment {
            offset,
            bytes: vec![7; len],
        };
        shape.iter().map(segment).collect()
    }

    /// All objects of some segments, and whether their names say where each lies.
    fn objects(shape: &[(u64, usize)]) -> Vec<Object> {
        let all = segments(shape);
        let (mut rest, mut objects) = (&all[..], Vec::new());
        while let Some((object, taken)) = Object::of(rest) {
            let (now, later) = rest.split_at(taken);
            let mut position = 0;
            let places: Vec<Place> = now
                .iter()
                .map(|segment| {
                    let begin = position;
                    position += segment.bytes.len() as u64;
                    Place {
                        offset: segment.offset,
                        position: begin..position,
                    }
                })
                .collect();
            assert_eq!(object.places(&(0..u64::MAX)), places);
            assert!(object.runs_text().len() <= RUNS_LEN_MAX);
            assert_eq!(Object::parse(&object.name()).unwrap(), object);
            objects.push(object);
            rest = later;
        }
        objects
    }

    /// The vectors of `docs/format/remote-files.md`.
    #[test]
    fn names_are_those_of_the_format_document() {
        let document = include_str!("../../../docs/format/remote-files.md");
        let whole: Vec<(u64, usize)> = (0..16).map(|at| (at << 16, 65_540)).collect();
        let with_end = [(0, 65_540), (65_536, 65_540), (131_072, 1004)];
        for (what, shape) in [
            ("sixteen whole chunks", &whole[..]),
            ("two and an end of 1000 bytes", &with_end),
            ("one segment", &[(4096, 104)]),
        ] {
            let [object] = &objects(shape)[..] else {
                unreachable!("{what}")
            };
            let line = format!("| {what} | `{}`", object.name());
            assert!(document.contains(&line), "{line}");
        }
    }

    #[test]
    fn what_has_no_name_of_one_object_has_several() {
        // Not ascending, and one that is there twice.
        assert_eq!(objects(&[(5, 1), (0, 1), (0, 1), (1, 1)]).len(), 3);
        // Lengths that are all different, as of chunks that were packed.
        let packed: Vec<(u64, usize)> =
            (0..16).map(|at| (at << 16, 60_000 + at as usize)).collect();
        assert_eq!(objects(&packed).len(), 2);
        let long: Vec<(u64, usize)> = (0..30).map(|at| ((at * at) << 40, at as usize)).collect();
        assert!(objects(&long).len() > 2);
        assert_eq!(objects(&[(i64::MAX as u64, 80_000)]).len(), 1);
    }

    #[test]
    fn a_range_has_the_segments_whose_offsets_are_in_it() {
        let (object, _) = Object::of(&segments(&[(10, 3), (20, 3), (30, 3), (31, 0)])).unwrap();
        let offsets = |range: Range<u64>| {
            let places = object.places(&range);
            places.iter().map(|place| place.offset).collect::<Vec<_>>()
        };
        assert!(offsets(0..10).is_empty());
        assert_eq!(offsets(10..20), [10]);
        assert_eq!(offsets(11..31), [20, 30]);
        assert_eq!(offsets(31..99), [31]);
    }

    #[test]
    fn a_name_that_says_too_much_is_none() {
        for name in [
            "",
            "0000000000000000-",
            "0000000000000000",
            "0-1x0x1",
            "0000000000000000-01x0x1",
            "0000000000000000-0x0x1",
            "0000000000000000-1x0",
            "0000000000000000-1x0x1x1",
            "0000000000000000-1X0X1",
            "0000000000000000-2xffffffffffffffffx1",
            "ffffffffffffffff-2x1x1",
            "0000000000000000-ffffffffffffffffx1x1",
            "0000000000000000-1x0x200001",
            "0000000000000000-100001x1x0",
        ] {
            assert!(Object::parse(name).is_err(), "{name}");
        }
    }

    quickcheck! {
        fn any_segments_are_where_the_names_say(steps: Vec<(u16, u8)>) -> bool {
            let mut offset = 0;
            let shape: Vec<(u64, usize)> = steps
                .iter()
                .map(|(step, len)| {
                    offset += u64::from(*step % 4);
                    (offset, usize::from(*len % 3))
                })
                .collect();
            objects(&shape);
            true
        }

        fn any_name_is_parsed_or_an_error(name: String) -> bool {
            Object::parse(&name).is_err()
        }
    }
}
