//! The objects of a bucket as blobs: `PREFIX/NAMESPACE/BLOB/SEGMENTS`.

use super::index::Objects;
use super::object::{Object, Place};
use super::{S3, errors};
use crate::blobs::{Blobs, Cut, Segment};
use crate::error::{Error, ErrorKind, Result};
use crate::namespace::Namespace;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// Objects that one listing has: S3's own limit.
const LISTED_MAX: usize = 1000;

/// Requests of one read that are under way at once: a span has few objects, mostly one or two, and a server has other clients.
const READS_AT_ONCE: usize = 16;

/// A namespace as a part of a name: letters, digits, `_` and `-`, and other bytes as `%` and two digits.
fn part_of(namespace: &Namespace) -> String {
    let mut part = String::new();
    for byte in namespace.as_str().bytes() {
        match byte.is_ascii_alphanumeric() || b"_-".contains(&byte) {
            true => part.push(char::from(byte)),
            false => {
                write!(part, "%{byte:02X}").ok();
            }
        }
    }
    part
}

/// The number of a blob in the name of one of its objects, whose beginning is `before`.
fn number_of(name: &str, before: &str) -> Result<u64> {
    let number = name.strip_prefix(before).and_then(|rest| rest.get(..16));
    let number = number.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| Error::corruption(format!("{name:?} is no object of a blob")))
}

fn path(name: &str) -> Result<Path> {
    Path::parse(name).map_err(|error| Error::corruption(format!("{name:?}: {error}")))
}

/// What of an object is read, and what for.
struct Part {
    path: Path,
    bytes: Range<u64>,
    places: Vec<Place>,
}

impl S3 {
    /// What all names of a namespace begin with.
    fn names_of(&self, namespace: &Namespace) -> String {
        format!("{}{}/", self.shared.prefix, part_of(namespace))
    }

    /// What all names of a blob begin with.
    fn names_of_blob(&self, namespace: &Namespace, blob: u64) -> String {
        format!("{}{blob:016x}/", self.names_of(namespace))
    }

    fn list_page(
        &self,
        before: &str,
        options: PaginatedListOptions,
    ) -> Result<PaginatedListResult> {
        let (bucket, before) = (Arc::clone(&self.shared.bucket), before.to_owned());
        self.run(ErrorKind::Unavailable, async move {
            let listed = bucket.list_paginated(Some(&before), options).await;
            listed.map_err(|error| errors::of(&error))
        })
    }

    /// The objects of a blob, which are remembered.
    fn objects(&self, namespace: &Namespace, blob: u64) -> Result<Objects> {
        let before = self.names_of_blob(namespace, blob);
        let listing = self.shared.index.list(namespace, blob);
        let (mut objects, mut page_token) = (Vec::new(), None);
        loop {
            let options = PaginatedListOptions {
                page_token,
                ..PaginatedListOptions::default()
            };
            let page = self.list_page(&before, options)?;
            for found in page.result.objects {
                let name = found.location.as_ref();
                objects.push(Object::parse(name.strip_prefix(&before).unwrap_or(name))?);
            }
            match page.page_token {
                Some(token) => page_token = Some(token),
                None => break,
            }
        }
        objects.sort_by_key(|object| object.first);
        let objects = Arc::new(objects);
        listing.shows(Arc::clone(&objects));
        Ok(objects)
    }

    /// The segments of a range that some objects have; `None`: one of the objects is gone.
    fn read_of(
        &self,
        namespace: &Namespace,
        blob: u64,
        objects: &[Object],
        offsets: &Range<u64>,
    ) -> Result<Option<Vec<Segment>>> {
        let before = self.names_of_blob(namespace, blob);
        let mut parts = Vec::new();
        for object in objects
            .iter()
            .take_while(|object| object.first < offsets.end)
        {
            let places = object.places(offsets);
            if let (Some(first), Some(last)) = (places.first(), places.last()) {
                parts.push(Part {
                    path: path(&format!("{before}{}", object.name()))?,
                    bytes: first.position.start..last.position.end,
                    places,
                });
            }
        }
        let bucket = Arc::clone(&self.shared.bucket);
        let read = self.run(ErrorKind::Unavailable, async move {
            let parts = stream::iter(parts).map(|part| read(&bucket, part));
            parts.buffered(READS_AT_ONCE).try_collect::<Vec<_>>().await
        })?;
        let Some(read) = read.into_iter().collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let mut segments: Vec<Segment> = read.into_iter().flatten().collect();
        // A segment that was written again may be in two objects, with equal bytes.
        segments.sort_by_key(|segment| segment.offset);
        segments.dedup_by_key(|segment| segment.offset);
        Ok(Some(segments))
    }
}

/// The segments of a part; `None`: the object is gone.
async fn read(bucket: &impl ObjectStore, part: Part) -> Result<Option<Vec<Segment>>> {
    let range = part.bytes.clone();
    let bytes = match range.is_empty() {
        // Segments without bytes alone.
        true => None,
        false => match bucket.get_range(&part.path, range.clone()).await {
            Ok(bytes) => Some(bytes),
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(errors::of(&error)),
        },
    };
    let bytes = bytes.as_deref().unwrap_or_default();
    let segments = part.places.into_iter().map(|place| {
        let position = (place.position.start - range.start) as usize
            ..(place.position.end - range.start) as usize;
        let bytes = bytes.get(position).ok_or_else(|| {
            let what = format!(
                "{}: it ends before the segments that its name says",
                part.path
            );
            Error::corruption(what)
        })?;
        Ok(Segment {
            offset: place.offset,
            bytes: bytes.to_vec(),
        })
    });
    segments.collect::<Result<_>>().map(Some)
}

