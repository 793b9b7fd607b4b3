//! Clouds that lie, forget, and mix up, and devices that have one name.

use crate::device::{Device, PAGE, key, open_page};
use crate::random::value;
use crate::shared::{Names, Replica, Replicas};
use larder_fixtures::random::Random;
use larder_leveldb::storage::{CrashImage, FileSystem, MemoryFileSystem};
use larder_pages::PageId;
use larder_sync::{Cloud, CloudKey, DeviceId, ErrorKind, FolderCloud, PageSync, Put, SyncState};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

fn filled(cloud: &Arc<Replica>, secret: Option<&CloudKey>) -> Device {
    let mut device = Device::new(cloud.clone(), secret, 1);
    let mut random = Random::new(7);
    for now in 0..12 {
        device.put(format!("key{now}").as_bytes(), &value(&mut random), now);
        device.put(
            b"secret recipe",
            b"take four eggs and a pound of flour",
            now,
        );
        if now % 3 == 0 {
            device.run().unwrap();
        }
    }
    device.run().unwrap();
    device
}

/// Takes what a cloud has, into a new page: an error, and what was taken is a state that the writer had.
fn takes(
    names: &Names,
    secret: Option<&CloudKey>,
    writer: &Device,
    what: &str,
) -> Option<ErrorKind> {
    let cloud = Replicas::new(1).of(0);
    *cloud.names.lock().unwrap() = names.clone();
    let mut device = Device::new(cloud.clone(), secret, 2);
    let error = match device.sync.download() {
        Ok(done) => done.problem,
        Err(error) => Some(error),
    };
    for head in device.page.heads() {
        let id = head.id();
        let known = writer.page.commit_by_id(id).unwrap();
        assert!(known.is_some(), "{what}: a commit that was not made");
        let taken = crate::device::content(&device.page, &head);
        assert!(
            taken == crate::device::content(&writer.page, &head),
            "{what}"
        );
    }
    if let Some(error) = &error {
        assert!(!error.to_string().is_empty());
    }
    error.map(|error| error.kind())
}

fn segments(names: &Names) -> Vec<String> {
    let segments = (names.iter())
        .filter(|(_, bytes)| !bytes.is_empty())
        .map(|(name, _)| name);
    segments.cloned().collect()
}

#[test]
fn a_changed_byte_is_found_and_nothing_of_it_is_taken() {
    for secret in [None, Some(key())] {
        let cloud = Replicas::new(1).of(0);
        let writer = filled(&cloud, secret.as_ref());
        let names = cloud.names.lock().unwrap().clone();
        assert_eq!(takes(&names, secret.as_ref(), &writer, "whole"), None);
        for name in segments(&names) {
            let len = names[&name].len();
            for at in (0..len).step_by(1 + len / 40).chain([len - 1]) {
                let mut changed = names.clone();
                changed.get_mut(&name).unwrap()[at] ^= 0x21;
                let what = format!("{name}, byte {at} of {len}");
                let found = takes(&changed, secret.as_ref(), &writer, &what);
                // The padding is not read.
                let is_padding = secret.is_some() && found.is_none() && at + len / 8 + 60 > len;
                let expected = [
                    ErrorKind::Damaged,
                    ErrorKind::WrongKey,
                    ErrorKind::Rewritten,
                ];
                assert!(
                    is_padding || found.is_some_and(|kind| expected.contains(&kind)),
                    "{what}: {found:?}"
                );
                let mut cut = names.clone();
                cut.get_mut(&name).unwrap().truncate(at);
                let found = takes(&cut, secret.as_ref(), &writer, &what);
                assert!(
                    found.is_some() || at + len / 8 + 60 > len,
                    "{what}, cut: {found:?}"
                );
            }
        }
    }
}

#[test]
fn segments_in_each_others_places_are_found() {
    for secret in [None, Some(key())] {
        let cloud = Replicas::new(1).of(0);
        let writer = filled(&cloud, secret.as_ref());
        let names = cloud.names.lock().unwrap().clone();
        let segments = segments(&names);
        assert!(segments.len() >= 4);
        for one in &segments {
            for other in &segments {
                let mut mixed = names.clone();
                let (a, b) = (names[one].clone(), names[other].clone());
                mixed.insert(one.clone(), b);
                mixed.insert(other.clone(), a);
                let found = takes(&mixed, secret.as_ref(), &writer, "mixed");
                assert_eq!(found.is_some(), one != other, "{one} {other}: {found:?}");
            }
            let mut without = names.clone();
            without.remove(one);
            takes(&without, secret.as_ref(), &writer, "one missing");
        }
    }
}

