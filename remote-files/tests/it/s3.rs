//! Content in a real gateway of S3, beside a catalogue in etcd: all laws, its objects, and its errors.

use crate::laws;
use crate::proxy::Proxy;
use crate::setting::Setting;
use crate::support::namespace;
use larder_fixtures::servers::{Etcd as EtcdServer, S3 as Server, free_port};
use larder_remote_files::{
    Blobs, Cut, ErrorKind, Etcd, EtcdOptions, Namespace, S3, S3Options, S3Url, Segment,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn options(server: &Server) -> S3Options {
    let (key, secret) = server.keys();
    S3Options::new()
        .endpoint(&server.endpoint())
        .region("us-east-1")
        .keys(key, secret)
        // A disk that others use may be slow, and no test of these is of time.
        .request_time_max(Duration::from_secs(60))
}

fn connect(server: &Server, prefix: &str) -> S3 {
    connect_with(server, prefix, options(server))
}

fn connect_with(server: &Server, prefix: &str, options: S3Options) -> S3 {
    let url = format!("s3://{}/{prefix}", server.bucket());
    S3::connect(&S3Url::parse(&url).unwrap(), options).unwrap()
}

/// Objects and keys of its own.
fn setting() -> Option<Setting> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (etcd, server) = (EtcdServer::shared()?, Server::shared()?);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("content elsewhere {number}/");
    let keys = EtcdOptions::new().prefix(prefix.as_bytes());
    let keys = keys.request_time_max(Duration::from_secs(60));
    let catalogue = Etcd::connect(&[etcd.endpoints()], keys).unwrap();
    Some(Setting {
        blobs: Arc::new(connect(server, &format!("test-{number}"))),
        ..Setting::of_server(catalogue)
    })
}

laws::of_engine!(setting, 60);

fn segment(offset: u64, byte: u8, len: usize) -> Segment {
    Segment {
        offset,
        bytes: vec![byte; len],
    }
}

/// The names of a bucket's objects below a prefix, as another client lists them.
fn names(server: &Server, prefix: &str) -> Vec<String> {
    let query = format!("{}?list-type=2&prefix={prefix}", server.bucket());
    let listed = server.request("GET", &query).unwrap();
    let keys = listed.split("<Key>").skip(1);
    keys.map(|rest| rest.split("</Key>").next().unwrap().to_owned())
        .collect()
}

#[test]
fn an_append_is_an_object_and_none_is_left() {
    let Some(server) = Server::shared() else {
        return;
    };
    let s3 = connect(server, "objects");
    let whole: Vec<Segment> = (0..3).map(|at| segment(at << 16, 1, 65_540)).collect();
    let end = segment(3 << 16, 2, 1004);
    let tenant = Namespace::new("tenants/7").unwrap();
    s3.append(&tenant, 1, &whole).unwrap();
    s3.append(&tenant, 1, std::slice::from_ref(&end)).unwrap();
    s3.append(&tenant, 2, &whole[..1]).unwrap();
    let first = "objects/tenants%2F7/0000000000000001";
    assert_eq!(
        names(server, "objects"),
        [
            format!("{first}/0000000000000000-3x10000x10004"),
            format!("{first}/0000000000030000-1x0x3ec"),
            "objects/tenants%2F7/0000000000000002/0000000000000000-1x0x10004".to_owned(),
        ]
    );
    s3.delete(&tenant, 1).unwrap();
    assert_eq!(s3.list(&tenant, None, 9).unwrap(), [2]);
    assert_eq!(names(server, "objects").len(), 1);
    s3.delete(&tenant, 2).unwrap();
    assert!(names(server, "objects").is_empty());
}

/// What a client remembers of a blob is true as long as the blob grows at its end, and is forgotten when it goes.
#[test]
fn what_another_client_appends_and_deletes_is_seen() {
    let Some(server) = Server::shared() else {
        return;
    };
    let (writer, reader) = (connect(server, "two"), connect(server, "two"));
    let all: Vec<Segment> = (0..5)
        .map(|at| segment(at * 100, at as u8, 90 + at as usize))
        .collect();
    for end in 1..=all.len() {
        writer.append(&namespace(), 1, &all[end - 1..end]).unwrap();
        for client in [&reader, &writer] {
            let found = client.read(&namespace(), 1, 0..1000).unwrap();
            assert_eq!(found, all[..end]);
            let one = (end as u64 - 1) * 100;
            let found = client.read(&namespace(), 1, one..one + 1).unwrap();
            assert_eq!(found, all[end - 1..end]);
        }
    }
    // Of what is remembered, and written again in other parts.
    assert_eq!(reader.read(&namespace(), 1, 0..200).unwrap(), all[..2]);
    writer.append(&namespace(), 1, &all[1..]).unwrap();
    let fresh = connect(server, "two");
    for client in [&reader, &writer, &fresh] {
        assert_eq!(client.read(&namespace(), 1, 0..1000).unwrap(), all);
    }
    writer.delete(&namespace(), 1).unwrap();
    for client in [&reader, &writer, &fresh] {
        assert!(client.read(&namespace(), 1, 0..200).unwrap().is_empty());
        assert!(client.read(&namespace(), 1, 0..1000).unwrap().is_empty());
    }
}

