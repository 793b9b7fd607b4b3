//! The work of `remote-files/benches/remote/work.rs` by SlateDB on a bucket.
//!
//! `larder-peer-slate PREFIX STRICT_PUTS RECORDS GETS SETTINGS` does all of it once under an unused prefix of a bucket and prints one JSON
//! object: row and number. The server, the bucket and the keys are in `AWS_ENDPOINT_URL`, `AWS_BUCKET`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`
//! and `AWS_SECRET_ACCESS_KEY`. SETTINGS is `default`: SlateDB's own, or `tuned`: nothing waits for a timer, and a scan reads ahead. Nothing of
//! Larder is in here.

#[path = "../../../remote-files/benches/remote/work.rs"]
mod work;

use slatedb::config::{ScanOptions, Settings};
use slatedb::instrumented_object_store_stats::REQUEST_COUNT;
use slatedb::object_store::aws::AmazonS3Builder;
use slatedb::{Db, DbIterator};
use slatedb_common::metrics::{DefaultMetricsRecorder, MetricValue};
use std::sync::Arc;
use tokio::runtime::Runtime;

use work::{ROWS, Subject, Work};

/// How much a scan reads in one request, and how many requests it has at once, if it is tuned.
const READ_AHEAD: (usize, usize) = (1 << 20, 2);

struct Slate {
    runtime: Arc<Runtime>,
    db: Db,
    counts: Arc<DefaultMetricsRecorder>,
    is_tuned: bool,
}

impl Slate {
    fn open(runtime: &Arc<Runtime>, prefix: &str, is_tuned: bool) -> Slate {
        let bucket = AmazonS3Builder::from_env().with_allow_http(true);
        let bucket = Arc::new(bucket.build().expect("a bucket"));
        let counts = Arc::new(DefaultMetricsRecorder::new());
        let opened = Db::builder(prefix, bucket)
            .with_settings(Settings::default())
            .with_metrics_recorder(counts.clone())
            .build();
        let db = runtime.block_on(opened).expect("a store");
        Slate {
            runtime: runtime.clone(),
            db,
            counts,
            is_tuned,
        }
    }

    fn iter(&self) -> DbIterator {
        let mut options = ScanOptions::default();
        if self.is_tuned {
            options = options.with_read_ahead_bytes(READ_AHEAD.0);
            options = options.with_max_fetch_tasks(READ_AHEAD.1);
        }
        let opened = self
            .db
            .scan_with_options::<std::ops::RangeFull>(.., &options);
        self.runtime.block_on(opened).expect("a scan")
    }
}

impl Subject for Slate {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.runtime
            .block_on(self.db.put(key, value))
            .expect("a put");
    }

    fn put_strict(&mut self, key: &[u8], value: &[u8]) {
        let put = async {
            let handle = self.db.put(key, value).await?;
            match self.is_tuned {
                // Its log is written at once.
                true => self.db.flush().await,
                false => handle.await_durable().await,
            }
        };
        self.runtime.block_on(put).expect("a durable put");
    }

    fn get(&mut self, key: &[u8]) -> bool {
        let found = self.runtime.block_on(self.db.get(key));
        found.expect("a get").is_some()
    }

    fn scan(&mut self) -> u64 {
        let mut iter = self.iter();
        let all = async {
            let mut count = 0;
            while iter.next().await.expect("a record").is_some() {
                count += 1;
            }
            count
        };
        self.runtime.block_on(all)
    }

    fn requests(&self) -> Option<u64> {
        let all = self.counts.snapshot();
        let requests = all.by_name(REQUEST_COUNT).into_iter();
        let counts = requests.map(|metric| match metric.value {
            MetricValue::Counter(count) => count,
            _ => 0,
        });
        Some(counts.sum())
    }

    fn close(self) {
        self.runtime
            .block_on(self.db.close())
            .expect("a closed store");
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [prefix, strict_puts, records, gets, settings] = &words[..] else {
        panic!("usage: larder-peer-slate PREFIX STRICT_PUTS RECORDS GETS SETTINGS");
    };
    let number = |word: &String| word.parse().expect("a number");
    let work = Work {
        strict_puts: number(strict_puts),
        records: number(records),
        gets: number(gets),
    };
    let is_tuned = match settings.as_str() {
        "default" => false,
        "tuned" => true,
        _ => panic!("SETTINGS is default or tuned"),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.enable_all().build().expect("threads");
    let runtime = Arc::new(runtime);
    let costs = work::run(&work, || Slate::open(&runtime, prefix, is_tuned));
    let rows = ROWS.into_iter().zip(costs);
    let object: serde_json::Map<_, _> = rows
        .map(|(row, cost)| (row.to_owned(), cost.into()))
        .collect();
    println!("{}", serde_json::Value::Object(object));
}
