//! A real PostgreSQL: all laws, and its errors.

use crate::setting::Setting;
use crate::{databases, laws};
use larder_fixtures::servers::Postgres as Server;
use larder_remote_files::{
    Catalogue, Commit, ErrorKind, Outcome, Postgres, PostgresOptions, PostgresUrl,
};
use std::time::Duration;

fn connect(url: &str) -> larder_remote_files::Result<Postgres> {
    Postgres::connect(PostgresUrl::parse(url)?.config(), PostgresOptions::new())
}

/// A database of its own.
fn setting_at(url: &str) -> Setting {
    // A disk that others use may be slow, and no test of these is of time.
    let options = PostgresOptions::new().request_time_max(Duration::from_secs(60));
    setting_with(url, options)
}

fn setting_with(url: &str, options: PostgresOptions) -> Setting {
    let url = PostgresUrl::parse(url).unwrap();
    Setting::of_server(Postgres::connect(url.config(), options).unwrap())
}

fn setting() -> Option<Setting> {
    let server = Server::shared()?;
    Some(setting_at(&server.new_database()))
}

laws::of_engine!(setting, 200);

/// Rows that are not there cannot be locked: of commits that require one row's absence at once, one is made all the same.
#[test]
fn of_commits_that_require_a_rows_absence_one_is_made() {
    let Some(setting) = setting() else { return };
    for round in 0..20u32 {
        let key = format!("absent {round}").into_bytes();
        let made = std::thread::scope(|scope| {
            let threads = (0..6).map(|number| {
                let (setting, key) = (&setting, key.clone());
                scope.spawn(move || {
                    let mut commit = Commit::default();
                    commit.require(key.clone(), None);
                    // Each puts a row of its own, too: nothing of one that was refused may be there.
                    commit.put(format!("{number}").into_bytes(), key.clone());
                    commit.put(key, vec![number]);
                    setting.catalogue.commit(&commit).unwrap() == Outcome::Committed
                })
            });
            let threads: Vec<_> = threads.collect();
            let made = threads.into_iter().map(|thread| thread.join().unwrap());
            made.filter(|made| *made).count()
        });
        assert_eq!(made, 1, "round {round}");
    }
}

#[test]
fn reading_a_snapshot_and_writing_after_it_takes_one_connection() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.new_database();
    let setting = setting_at(&url);
    let name = url.rsplit('/').next().unwrap();
    let servers =
        format!("select string_agg(pid::text, ' ') from pg_stat_activity where datname = '{name}'");
    // The process that serves a connection: another one would serve a new connection.
    let first = server.sql(&servers).unwrap();
    assert!(first.parse::<u32>().is_ok(), "{first:?}");
    for round in 0..10 {
        let all = b"a".to_vec()..b"z".to_vec();
        setting
            .catalogue
            .snapshot()
            .unwrap()
            .page(&all, 10)
            .unwrap();
        let mut commit = Commit::default();
        commit.put(b"row".to_vec(), vec![round]);
        setting.catalogue.commit(&commit).unwrap();
    }
    assert_eq!(server.sql(&servers).unwrap(), first);
}

/// What compactions delete fills a disk before a server cleans up by its own settings.
#[test]
fn segments_are_cleaned_up_early() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.new_database();
    let setting = setting_at(&url);
    let (_, database) = url.rsplit_once('/').unwrap();
    // The bytes lie in the table's own and in the one that it has for long values.
    let options = "select array_to_string(segments.reloptions || toast.reloptions, ' ') from pg_class segments \
         join pg_class toast on toast.oid = segments.reltoastrelid where segments.oid = 'larder.segments'::regclass";
    let options = server.sql_in(database, options).unwrap();
    for option in [
        "autovacuum_vacuum_scale_factor=0.05",
        "autovacuum_vacuum_cost_delay=0",
    ] {
        assert_eq!(options.matches(option).count(), 2, "{options}");
    }
    drop(setting);
}

/// A client of an earlier version is connected to the database when this one makes its schema.
#[test]
fn the_function_of_an_earlier_version_stays() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.new_database();
    let setting = setting_at(&url);
    let eight = ["bytea[]"; 8].join(", ");
    let function = format!("larder.make_commit({eight})");
    let (_, database) = url.rsplit_once('/').unwrap();
    let earlier = format!(
        "create function {function} returns boolean language sql as 'select true'; drop function larder.make_commit_2"
    );
    server.sql_in(database, &earlier).unwrap();
    drop(setting);
    let mut commit = Commit::default();
    commit.put(b"row".to_vec(), b"x".to_vec());
    let made = setting_at(&url).catalogue.commit(&commit).unwrap();
    assert_eq!(made, Outcome::Committed);
    let is_there = format!("select to_regprocedure('{function}') is not null");
    assert_eq!(server.sql_in(database, &is_there).unwrap(), "t");
}

