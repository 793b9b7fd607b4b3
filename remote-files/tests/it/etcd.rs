//! A real etcd: all laws, its leases, and its errors.

use crate::setting::Setting;
use crate::support::namespace;
use crate::{databases, laws};
use larder_fixtures::servers::{Etcd as Server, free_port};
use larder_remote_files::{
    Commit, ErrorKind, Etcd, EtcdOptions, EtcdUrl, Options, Outcome, RemoteFileSystem,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn connect(url: &str, options: EtcdOptions) -> larder_remote_files::Result<Etcd> {
    Etcd::connect(EtcdUrl::parse(url)?.endpoints(), options)
}

/// Keys of its own.
fn setting_of(server: &Server) -> Setting {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("test {}/", COUNT.fetch_add(1, Ordering::Relaxed));
    // A disk that others use may be slow, and no test of these is of time.
    let options = EtcdOptions::new().prefix(prefix.as_bytes());
    let options = options.request_time_max(Duration::from_secs(60));
    let url = format!("etcd://{}", server.endpoints());
    Setting::of_server(connect(&url, options).unwrap())
}

fn setting() -> Option<Setting> {
    Server::shared().map(setting_of)
}

laws::of_engine!(setting, 120);

/// The row of a dead process's session goes by etcd's lease; what it wrote is then taken without watching it.
#[test]
fn the_lease_of_a_dead_process_ends_in_etcd() {
    let Some(server) = Server::shared() else {
        return;
    };
    let setting = Setting {
        lease: Duration::from_secs(1),
        ..setting_of(server)
    };
    let session = setting.session();
    let take = |session| {
        RemoteFileSystem::write(session, &namespace(), Options::default(), Duration::ZERO)
    };
    std::mem::forget(take(&session).unwrap());
    let new = Setting {
        lease: Duration::from_secs(1000),
        ..setting.clone()
    };
    let new = new.session();
    // A session that is renewed keeps its row, and the lock with it.
    for _ in 0..8 {
        setting.clock.wait(setting.lease / 2);
        session.renew().unwrap();
    }
    assert_eq!(take(&new).unwrap_err().kind(), ErrorKind::Held);
    // It dies.
    let mut tries = 0;
    while let Err(error) = take(&new) {
        assert_eq!(error.kind(), ErrorKind::Held, "{error}");
        tries += 1;
        assert!(tries < 200, "the row is still there");
        setting.clock.wait(Duration::from_millis(100));
    }
    assert_eq!(session.renew().unwrap_err().kind(), ErrorKind::Lost);
}

#[test]
fn a_page_of_a_revision_that_was_compacted_says_that_it_is_gone() {
    let Some(server) = Server::own(1) else { return };
    let catalogue = setting_of(&server).catalogue;
    let put = |value: u8| {
        let mut commit = Commit::default();
        (0..3).for_each(|row| commit.put(vec![b'a' + row], vec![value]));
        assert_eq!(catalogue.commit(&commit).unwrap(), Outcome::Committed);
    };
    put(0);
    let mut snapshot = catalogue.snapshot().unwrap();
    let first = snapshot.page(&(b"a".to_vec()..b"z".to_vec()), 1).unwrap();
    assert!(first.has_more);
    put(1);
    // It reads its own revision as long as there is one.
    let rest = b"b".to_vec()..b"z".to_vec();
    let rows = snapshot.page(&rest, 10).unwrap().rows;
    assert!(rows.iter().all(|row| row.value == [0]), "{rows:?}");
    server.compact().unwrap();
    let error = snapshot.page(&rest, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotGone, "{error}");
    assert!(error.may_pass(), "{error}");
    // Another one is of the revision that is there.
    let mut snapshot = catalogue.snapshot().unwrap();
    let rows = snapshot.page(&rest, 10).unwrap().rows;
    assert!(rows.iter().all(|row| row.value == [1]), "{rows:?}");
}

#[test]
fn what_cannot_be_reached_says_why() {
    let none = format!("etcd://127.0.0.1:{}", free_port());
    let error = connect(&none, EtcdOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("etcd at 127.0.0.1:"), "{error}");
    assert!(error.to_string().contains("is it running"), "{error}");
    let Some(server) = Server::own(1) else { return };
    let url = format!("etcd://{}", server.endpoints());
    server.ask_for_passwords("root", "a word").unwrap();
    for (options, why) in [
        (EtcdOptions::new(), "check user and password"),
        (
            EtcdOptions::new().user("root", "wrong"),
            "check user and password",
        ),
    ] {
        let error = connect(&url, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    connect(&url, EtcdOptions::new().user("root", "a word")).unwrap();
}

/// All laws on three nodes, of which the one that leads is killed in the middle.
#[test]
fn three_nodes() {
    if std::env::var_os("LARDER_CLUSTERS").is_none() {
        println!("skipped without LARDER_CLUSTERS=1: three nodes");
        return;
    }
    let Some(mut server) = Server::own(3) else {
        return;
    };
    laws::contracts(&setting_of(&server));
    laws::file_system(&setting_of(&server));
    laws::dying(&setting_of(&server), 60);
    laws::taken_for_dead(&setting_of(&server));
    databases::processes(&setting_of(&server));
    let setting = Setting {
        lease: Duration::from_secs(30),
        patience: Duration::from_secs(30),
        ..setting_of(&server)
    };
    let session = setting.session();
    for round in 0..3 {
        let leader = server.leader().unwrap();
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                server.kill(leader);
                server.restart(leader).unwrap();
            });
            while !killer.is_finished() {
                // As an exchange of a row: whatever becomes of the requests, it is made once.
                session.renew().unwrap();
            }
        });
        let mut commit = Commit::default();
        commit.put(b"round".to_vec(), vec![round]);
        // The node that has come back may not take connections yet, and a catalogue sends a commit once. This one may be made twice.
        let pause = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        let committed = loop {
            match setting.catalogue.commit(&commit) {
                Err(error) if error.may_pass() && waited < setting.patience => {
                    std::thread::sleep(pause);
                    waited += pause;
                }
                committed => break committed,
            }
        };
        assert_eq!(committed.unwrap(), Outcome::Committed);
    }
}
