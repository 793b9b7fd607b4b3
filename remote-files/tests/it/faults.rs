//! Real processes and real connections in trouble: writers that are killed, or stand still for longer than their leases, and a network
//! that delays, cuts and swallows. Nothing that was acknowledged is lost, and a process that was taken for dead acknowledges nothing more.

use crate::proxy::{Proxy, Trouble};
use crate::support::namespace;
use crate::workload;
use larder_fixtures::servers::{Etcd as EtcdServer, Postgres as PostgresServer, signal};
use larder_leveldb::Db;
use larder_leveldb::storage::FileSystem;
use larder_remote_files::{
    Blobs, Catalogue, Cluster, Etcd, EtcdOptions, EtcdUrl, Keeper, Options, Postgres,
    PostgresOptions, PostgresUrl, RemoteFileSystem, Session, SessionOptions, SystemClock,
};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
#[cfg(feature = "rados")]
use {
    larder_fixtures::servers::Rados as RadosServer,
    larder_remote_files::{Rados, RadosOptions, RadosUrl},
};
#[cfg(feature = "s3")]
use {
    larder_fixtures::servers::S3 as S3Server,
    larder_remote_files::{S3, S3Options, S3Url},
};

const LEASE: Duration = Duration::from_secs(2);

/// How often: few times, or as `LARDER_ROUNDS` says.
fn rounds(few: u32) -> u32 {
    let text = std::env::var("LARDER_ROUNDS").ok();
    text.map_or(few, |text| text.parse().expect("LARDER_ROUNDS is a number"))
}

/// A seed, which is printed: `LARDER_SEED`, or another one each time.
fn random() -> larder_fixtures::random::Random {
    let text = std::env::var("LARDER_SEED").ok();
    let seed = text.map(|text| text.parse().expect("LARDER_SEED is a number"));
    let seed = seed.unwrap_or_else(|| nonce()[0].into());
    println!("LARDER_SEED={seed}");
    larder_fixtures::random::Random::new(seed)
}

/// Bytes that no other session of these tests has: the time, and the process.
#[expect(clippy::disallowed_methods, reason = "a nonce of a real process")]
fn nonce() -> [u8; 16] {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut nonce = [0; 16];
    let nanos = (time.as_nanos() as u64).swap_bytes();
    nonce[..8].copy_from_slice(&nanos.to_be_bytes());
    nonce[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    nonce
}

fn cluster(url: &str, request_time_max: Duration) -> larder_remote_files::Result<Cluster> {
    fn over<E: Catalogue + Blobs + 'static>(engine: E) -> Cluster {
        let engine = Arc::new(engine);
        of_both(engine.clone(), engine)
    }
    #[cfg(feature = "s3")]
    if let Some((catalogue, content)) = url.split_once("?content=") {
        return with_content(catalogue, content, request_time_max);
    }
    #[cfg(feature = "rados")]
    if url.starts_with("rados://") {
        let url = RadosUrl::parse(url)?;
        let room = url.namespace().map_or("", |room| room.as_str());
        let options = RadosOptions::new().room(&format!("faults {room}"));
        let mut options = options.request_time_max(request_time_max);
        if let Ok(log) = std::env::var(CUTS) {
            options = in_trouble(options, &log);
        }
        return Ok(over(Rados::connect(url.hosts(), url.pool(), options)?));
    }
    if url.starts_with("etcd://") {
        return Ok(over(etcd(url, request_time_max)?));
    }
    let options = PostgresOptions::new().request_time_max(request_time_max);
    Ok(over(Postgres::connect(
        PostgresUrl::parse(url)?.config(),
        options,
    )?))
}

fn of_both(catalogue: Arc<dyn Catalogue>, blobs: Arc<dyn Blobs>) -> Cluster {
    Cluster::new(catalogue, blobs, Arc::new(SystemClock::new()), LEASE)
}

fn etcd(url: &str, request_time_max: Duration) -> larder_remote_files::Result<Etcd> {
    let url = EtcdUrl::parse(url)?;
    // A room for each test, which run beside each other.
    let room = url.namespace().map_or("", |room| room.as_str());
    let options = EtcdOptions::new().prefix(format!("faults/{room}/").as_bytes());
    Etcd::connect(url.endpoints(), options.request_time_max(request_time_max))
}