#[test]
fn what_waited_for_a_connection_in_vain_was_not_sent() {
    let Some(server) = Server::shared() else {
        return;
    };
    let options = PostgresOptions::new().connections_max(1);
    let options = options.request_time_max(Duration::from_secs(2));
    let setting = setting_with(&server.new_database(), options);
    let mut snapshot = setting.catalogue.snapshot().unwrap();
    let all = b"a".to_vec()..b"z".to_vec();
    snapshot.page(&all, 1).unwrap();
    let mut commit = Commit::default();
    commit.put(b"row".to_vec(), b"x".to_vec());
    let error = setting.catalogue.commit(&commit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    drop(snapshot);
    assert_eq!(
        setting.catalogue.get(&[b"row".to_vec()]).unwrap(),
        [None::<Vec<u8>>]
    );
}

#[test]
fn a_key_that_an_index_does_not_take_is_too_large() {
    let Some(setting) = setting() else { return };
    let mut random = larder_fixtures::random::Random::new(1);
    let mut commit = Commit::default();
    commit.put((0..9000).map(|_| random.next() as u8).collect(), vec![]);
    let error = setting.catalogue.commit(&commit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn what_cannot_be_reached_says_why() {
    let Some(server) = Server::shared() else {
        return;
    };
    let good = server.url("postgres");
    let port = server.port().to_string();
    let none = larder_fixtures::servers::free_port().to_string();
    for (url, kind, why) in [
        (
            good.replace("a%20word", "wrong"),
            ErrorKind::Denied,
            "check user and password",
        ),
        (
            good.replace(":a%20word", ""),
            ErrorKind::Denied,
            "USER:PASSWORD@HOST",
        ),
        (
            good.replace("/postgres", "/missing"),
            ErrorKind::Usage,
            "create it",
        ),
        (
            good.replace(&port, &none),
            ErrorKind::Unavailable,
            "is the server running",
        ),
        (format!("{good}?sslmode=require"), ErrorKind::Usage, "TLS"),
    ] {
        let error = connect(&url).unwrap_err();
        let words = error.to_string();
        assert!(words.contains(why), "{words}");
        assert!(words.contains("PostgreSQL at 127.0.0.1:"), "{words}");
        assert!(
            !words.contains("a%20word") && !words.contains("a word"),
            "{words}"
        );
        assert_eq!(error.kind(), kind, "{words}");
    }
}

#[test]
fn a_user_without_rights_is_denied() {
    let Some(server) = Server::shared() else {
        return;
    };
    let url = server.new_database();
    server
        .sql("create role weak login password 'weak'")
        .unwrap();
    let weak = url.replace("larder:a%20word@", "weak:weak@");
    let error = connect(&weak).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    // Where the schema is there, and is not its to use.
    connect(&url).unwrap();
    let client = connect(&weak);
    let error = client
        .and_then(|client| client.get(&[vec![1]]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

/// A server that was restarted: connections that were open before are not used again.
#[test]
fn a_server_that_crashes_takes_nothing_with_it() {
    let Some(mut server) = Server::own() else {
        return;
    };
    let setting = setting_at(&server.url("postgres"));
    let put = |value: u8| {
        let mut commit = Commit::default();
        commit.put(b"row".to_vec(), vec![value]);
        setting.catalogue.commit(&commit)
    };
    assert_eq!(put(1).unwrap(), Outcome::Committed);
    server.kill();
    // A connection that was open: what serves it may outlive the server for a moment, and whether it took the last commit may not be known. A
    // new one: it did not.
    let mut acknowledged = 1;
    let error = loop {
        match put(acknowledged + 1) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(error.may_pass(), "{error}");
    assert_eq!(put(0).unwrap_err().kind(), ErrorKind::Unavailable);
    let read = || setting.catalogue.get(&[b"row".to_vec()]);
    assert_eq!(read().unwrap_err().kind(), ErrorKind::Unavailable);
    server.restart().unwrap();
    let found = read().unwrap().remove(0).unwrap();
    assert!(
        found == [acknowledged] || found == [acknowledged + 1],
        "{found:?} after {acknowledged}"
    );
    assert_eq!(put(0).unwrap(), Outcome::Committed);
}

/// All laws on a server whose commits wait for a standby; and what an acknowledged commit is worth when the server is lost.
#[test]
fn with_a_synchronous_standby() {
    if std::env::var_os("LARDER_CLUSTERS").is_none() {
        println!("skipped without LARDER_CLUSTERS=1: a synchronous standby");
        return;
    }
    let Some(mut server) = Server::own() else {
        return;
    };
    let standby = server.start_standby().unwrap();
    let setting = || setting_at(&server.new_database());
    laws::contracts(&setting());
    laws::file_system(&setting());
    laws::dying(&setting(), 100);
    laws::taken_for_dead(&setting());
    databases::processes(&setting());
    let url = server.new_database();
    let last = setting_with(&url, PostgresOptions::new());
    let put = |value: u32| {
        let mut commit = Commit::default();
        commit.put(b"row".to_vec(), value.to_be_bytes().to_vec());
        last.catalogue.commit(&commit)
    };
    for value in 0..100 {
        assert_eq!(put(value).unwrap(), Outcome::Committed);
    }
    // A commit that the standby has not taken is not acknowledged.
    let mut standby = standby;
    standby.kill();
    assert_eq!(put(100).unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    standby.restart().unwrap();
    // As long as the standby does not have it, it is not seen, either; that the standby is up again does not say that it has.
    let value = || {
        let rows = last.catalogue.get(&[b"row".to_vec()]).unwrap();
        u32::from_be_bytes(rows[0].as_deref().unwrap().try_into().unwrap())
    };
    while value() == 99 {}
    assert_eq!(value(), 100);
    assert_eq!(put(101).unwrap(), Outcome::Committed);
    server.kill();
    standby.promote().unwrap();
    let name = url.rsplit('/').next().unwrap();
    let promoted = connect(&standby.url(name)).unwrap();
    let value = promoted.get(&[b"row".to_vec()]).unwrap().remove(0);
    assert_eq!(value.unwrap(), 101u32.to_be_bytes());
}