impl Blobs for S3 {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        let before = self.names_of_blob(namespace, blob);
        let mut rest = segments;
        while let Some((object, count)) = Object::of(rest) {
            let (now, later) = rest.split_at(count);
            rest = later;
            let path = path(&format!("{before}{}", object.name()))?;
            let bytes: Vec<u8> = now
                .iter()
                .flat_map(|segment| &segment.bytes[..])
                .copied()
                .collect();
            let bucket = Arc::clone(&self.shared.bucket);
            self.run(ErrorKind::OutcomeUnknown, async move {
                let put = bucket.put(&path, PutPayload::from(bytes)).await;
                put.map(drop).map_err(|error| errors::of_change(&error))
            })?;
            self.shared.index.written(namespace, blob, object);
        }
        Ok(())
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        if offsets.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(objects) = self.shared.index.below(namespace, blob, offsets.end) {
            if let Some(segments) = self.read_of(namespace, blob, &objects, &offsets)? {
                return Ok(segments);
            }
            // It was deleted since it was listed.
            self.shared.index.forget(namespace, blob);
        }
        let objects = self.objects(namespace, blob)?;
        let segments = self.read_of(namespace, blob, &objects, &offsets)?;
        if segments.is_none() {
            self.shared.index.forget(namespace, blob);
        }
        Ok(segments.unwrap_or_default())
    }

    /// A blob that is cut so has objects whose names need no listing.
    fn read_as_cut(
        &self,
        namespace: &Namespace,
        blob: u64,
        offsets: Range<u64>,
        cut: &Cut,
    ) -> Result<Vec<Segment>> {
        let known = self.shared.index.below(namespace, blob, offsets.end);
        if known.is_none() && offsets.end <= cut.end {
            let objects = cut.calls(&offsets);
            let objects = objects.filter_map(|shape| Object::of_shape(&shape));
            let objects: Vec<Object> = objects.map(|(object, _)| object).collect();
            if let Some(segments) = self.read_of(namespace, blob, &objects, &offsets)? {
                return Ok(segments);
            }
        }
        self.read(namespace, blob, offsets)
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        self.shared.index.forget(namespace, blob);
        let before = self.names_of_blob(namespace, blob);
        loop {
            let page = self.list_page(&before, PaginatedListOptions::default())?;
            let names = page.result.objects.into_iter().map(|found| found.location);
            let names: Vec<Path> = names.collect();
            if names.is_empty() {
                return Ok(());
            }
            let bucket = Arc::clone(&self.shared.bucket);
            self.run(ErrorKind::OutcomeUnknown, async move {
                let deleted = bucket.delete_stream(stream::iter(names).map(Ok).boxed());
                let deleted = deleted.map(|deleted| match deleted {
                    Err(object_store::Error::NotFound { .. }) => Ok(()),
                    deleted => deleted.map(drop),
                });
                let all = deleted.try_for_each(|()| std::future::ready(Ok(()))).await;
                all.map_err(|error| errors::of_change(&error))
            })?;
        }
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        let before = self.names_of(namespace);
        let mut numbers: Vec<u64> = Vec::new();
        // Behind the `/` of the blob's number, and before all other numbers.
        let mut offset = after.map(|after| format!("{before}{after:016x}0"));
        while numbers.len() < count_max {
            let options = PaginatedListOptions {
                offset,
                delimiter: Some("/".into()),
                max_keys: Some((count_max - numbers.len()).min(LISTED_MAX)),
                ..PaginatedListOptions::default()
            };
            let page = self.list_page(&before, options)?;
            for found in &page.result.common_prefixes {
                numbers.push(number_of(found.as_ref(), &before)?);
            }
            match numbers.last() {
                Some(last) if page.page_token.is_some() => {
                    offset = Some(format!("{before}{last:016x}0"));
                }
                _ => break,
            }
        }
        Ok(numbers)
    }

    fn place(&self) -> Option<&str> {
        Some(&self.shared.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_one_part_of_a_name() {
        for (name, part) in [
            ("notes", "notes"),
            ("tenants/7", "tenants%2F7"),
            ("..", "%2E%2E"),
            ("50 % ä", "50%20%25%20%C3%A4"),
        ] {
            assert_eq!(part_of(&Namespace::new(name).unwrap()), part);
        }
    }

    #[test]
    fn what_is_no_object_of_a_blob_is_damage() {
        assert_eq!(number_of("p/n/00000000000000ff/x", "p/n/").unwrap(), 255);
        for name in [
            "p/n/",
            "p/n/ff/x",
            "p/m/00000000000000ff/x",
            "p/n/00000000000000fg/",
        ] {
            assert!(number_of(name, "p/n/").is_err(), "{name}");
        }
    }
}
