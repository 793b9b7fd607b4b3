//! Tickets, and names that a store gives to files.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::thread;

use crate::support::Served;

#[test]
fn a_ticket_used_twice() {
    let served = Served::new();
    let ticket = served.ticket(r#"{"bytes":9}"#);
    let reply = served.send(&served.get(&ticket));
    assert_eq!((reply.status, reply.text().as_str()), (200, "ddddddddd"));
    assert_eq!(served.send(&served.get(&ticket)).status, 404);
    assert_eq!(served.played.asked(), ["download"]);
}

#[test]
fn a_ticket_used_by_many_at_once() {
    const MANY: usize = 8;
    let served = Served::new();
    for _ in 0..20 {
        let ticket = served.ticket("{}");
        let barrier = Barrier::new(MANY);
        let taken = thread::scope(|scope| {
            let tries = (0..MANY).map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    served.send(&served.get(&ticket)).status == 200
                })
            });
            let tries: Vec<_> = tries.collect();
            tries
                .into_iter()
                .map(|it| it.join().unwrap())
                .filter(|taken| *taken)
                .count()
        });
        assert_eq!(taken, 1);
    }
}

#[test]
fn a_guessed_ticket() {
    let served = Served::new();
    let ticket = served.ticket("{}");
    let digits = ticket.strip_prefix("/download/").unwrap();
    assert_eq!(digits.len(), 32);
    let mut guesses = vec![
        String::new(),
        "0".repeat(32),
        format!("{digits}0"),
        digits[1..].to_owned(),
    ];
    for at in 0..32 {
        let mut other = digits.to_owned().into_bytes();
        other[at] ^= 1;
        guesses.push(String::from_utf8(other).unwrap());
    }
    for guess in guesses {
        let reply = served.send(&served.get(&format!("/download/{guess}")));
        // Some are not even paths.
        assert!(
            matches!(reply.status, 400 | 404),
            "{guess}: {}",
            reply.status
        );
    }
    assert!(served.played.asked().is_empty());
    assert_eq!(served.send(&served.get(&ticket)).status, 200);
}

#[test]
fn an_expired_ticket() {
    let served = Served::new();
    let (late, early) = (served.ticket("{}"), served.ticket("{}"));
    served.seconds.store(59, Ordering::SeqCst);
    assert_eq!(served.send(&served.get(&early)).status, 200);
    served.seconds.store(60, Ordering::SeqCst);
    assert_eq!(served.send(&served.get(&late)).status, 404);
}

#[test]
fn more_tickets_than_may_wait() {
    let served = Served::new();
    let tickets: BTreeSet<String> = (0..64).map(|_| served.ticket("{}")).collect();
    assert_eq!(tickets.len(), 64, "each is another");
    let one_more = served.question("ticket", r#"{"download":{}}"#);
    assert_eq!(served.send(&one_more).status, 429);
    assert_eq!(
        served.send(&served.get(tickets.first().unwrap())).status,
        200
    );
    assert_eq!(served.send(&one_more).status, 200, "one has been used");
    assert_eq!(served.send(&one_more).status, 429);
    served.seconds.store(60, Ordering::SeqCst);
    assert_eq!(
        served.send(&one_more).status,
        200,
        "all others have expired"
    );
}

#[test]
fn a_ticket_for_nothing() {
    let served = Served::new();
    for asked in [
        "",
        "{}",
        "[]",
        r#"{"download":7}"#,
        r#"{"download":"x"}"#,
        "{\"download\":{}",
        "nonsense",
    ] {
        assert_eq!(
            served.send(&served.question("ticket", asked)).status,
            400,
            "{asked}"
        );
    }
    let deep = format!(r#"{{"download":{}"#, "[".repeat(60_000));
    assert_eq!(
        served.send(&served.question("ticket", &deep)).status,
        400,
        "deep"
    );
    assert_eq!(
        served.send(&served.question("download", "{}")).status,
        404,
        "without a ticket"
    );
    assert!(served.played.asked().is_empty());
}

#[test]
fn what_a_ticket_is_for_reaches_the_source() {
    let served = Served::new();
    let ticket = served.ticket(r#"{"name":"ü \" \u202e.txt","bytes":3}"#);
    let reply = served.send(&served.get(&ticket));
    assert_eq!(reply.text(), "ddd");
    assert_eq!(
        reply.header("content-disposition"),
        Some("attachment; filename=\"_  .txt\"; filename*=UTF-8''%C3%BC%20%20.txt")
    );
}

/// A name with a line break in it would end the header, and begin an answer of the store's.
#[test]
fn response_splitting_by_a_name() {
    let served = Served::new();
    let names = [
        "a\r\nSet-Cookie: x=1",
        "a\r\n\r\n<script>alert(1)</script>",
        "a\nX: y",
        "a\rX: y",
        "a\0b",
        "a\u{85}b\u{2028}c",
        "a\"; filename=\"evil.exe",
        "a\\\"; x=\"",
        "../../../etc/passwd",
        "..\\..\\evil.exe",
        "a\u{560a}\u{560d}Set-Cookie: x",
        "\u{202e}gpj.exe",
        "NUL",
        "...",
        "",
    ];
    for name in names {
        let download = serde_json::json!({ "name": name }).to_string();
        let reply = served.send(&served.get(&served.ticket(&download)));
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (200, "ddddddd"),
            "{name:?}"
        );
        assert_eq!(reply.header("set-cookie"), None, "{name:?}");
        assert_eq!(reply.header("x"), None, "{name:?}");
        let disposition = reply.header("content-disposition").unwrap();
        assert!(
            disposition
                .bytes()
                .all(|byte| (b' '..=b'~').contains(&byte)),
            "{disposition}"
        );
        assert_eq!(disposition.matches('"').count(), 2, "{disposition}");
        let rest = disposition.strip_prefix("attachment; filename=\"").unwrap();
        let (ascii, rest) = rest.split_once("\"; filename*=UTF-8''").unwrap();
        assert!(
            !ascii.contains(['/', '\\']) && !ascii.starts_with('.') && !ascii.is_empty(),
            "{disposition}"
        );
        assert!(
            rest.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"%._-".contains(&byte)),
            "{disposition}"
        );
    }
}

#[test]
fn an_attachment_of_a_known_size_is_whole_or_seen_not_to_be() {
    let served = Served::new();
    let get = |download: &str| served.send(&served.get(&served.ticket(download)));
    for bytes in [0, 1, 40_000, 5_000_000] {
        let reply = get(&format!(r#"{{"size":{bytes},"bytes":{bytes}}}"#));
        assert_eq!(
            reply.header("content-length"),
            Some(bytes.to_string().as_str())
        );
        assert!(reply.is_whole);
        assert_eq!(reply.body.len(), bytes);
    }
    let unknown = get(r#"{"bytes":5000000}"#);
    assert_eq!(
        (unknown.header("content-length"), unknown.body.len()),
        (None, 5_000_000)
    );
    assert!(unknown.is_whole);
    assert_eq!(get(r#"{"size":7,"bytes":6}"#).status, 500);
    assert_eq!(get(r#"{"size":7,"bytes":8}"#).status, 500);
    for bytes in [4_999_999, 5_000_001] {
        let reply = get(&format!(r#"{{"size":5000000,"bytes":{bytes}}}"#));
        assert!(!reply.is_whole, "{bytes}");
    }
    served.check_answers();
}
