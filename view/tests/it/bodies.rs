//! Requests that are too long.

use crate::support::Served;

const MAX: usize = 64 << 10;

#[test]
fn a_body_of_the_greatest_length() {
    let served = Served::new();
    let reply = served.send(&served.question("echo", &" ".repeat(MAX)));
    assert_eq!(
        (reply.status, reply.text()),
        (200, format!(r#"{{"bytes":{MAX}}}"#))
    );
}

#[test]
fn a_body_that_is_declared_too_long() {
    let served = Served::new();
    for length in ["65537", "10000000000"] {
        // No byte of the body is sent: the answer comes before it.
        let mut client = served.client();
        client
            .write(
                &served
                    .question("echo", "")
                    .with("Content-Length", length)
                    .head(),
            )
            .unwrap();
        let reply = client.reply(false).unwrap();
        assert_eq!(reply.status, 413, "{length}");
    }
    // One that waits to be asked for its body is not asked.
    let mut client = served.client();
    let asked = served
        .question("echo", "")
        .with("Content-Length", "65537")
        .with("Expect", "100-continue");
    client.write(&asked.head()).unwrap();
    assert_eq!(client.reply(false).unwrap().status, 413);
    for length in [
        "18446744073709551615",
        "99999999999999999999999",
        "-1",
        "+1",
        "1e9",
        "0x10",
    ] {
        let reply = served.send(&served.question("echo", "").with("Content-Length", length));
        assert!(reply.status >= 400, "{length}");
    }
    assert!(served.played.asked().is_empty());
}

#[test]
fn a_body_in_chunks_that_is_too_long() {
    let served = Served::new();
    let asked = served
        .question("echo", "")
        .without("Content-Length")
        .with("Transfer-Encoding", "chunked");
    let chunk = [b"1000\r\n".as_slice(), &[b' '; 0x1000], b"\r\n"].concat();
    let mut client = served.client();
    client.write(&asked.head()).unwrap();
    for _ in 0..MAX / 0x1000 {
        client.write(&chunk).unwrap();
    }
    client.write(b"0\r\n\r\n").unwrap();
    assert_eq!(
        client.reply(false).unwrap().text(),
        format!(r#"{{"bytes":{MAX}}}"#)
    );

    let mut client = served.client();
    client.write(&asked.head()).unwrap();
    for _ in 0..MAX / 0x1000 {
        client.write(&chunk).unwrap();
    }
    client.write(b"1\r\n \r\n").unwrap();
    assert_eq!(client.reply(false).unwrap().status, 413);
    // What is still sent is read and dropped for a while, and the connection closed.
    for _ in 0..2000 {
        if client.write(&chunk).is_err() {
            break;
        }
    }
    assert!(client.read_to_end().is_empty());
    assert_eq!(served.played.asked(), ["echo"]);
}

/// As a browser does: it reads no answer before it has sent all.
#[test]
fn a_body_too_long_that_is_sent_to_its_end() {
    let served = Served::new();
    let asked = served.question("echo", &" ".repeat(900 << 10));
    for asked in [asked.clone(), asked.without("Larder-Token")] {
        let mut client = served.client();
        client.write(&asked.head()).unwrap();
        for _ in 0..90 {
            client.write(&[b' '; 10 << 10]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let reply = client.reply(false).unwrap();
        assert!(matches!(reply.status, 401 | 413), "{}", reply.status);
        assert!(client.read_to_end().is_empty());
    }
}

#[test]
fn a_length_beside_chunks() {
    let served = Served::new();
    let asked = served
        .question("echo", "")
        .with("Content-Length", "4")
        .with("Transfer-Encoding", "chunked");
    let mut client = served.client();
    let smuggled = served.question("waits", "{}").bytes();
    client
        .write(&[asked.head(), b"0\r\n\r\n".to_vec(), smuggled].concat())
        .unwrap();
    let reply = client.reply(false).unwrap();
    // Either it is refused, or the chunks count. What follows is a request by itself then, which has the token itself.
    assert!(
        reply.status == 400 || reply.text() == r#"{"bytes":0}"#,
        "{}",
        reply.text()
    );
    let lengths = served.question("echo", "{}").and("Content-Length", "0");
    assert_eq!(served.send(&lengths).status, 400);
}

#[test]
fn a_body_that_ends_early() {
    let served = Served::new();
    let mut client = served.client();
    client.write(&served.promise()).unwrap();
    client.write(b"{}").unwrap();
    client.shut_down_writing();
    let answer = String::from_utf8(client.read_to_end()).unwrap();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
    assert!(served.played.asked().is_empty());
}

#[test]
fn a_head_that_is_too_long() {
    let served = Served::new();
    let cases = [
        ("one header", served.get("/").with("X", "x".repeat(1 << 20))),
        ("a target", served.get(&format!("/{}", "x".repeat(1 << 20)))),
        (
            "many headers",
            (0..200).fold(served.get("/"), |asked, at| {
                asked.and(&format!("X{at}"), "x")
            }),
        ),
    ];
    for (what, asked) in cases {
        let mut client = served.client();
        // The server may close the connection before all of it is written.
        let _ = client.write(&asked.bytes());
        let answer = client.read_to_end();
        let refused = ["HTTP/1.1 431", "HTTP/1.1 414", "HTTP/1.1 400"];
        let is_refused = refused
            .iter()
            .any(|status| answer.starts_with(status.as_bytes()));
        assert!(
            answer.is_empty() || is_refused,
            "{what}: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    // Cookies of other servers at 127.0.0.1 come with a request of the page's.
    let cookies = served
        .question("echo", "{}")
        .with("Cookie", "c".repeat(48 << 10));
    assert_eq!(served.send(&cookies).status, 200);
}

#[test]
fn what_is_no_http() {
    let served = Served::new();
    let tries: [&[u8]; 7] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"\r\n\r\n\r\n\0\0\0\0",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
    ];
    for bytes in tries {
        let mut client = served.client();
        client.write(bytes).unwrap();
        client.shut_down_writing();
        let answer = String::from_utf8_lossy(&client.read_to_end()).into_owned();
        assert!(
            !answer.contains("200 OK") && !answer.contains("doctype"),
            "{answer}"
        );
    }
    served.check_answers();
}
