//! Beside raw calls of the same clients that do the same bytes, in one run on real servers: strict commits, filling, scanning; and round trips, counted.
//! `cargo bench -p larder-remote-files --features postgres,etcd,rados,s3`; `-- rados` runs one alone.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures time, prints it and stops on trouble"
)]

use larder_fixtures::servers::{
    Etcd as EtcdServer, Postgres as PostgresServer, Rados as RadosServer, S3 as S3Server,
};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Background, Db, Durability, Options as DbOptions};
use larder_remote_files::{
    Blobs, Catalogue, Cluster, Etcd, EtcdOptions, EtcdUrl, Namespace, Options, Postgres,
    PostgresOptions, PostgresUrl, Rados, RadosOptions, RadosUrl, RemoteFileSystem, S3, S3Options,
    S3Url, Session, SessionOptions, SystemClock,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const COMMITS: usize = 300;
const LEASE: Duration = Duration::from_secs(600);

/// What a raw client does in place of a commit of ours: so many bytes under keys as long as ours, atomically.
type Raw = Box<dyn FnMut(usize)>;

/// Starts a server, if there is one on this machine.
type Start = fn() -> Option<Engine>;

struct Engine {
    name: &'static str,
    cluster: Cluster,
    raw_commit: Raw,
    /// Writes a piece of 64 KiB, with others: so many at once.
    raw_write: Raw,
    raw_read: Box<dyn FnMut() -> usize>,
}

fn cluster<E: Catalogue + Blobs + 'static>(engine: E) -> Cluster {
    let engine = Arc::new(engine);
    Cluster::new(engine.clone(), engine, Arc::new(SystemClock::new()), LEASE)
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Bytes that nothing makes fewer.
fn noise(len: usize) -> Vec<u8> {
    let mut random = larder_fixtures::random::Random::new(1);
    (0..len).map(|_| random.next() as u8).collect()
}

const CHUNK: usize = 64 << 10;
const CHUNKS_AT_ONCE: usize = 15;

/// The three rows of a strict commit: the lock's, the file's, and the piece.
fn rows(number: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let keys = vec![
        b"\x02bench raw\0\x04".to_vec(),
        b"\x02bench raw\0\x01\0log".to_vec(),
        format!("\x02bench raw\0\x02{number:016}").into_bytes(),
    ];
    (keys, vec![vec![7; 50], vec![7; 38], vec![7; 104]])
}

fn postgres() -> Option<Engine> {
    let url = PostgresServer::shared()?.new_database();
    let url = PostgresUrl::parse(&url).unwrap();
    let options = PostgresOptions::new().request_time_max(Duration::from_secs(60));
    let cluster = cluster(Postgres::connect(url.config(), options).unwrap());
    let raw = |count: usize| {
        let runtime = runtime();
        let (client, connection) = runtime
            .block_on(url.config().connect(tokio_postgres::NoTls))
            .unwrap();
        runtime.spawn(connection);
        let table = format!("raw{count}");
        let made = format!(
            "create table {table} (key bytea primary key, value bytea not null); alter table {table} alter value set storage external"
        );
        runtime.block_on(client.batch_execute(&made)).unwrap();
        (runtime, client, table)
    };
    let put = |table: &str| {
        format!(
            "insert into {table} select * from unnest($1::bytea[], $2::bytea[]) on conflict (key) do update set value = excluded.value"
        )
    };
    let (runtime, client, table) = raw(0);
    let statement = runtime.block_on(client.prepare(&put(&table))).unwrap();
    let raw_commit = move |number| {
        let (keys, values) = rows(number);
        runtime
            .block_on(client.execute(&statement, &[&keys, &values]))
            .unwrap();
    };
    let (runtime, client, table) = raw(1);
    let statement = runtime.block_on(client.prepare(&put(&table))).unwrap();
    let chunk = noise(CHUNK);
    let raw_write = move |number| {
        let keys = (0..CHUNKS_AT_ONCE).map(|at| format!("{number:08} {at:08}").into_bytes());
        let (keys, values): (Vec<_>, _) = (keys.collect(), vec![chunk.clone(); CHUNKS_AT_ONCE]);
        runtime
            .block_on(client.execute(&statement, &[&keys, &values]))
            .unwrap();
    };
    let reader = runtime_and_client(&url);
    let raw_read = move || {
        let (runtime, client) = &reader;
        let (mut from, mut len) = (Vec::<u8>::new(), 0);
        loop {
            let page = "select key, value from raw1 where key > $1 order by key limit 16";
            let rows = runtime.block_on(client.query(page, &[&from])).unwrap();
            let Some(last) = rows.last() else { return len };
            from = last.get(0);
            len += rows
                .iter()
                .map(|row| row.get::<_, &[u8]>(1).len())
                .sum::<usize>();
        }
    };
    Some(Engine {
        name: "PostgreSQL",
        cluster,
        raw_commit: Box::new(raw_commit),
        raw_write: Box::new(raw_write),
        raw_read: Box::new(raw_read),
    })
}

fn runtime_and_client(url: &PostgresUrl) -> (Runtime, tokio_postgres::Client) {
    let runtime = runtime();
    let (client, connection) = runtime
        .block_on(url.config().connect(tokio_postgres::NoTls))
        .unwrap();
    runtime.spawn(connection);
    (runtime, client)
}

fn etcd() -> Option<Engine> {
    use etcd_client::{Client, GetOptions, Txn, TxnOp};
    let url = format!("etcd://{}", EtcdServer::shared()?.endpoints());
    let url = EtcdUrl::parse(&url).unwrap();
    let options = EtcdOptions::new().request_time_max(Duration::from_secs(60));
    let cluster = cluster(Etcd::connect(url.endpoints(), options).unwrap());
    let raw = || {
        let runtime = runtime();
        let client = Client::connect(url.endpoints(), None);
        let client = runtime.block_on(client).unwrap().kv_client();
        (runtime, client)
    };
    let send = |rows: (Vec<Vec<u8>>, Vec<Vec<u8>>)| {
        let puts = rows.0.into_iter().zip(rows.1);
        let puts = puts.map(|(key, value)| TxnOp::put(key, value, None));
        Txn::new().and_then(puts.collect::<Vec<_>>())
    };
    let (runtime, mut client) = raw();
    let raw_commit = move |number| {
        runtime.block_on(client.txn(send(rows(number)))).unwrap();
    };
    let (runtime, mut client) = raw();
    let chunk = noise(CHUNK);
    let raw_write = move |number| {
        let keys = (0..CHUNKS_AT_ONCE).map(|at| format!("raw {number:08} {at:08}").into_bytes());
        let rows = (keys.collect(), vec![chunk.clone(); CHUNKS_AT_ONCE]);
        runtime.block_on(client.txn(send(rows))).unwrap();
    };
    let (runtime, mut client) = raw();
    let raw_read = move || {
        let (mut from, mut len) = (b"raw ".to_vec(), 0);
        loop {
            let options = GetOptions::new()
                .with_range(b"raw!".to_vec())
                .with_limit(16);
            let page = runtime
                .block_on(client.get(from.clone(), Some(options)))
                .unwrap();
            let Some(last) = page.kvs().last() else {
                return len;
            };
            from = [last.key(), &[0]].concat();
            len += page
                .kvs()
                .iter()
                .map(|row| row.value().len())
                .sum::<usize>();
        }
    };
    Some(Engine {
        name: "etcd",
        cluster,
        raw_commit: Box::new(raw_commit),
        raw_write: Box::new(raw_write),
        raw_read: Box::new(raw_read),
    })
}

fn rados() -> Option<Engine> {
    use larder_librados::{Answer, Pool, ReadPart, Settings, WritePart};
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
    // Objects of some megabytes, each written at its end.
    const WRITES: usize = 4;
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

/// A catalogue in etcd, and content in a bucket.
fn s3() -> Option<Engine> {
    use object_store::aws::AmazonS3Builder;
    use object_store::path::Path;
    use object_store::{ObjectStoreExt, PutPayload};
    let server = S3Server::shared()?;
    let beside = etcd()?;
    let options = S3Options::new()
        .endpoint(&server.endpoint())
        .region("us-east-1")
        .keys(server.keys().0, server.keys().1)
        .request_time_max(Duration::from_secs(60));
    let url = S3Url::parse(&format!("s3://{}/bench", server.bucket())).unwrap();
    let blobs = Arc::new(S3::connect(&url, options).unwrap());
    let clock = Arc::new(SystemClock::new());
    // Of another prefix than etcd's alone: there the namespaces have their content with them.
    let keys = EtcdOptions::new().prefix(b"beside s3/");
    let keys = keys.request_time_max(Duration::from_secs(60));
    let etcd = EtcdServer::shared()?.endpoints();
    let catalogue = Arc::new(Etcd::connect(&[etcd], keys).unwrap());
    let cluster = Cluster::new(catalogue, blobs, clock, LEASE);
    let raw = || {
        let built = AmazonS3Builder::new()
            .with_endpoint(server.endpoint())
            .with_region("us-east-1")
            .with_bucket_name(server.bucket())
            .with_access_key_id(server.keys().0)
            .with_secret_access_key(server.keys().1)
            .with_allow_http(true)
            .build();
        (runtime(), built.unwrap())
    };
    let object = |number: usize| Path::from(format!("raw/{number:08}"));
    let (runtime, bucket) = raw();
    let piece = noise(CHUNK * CHUNKS_AT_ONCE);
    let raw_write = move |number| {
        let put = async {
            let payload = PutPayload::from(piece.clone());
            bucket.put(&object(number), payload).await
        };
        runtime.block_on(put).unwrap();
    };
    let (runtime, bucket) = raw();
    let raw_read = move || {
        let mut len = 0;
        for number in 0.. {
            let all = 0..(CHUNK * CHUNKS_AT_ONCE) as u64;
            let read = async { bucket.get_range(&object(number), all).await };
            match runtime.block_on(read) {
                Ok(bytes) => len += bytes.len(),
                Err(_) => return len,
            }
        }
        len
    };
    Some(Engine {
        name: "S3 beside etcd",
        cluster,
        raw_commit: beside.raw_commit,
        raw_write: Box::new(raw_write),
        raw_read: Box::new(raw_read),
    })
}

fn time(f: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    f();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn open(engine: &Engine, session: &Session, name: &str) -> RemoteFileSystem {
    let namespace = Namespace::new(name).unwrap();
    let fs = RemoteFileSystem::write(session, &namespace, Options::default(), Duration::ZERO);
    fs.unwrap_or_else(|error| panic!("{}: {error}", engine.name))
}

fn commits(engine: &mut Engine, fs: &RemoteFileSystem) {
    let mut log = fs.create(Path::new("log")).unwrap();
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for number in 0..COMMITS {
        // By turns, so that whatever else the machine does meets both.
        ours.push(time(|| {
            log.append(&[7; 100]).unwrap();
            log.sync().unwrap();
        }));
        raw.push(time(|| (engine.raw_commit)(number)));
    }
    let (ours, raw) = (median(ours), median(raw));
    println!(
        "{}: a strict commit {:.2} ms, a raw one {:.2} ms: {:.2}x",
        engine.name,
        ms(ours),
        ms(raw),
        ours.as_secs_f64() / raw.as_secs_f64()
    );
}

fn content(engine: &mut Engine, fs: &RemoteFileSystem) {
    const PARTS: usize = 16;
    let part = noise(CHUNK * CHUNKS_AT_ONCE);
    let mut file = fs.create(Path::new("table")).unwrap();
    let (mut ours, mut raw) = (Duration::ZERO, Duration::ZERO);
    for number in 0..PARTS {
        ours += time(|| {
            file.append(&part).unwrap();
            file.sync().unwrap();
        });
        raw += time(|| (engine.raw_write)(number));
    }
    drop(file);
    let mb = (PARTS * part.len()) as f64 / 1e6;
    let rate = |time: Duration| mb / time.as_secs_f64();
    println!(
        "{}: filling {:.0} MB/s, raw {:.0} MB/s: {:.2}x",
        engine.name,
        rate(ours),
        rate(raw),
        rate(ours) / rate(raw)
    );
    let reader = RemoteFileSystem::read(&engine.cluster, fs.namespace(), Options::default());
    let reader = reader.unwrap();
    let mut buffer = vec![0; 256 << 10];
    let ours = time(|| {
        let mut file = reader.open_sequential(Path::new("table")).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    });
    let raw = time(|| assert_eq!((engine.raw_read)(), PARTS * part.len()));
    println!(
        "{}: a scan {:.0} MB/s, raw {:.0} MB/s: {:.2}x",
        engine.name,
        rate(ours),
        rate(raw),
        rate(ours) / rate(raw)
    );
}

/// A store of so many records of 200 bytes in tables of a size, opened anew: how many files it has, how many requests opening took, and how many each of
/// these gets.
fn round_trips(
    engine: &Engine,
    session: &Session,
    records: u32,
    table_bytes: usize,
    gets: &[u32],
) -> (usize, u64, Vec<u64>) {
    let name = format!("trips {table_bytes}");
    let fs = open(engine, session, &name);
    let options = || DbOptions {
        create_if_missing: true,
        write_buffer_bytes: table_bytes * 2,
        table_file_bytes: table_bytes as u64,
        trusts_order: true,
        background: Background::Caller,
        ..DbOptions::default()
    };
    let db = Db::open(Arc::new(fs.clone()), Path::new("db"), options()).unwrap();
    let mut random = larder_fixtures::random::Random::new(1);
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
    for number in 0..records {
        let value: Vec<u8> = (0..200).map(|_| random.next() as u8).collect();
        db.put(&key(number), &value, Durability::Relaxed).unwrap();
    }
    db.compact_range(None, None).unwrap();
    drop(db);
    let files = fs.list(Path::new("db")).unwrap().len();
    fs.close().unwrap();
    let requests = || engine.cluster.statistics().requests();
    let before = requests();
    let fs = open(engine, session, &name);
    let db = Db::open(Arc::new(fs.clone()), Path::new("db"), options()).unwrap();
    let opened = requests() - before;
    let trips = gets.iter().map(|number| {
        let before = requests();
        assert!(db.get(&key(*number)).unwrap().is_some());
        requests() - before
    });
    let trips = trips.collect();
    drop(db);
    fs.close().unwrap();
    (files, opened, trips)
}

fn main() {
    let all: [(&str, Start); 4] = [
        ("postgres", postgres),
        ("etcd", etcd),
        ("rados", rados),
        ("s3", s3),
    ];
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| asked.iter().any(|word| word == name);
    let none_is = !all.iter().any(|(name, _)| is_asked(name));
    let wanted = all.iter().filter(|(name, _)| none_is || is_asked(name));
    for mut engine in wanted.filter_map(|(_, start)| start()) {
        let options = SessionOptions {
            nonce: [7; 16],
            label: "bench".to_owned(),
            duration: LEASE,
        };
        let session = Session::begin(&engine.cluster, options).unwrap();
        let fs = open(&engine, &session, "bench");
        commits(&mut engine, &fs);
        content(&mut engine, &fs);
        let (files, opened, _) = round_trips(&engine, &session, 4000, 5000, &[]);
        let (_, _, gets) = round_trips(&engine, &session, 6000, 4 << 20, &[7, 20, 7]);
        println!(
            "{}: a store of {files} files is taken and opened in {opened} requests; gets: {} in a table that was not opened, {} in another part of it, {} again",
            engine.name, gets[0], gets[1], gets[2]
        );
        fs.close().unwrap();
        let all = engine.cluster.statistics();
        println!("{}: {all}", engine.name);
    }
}