#[test]
fn a_page_in_the_place_of_another_is_found() {
    for secret in [None, Some(key())] {
        let cloud = Replicas::new(1).of(0);
        filled(&cloud, secret.as_ref());
        let names = cloud.names.lock().unwrap().clone();
        // The cloud gives another page of these devices what is of this one.
        let other = PageId([1; 16]);
        let page = open_page(Arc::new(MemoryFileSystem::new())).unwrap();
        let lying = Replicas::new(1).of(0);
        let mut sync = PageSync::open(
            page.clone(),
            other,
            lying.clone(),
            secret.as_ref(),
            DeviceId([3; 16]),
        )
        .unwrap();
        page.connect()
            .unwrap()
            .put(b"k", b"v", larder_pages::Timestamp(1))
            .unwrap();
        sync.upload().unwrap();
        let folder = segments(&lying.names.lock().unwrap())[0]
            .split('/')
            .next()
            .unwrap()
            .to_owned();
        let mixed = names.into_iter().map(|(name, bytes)| {
            let (_, rest) = name.split_once('/').unwrap();
            (format!("{folder}/{rest}"), bytes)
        });
        lying.names.lock().unwrap().extend(mixed);
        let error = match sync.download() {
            Ok(done) => done.problem.unwrap(),
            Err(error) => error,
        };
        assert!(
            matches!(error.kind(), ErrorKind::Damaged | ErrorKind::WrongKey),
            "{error}"
        );
        assert_eq!(page.heads().len(), 1);
    }
}

#[test]
fn a_cloud_sees_nothing_of_what_is_sealed() {
    let cloud = Replicas::new(1).of(0);
    filled(&cloud, Some(&key()));
    let names = cloud.names.lock().unwrap();
    for (name, bytes) in &*names {
        for secret in [&b"recipe"[..], b"four eggs", b"key1", &PAGE.0] {
            assert!(
                !bytes.windows(secret.len()).any(|part| part == secret),
                "{name}"
            );
        }
        assert!(!name.contains("5a5a5a"), "{name}");
    }
    let plain = Replicas::new(1).of(0);
    filled(&plain, None);
    let plain = plain.names.lock().unwrap();
    assert!(
        plain
            .values()
            .any(|bytes| bytes.windows(6).any(|part| part == b"recipe"))
    );
}

#[test]
fn keys_that_are_not_the_one_are_refused() {
    let cloud = Replicas::new(1).of(0);
    filled(&cloud, Some(&key()));
    let names = cloud.names.lock().unwrap().clone();
    // Another key does not even find the folder; given it, nothing opens.
    let folder = |key: Option<&CloudKey>| {
        let cloud = Replicas::new(1).of(0);
        let mut device = Device::new(cloud.clone(), key, 5);
        device.put(b"k", b"v", 1);
        device.run().unwrap();
        let names = cloud.names.lock().unwrap();
        names
            .keys()
            .next()
            .unwrap()
            .split('/')
            .next()
            .unwrap()
            .to_owned()
    };
    for other in [None, Some(CloudKey::new([1; 32]))] {
        let folder = folder(other.as_ref());
        let moved = names.iter().map(|(name, bytes)| {
            let (_, rest) = name.split_once('/').unwrap();
            (format!("{folder}/{rest}"), bytes.clone())
        });
        let cloud = Replicas::new(1).of(0);
        *cloud.names.lock().unwrap() = moved.collect();
        let mut device = Device::new(cloud, other.as_ref(), 5);
        assert_eq!(
            device.sync.download().unwrap_err().kind(),
            ErrorKind::WrongKey
        );
    }
}

/// The page's folder has another name with each key, so it is not there for a wrong one, as if it was erased.
#[test]
fn a_wrong_key_or_none_is_named_and_nothing_is_put() {
    let [none, nine, one] = [None, Some(key()), Some(CloudKey::new([1; 32]))];
    for (right, wrong) in [(&none, &nine), (&nine, &none), (&nine, &one)] {
        let cloud = Replicas::new(1).of(0);
        let known = filled(&cloud, right.as_ref());
        let whole = cloud.names.lock().unwrap().clone();
        let is_named = |device: &mut Device| {
            assert_eq!(device.run().unwrap_err().kind(), ErrorKind::WrongKey);
            let uploaded = device.sync.upload();
            assert_eq!(uploaded.unwrap_err().kind(), ErrorKind::WrongKey);
            assert!(*cloud.names.lock().unwrap() == whole);
        };
        let mut new = Device::new(cloud.clone(), wrong.as_ref(), 5);
        new.put(b"secret", b"of a new device", 70);
        is_named(&mut new);
        let mut known = known.restarted(cloud.clone(), wrong.as_ref(), 6);
        known.put(b"secret", b"of one that is known", 71);
        is_named(&mut known);
        known.sync.start_over().unwrap();
        is_named(&mut known);
        let mut known = known.restarted(cloud.clone(), right.as_ref(), 6);
        known.sync.start_over().unwrap();
        known.run().unwrap();
    }
}

