//! Lazy values, which come when they are asked for.

use crate::device::{Device, key};
use crate::shared::Replicas;
use larder_pages::{ChangeSource, ErrorKind, Priority, Timestamp};

fn noise(len: u32) -> Vec<u8> {
    (0..len)
        .flat_map(|i| i.wrapping_mul(i).to_le_bytes())
        .collect()
}

/// Commits a lazy value under the key `film`: which.
fn with_film(device: &Device) -> Vec<u8> {
    let film = noise(100_000);
    let mut journal = device.page.begin().unwrap();
    journal
        .put_with_priority(b"film", &film, Priority::Lazy)
        .unwrap();
    device.page.commit(journal, Timestamp(1)).unwrap();
    film
}

#[test]
fn a_lazy_value_is_fetched_from_the_cloud_alone() {
    for secret in [None, Some(key())] {
        let clouds = Replicas::new(1);
        let mut one = Device::new(clouds.of(0), secret.as_ref(), 1);
        let mut two = Device::new(clouds.of(0), secret.as_ref(), 2);
        let film = noise(100_000);
        let mut journal = one.page.begin().unwrap();
        journal
            .put_with_priority(b"film", &film, Priority::Lazy)
            .unwrap();
        journal.put(b"title", &[5; 50]).unwrap();
        one.page.commit(journal, Timestamp(1)).unwrap();
        one.run().unwrap();
        two.run().unwrap();
        let snapshot = two.page.snapshot(&two.head(), b"");
        assert_eq!(snapshot.get(b"title").unwrap().unwrap(), [5; 50]);
        assert_eq!(
            snapshot.get(b"film").unwrap_err().kind(),
            ErrorKind::NeedsFetch
        );
        let value = snapshot.entry(b"film").unwrap().unwrap().value;
        two.sync.fetch(&value).unwrap();
        assert!(snapshot.get(b"film").unwrap().unwrap() == film);
        assert!(two.page.is_synced().unwrap());
        // It is not put again by a device that has it from there.
        assert_eq!(two.run().unwrap().uploaded.segments, 0);
        let unknown = larder_pages::ObjectDigest::of(
            larder_pages::PieceType::Chunk,
            larder_pages::ObjectType::Blob,
            &[6; 60],
        );
        let unknown = larder_pages::ObjectIdentifier::new(unknown);
        assert!(two.sync.fetch(&unknown).is_err());
    }
}

#[test]
fn what_was_lazy_and_is_eager_now_comes_with_the_commit_that_says_so() {
    let clouds = Replicas::new(1);
    let mut one = Device::new(clouds.of(0), None, 1);
    let mut two = Device::new(clouds.of(0), None, 2);
    let film = with_film(&one);
    one.run().unwrap();
    two.run().unwrap();
    one.put(b"film", &film, 2);
    assert_eq!(one.run().unwrap().uploaded.pieces, 1, "the node alone");
    two.run().unwrap();
    assert!(two.map()[&b"film"[..]] == film);
}

/// A device that had the film from another one, and not from the cloud, puts it there once it has it.
#[test]
fn a_value_that_comes_of_a_peer_goes_to_a_cloud_that_has_lost_it() {
    let clouds = Replicas::new(1);
    let cloud = clouds.of(0);
    let one = Device::new(cloud.clone(), None, 1);
    let mut two = Device::new(cloud.clone(), None, 2);
    let film = with_film(&one);
    // The commit without the film, from device to device; then the film as well.
    two.page.pull_from(&one.page, false).unwrap();
    two.run().unwrap();
    assert!(two.page.is_synced().unwrap());
    let value = two.page.snapshot(&two.head(), b"").entry(b"film");
    let value = value.unwrap().unwrap().value;
    let mut incoming = two.page.incoming();
    let add = |id, content: &[u8]| incoming.add_pieces(&[(id, content)]);
    one.page.outgoing().lazy_pieces(value, add).unwrap();
    incoming.add_lazy_value(&value, ChangeSource::Peer).unwrap();
    assert!(!two.page.is_synced().unwrap());
    assert!(two.run().unwrap().uploaded.pieces > 0);
    assert!(two.page.is_synced().unwrap());
    let mut three = Device::new(cloud, None, 3);
    three.run().unwrap();
    let snapshot = three.page.snapshot(&three.head(), b"");
    three.sync.fetch(&value).unwrap();
    assert!(snapshot.get(b"film").unwrap().unwrap() == film);
}

/// Its parts come again and again, and so do parts of its index beside what is in them.
#[test]
fn a_value_of_parts_that_come_again_is_fetched() {
    let clouds = Replicas::new(1);
    let mut one = Device::new(clouds.of(0), None, 1);
    let mut two = Device::new(clouds.of(0), None, 2);
    let (a, b) = (noise(100_000), noise(90_001));
    let film = [&a[..], &b, &a, &a, &b, &b, &a, &b].concat().repeat(3);
    let mut journal = one.page.begin().unwrap();
    journal
        .put_with_priority(b"film", &film, Priority::Lazy)
        .unwrap();
    one.page.commit(journal, Timestamp(1)).unwrap();
    one.run().unwrap();
    two.run().unwrap();
    let snapshot = two.page.snapshot(&two.head(), b"");
    let value = snapshot.entry(b"film").unwrap().unwrap().value;
    two.sync.fetch(&value).unwrap();
    assert!(snapshot.get(b"film").unwrap().unwrap() == film);
}

#[test]
fn what_another_device_has_spoilt_is_in_the_way_of_no_value() {
    let cloud = Replicas::new(1).of(0);
    let mut one = Device::new(cloud.clone(), None, 1);
    let mut two = Device::new(cloud.clone(), None, 2);
    let mut bad = Device::new(cloud.clone(), None, 0);
    bad.put(b"bad", &[3; 50], 1);
    bad.run().unwrap();
    let film = with_film(&one);
    one.run().unwrap();
    two.run().unwrap();
    let of_bad = format!("{}/", bad.sync.device());
    for (name, bytes) in cloud.names.lock().unwrap().iter_mut() {
        if name.contains(&of_bad) {
            bytes[40] ^= 1;
        }
    }
    let snapshot = two.page.snapshot(&two.head(), b"");
    let value = snapshot.entry(b"film").unwrap().unwrap().value;
    two.sync.fetch(&value).unwrap();
    assert!(snapshot.get(b"film").unwrap().unwrap() == film);
}
