//! Objects as blobs.
//!
//! A stretch is named in the directory before its object is made, and until after that has gone: what lists the directory misses none.

use super::stretch::{self, Extent, Stretch};
use super::{Rados, rows};
use crate::blobs::{Blobs, Segment};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use larder_librados::{Answer, ReadPart, WritePart};
use std::ops::Range;

/// Entries of a page: what a cluster returns at once.
const ENTRIES_MAX: u64 = 1024;
/// Bytes that are read with the places of segments, beyond the offsets that are asked for: segments are a checksum longer than their offsets say.
const GUESS_BEYOND: u64 = 1024;
/// How often a write is begun anew that has found the object otherwise than was remembered.
const ATTEMPTS_MAX: usize = 4;

impl Rados {
    /// The bytes of an object; `None`: there is none.
    fn size(&self, stretch: &Stretch) -> Result<Option<u64>> {
        let parts = [ReadPart::Values(&[stretch::SIZE])];
        let Some(mut answers) = self.read(&stretch.object()?, &parts)? else {
            return Ok(None);
        };
        let (found, _) = rows(answers.pop())?;
        let value = found.into_iter().next().map(|(_, value)| value);
        if value.as_deref() == Some(stretch::DELETED) {
            let what =
                "the blob was deleted before it was made: another process has taken the namespace";
            return Err(Error::new(ErrorKind::Gone, what));
        }
        let size = value.and_then(|value| value.try_into().ok());
        let size = size.map(u64::from_be_bytes);
        let damage = || Error::corruption(format!("{:?} does not say how long it is", stretch));
        size.map(Some).ok_or_else(damage)
    }

    /// Writes segments of one stretch.
    fn append_to(&self, stretch: &Stretch, segments: &[Segment]) -> Result<()> {
        // A blob that this client has not written has most likely not been written at all.
        let mut known = self.shared.sizes.take(stretch);
        for _ in 0..ATTEMPTS_MAX {
            if known.is_none() {
                self.enter(stretch)?;
            }
            if let Some(size) = self.write(stretch, known, segments)? {
                self.shared.sizes.note(stretch.clone(), size);
                return Ok(());
            }
            known = self.size(stretch)?;
        }
        let what =
            "an object of a blob changes each time it is looked at: another process writes it";
        Err(Error::new(ErrorKind::Unavailable, what))
    }

    /// Names a stretch in the directory.
    fn enter(&self, stretch: &Stretch) -> Result<()> {
        let entry = stretch.entry();
        let parts = [
            WritePart::Create,
            WritePart::Set(&[(entry.as_bytes(), &[])]),
        ];
        let directory = stretch::directory(&stretch.namespace)?;
        self.change(&directory, &parts).map(drop)
    }

    /// Writes segments behind the `known` bytes of an object, or makes it with them; `None`: it is not as is known.
    fn write(
        &self,
        stretch: &Stretch,
        known: Option<u64>,
        segments: &[Segment],
    ) -> Result<Option<u64>> {
        let begin = known.unwrap_or(0);
        let (mut size, mut bytes, mut places) = (begin, Vec::new(), Vec::new());
        for segment in segments {
            let extent = Extent {
                position: size,
                len: segment.bytes.len() as u32,
            };
            places.push((stretch::segment(segment.offset), extent.encode()));
            size = extent.end();
            bytes.extend_from_slice(&segment.bytes);
        }
        if size > stretch::OBJECT_LEN_MAX {
            let what = format!(
                "segments of {size} bytes in {} offsets are more than an object takes",
                stretch::LEN
            );
            return Err(Error::new(ErrorKind::TooLarge, what));
        }
        let (before, after) = (begin.to_be_bytes(), size.to_be_bytes());
        let condition = match known {
            None => WritePart::CreateNew,
            Some(_) => WritePart::Require(stretch::SIZE, &before),
        };
        let set = places
            .iter()
            .map(|(key, place)| (key.as_bytes(), &place[..]));
        let set: Vec<(&[u8], &[u8])> = set.chain([(stretch::SIZE, &after[..])]).collect();
        let parts = [
            condition,
            WritePart::Write(begin, &bytes),
            WritePart::Set(&set),
        ];
        let is_made = self.change(&stretch.object()?, &parts)?;
        Ok(is_made.then_some(size))
    }