#[test]
fn a_cloud_that_was_erased_or_set_back_or_rewritten_is_named_and_can_be_filled_anew() {
    let cloud = Replicas::new(1).of(0);
    let mut writer = filled(&cloud, None);
    let mut reader = Device::new(cloud.clone(), None, 2);
    reader.run().unwrap();
    let whole = cloud.names.lock().unwrap().clone();
    let last = segments(&whole).pop().unwrap();
    cloud.names.lock().unwrap().remove(&last);
    for device in [&mut writer, &mut reader] {
        assert_eq!(device.run().unwrap_err().kind(), ErrorKind::Erased);
    }
    // Another device's page with this one's name, as after a backup was put back.
    let other = Replicas::new(1).of(0);
    let mut stranger = Device::new(other.clone(), None, 1);
    for now in 0..40 {
        stranger.put(b"k", &[now as u8; 50], now);
        stranger.run().unwrap();
    }
    *cloud.names.lock().unwrap() = other.names.lock().unwrap().clone();
    assert_eq!(reader.problem().unwrap().kind(), ErrorKind::Rewritten);
    let status = reader.sync.status().status();
    assert!(matches!(status.download, SyncState::Error(_)));
    assert!(reader.sync.retry_after().is_some());
    cloud.names.lock().unwrap().clear();
    assert_eq!(writer.run().unwrap_err().kind(), ErrorKind::Erased);
    let mut writer = writer.restarted(cloud.clone(), None, 11);
    writer.sync.start_over().unwrap();
    let round = writer.run().unwrap();
    assert!(round.uploaded.commits >= 12);
    let mut new = Device::new(cloud.clone(), None, 3);
    new.run().unwrap();
    assert_eq!(new.head(), writer.head());
    assert!(new.map() == writer.map());
    let mut reader = reader.restarted(cloud, None, 12);
    reader.put(b"meanwhile", b"on the other", 99);
    reader.sync.start_over().unwrap();
    reader.run().unwrap();
    writer.run().unwrap();
    assert!(writer.map() == reader.map());
    assert!(writer.map().contains_key(&b"meanwhile"[..]));
}

#[test]
fn a_copied_page_becomes_a_device_of_its_own() {
    let cloud = Replicas::new(1).of(0);
    let mut one = filled(&cloud, None);
    let copy = Arc::new(one.files.crash_image(CrashImage::KeepWritten));
    let mut two = Device::on(copy, cloud.clone(), None, 2);
    assert_eq!(one.sync.device(), two.sync.device());
    one.put(b"one", b"1", 50);
    two.put(b"two", b"2", 51);
    one.run().unwrap();
    // It meets segments under its name that it has not written: it takes them, and has another name.
    two.run().unwrap();
    assert_ne!(one.sync.device(), two.sync.device());
    for device in [&mut two, &mut one] {
        device.run().unwrap();
    }
    assert!(one.map() == two.map());
    assert_eq!(one.map()[&b"two"[..]], b"2");
}

/// A cloud that does not answer for names with a part in them.
#[derive(Debug)]
struct Without(Arc<Replica>, String);

impl Cloud for Without {
    fn put(&self, name: &str, bytes: &[u8]) -> larder_sync::Result<Put> {
        self.0.put(name, bytes)
    }

    fn read(&self, name: &str, range: Range<u64>) -> larder_sync::Result<Option<Vec<u8>>> {
        match name.contains(&self.1) {
            true => Err(larder_sync::Error::new(ErrorKind::Unavailable, "for now")),
            false => self.0.read(name, range),
        }
    }

    fn list(&self, folder: &str) -> larder_sync::Result<Vec<String>> {
        self.0.list(folder)
    }
}

/// However the round ends in which it sees that it is one.
#[test]
fn a_copied_page_leaves_its_name_although_the_round_fails_behind_that() {
    let cloud = Replicas::new(1).of(0);
    let mut one = filled(&cloud, None);
    let copy = Arc::new(one.files.crash_image(CrashImage::KeepWritten));
    one.put(b"one", b"1", 50);
    one.run().unwrap();
    let nine = DeviceId([9; 16]);
    let mut third = Device::new(cloud.clone(), None, 9);
    third.run().unwrap();
    third.put(b"three", b"3", 52);
    third.run().unwrap();
    let failing = Arc::new(Without(cloud.clone(), format!("{nine}/")));
    let mut two = Device::on(copy, failing.clone(), None, 2);
    assert_eq!(one.sync.device(), two.sync.device());
    let error = two.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(two.sync.device(), DeviceId([2; 16]));
    let mut two = two.restarted(cloud.clone(), None, 7);
    assert_eq!(two.sync.device(), DeviceId([2; 16]));
    two.put(b"two", b"2", 53);
    for _ in 0..2 {
        one.run().unwrap();
        two.run().unwrap();
    }
    assert!(one.map() == two.map());
    assert_eq!(one.map()[&b"two"[..]], b"2");
}