/// A catalogue in etcd, and content in a bucket, `KEY:SECRET@HOST:PORT/BUCKET/PREFIX`.
#[cfg(feature = "s3")]
fn with_content(
    catalogue: &str,
    content: &str,
    request_time_max: Duration,
) -> larder_remote_files::Result<Cluster> {
    let (keys, place) = content.rsplit_once('@').unwrap();
    let (key, secret) = keys.split_once(':').unwrap();
    let (host, bucket) = place.split_once('/').unwrap();
    let options = S3Options::new().endpoint(&format!("http://{host}"));
    let options = options.region("us-east-1").keys(key, secret);
    let url = S3Url::parse(&format!("s3://{bucket}"))?;
    let content = S3::connect(&url, options.request_time_max(request_time_max))?;
    let catalogue = etcd(catalogue, request_time_max)?;
    Ok(of_both(Arc::new(catalogue), Arc::new(content)))
}

/// The file in which Ceph's library notes connections that it cuts, of a process that shall have such.
#[cfg(feature = "rados")]
const CUTS: &str = "LARDER_FAULTS_CUTS";

/// No proxy can be before a Ceph cluster, whose stores say where they are. Its library cuts and delays by itself if it is asked: a connection
/// once in so many readings and writings, anywhere in a message.
#[cfg(feature = "rados")]
fn in_trouble(options: RadosOptions, log: &str) -> RadosOptions {
    options
        .setting("ms_inject_socket_failures", "200")
        .setting("ms_inject_delay_type", "osd mon")
        .setting("ms_inject_delay_probability", "0.02")
        .setting("ms_inject_delay_max", "0.2")
        .setting("log_file", log)
}

/// A process that writes: its store, and what keeps its lease.
struct Writer {
    db: Db,
    keeper: Keeper,
}

impl Writer {
    fn open(url: &str, request_time_max: Duration) -> Result<Writer, String> {
        let cluster = cluster(url, request_time_max).map_err(|error| error.to_string())?;
        let options = SessionOptions {
            nonce: nonce(),
            label: format!("process {}", std::process::id()),
            duration: LEASE,
        };
        let session = Session::begin(&cluster, options).map_err(|error| error.to_string())?;
        let keeper = Keeper::start(session.clone(), Duration::from_millis(100)).unwrap();
        let wait = LEASE * 2 + Duration::from_secs(20);
        let fs = RemoteFileSystem::write(&session, &namespace(), Options::default(), wait);
        let fs = fs.map_err(|error| error.to_string())?;
        keeper.add(&fs);
        let fs: Arc<dyn FileSystem> = Arc::new(fs);
        let db = Db::open(fs, Path::new("db"), workload::options());
        let db = db.map_err(|error| error.to_string())?;
        Ok(Writer { db, keeper })
    }
}

const CHILD: &str = "LARDER_FAULTS_CHILD";

/// What a child process runs: no test without its parent. It writes batches and prints the number of each that was acknowledged.
#[test]
fn child() {
    let Ok(url) = std::env::var(CHILD) else {
        return;
    };
    let writer = match Writer::open(&url, Duration::from_secs(3)) {
        Ok(writer) => writer,
        Err(why) => return println!("FAILED {why}"),
    };
    let mut batch = match workload::found(&writer.db) {
        Ok(batch) => batch,
        Err(why) => return println!("FAILED {why}"),
    };
    println!("FOUND {batch}");
    while workload::write(&writer.db, batch, 1) == batch + 1 {
        batch += 1;
        println!("ACKNOWLEDGED {batch}");
    }
    println!("LOST");
    drop(writer.db);
    writer.keeper.stop();
}

/// A line of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Found(u32),
    Acknowledged(u32),
    /// It writes no more.
    Over(String),
}

struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// The last batch that it found, and the last one that it found or acknowledged.
    found: u32,
    last: u32,
}

impl Process {
    fn start(url: &str) -> Process {
        Process::start_with(url, &[])
    }

