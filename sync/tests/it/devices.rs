//! Several devices in random programs: whatever happens in between, they come to one commit, and nothing is lost.

use crate::device::{Device, Map, key};
use crate::random::value;
use crate::shared::Replicas;
use larder_fixtures::random::Random;
use larder_pages::{CollectPolicy, MergePolicy, Page, PageOptions, Priority, Timestamp};
use larder_sync::{Downloaded, ErrorKind, FolderCloud};
use std::path::Path;
use std::sync::Arc;

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("LARDER_SYNC_SEEDS").map_or(150, |n| n.parse().unwrap());
    let first = std::env::var("LARDER_SEED").map_or(1, |n| n.parse().unwrap());
    first..first + count
}

/// Changes of a device: of keys that all write, and of its own, which are noted.
fn change(random: &mut Random, device: &Device, index: usize, own: &mut Map, now: i64) {
    // Beside a head that was downloaded, the latest head need not have what this device has changed.
    device.page.merge(&mut MergePolicy::LastOneWins).unwrap();
    let mut journal = device.page.begin().unwrap();
    for _ in 0..random.below(6) {
        let value = value(random);
        let (key, is_own) = match random.below(2) {
            0 => (format!("shared{}", random.below(12)), false),
            _ => (format!("own{index}-{}", random.below(12)), true),
        };
        let key = key.into_bytes();
        match random.below(4) {
            0 => {
                journal.delete(&key).unwrap();
                own.remove(&key);
            }
            _ => {
                let priority = [Priority::Eager, Priority::Lazy][(random.below(8) == 0) as usize];
                // Lazy values would have to be fetched to be compared: each has an eager one beside it.
                if priority == Priority::Lazy {
                    let beside = [&key[..], b"-lazy"].concat();
                    journal
                        .put_with_priority(&beside, &value, priority)
                        .unwrap();
                }
                journal.put(&key, &value).unwrap();
                if is_own {
                    own.insert(key, value);
                }
            }
        }
    }
    device.page.commit(journal, Timestamp(now)).unwrap();
}

fn eager(device: &Device) -> Map {
    let head = device.head();
    let snapshot = device.page.snapshot(&head, b"");
    let entries = snapshot.entries(b"").unwrap().map(Result::unwrap);
    let entries = entries.filter(|entry| entry.priority == Priority::Eager);
    entries
        .map(|entry| {
            let value = snapshot.get(&entry.key).unwrap().unwrap();
            (entry.key, value)
        })
        .collect()
}

#[test]
fn devices_come_to_one_commit_whatever_happens_in_between() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        let count = 2 + random.below(3) as usize;
        let secret = (random.below(2) == 0).then(key);
        let secret = secret.as_ref();
        let clouds = Replicas::new(count);
        let mut devices: Vec<Option<Device>> = (0..count)
            .map(|at| Some(Device::new(clouds.of(at), secret, at as u8 + 1)))
            .collect();
        let mut own = vec![Map::new(); count];
        for now in 1..40 {
            let at = random.below(count as u64) as usize;
            let device = devices[at].as_mut().unwrap();
            match random.below(8) {
                0..3 => change(&mut random, device, at, &mut own[at], now),
                3 => {
                    let fails = Random::new(random.next());
                    clouds.of(at).fail(Some((fails, 200)));
                    let failed = device.run().err();
                    assert!(failed.is_none_or(|error| error.kind() == ErrorKind::Unavailable));
                    clouds.of(at).fail(None);
                }
                4 => {
                    let mut chance = Random::new(random.next());
                    clouds.bring(|| chance.below(3) > 0);
                }
                5 => {
                    let device = devices[at].take().unwrap();
                    devices[at] = Some(device.restarted(clouds.of(at), secret, at as u8 + 100));
                }
                6 => {
                    device.page.collect().unwrap();
                    device.sync.download().unwrap();
                }
                _ => {
                    device.run().unwrap();
                }
            }
        }
        let mut devices: Vec<Device> = devices.into_iter().flatten().collect();
        for round in 0.. {
            clouds.bring(|| true);
            let mut is_quiet = true;
            for device in &mut devices {
                let done = device.run().unwrap();
                assert!(done.is_one && !done.downloaded.is_waiting, "seed {seed}");
                assert!(done.downloaded.problem.is_none(), "seed {seed}");
                is_quiet &= done.downloaded.segments + done.uploaded.segments == 0;
            }
            if is_quiet {
                break;
            }
            assert!(round < 20, "seed {seed}: no end");
        }
        let first = eager(&devices[0]);
        for (at, device) in devices.iter().enumerate() {
            assert!(device.page.is_synced().unwrap(), "seed {seed}");
            assert_eq!(device.head(), devices[0].head(), "seed {seed}, device {at}");
            assert!(eager(device) == first, "seed {seed}, device {at}");
        }
        let found = first.iter().filter(|(key, _)| key.starts_with(b"own"));
        let found: Map = found
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let expected: Map = own.into_iter().flatten().collect();
        let keys = |map: &Map| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&found), keys(&expected), "seed {seed}");
        assert!(found == expected, "seed {seed}: values");
    }
}

