//! Clients that take their time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use larder_view::Limits;

use crate::support::{Client, Served, eventually, patient};

/// Short enough to wait for.
const SHORT: Duration = Duration::from_millis(200);

fn within(change: impl FnOnce(&mut Limits)) -> Served {
    let mut limits = patient();
    change(&mut limits);
    Served::within(limits, false)
}

/// A server that soon lets connections give way to others.
fn crowded(connections: usize) -> Served {
    within(|limits| {
        limits.connections = connections;
        limits.grace = Duration::from_millis(20);
    })
}

#[test]
fn slow_headers() {
    let served = within(|limits| limits.head = SHORT);
    let head = served.get("/").head();
    for count in [0, 1, 20, head.len() - 1] {
        let mut client = served.client();
        client.write(&head[..count]).unwrap();
        assert!(client.read_to_end().is_empty(), "{count}");
    }
    // A byte now and then does not help.
    let mut client = served.client();
    for byte in head.iter().cycle() {
        if client.write(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(SHORT / 10);
    }
    served.check_answers();
}

#[test]
fn a_connection_that_is_kept_and_not_used() {
    let served = within(|limits| limits.head = SHORT);
    let mut client = served.client();
    for _ in 0..3 {
        client
            .write(&served.question("echo", "{}").bytes())
            .unwrap();
        assert_eq!(client.reply(false).unwrap().status, 200);
    }
    assert!(client.read_to_end().is_empty());
}

#[test]
fn a_slow_body() {
    let served = within(|limits| limits.body = SHORT);
    let mut client = served.client();
    client.write(&served.promise()).unwrap();
    client.write(b"{").unwrap();
    assert_eq!(client.reply(false).unwrap().status, 408);
    assert!(client.read_to_end().is_empty());

    let mut client = served.client();
    let chunked = served
        .question("echo", "")
        .without("Content-Length")
        .with("Transfer-Encoding", "chunked");
    client.write(&chunked.head()).unwrap();
    while client.write(b"1\r\n \r\n").is_ok() {
        std::thread::sleep(SHORT / 10);
    }
    assert!(served.played.asked().is_empty());
    served.check_answers();
}

#[test]
fn all_connections_taken_by_slow_clients_while_others_are_served() {
    // Heads may take as long as the test: only giving way helps.
    let served = crowded(16);
    let mut slow: Vec<Client> = Vec::new();
    for _ in 0..10 {
        for _ in 0..16 {
            let mut client = served.client();
            client.write(b"GET / HTTP/1.1\r\nX: ").unwrap();
            slow.push(client);
        }
        served.check_answers();
        assert_eq!(served.send(&served.get("/")).status, 200);
    }
}

#[test]
fn all_connections_taken_by_clients_that_never_read_the_page() {
    let served = crowded(4);
    let mut slow: Vec<Client> = Vec::new();
    for _ in 0..4 {
        let mut client = served.client();
        // Some 20 MB of answers, which do not fit into what the system keeps.
        let many = served.get("/").bytes().repeat(20_000);
        let _ = client.write(&many);
        slow.push(client);
    }
    served.check_answers();
}

#[test]
fn what_has_shown_the_token_does_not_give_way_while_it_is_answered() {
    let served = crowded(4);
    let mut page = served.client();
    page.write(&served.question("alive", "{}").bytes()).unwrap();
    page.reply_head().unwrap();
    let mut slow = served.client();
    slow.write(&served.question("line", "{}").bytes()).unwrap();
    slow.reply_head().unwrap();
    assert_eq!(slow.chunk().unwrap(), b"{\"first\":1}\n");
    let mut others = Vec::new();
    for _ in 0..40 {
        let mut client = served.client();
        client.write(b"GET / HTTP/1.1\r\n").unwrap();
        others.push(client);
    }
    served.check_answers();
    served.played.open_gate();
    assert_eq!(slow.chunk().unwrap(), b"{\"second\":2}\n");
    assert_eq!(slow.chunk().unwrap(), b"");
    assert_eq!(page.chunk().unwrap(), b"{}\n");
}

#[test]
fn connections_that_are_kept_give_way_after_those_without_the_token() {
    let served = crowded(4);
    let kept = (0..2).map(|_| {
        let mut client = served.client();
        client
            .write(&served.question("echo", "{}").bytes())
            .unwrap();
        assert_eq!(client.reply(false).unwrap().status, 200);
        client
    });
    let mut kept: Vec<Client> = kept.collect();
    let mut others: Vec<Client> = (0..2).map(|_| served.client()).collect();
    // This takes the place of the first of the others, which is younger than what is kept.
    served.check_answers();
    for client in &mut kept {
        client
            .write(&served.question("echo", "{}").bytes())
            .unwrap();
        assert_eq!(client.reply(false).unwrap().status, 200);
    }
    assert!(
        others
            .iter_mut()
            .any(|client| client.read_to_end().is_empty())
    );
    // When all are kept, the oldest gives way.
    let more = (0..6).map(|_| {
        let mut client = served.client();
        client
            .write(&served.question("echo", "{}").bytes())
            .unwrap();
        assert_eq!(client.reply(false).unwrap().status, 200);
        client
    });
    let more: Vec<Client> = more.collect();
    assert!(kept[0].read_to_end().is_empty());
    drop(more);
}

#[test]
fn a_client_that_never_reads() {
    let served = within(|limits| limits.unread = SHORT);
    let mut client = served.client();
    client
        .write(&served.question("lines", "{}").bytes())
        .unwrap();
    eventually("the source's write fails", || {
        !served.played.endings().is_empty()
    });
    assert_eq!(served.played.endings(), [std::io::ErrorKind::BrokenPipe]);
    // The system's buffers and a few pieces, and no more.
    let written = served.played.written.load(Ordering::SeqCst);
    assert!(written < 64 << 20, "{written}");
    served.check_answers();
}

#[test]
fn a_client_that_reads_slowly_is_waited_for() {
    let served = within(|limits| limits.unread = Duration::from_secs(20));
    let mut client = served.client();
    client
        .write(&served.question("lines", "{}").bytes())
        .unwrap();
    client.reply_head().unwrap();
    let written = || served.played.written.load(Ordering::SeqCst);
    // The source stands still when all buffers are full.
    let mut before = 0;
    eventually("the source waits", || {
        std::thread::sleep(SHORT);
        std::mem::replace(&mut before, written()) == written()
    });
    assert!(before < 64 << 20, "{before}");
    let full = written();
    eventually("the source goes on", || {
        client.take(1 << 20).unwrap();
        written() > full
    });
    assert!(served.played.endings().is_empty());
}