    fn start_with(url: &str, variables: &[(&str, &Path)]) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs(variables.iter().copied())
            .args([
                "faults::child",
                "--exact",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(CHILD, url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Process {
            child,
            lines,
            found: 0,
            last: 0,
        }
    }

    fn next(&mut self) -> Line {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return Line::Over("it has ended".to_owned());
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let line = match words[..] {
                [.., "FOUND", number] => Line::Found(number.parse().unwrap()),
                [.., "ACKNOWLEDGED", number] => Line::Acknowledged(number.parse().unwrap()),
                _ if words.contains(&"LOST") || words.contains(&"FAILED") => {
                    Line::Over(line.trim().to_owned())
                }
                _ => continue,
            };
            if let Line::Found(number) | Line::Acknowledged(number) = line {
                self.last = number;
            }
            return line;
        }
    }

    /// Reads until a store that is open has what was acknowledged before, and so many batches more; false: it writes no more.
    fn go_on(&mut self, acknowledged: u32, count: u32) -> bool {
        match self.next() {
            Line::Found(found) => {
                assert!(found >= acknowledged, "{found} of {acknowledged}");
                self.found = found;
            }
            Line::Over(why) => {
                println!("did not begin: {why}");
                return false;
            }
            line => panic!("{line:?}"),
        }
        (0..count).all(|_| matches!(self.next(), Line::Acknowledged(_)))
    }

    /// Kills it and reads what it had printed.
    fn kill(&mut self) -> u32 {
        self.child.kill().unwrap();
        while !matches!(self.next(), Line::Over(_)) {}
        self.child.wait().unwrap();
        self.last
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A place of its own on each server of this process.
fn places(room: &str) -> Vec<String> {
    let places = behind_a_port(room).into_iter().map(|(_, url)| url);
    #[cfg(feature = "rados")]
    let places = {
        let server = RadosServer::shared();
        places.chain(server.map(|server| format!("{}/{room}", server.url())))
    };
    places.collect()
}

/// As [`places`], with the one port that all of the server is behind. The stores of a Ceph cluster have others than its monitor.
fn behind_a_port(room: &str) -> Vec<(u16, String)> {
    let postgres = PostgresServer::shared().map(|server| (server.port(), server.new_database()));
    let etcd = EtcdServer::shared().map(|server| {
        let url = format!("etcd://{}/{room}", server.endpoints());
        (server.ports()[0], url)
    });
    let places = postgres.into_iter().chain(etcd);
    // Content in a bucket: its gateway is what is behind the port.
    #[cfg(feature = "s3")]
    let places = {
        let (etcd, server) = (EtcdServer::shared(), S3Server::shared());
        places.chain(etcd.zip(server).map(|(etcd, server)| {
            let (port, bucket) = (server.port(), server.bucket());
            let catalogue = format!("etcd://{}/{room}%20s3", etcd.endpoints());
            let (key, secret) = server.keys();
            let url =
                format!("{catalogue}?content={key}:{secret}@127.0.0.1:{port}/{bucket}/{room}");
            (port, url)
        }))
    };
    places.collect()
}

/// An engine's name, as an address has it.
fn scheme(url: &str) -> &str {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    if url.contains("?content=") {
        "s3"
    } else {
        scheme
    }
}

fn check_in_the_end(url: &str, acknowledged: u32) {
    let writer = Writer::open(url, Duration::from_secs(10)).unwrap();
    let found = workload::found(&writer.db).unwrap();
    assert!(found >= acknowledged, "{found} of {acknowledged}");
    workload::check(&writer.db, found);
    drop(writer.db);
    writer.keeper.stop();
}

/// Writers are killed at random moments, each while it writes, and another process takes over. Then one stands still for longer than its
/// lease, is taken for dead, and goes on.
#[test]
fn nothing_acknowledged_is_lost_when_writers_are_killed_or_stand_still() {
    let mut random = random();
    for url in places("killed") {
        let (mut acknowledged, mut stood_still) = (0, 0);
        for _ in 0..rounds(2) {
            let mut process = Process::start(&url);
            process.go_on(acknowledged, random.below(60) as u32);
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
            acknowledged = acknowledged.max(process.kill());
        }
        for _ in 0..rounds(2).div_ceil(5) {
            let mut old = Process::start(&url);
            if !old.go_on(acknowledged, 5) {
                continue;
            }
            stood_still += 1;
            signal(old.child.id(), "STOP");
            let mut new = Process::start(&url);
            assert!(
                new.go_on(old.last, 5),
                "it took the namespace and then lost it"
            );
            signal(old.child.id(), "CONT");
            // What it had printed before, which the other one has found; then it is over.
            let over = loop {
                match old.next() {
                    Line::Over(why) => break why,
                    _ => assert!(
                        old.last <= new.found,
                        "a process that was taken for dead acknowledges {} after {}",
                        old.last,
                        new.found
                    ),
                }
            };
            assert!(over.ends_with("LOST"), "{over}");
            assert!((0..5).all(|_| matches!(new.next(), Line::Acknowledged(_))));
            acknowledged = new.kill();
        }
        check_in_the_end(&url, acknowledged);
        let engine = scheme(&url);
        println!(
            "{engine}: {acknowledged} batches acknowledged, {stood_still} stood still, none lost"
        );
        assert!(acknowledged > 0 && stood_still > 0);
    }
}

/// A network in trouble: a writer goes on, or its store fails and the next one has all that was acknowledged.
#[test]
fn nothing_acknowledged_is_lost_when_the_network_is_in_trouble() {
    let mut random = random();
    for (port, url) in behind_a_port("network") {
        let proxy = Proxy::start(port);
        let through = url.replace(&format!(":{port}"), &format!(":{}", proxy.port));
        let time_max = Duration::from_millis(300);
        let (mut acknowledged, mut lost) = (0, 0);
        let mut writer: Option<Writer> = None;
        for _ in 0..rounds(12) {
            let open = match writer.take() {
                Some(open) => open,
                None => match Writer::open(&through, time_max) {
                    Ok(open) => open,
                    // Some of the trouble before is still in its way.
                    Err(_) => continue,
                },
            };
            let found = workload::found(&open.db).unwrap_or(acknowledged);
            assert!(found >= acknowledged, "{found} of {acknowledged}");
            proxy.set(match random.below(4) {
                0 => Trouble::Delay(random.below(50)),
                1 | 2 => Trouble::Cut(random.below(200)),
                _ => Trouble::Swallow,
            });
            let ended = std::thread::scope(|scope| {
                let writing = scope.spawn(|| workload::write(&open.db, found, 20));
                // Some longer than an operation is tried again.
                let long = if random.one_in(8) {
                    LEASE
                } else {
                    Duration::ZERO
                };
                std::thread::sleep(long + Duration::from_millis(100 + random.below(500)));
                proxy.set(Trouble::None);
                writing.join().unwrap()
            });
            acknowledged = acknowledged.max(ended);
            match ended == found + 20 {
                true => writer = Some(open),
                false => lost += 1,
            }
        }
        drop(writer);
        check_in_the_end(&url, acknowledged);
        let (cuts, swallowed) = proxy.troubles();
        let engine = scheme(&url);
        println!(
            "{engine}: {acknowledged} batches acknowledged, {lost} stores failed, {cuts} cuts, {swallowed} parts swallowed"
        );
        assert!(
            acknowledged > 20,
            "hardly anything was written: {acknowledged}"
        );
    }
}

/// Stores of objects are killed in the middle of writing or stand still, one after the other, and come back, while connections are cut and delayed: the
/// writer goes on, or the next one has all that was acknowledged.
#[cfg(feature = "rados")]
#[test]
fn nothing_acknowledged_is_lost_when_osds_are_killed_or_stand_still_and_connections_are_cut() {
    let Some(mut server) = RadosServer::own() else {
        return;
    };
    let mut random = random();
    let url = format!("{}/osds", server.url());
    let log = server.configuration().with_file_name("cuts.log");
    let (mut acknowledged, mut writers, mut stood_still) = (0, 0, 0);
    let mut writer: Option<Process> = None;
    for round in 0..rounds(2) {
        let osd = round as usize % server.osds();
        std::thread::scope(|scope| {
            let killing = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200 + random.below(300)));
                let long = Duration::from_millis(random.below(3000));
                if round % 2 == 0 {
                    server.kill(osd);
                    std::thread::sleep(long);
                    server.restart(osd).unwrap();
                } else {
                    server.stop(osd);
                    stood_still += 1;
                    std::thread::sleep(long);
                    server.go_on(osd);
                }
            });
            let mut after = 0;
            while !killing.is_finished() || after < 20 {
                let process = writer.get_or_insert_with(|| {
                    writers += 1;
                    Process::start_with(&url, &[(CUTS, &log)])
                });
                match process.next() {
                    Line::Found(found) => {
                        assert!(found >= acknowledged, "{found} of {acknowledged}");
                    }
                    Line::Acknowledged(number) => acknowledged = acknowledged.max(number),
                    Line::Over(why) => {
                        println!("a writer is over: {why}");
                        writer = None;
                    }
                }
                after += u32::from(killing.is_finished());
            }
            killing.join().unwrap();
        });
    }
    if let Some(mut writer) = writer {
        acknowledged = acknowledged.max(writer.kill());
    }
    check_in_the_end(&url, acknowledged);
    let log = std::fs::read_to_string(&log).unwrap();
    let cuts = log.matches("injecting socket failure").count();
    println!(
        "{acknowledged} batches acknowledged by {writers} writers, {stood_still} times a store stood still, {cuts} cuts, none lost"
    );
    assert!(cuts > 0, "no connection was cut");
    assert!(
        acknowledged > 20,
        "hardly anything was written: {acknowledged}"
    );
}