#[test]
fn what_was_synced_is_not_put_again() {
    let folder = FolderCloud::open(
        Arc::new(larder_leveldb::storage::MemoryFileSystem::new()),
        Path::new("s"),
    );
    let cloud = Arc::new(folder.unwrap());
    let mut one = Device::new(cloud.clone(), None, 1);
    let mut two = Device::new(cloud, None, 2);
    one.put(b"k", &[1; 100], 1);
    let round = one.run().unwrap();
    assert_eq!((round.uploaded.segments, round.uploaded.commits), (1, 1));
    assert_eq!(two.run().unwrap().downloaded.commits, 1);
    for device in [&mut one, &mut two] {
        let round = device.run().unwrap();
        let Downloaded {
            segments, problem, ..
        } = round.downloaded;
        assert!(segments == 0 && problem.is_none());
        assert_eq!(round.uploaded, larder_sync::Uploaded::default());
    }
    // A piece that the other device has is not put either.
    two.put(b"other", &[1; 100], 2);
    let put = two.run().unwrap().uploaded;
    assert_eq!((put.commits, put.pieces), (1, 1), "the new node alone");
    one.run().unwrap();
    assert!(one.map() == two.map());
    let status = one.sync.status().status();
    assert!(matches!(status.download, larder_sync::SyncState::Idle));
    assert_eq!(
        (status.progress.commits_in, status.progress.commits_out),
        (1, 1)
    );
}

#[test]
fn two_heads_are_not_uploaded_before_they_are_merged() {
    let clouds = Replicas::new(1);
    let mut device = Device::new(clouds.of(0), None, 1);
    let base = device.page.begin().unwrap();
    let mut other = device.page.begin_on(base.base());
    other.put(b"b", b"2").unwrap();
    device.put(b"a", b"1", 1);
    device.page.commit(other, Timestamp(2)).unwrap();
    assert_eq!(device.page.heads().len(), 2);
    assert_eq!(device.sync.upload().unwrap().segments, 0);
    let status = device.sync.status().status();
    assert!(matches!(status.upload, larder_sync::SyncState::Pending));
    device.page.merge(&mut MergePolicy::LastOneWins).unwrap();
    assert_eq!(device.sync.upload().unwrap().commits, 3);
}

/// So that a device which takes them has the names of one commit's pieces in memory, and not of all.
#[test]
fn a_commit_of_many_pieces_comes_before_the_next() {
    let cloud = Replicas::new(1).of(0);
    let mut writer = Device::new(cloud.clone(), None, 1);
    writer.sync.set_segment_max(1 << 20, 8192);
    let mut heads = Vec::new();
    for number in 1..=2_u8 {
        let mut journal = writer.page.begin().unwrap();
        for key in 0..17_000_u32 {
            let mut value = [number; 40];
            value[..4].copy_from_slice(&key.to_be_bytes());
            journal.put(&key.to_be_bytes(), &value).unwrap();
        }
        heads.push(writer.page.commit(journal, Timestamp(1)).unwrap());
    }
    writer.run().unwrap();
    let mut names = cloud.names.lock().unwrap();
    let last = names.iter().rfind(|(_, bytes)| !bytes.is_empty());
    let last = last.unwrap().0.clone();
    names.remove(&last);
    drop(names);
    let mut reader = Device::new(cloud, None, 2);
    reader.sync.download().unwrap();
    assert_eq!(reader.head(), heads[0]);
}

