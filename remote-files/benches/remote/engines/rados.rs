//! RADOS: one operation on an object for each commit.

use super::{CHUNK, CHUNKS_AT_ONCE, Engine, cluster, noise, rows};
use larder_fixtures::servers::Rados as RadosServer;
use larder_librados::{Answer, Pool, ReadPart, Settings, WritePart};
use larder_remote_files::{Rados, RadosOptions, RadosUrl};
use std::time::Duration;

/// Objects of some megabytes, each written at its end.
const WRITES: usize = 4;

pub(crate) fn start() -> Option<Engine> {
    let server = RadosServer::shared()?;
    let url = RadosUrl::parse(&server.url()).unwrap();
    let options = RadosOptions::new().request_time_max(Duration::from_secs(60));
    let cluster = cluster(Rados::connect(url.hosts(), url.pool(), options).unwrap());
    let raw = || {
        let hosts = url.hosts().join(",");
        let settings = Settings {
            user: None,
            reads_file: false,
            options: &[("mon_host", &hosts), ("keyring", "/dev/null")],
        };
        Pool::open(&settings, c"larder", c"raw").unwrap()
    };
    let client = raw();
    let raw_commit = move |number| {
        let (keys, values) = rows(number);
        // Keys of an omap have no zero here, as ours have none.
        let keys = keys.into_iter().map(|mut key| {
            key.iter_mut().for_each(|byte| *byte += 1);
            key
        });
        let keys: Vec<Vec<u8>> = keys.collect();
        let rows: Vec<(&[u8], &[u8])> = (keys.iter().zip(&values))
            .map(|(key, value)| (&key[..], &value[..]))
            .collect();
        let parts = [WritePart::Create, WritePart::Set(&rows)];
        client.write(c"catalogue", &parts).unwrap();
    };
    let client = raw();
    let piece = noise(CHUNK * CHUNKS_AT_ONCE);
    let object = |number: usize| std::ffi::CString::new(format!("blob {number}")).unwrap();
    let raw_write = move |number: usize| {
        let offset = (number % WRITES * piece.len()) as u64;
        let parts = [WritePart::Create, WritePart::Write(offset, &piece)];
        client.write(&object(number / WRITES), &parts).unwrap();
    };
    let client = raw();
    let raw_read = move || {
        let mut len = 0;
        for number in 0.. {
            let at = number % WRITES;
            let part = [ReadPart::Bytes {
                offset: (at * CHUNK * CHUNKS_AT_ONCE) as u64,
                len: CHUNK * CHUNKS_AT_ONCE,
            }];
            match client.read(&object(number / WRITES), &part) {
                Ok(answers) => match &answers[..] {
                    [Answer::Bytes(bytes)] => len += bytes.len(),
                    _ => panic!("an answer of another kind"),
                },
                Err(_) => return len,
            }
        }
        len
    };
    Some(Engine {
        name: "RADOS",
        cluster,
        raw_commit: Box::new(raw_commit),
        raw_write: Box::new(raw_write),
        raw_read: Box::new(raw_read),
    })
}