    /// The segments of one stretch.
    fn read_of(
        &self,
        stretch: &Stretch,
        offsets: Range<u64>,
        segments: &mut Vec<Segment>,
    ) -> Result<()> {
        let object = stretch.object()?;
        let mut start = offsets.start;
        while start < offsets.end {
            let after = stretch::before_segment(start)?;
            // Where they are if they were written one behind the other.
            let guess = start % stretch::LEN;
            let parts = [
                ReadPart::Rows {
                    after: &after,
                    prefix: stretch::SEGMENTS,
                    // There is one at each offset at most.
                    count_max: (offsets.end - start).min(ENTRIES_MAX),
                },
                ReadPart::Bytes {
                    offset: guess,
                    len: (offsets.end - start + GUESS_BEYOND) as usize,
                },
            ];
            let Some(answers) = self.read(&object, &parts)? else {
                return Ok(());
            };
            let mut answers = answers.into_iter();
            let (found, has_more) = rows(answers.next())?;
            let mut places = Vec::with_capacity(found.len());
            let mut next = None;
            for (key, place) in found {
                let offset = stretch::offset_of(&key)?;
                next = offset.checked_add(1);
                if offset < offsets.end {
                    places.push((offset, Extent::decode(&place)?));
                }
            }
            let read = Read {
                position: guess,
                bytes: bytes(answers.next())?,
            };
            if !self.take(&object, &[read], &places, segments)? {
                return Ok(());
            }
            match next {
                Some(next) if has_more => start = next,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes segments from what was read, or reads them; false: the object is gone.
    fn take(
        &self,
        object: &std::ffi::CStr,
        read: &[Read],
        places: &[(u64, Extent)],
        segments: &mut Vec<Segment>,
    ) -> Result<bool> {
        let within = |extent| read.iter().find_map(|read| read.part(extent));
        if places.iter().all(|(_, extent)| within(*extent).is_some()) {
            segments.extend(places.iter().map(|(offset, extent)| Segment {
                offset: *offset,
                bytes: within(*extent).unwrap_or_default().to_vec(),
            }));
            return Ok(true);
        }
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (_, extent) in places {
            match runs.last_mut() {
                Some(run) if run.end == extent.position => run.end = extent.end(),
                _ => runs.push(extent.position..extent.end()),
            }
        }
        let parts = runs.iter().map(|run| ReadPart::Bytes {
            offset: run.start,
            len: (run.end - run.start) as usize,
        });
        let parts: Vec<ReadPart<'_>> = parts.collect();
        let Some(answers) = self.read(object, &parts)? else {
            return Ok(false);
        };
        let read = answers.into_iter().zip(&runs).map(|(answer, run)| {
            let bytes = bytes(Some(answer))?;
            let position = run.start;
            Ok(Read { position, bytes })
        });
        let read: Vec<Read> = read.collect::<Result<_>>()?;
        for (offset, extent) in places {
            let part = read.iter().find_map(|read| read.part(*extent));
            let damage = || {
                let what = format!(
                    "{object:?} ends before a segment of it, at {}",
                    extent.position
                );
                Error::corruption(what)
            };
            segments.push(Segment {
                offset: *offset,
                bytes: part.ok_or_else(damage)?.to_vec(),
            });
        }
        Ok(true)
    }

    /// Removes an object. If it is not there, its first write may still be on its way: then one that refuses every write takes its place.
    fn remove(&self, stretch: &Stretch) -> Result<()> {
        self.shared.sizes.take(stretch);
        let object = stretch.object()?;
        for _ in 0..ATTEMPTS_MAX {
            if self.change(&object, &[WritePart::Remove])? {
                return Ok(());
            }
            let refuse = [
                WritePart::CreateNew,
                WritePart::Set(&[(stretch::SIZE, stretch::DELETED)]),
            ];
            if self.change(&object, &refuse)? {
                return Ok(());
            }
        }
        let what =
            "an object of a blob is made anew each time it is removed: another process writes it";
        Err(Error::new(ErrorKind::Unavailable, what))
    }
}

/// Bytes of an object, and where they are.
struct Read {
    position: u64,
    bytes: Vec<u8>,
}

impl Read {
    fn part(&self, extent: Extent) -> Option<&[u8]> {
        let start = usize::try_from(extent.position.checked_sub(self.position)?).ok()?;
        let end = start.checked_add(usize::try_from(extent.len).ok()?)?;
        self.bytes.get(start..end)
    }
}

fn bytes(answer: Option<Answer>) -> Result<Vec<u8>> {
    match answer {
        Some(Answer::Bytes(bytes)) => Ok(bytes),
        _ => Err(Error::corruption(
            "a reply has not the parts of the request",
        )),
    }
}

/// The stretches of a blob that a range of offsets has parts of, each with that part.
fn stretches<'a>(
    namespace: &'a Namespace,
    blob: u64,
    offsets: &Range<u64>,
) -> impl Iterator<Item = (Stretch, Range<u64>)> + use<'a> {
    let Range { start, end } = offsets.clone();
    let numbers = start / stretch::LEN..end.div_ceil(stretch::LEN);
    let numbers = match start < end {
        true => numbers,
        false => 0..0,
    };
    numbers.map(move |number| {
        let first = number * stretch::LEN;
        let part = start.max(first)..end.min(first.saturating_add(stretch::LEN));
        let namespace = namespace.clone();
        let stretch = Stretch {
            namespace,
            blob,
            number,
        };
        (stretch, part)
    })
}

impl Blobs for Rados {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        let number = |segment: &Segment| segment.offset / stretch::LEN;
        for part in segments.chunk_by(|one, next| number(one) == number(next)) {
            let Some(first) = part.first() else { continue };
            let stretch = Stretch {
                namespace: namespace.clone(),
                blob,
                number: number(first),
            };
            self.append_to(&stretch, part)?;
        }
        Ok(())
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let mut segments = Vec::new();
        for (stretch, part) in stretches(namespace, blob, &offsets) {
            self.read_of(&stretch, part, &mut segments)?;
        }
        Ok(segments)
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        let (directory, prefix) = (stretch::directory(namespace)?, stretch::entries_of(blob)?);
        loop {
            let parts = [ReadPart::Rows {
                after: &prefix,
                prefix: &prefix,
                count_max: ENTRIES_MAX,
            }];
            let Some(mut answers) = self.read(&directory, &parts)? else {
                return Ok(());
            };
            let (entries, has_more) = rows(answers.pop())?;
            for (entry, _) in &entries {
                let stretch = Stretch {
                    namespace: namespace.clone(),
                    blob,
                    number: stretch::numbers_of(entry)?.1,
                };
                self.remove(&stretch)?;
            }
            if !entries.is_empty() {
                let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| &key[..]).collect();
                self.change(&directory, &[WritePart::Unset(&keys)])?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        let directory = stretch::directory(namespace)?;
        let mut numbers: Vec<u64> = Vec::new();
        let mut after = after.map_or(Ok(c"".to_owned()), stretch::behind_entries_of)?;
        while numbers.len() < count_max {
            let parts = [ReadPart::Rows {
                after: &after,
                prefix: c"",
                count_max: ENTRIES_MAX,
            }];
            let Some(mut answers) = self.read(&directory, &parts)? else {
                break;
            };
            let (entries, has_more) = rows(answers.pop())?;
            for (entry, _) in &entries {
                let blob = stretch::numbers_of(entry)?.0;
                if numbers.last() != Some(&blob) {
                    numbers.push(blob);
                }
            }
            match numbers.last() {
                Some(last) if has_more => after = stretch::behind_entries_of(*last)?,
                _ => break,
            }
        }
        numbers.truncate(count_max);
        Ok(numbers)
    }
}
