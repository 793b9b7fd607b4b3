//! A real Ceph cluster with three stores of objects: all laws, and its errors.

use crate::laws;
use crate::setting::Setting;
use crate::support::namespace;
use larder_fixtures::servers::{Rados as Server, free_port};
use larder_remote_files::{
    Blobs, Catalogue, Commit, ErrorKind, Namespace, Outcome, Rados, RadosOptions, RadosUrl, Segment,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn connect(url: &str, options: RadosOptions) -> larder_remote_files::Result<Rados> {
    let url = RadosUrl::parse(url)?;
    Rados::connect(url.hosts(), url.pool(), options)
}

/// Objects of its own.
fn setting_of(server: &Server) -> Setting {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let room = format!("test {}", COUNT.fetch_add(1, Ordering::Relaxed));
    // A disk that others use may be slow, and no test of these is of time.
    let options = RadosOptions::new().room(&room);
    let options = options.request_time_max(Duration::from_secs(60));
    Setting::of_server(connect(&server.url(), options).unwrap())
}

fn setting() -> Option<Setting> {
    Server::shared().map(setting_of)
}

laws::of_engine!(setting, 120);

#[test]
fn what_cannot_be_reached_says_why() {
    let none = format!("rados://127.0.0.1:{}/larder", free_port());
    let options = || RadosOptions::new().request_time_max(Duration::from_secs(1));
    let error = connect(&none, options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("RADOS at 127.0.0.1:"), "{error}");
    assert!(
        error.to_string().contains("is the cluster running"),
        "{error}"
    );
    let Some(server) = Server::shared() else {
        return;
    };
    let url = format!("rados://{}/nowhere", server.host());
    let error = connect(&url, RadosOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(
        error.to_string().contains("ceph osd pool create nowhere"),
        "{error}"
    );
    let wrong = RadosOptions::new().setting("no_such_option", "1");
    let error = connect(&server.url(), wrong).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("no_such_option"), "{error}");
}

/// A client of a room.
fn client(server: &Server, room: &str) -> Rados {
    let options = RadosOptions::new().room(room);
    let options = options.request_time_max(Duration::from_secs(60));
    connect(&server.url(), options).unwrap()
}

fn put(catalogue: &Rados, keys: impl IntoIterator<Item = String>, value: &[u8]) {
    let mut commit = Commit::default();
    for key in keys {
        commit.put(key.into_bytes(), value.to_vec());
    }
    assert_eq!(catalogue.commit(&commit).unwrap(), Outcome::Committed);
}

/// Beyond what one read takes a snapshot lasts as long as its rows stay; changes of another bucket are none of those.
#[test]
fn a_snapshot_is_gone_when_its_rows_have_changed_beyond_its_first_read() {
    let Some(server) = Server::shared() else {
        return;
    };
    let rados = client(server, "snapshot");
    let key = |number: u32| format!("\u{2}a\0{number:05}");
    for start in (0..2400).step_by(60) {
        put(&rados, (start..start + 60).map(key), b"old");
    }
    let all = b"\x02a\0".to_vec()..b"\x02a\x01".to_vec();
    let mut snapshot = rados.snapshot().unwrap();
    let first = snapshot.page(&all, 1000).unwrap();
    assert_eq!((first.rows.len(), first.has_more), (1000, true));
    let rest = |from: u32| key(from).into_bytes()..all.end.clone();
    put(&rados, ["\u{2}b\0of another bucket".to_owned()], b"new");
    // What is left of the first read, and the second one.
    let left = snapshot.page(&rest(1000), 1000).unwrap();
    assert_eq!((left.rows.len(), left.has_more), (24, true));
    let second = snapshot.page(&rest(1024), 1000).unwrap();
    assert_eq!((second.rows.len(), second.has_more), (1000, true));
    assert_eq!(second.rows[999].key, key(2023).into_bytes());
    put(&rados, [key(7)], b"new");
    // What is in memory is of the first revision, too.
    let page = snapshot.page(&rest(2024), 3).unwrap();
    assert!(page.rows.iter().all(|row| row.value == b"old"), "{page:?}");
    let error = snapshot.page(&rest(2200), 1000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotGone, "{error}");
    assert!(error.may_pass(), "{error}");
    let mut snapshot = rados.snapshot().unwrap();
    let first = snapshot.page(&all, 1000).unwrap();
    assert_eq!(first.rows[7].value, b"new");
    assert_eq!(snapshot.page(&rest(2200), 1000).unwrap().rows.len(), 200);
}

fn segment(offset: u64, byte: u8, len: usize) -> Segment {
    Segment {
        offset,
        bytes: vec![byte; len],
    }
}

/// Two clients write one blob, which no two processes do: each finds where the other one has ended, and writes over nothing.
#[test]
fn a_write_that_comes_late_writes_over_nothing() {
    let Some(server) = Server::shared() else {
        return;
    };
    let (one, other) = (client(server, "late"), client(server, "late"));
    let all: Vec<Segment> = (0..6)
        .map(|at| segment(at * 1000, at as u8, 900 + at as usize))
        .collect();
    for (at, segment) in all.iter().enumerate() {
        let writer = if at % 2 == 0 { &one } else { &other };
        writer
            .append(&namespace(), 3, std::slice::from_ref(segment))
            .unwrap();
    }
    assert_eq!(other.read(&namespace(), 3, 0..10_000).unwrap(), all);
    // A blob that another client has deleted meanwhile is made anew, and is listed.
    other.delete(&namespace(), 3).unwrap();
    assert!(other.list(&namespace(), None, 9).unwrap().is_empty());
    one.append(&namespace(), 3, &all[..1]).unwrap();
    assert_eq!(other.list(&namespace(), None, 9).unwrap(), [3]);
    assert_eq!(other.read(&namespace(), 3, 0..10_000).unwrap(), all[..1]);
}

/// A blob is an object for each stretch of 4 MiB, and nothing of it is left when it is deleted.
#[test]
fn a_blob_has_several_objects_and_none_is_left() {
    let Some(server) = Server::shared() else {
        return;
    };
    let rados = client(server, "stretches");
    let stretch = 4 << 20;
    let all = [
        segment(0, 1, 10),
        segment(stretch - 65_536, 2, 65_540),
        segment(stretch, 3, 65_540),
        segment(stretch + 65_536, 4, 65_540),
        segment(20 * stretch + 5, 5, 9),
    ];
    rados.append(&namespace(), 1, &all[3..]).unwrap();
    rados.append(&namespace(), 1, &all[..3]).unwrap();
    rados.append(&namespace(), 2, &all[..1]).unwrap();
    let around = stretch - 65_536..stretch + 65_536;
    assert_eq!(rados.read(&namespace(), 1, around).unwrap(), all[1..3]);
    let last = rados.read(&namespace(), 1, 20 * stretch..21 * stretch);
    assert_eq!(last.unwrap(), all[4..]);
    let objects = || {
        let listed = server.rados(&["-N", "stretches", "ls"]).unwrap();
        let mut listed: Vec<String> = listed.lines().map(str::to_owned).collect();
        listed.sort();
        listed
    };
    let blob = "blob 0000000000000001";
    let names = [
        format!("{blob} 0 test"),
        format!("{blob} 1 test"),
        format!("{blob} 14 test"),
    ];
    assert_eq!(objects()[..3], names);
    rados.delete(&namespace(), 1).unwrap();
    assert_eq!(objects(), ["blob 0000000000000002 0 test", "blobs test"]);
    assert_eq!(rados.list(&namespace(), None, 9).unwrap(), [2]);
}

/// The first write of a blob that is deleted meanwhile is refused when it comes.
#[test]
fn a_blob_that_is_deleted_before_it_is_made_is_never_made() {
    let Some(server) = Server::shared() else {
        return;
    };
    let rados = client(server, "deleted");
    // As a process leaves it that has died between the directory and the object.
    let entry = "0000000000000005 0";
    server
        .rados(&["-N", "deleted", "setomapval", "blobs test", entry, ""])
        .unwrap();
    assert_eq!(rados.list(&namespace(), None, 9).unwrap(), [5]);
    rados.delete(&namespace(), 5).unwrap();
    assert!(rados.list(&namespace(), None, 9).unwrap().is_empty());
    let error = rados
        .append(&namespace(), 5, &[segment(0, 1, 10)])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(rados.read(&namespace(), 5, 0..100).unwrap().is_empty());
    // It has left its name in the directory, and is deleted once more.
    rados.delete(&namespace(), 5).unwrap();
}

/// A pool that is deleted is not taken for an empty one.
#[test]
fn a_pool_that_was_deleted_is_missed() {
    let Some(server) = Server::shared() else {
        return;
    };
    server
        .ceph(&["osd", "pool", "create", "passing", "1"])
        .unwrap();
    let url = format!("rados://{}/passing", server.host());
    let rados = connect(
        &url,
        RadosOptions::new().request_time_max(Duration::from_secs(60)),
    );
    let rados = rados.unwrap();
    put(&rados, ["row".to_owned()], b"value");
    let sure = "--yes-i-really-really-mean-it";
    server
        .ceph(&["osd", "pool", "delete", "passing", "passing", sure])
        .unwrap();
    let none = Namespace::new("none").unwrap();
    // The stores hear of it a moment later. Until then the row is there.
    let mut tries = 0;
    while let Ok(values) = rados.get(&[b"row".to_vec()]) {
        assert_eq!(values, [Some(b"value".to_vec())]);
        std::thread::sleep(Duration::from_millis(50));
        tries += 1;
        assert!(tries < 1000, "it is still read");
    }
    for error in [
        rados.get(&[b"row".to_vec()]).map(drop).unwrap_err(),
        rados.commit(&Commit::default()).map(drop).unwrap_err(),
        rados.read(&none, 1, 0..10).map(drop).unwrap_err(),
        rados.append(&none, 1, &[segment(0, 1, 1)]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains("pool was deleted"), "{error}");
    }
}

/// A cluster without room says so at once, and what is deleted makes room.
#[test]
fn a_full_pool_says_so_and_takes_deletions() {
    let Some(server) = Server::own() else { return };
    let rados = client(&server, "full");
    rados
        .append(&namespace(), 1, &[segment(0, 1, 60_000)])
        .unwrap();
    put(&rados, ["row".to_owned()], b"value");
    let ratios = |full: &str| {
        for ratio in ["nearfull", "backfillfull", "full"] {
            server
                .ceph(&["osd", &format!("set-{ratio}-ratio"), full])
                .unwrap();
        }
    };
    ratios("0.0000001");
    // The stores look at their disks in their own time.
    let is_full = || {
        server
            .ceph(&["osd", "dump"])
            .unwrap()
            .contains("exists,full,up")
    };
    let mut tries = 0;
    let error = loop {
        match rados.append(&namespace(), 2, &[segment(tries, 1, 60_000)]) {
            Err(error) => break error,
            Ok(()) => std::thread::sleep(Duration::from_millis(200)),
        }
        tries += 1;
        assert!(tries < 300, "it takes all, full or not: {}", is_full());
    };
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    rados.delete(&namespace(), 1).unwrap();
    assert!(rados.read(&namespace(), 1, 0..10).unwrap().is_empty());
    let mut commit = Commit::default();
    commit.delete(b"row".to_vec());
    assert_eq!(rados.commit(&commit).unwrap(), Outcome::Committed);
}
