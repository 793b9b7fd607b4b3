//! A source's answers: their forms, their ends, and its faults.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::support::{Client, Served, eventually, patient};

fn asking(served: &Served, question: &str) -> Client {
    let mut client = served.client();
    client
        .write(&served.question(question, "{}").bytes())
        .unwrap();
    client
}

#[test]
fn a_source_that_panics() {
    let served = Served::new();
    for _ in 0..20 {
        let reply = served.send(&served.question("panics", "{}"));
        assert_eq!(reply.status, 500);
        assert_eq!(
            reply.text(),
            r#"{"error":"a fault of the program: as it should"}"#
        );
        let reply = served.send(&served.question("panicsLater", "{}"));
        assert_eq!((reply.status, reply.is_whole), (200, false));
        let reply = served.send(&served.question("panicsBetweenLines", "{}"));
        assert!(reply.is_whole);
        assert_eq!(
            reply.text(),
            "{\"line\":1}\n{\"line\n{\"error\":\"a fault of the program: as it should\"}\n"
        );
    }
    served.check_answers();
}

#[test]
fn a_question_that_is_refused() {
    let served = Served::new();
    let cases = [
        ("nothing", 404, r#"{"error":"no question nothing"}"#),
        ("malformed", 400, r#"{"error":"no \"store\""}"#),
        ("failed", 500, r#"{"error":"the disk"}"#),
    ];
    for (question, status, text) in cases {
        let reply = served.send(&served.question(question, "{}"));
        assert_eq!((reply.status, reply.text().as_str()), (status, text));
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    let reply = served.send(&served.question("failsLater", "{}"));
    assert_eq!((reply.status, reply.is_whole), (200, true));
    assert_eq!(
        reply.text(),
        "{\"line\":1}\n{\"half\":\n{\"error\":\"the disk\"}\n"
    );
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
}

#[test]
fn answers_of_every_length_come_whole() {
    let served = Served::new();
    let reply = served.send(&served.question("echo", "{}"));
    assert_eq!(
        (reply.header("content-length"), reply.header("content-type")),
        (Some("11"), Some("application/json"))
    );
    let reply = served.send(&served.question("long", "{}"));
    assert_eq!((reply.is_whole, reply.body.len()), (true, 1 << 20));
    // On one connection, one after the other.
    let mut client = served.client();
    for _ in 0..10 {
        client
            .write(&served.question("long", "{}").bytes())
            .unwrap();
        assert_eq!(client.reply(false).unwrap().body.len(), 1 << 20);
    }
}

#[test]
fn a_line_is_sent_when_it_is_written() {
    let served = Served::new();
    let mut client = asking(&served, "line");
    assert_eq!(client.reply_head().unwrap().status, 200);
    assert_eq!(client.chunk().unwrap(), b"{\"first\":1}\n");
    served.played.open_gate();
    assert_eq!(client.chunk().unwrap(), b"{\"second\":2}\n");
    assert!(client.chunk().unwrap().is_empty());
}

#[test]
fn cancel_reaches_the_source() {
    let served = Served::new();
    for question in ["lines", "object"] {
        let mut client = asking(&served, question);
        client.reply_head().unwrap();
        client.chunk().unwrap();
        let before = served.played.endings().len();
        drop(client);
        eventually("the source's write fails", || {
            served.played.endings().len() > before
        });
    }
    assert_eq!(served.played.endings(), [ErrorKind::BrokenPipe; 2]);
    eventually("no thread is left", || {
        served.played.running.load(Ordering::SeqCst) == 0
    });
}

#[test]
fn more_questions_than_threads_wait_and_are_answered() {
    let served = Served::new();
    let mut clients: Vec<Client> = (0..40).map(|_| asking(&served, "waits")).collect();
    let running = || served.played.running.load(Ordering::SeqCst);
    eventually("eight are answered", || running() == 8);
    // What needs no thread is answered meanwhile.
    assert_eq!(served.send(&served.get("/")).status, 200);
    served.ticket("{}");
    let mut page = asking(&served, "alive");
    assert_eq!(page.reply_head().unwrap().status, 200);
    assert_eq!(page.chunk().unwrap(), b"{}\n");
    // One that waits and goes is never asked.
    drop(clients.split_off(20));
    served.played.open_gate();
    for client in &mut clients {
        assert_eq!(client.reply(false).unwrap().text(), "{}");
    }
    assert_eq!(served.played.most.load(Ordering::SeqCst), 8);
}

#[test]
fn a_question_whose_client_has_gone_is_not_begun() {
    let mut limits = patient();
    limits.questions = 1;
    limits.connections = 2;
    let served = Served::within(limits, false);
    let mut first = asking(&served, "waits");
    eventually("it is answered", || {
        served.played.running.load(Ordering::SeqCst) == 1
    });
    let gone = asking(&served, "echo");
    drop(gone);
    // There are two places. That a third connection has one shows that the second is gone.
    served.ticket("{}");
    served.played.open_gate();
    assert_eq!(first.reply(false).unwrap().text(), "{}");
    assert_eq!(served.send(&served.question("long", "{}")).status, 200);
    assert_eq!(served.played.asked(), ["waits", "long"]);
}

#[test]
fn stop_ends_everything() {
    let served = Served::new();
    let mut page = asking(&served, "alive");
    page.reply_head().unwrap();
    let mut reads = asking(&served, "lines");
    reads.reply_head().unwrap();
    let reads_not = asking(&served, "lines");
    eventually("both are answered", || {
        served.played.asked() == ["lines"; 2]
    });
    let mut waits: Vec<Client> = (0..20).map(|_| asking(&served, "waits")).collect();
    let mut idle = served.client();
    let mut slow = served.client();
    slow.write(b"GET / HT").unwrap();
    eventually("all threads are taken", || {
        served.played.running.load(Ordering::SeqCst) == 8
    });

    let stopper = served.stopper.clone();
    thread::spawn(move || stopper.stop()).join().unwrap();
    eventually("both have ended", || served.played.endings().len() == 2);
    assert_eq!(served.played.endings(), [ErrorKind::BrokenPipe; 2]);
    assert!(!page.reply(false).is_ok_and(|reply| reply.is_whole));
    for client in [&mut page, &mut reads, &mut idle, &mut slow]
        .into_iter()
        .chain(&mut waits)
    {
        client.read_to_end();
    }
    drop(reads_not);
    // A source that does not write is waited for, as long as the limit says.
    assert!(!served.has_ended());
    served.played.open_gate();
    served.wait_for_end();
    assert!(std::net::TcpStream::connect(("127.0.0.1", served.port)).is_err());
}

#[test]
fn a_source_that_does_not_end_is_left_behind() {
    let mut limits = patient();
    limits.ending = Duration::from_millis(50);
    let served = Served::within(limits, false);
    let waits = asking(&served, "waits");
    eventually("it is answered", || {
        served.played.running.load(Ordering::SeqCst) == 1
    });
    served.stopper.stop();
    served.wait_for_end();
    assert_eq!(served.played.running.load(Ordering::SeqCst), 1);
    served.played.open_gate();
    eventually("it ends later", || {
        served.played.running.load(Ordering::SeqCst) == 0
    });
    drop(waits);
}

#[test]
fn stopped_before_it_runs() {
    let served = Served::new();
    served.stopper.stop();
    served.stopper.stop();
    served.wait_for_end();
}

#[test]
fn the_server_ends_after_the_last_page_and_not_before_the_first() {
    let mut limits = patient();
    limits.closed = Duration::from_millis(300);
    let served = Served::within(limits, true);
    served.check_answers();
    thread::sleep(Duration::from_millis(600));
    assert!(!served.has_ended(), "no page has come yet");
    let first = asking(&served, "alive");
    let mut second = asking(&served, "alive");
    assert_eq!(second.reply_head().unwrap().status, 200);
    drop(first);
    thread::sleep(Duration::from_millis(600));
    assert!(!served.has_ended(), "one page is open");
    drop(second);
    served.wait_for_end();
}

#[test]
fn a_page_that_is_loaded_anew_does_not_end_the_server() {
    let mut limits = patient();
    limits.closed = Duration::from_secs(20);
    let served = Served::within(limits, true);
    for _ in 0..5 {
        let mut page = asking(&served, "alive");
        page.reply_head().unwrap();
        drop(page);
        thread::sleep(Duration::from_millis(100));
    }
    assert!(!served.has_ended());
    served.check_answers();
}

#[test]
fn without_being_asked_the_server_outlives_its_pages() {
    let mut limits = patient();
    limits.closed = Duration::from_millis(1);
    let served = Served::within(limits, false);
    let mut page = asking(&served, "alive");
    page.reply_head().unwrap();
    drop(page);
    thread::sleep(Duration::from_millis(300));
    served.check_answers();
}

#[test]
fn signs_of_life_come_again_and_again() {
    let mut limits = patient();
    limits.heartbeat = Duration::from_millis(20);
    let served = Served::within(limits, false);
    let mut page = asking(&served, "alive");
    assert_eq!(
        page.reply_head().unwrap().header("content-type"),
        Some("application/x-ndjson")
    );
    for _ in 0..5 {
        assert_eq!(page.chunk().unwrap(), b"{}\n");
    }
    assert!(served.played.asked().is_empty());
}

#[test]
fn only_the_loopback_listens() {
    let served = Served::new();
    for address in ["127.0.0.2", "::1"] {
        assert!(
            std::net::TcpStream::connect((address, served.port)).is_err(),
            "{address}"
        );
    }
    served.check_answers();
}
