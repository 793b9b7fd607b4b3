//! PostgreSQL: one statement for each commit.

use super::{CHUNK, CHUNKS_AT_ONCE, Engine, cluster, noise, rows, runtime};
use larder_fixtures::servers::Postgres as PostgresServer;
use larder_remote_files::{Postgres, PostgresOptions, PostgresUrl};
use std::time::Duration;
use tokio::runtime::Runtime;

pub(crate) fn start() -> Option<Engine> {
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
