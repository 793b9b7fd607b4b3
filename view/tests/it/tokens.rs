//! Questions without the token.

use std::sync::Arc;

use larder_view::{Options, Server};

use crate::support::{Played, Served};

#[test]
fn a_token_in_a_debug_line() {
    let server = Server::bind(Options::default(), Arc::new(Played::default())).unwrap();
    let url = server.url();
    let (_, token) = url.split_once('#').unwrap();
    assert_eq!(token.len(), 32);
    let printed = format!("{server:?} {:?}", server.stopper());
    assert!(
        printed.contains("127.0.0.1") && !printed.contains(token),
        "{printed}"
    );
}

#[test]
fn no_token() {
    let served = Served::new();
    for question in ["echo", "alive", "ticket", "nothing", "download"] {
        let reply = served.send(&served.question(question, "{}").without("Larder-Token"));
        assert_eq!(reply.status, 401, "{question}");
    }
    assert!(served.played.asked().is_empty());
}

#[test]
fn a_wrong_token() {
    let served = Served::new();
    let own = &served.token;
    let mut wrong = vec![
        String::new(),
        "0".repeat(32),
        own.to_ascii_uppercase()
            .replace(|digit: char| digit.is_ascii_digit(), "A"),
        own[..31].to_owned(),
        format!("{own}0"),
        format!("{own}, {own}"),
        format!("\"{own}\""),
        format!("Bearer {own}"),
    ];
    for at in 0..32 {
        let mut other = own.clone().into_bytes();
        other[at] ^= 1;
        wrong.push(String::from_utf8(other).unwrap());
    }
    for token in wrong {
        let reply = served.send(&served.question("echo", "{}").with("Larder-Token", &token));
        assert_eq!(reply.status, 401, "{token}");
        assert!(!reply.text().contains(own.as_str()));
    }
    let reply = served.send(&served.question("echo", "{}").and("Larder-Token", own));
    assert_eq!(reply.status, 400, "twice");
    assert!(served.played.asked().is_empty());
    served.check_answers();
}

#[test]
fn the_token_anywhere_but_in_its_header() {
    let served = Served::new();
    let own = &served.token;
    let question = served.question("echo", "{}").without("Larder-Token");
    let url = format!("http://127.0.0.1:{}/#{own}", served.port);
    let cases = [
        (question.clone().with("Referer", url), 401),
        (
            question
                .clone()
                .with("Cookie", format!("Larder-Token={own}; token={own}")),
            401,
        ),
        (
            question
                .clone()
                .with("Authorization", format!("Bearer {own}")),
            401,
        ),
        (question.clone().with("X-Larder-Token", own), 401),
        (
            question.clone().body(format!(r#"{{"token":"{own}"}}"#)),
            401,
        ),
        (
            question.clone().target(&format!("/api/echo?token={own}")),
            404,
        ),
        (question.clone().target(&format!("/api/echo/{own}")), 401),
        (question.clone().target(&format!("/{own}/api/echo")), 404),
        (served.get(&format!("/download/{own}")), 404),
    ];
    for (asked, status) in cases {
        let reply = served.send(&asked);
        assert_eq!(
            reply.status,
            status,
            "{}",
            String::from_utf8_lossy(&asked.bytes())
        );
    }
    assert!(served.played.asked().is_empty());
}

#[test]
fn the_token_is_asked_for_before_anything_else_is_found_out() {
    let served = Served::new();
    let question = served.question("echo", "{}").without("Larder-Token");
    let cases = [
        question.clone().target("/api/a/b"),
        question.clone().without("Content-Type"),
        question.clone().with("Content-Length", "100000000"),
    ];
    for asked in cases {
        assert_eq!(served.send(&asked).status, 401);
    }
}

#[test]
fn two_servers_at_once_have_two_tokens() {
    let (one, other) = (Served::new(), Served::new());
    assert_ne!(one.port, other.port);
    assert_ne!(one.token, other.token);
    let reply = one.send(
        &one.question("echo", "{}")
            .with("Larder-Token", &other.token),
    );
    assert_eq!(reply.status, 401);
    let ticket = one.ticket("{}");
    assert_eq!(other.send(&other.get(&ticket)).status, 404);
    one.check_answers();
    other.check_answers();
    one.stopper.stop();
    one.wait_for_end();
    other.check_answers();
}