/// What a device has taken is compared with what is there, and what it takes with what it has taken.
#[test]
fn a_segment_that_is_another_one_is_found_behind_what_was_taken_and_in_its_place() {
    let write = |values: &[u8]| {
        let cloud = Replicas::new(1).of(0);
        let mut device = Device::new(cloud.clone(), None, 1);
        for (now, value) in values.iter().enumerate() {
            device.put(b"k", &[*value; 50], now as i64);
            device.run().unwrap();
        }
        let names = cloud.names.lock().unwrap().clone();
        let segments = segments(&names);
        (names, segments)
    };
    let (one, of_one) = write(&[1, 2, 3]);
    // Its first two segments are the same.
    let (fork, of_fork) = write(&[1, 2, 9, 4]);
    assert_eq!((of_one.len(), of_fork.len()), (3, 4));
    assert_eq!(one[&of_one[1]], fork[&of_one[1]]);
    assert_ne!(one[&of_one[2]], fork[&of_one[2]]);
    let cloud = Replicas::new(1).of(0);
    *cloud.names.lock().unwrap() = one.clone();
    let mut reader = Device::new(cloud.clone(), None, 2);
    reader.run().unwrap();
    cloud
        .names
        .lock()
        .unwrap()
        .insert(of_fork[3].clone(), fork[&of_fork[3]].clone());
    assert_eq!(reader.problem().unwrap().kind(), ErrorKind::Rewritten);
    *cloud.names.lock().unwrap() = one.clone();
    assert!(reader.problem().is_none() && reader.sync.retry_after().is_none());
    cloud
        .names
        .lock()
        .unwrap()
        .insert(of_one[2].clone(), fork[&of_one[2]].clone());
    assert_eq!(reader.problem().unwrap().kind(), ErrorKind::Rewritten);
}

#[test]
fn a_cloud_that_was_erased_is_named_after_a_restart_as_well() {
    let cloud = Replicas::new(1).of(0);
    let writer = filled(&cloud, None);
    let mut reader = Device::new(cloud.clone(), None, 2);
    reader.sync.download().unwrap();
    cloud.names.lock().unwrap().clear();
    for device in [writer, reader] {
        let name = device.sync.device().0[0];
        let mut device = device.restarted(cloud.clone(), None, name);
        assert_eq!(device.run().unwrap_err().kind(), ErrorKind::Erased);
    }
}

/// One device's disk or program spoils its own segments; the others go on.
#[test]
fn a_damaged_segment_stops_nobody_but_its_device() {
    for is_known in [true, false] {
        let cloud = Replicas::new(1).of(0);
        let mut good = Device::new(cloud.clone(), None, 2);
        let mut reader = Device::new(cloud.clone(), None, 3);
        let mut bad = Device::new(cloud.clone(), None, 1);
        bad.put(b"bad", b"before", 1);
        bad.run().unwrap();
        if is_known {
            reader.run().unwrap();
        }
        let spoilt = segments(&cloud.names.lock().unwrap()).pop().unwrap();
        cloud.names.lock().unwrap().get_mut(&spoilt).unwrap()[60] ^= 1;
        good.put(b"good", b"of another", 2);
        let error = good.problem().unwrap();
        assert_eq!(
            (error.kind(), error.device()),
            (ErrorKind::Damaged, Some(DeviceId([1; 16])))
        );
        reader.put(b"mine", b"of the reader", 3);
        for _ in 0..2 {
            assert_eq!(reader.problem().unwrap().kind(), ErrorKind::Damaged);
            assert_eq!(good.problem().unwrap().kind(), ErrorKind::Damaged);
        }
        assert_eq!(reader.map()[&b"good"[..]], b"of another");
        // What was written on top of what the bad one wrote waits for it.
        assert_eq!(good.map().contains_key(&b"mine"[..]), !is_known);
        assert_eq!(reader.map().contains_key(&b"bad"[..]), is_known);
    }
}

#[test]
fn a_file_that_is_too_long_for_a_segment_is_not_read_whole() {
    let files = Arc::new(MemoryFileSystem::new());
    let cloud = FolderCloud::open(files.clone(), Path::new("cloud")).unwrap();
    let mut file = files.create(Path::new("cloud/long")).unwrap();
    for _ in 0..9 {
        file.append(&vec![7; 1 << 20]).unwrap();
    }
    drop(file);
    let read = cloud.read("long", 0..u64::MAX).unwrap().unwrap();
    assert_eq!(read.len(), (4 << 20) + 1);
}