/// The commit comes later than its pieces; what a process has begun to take may be collected before it begins again.
#[test]
fn pieces_without_their_commit_are_taken_again_after_a_restart() {
    let cloud = Replicas::new(1).of(0);
    let mut writer = Device::new(cloud.clone(), None, 1);
    let mut journal = writer.page.begin().unwrap();
    for number in 0..3_u32 {
        let part = (0..300_000_u32)
            .flat_map(|i| (i ^ (number << 20)).wrapping_mul(0x9e37_79b9).to_le_bytes());
        journal
            .put(&[number as u8], &part.collect::<Vec<u8>>())
            .unwrap();
    }
    let commit = writer.page.commit(journal, Timestamp(1)).unwrap();
    writer.run().unwrap();
    let whole = cloud.names.lock().unwrap().clone();
    let segments: Vec<&String> = (whole.iter())
        .filter(|(_, bytes)| !bytes.is_empty())
        .map(|(name, _)| name)
        .collect();
    assert!(segments.len() > 2, "{segments:?}");
    for name in &segments[1..] {
        cloud.names.lock().unwrap().remove(*name);
    }
    let mut reader = Device::new(cloud.clone(), None, 2);
    assert!(reader.sync.download().unwrap().pieces > 0);
    let Device { files, page, sync } = reader;
    drop(sync);
    assert!(page.close().unwrap());
    let options = PageOptions {
        collect: CollectPolicy::EagerRootNodes,
        ..crate::device::options()
    };
    let page = Page::open(files.clone(), Path::new("page"), options).unwrap();
    assert!(page.collect().unwrap().pieces > 0);
    assert!(page.close().unwrap());
    let mut reader = Device::on(files, cloud.clone(), None, 2);
    *cloud.names.lock().unwrap() = whole;
    reader.run().unwrap();
    assert_eq!(reader.head(), commit);
    assert!(reader.map() == writer.map());
}

/// A piece that a device has, and another has put without its commit yet, is put by this one as well: a third may see nothing of the other.
#[test]
fn what_another_device_has_begun_to_put_is_not_relied_on() {
    let cloud = Replicas::new(1).of(0);
    let shared = [5; 5000];
    let mut begun = Device::new(cloud.clone(), None, 1);
    let mut journal = begun.page.begin().unwrap();
    for number in 0..100_u8 {
        journal.put(&[number], &[number; 4000]).unwrap();
    }
    journal.put(b"shared", &shared).unwrap();
    begun.page.commit(journal, Timestamp(1)).unwrap();
    begun.run().unwrap();
    let is_content = |names: &crate::shared::Names| -> Vec<String> {
        let names = names.iter().filter(|(_, bytes)| !bytes.is_empty());
        names.map(|(name, _)| name.clone()).collect()
    };
    let of_begun = is_content(&cloud.names.lock().unwrap());
    assert!(of_begun.len() > 3);
    cloud.names.lock().unwrap().remove(of_begun.last().unwrap());
    let mut other = Device::new(cloud.clone(), None, 2);
    other.put(b"other", b"a commit", 2);
    other.run().unwrap();
    let mut writer = Device::new(cloud.clone(), None, 3);
    writer.put(b"mine", &shared, 3);
    writer.run().unwrap();
    for name in &of_begun {
        cloud.names.lock().unwrap().remove(name);
    }
    let mut reader = Device::new(cloud, None, 4);
    reader.run().unwrap();
    assert_eq!(reader.map()[&b"mine"[..]], shared);
}