/// A table's blob is read by a request and no listing, wherever; one that is cut otherwise is listed, and read as it is.
#[test]
fn what_was_written_in_bulk_is_read_without_a_listing() {
    let Some(server) = Server::shared() else {
        return;
    };
    let cut = Cut {
        step: 1 << 16,
        frame_len: 4,
        end: (32 << 16) + 1000,
    };
    let whole = |at: u64| segment(at << 16, at as u8, 65_540);
    let mut table: Vec<Segment> = (0..32).map(whole).collect();
    table.push(segment(32 << 16, 32, 1004));
    let writer = connect(server, "bulk");
    for call in table.chunks(cut.segments_of_one_call() as usize) {
        writer.append(&namespace(), 1, call).unwrap();
    }
    writer.append(&namespace(), 2, &table[..2]).unwrap();
    writer.append(&namespace(), 2, &table[2..4]).unwrap();
    let proxy = Proxy::hearing(server.port());
    let endpoint = format!("http://127.0.0.1:{}", proxy.port);
    let reader = connect_with(server, "bulk", options(server).endpoint(&endpoint));
    // The look at the bucket.
    assert_eq!(proxy.lines("GET ").len(), 1);
    let read = |blob, chunks: std::ops::Range<u64>, cut: &Cut| {
        let end = (chunks.end << 16).min(cut.end);
        let offsets = chunks.start << 16..end;
        reader
            .read_as_cut(&namespace(), blob, offsets, cut)
            .unwrap()
    };
    // In the middle of an object, its end, the file's end, two objects, the whole of one.
    for chunks in [7..8, 14..15, 30..33, 14..16, 0..15] {
        let (from, to) = (chunks.start as usize, chunks.end as usize);
        assert_eq!(read(1, chunks.clone(), &cut), table[from..to]);
        let requests = proxy.lines("GET ");
        let objects = if chunks == (14..16) { 2 } else { 1 };
        assert_eq!(requests.len(), objects, "{requests:?}");
    }
    let cut = Cut {
        end: 4 << 16,
        ..cut
    };
    for chunks in [1..3, 0..4, 3..4] {
        let (from, to) = (chunks.start as usize, chunks.end as usize);
        assert_eq!(read(2, chunks, &cut), table[from..to]);
        assert!(
            proxy
                .lines("GET ")
                .iter()
                .any(|line| line.contains("list-type=2"))
        );
    }
    writer.delete(&namespace(), 1).unwrap();
    assert!(read(1, 7..8, &cut).is_empty());
    writer.delete(&namespace(), 2).unwrap();
}

/// More than a page of a listing.
#[test]
fn blobs_of_very_many_objects_are_read_listed_and_deleted() {
    let Some(server) = Server::shared() else {
        return;
    };
    let s3 = connect(server, "many");
    // Each is an object of its own, as none is behind the one before it.
    let falling: Vec<Segment> = (0..1100).rev().map(|at| segment(at, 7, 3)).collect();
    for part in falling.rchunks(100).rev() {
        std::thread::scope(|scope| {
            for part in part.chunks(13) {
                let s3 = &s3;
                scope.spawn(move || s3.append(&namespace(), 1, part).unwrap());
            }
        });
    }
    s3.append(&namespace(), 9, &falling[..1]).unwrap();
    let fresh = connect(server, "many");
    let found = fresh.read(&namespace(), 1, 0..2000).unwrap();
    assert!(found.iter().rev().eq(&falling), "{}", found.len());
    assert_eq!(fresh.list(&namespace(), None, 9).unwrap(), [1, 9]);
    fresh.delete(&namespace(), 1).unwrap();
    assert_eq!(fresh.list(&namespace(), None, 9).unwrap(), [9]);
    fresh.delete(&namespace(), 9).unwrap();
}

#[test]
fn what_is_no_object_of_ours_is_damage() {
    let Some(server) = Server::shared() else {
        return;
    };
    let s3 = connect(server, "foreign");
    s3.append(&namespace(), 1, &[segment(0, 1, 10)]).unwrap();
    let blob = format!("{}/foreign/test/0000000000000001", server.bucket());
    // An object that ends before what its name says.
    server
        .request("PUT", &format!("{blob}/0000000000000010-1x0x5"))
        .unwrap();
    let fresh = connect(server, "foreign");
    let error = fresh.read(&namespace(), 1, 0..100).unwrap_err();
    assert!(error.to_string().contains("s3://stores/foreign"), "{error}");
    assert_eq!(fresh.read(&namespace(), 1, 0..10).unwrap().len(), 1);
    server.request("PUT", &format!("{blob}/other")).unwrap();
    let fresh = connect(server, "foreign");
    let error = fresh.read(&namespace(), 1, 0..100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("\"other\""), "{error}");
}

#[test]
fn what_cannot_be_reached_says_why() {
    let url = |text: &str| S3Url::parse(text).unwrap();
    let none = format!("http://127.0.0.1:{}", free_port());
    let nowhere = S3Options::new().endpoint(&none).region("r").keys("k", "s");
    let error = S3::connect(&url("s3://stores"), nowhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("s3://stores: "), "{error}");
    assert!(error.to_string().contains("is it running"), "{error}");
    let Some(server) = Server::shared() else {
        return;
    };
    let error = S3::connect(&url("s3://nowhere"), options(server)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("make the bucket"), "{error}");
    let stranger = options(server).keys(server.keys().0, "another secret");
    let error = S3::connect(&url("s3://stores"), stranger).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(!error.to_string().contains("another secret"), "{error}");
    let long = format!("s3://stores/{}", "p".repeat(101));
    let error = S3::connect(&url(&long), options(server)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}
