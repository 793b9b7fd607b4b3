//! Requests that another page than the server's sends, or has a browser send.

use crate::support::{Asked, Reply, Served};

/// Nothing of the page's or the source's came out.
fn check_kept(served: &Served, reply: &Reply, what: &str) {
    assert!(reply.status >= 400, "{what}: {}", reply.status);
    assert!(
        reply.text().starts_with(r#"{"error":"#) || reply.body.is_empty(),
        "{what}: {}",
        reply.text()
    );
    check_no_cors(reply, what);
    assert!(
        served.played.asked().is_empty(),
        "{what}: the source was asked"
    );
}

fn check_no_cors(reply: &Reply, what: &str) {
    let allows = reply
        .headers
        .iter()
        .find(|(name, _)| name.starts_with("access-control-"));
    assert_eq!(allows, None, "{what}");
}

/// A request of each kind, as it would be let through.
fn each_kind(served: &Served) -> [Asked; 4] {
    let ticket = served.ticket("{}");
    [
        served.get("/"),
        served.question("echo", "{}"),
        served.get(&ticket),
        served.question("alive", "{}"),
    ]
}

#[test]
fn dns_rebinding_brings_a_wrong_host() {
    let served = Served::new();
    let port = served.port;
    let hosts = [
        format!("evil.example:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        format!("127.1:{port}"),
        format!("127.0.0.2:{port}"),
        format!("127.0.0.1:0{port}"),
        format!("127.0.0.1:{port}.evil.example"),
        format!("127.0.0.1.:{port}"),
        format!("evil@127.0.0.1:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        "127.0.0.1".to_owned(),
        "127.0.0.1:80".to_owned(),
        String::new(),
    ];
    for asked in each_kind(&served) {
        for host in &hosts {
            let reply = served.send(&asked.clone().with("Host", host));
            assert_eq!(reply.status, 421, "{host}");
            check_kept(&served, &reply, host);
        }
    }
}

#[test]
fn a_request_without_one_right_host() {
    let served = Served::new();
    let own = format!("127.0.0.1:{}", served.port);
    for asked in each_kind(&served) {
        let cases = [
            ("none", asked.clone().without("Host")),
            (
                "none, HTTP/1.0",
                asked.clone().without("Host").version("HTTP/1.0"),
            ),
            ("two", asked.clone().and("Host", "evil.example")),
            (
                "two, the other first",
                asked.clone().with("Host", "evil.example").and("Host", &own),
            ),
            ("the right one twice", asked.clone().and("Host", &own)),
        ];
        for (what, asked) in cases {
            // HTTP/1.0 is answered in its own version.
            let mut client = served.client();
            client
                .write(&asked.with("Connection", "close").bytes())
                .unwrap();
            let answer = String::from_utf8(client.read_to_end()).unwrap();
            let (version, rest) = answer.split_at(9);
            assert!(version.starts_with("HTTP/1."), "{what}: {answer}");
            assert!(
                rest.starts_with("421 ") || rest.starts_with("400 "),
                "{what}: {answer}"
            );
            assert!(served.played.asked().is_empty(), "{what}");
        }
    }
}

#[test]
fn an_older_http_with_the_right_host() {
    let served = Served::new();
    let mut client = served.client();
    client
        .write(&served.get("/").version("HTTP/1.0").bytes())
        .unwrap();
    let answer = String::from_utf8(client.read_to_end()).unwrap();
    assert!(answer.contains(" 505 "), "{answer}");
}

#[test]
fn a_target_with_a_host_of_its_own() {
    let served = Served::new();
    for host in [
        "evil.example".to_owned(),
        format!("127.0.0.1:{}", served.port),
    ] {
        let asked = served.get(&format!("http://{host}/"));
        let reply = served.send(&asked);
        assert_eq!(reply.status, 421, "{host}");
        let asked = served.get(&host).method("CONNECT");
        let reply = served.send(&asked);
        check_kept(&served, &reply, "CONNECT");
    }
}

#[test]
fn a_cross_origin_fetch_carries_another_origin() {
    let served = Served::new();
    let port = served.port;
    let origins = [
        "https://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{}", port ^ 1),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.1:{port}.evil.example"),
        format!("http://127.0.0.1:{port}/"),
        format!("HTTP://127.0.0.1:{port}"),
        "chrome-extension://abcdefghijklmnop".to_owned(),
        String::new(),
    ];
    for asked in each_kind(&served) {
        for origin in &origins {
            let reply = served.send(&asked.clone().with("Origin", origin));
            assert_eq!(reply.status, 403, "{origin}");
            check_kept(&served, &reply, origin);
        }
        let twice = asked
            .with("Origin", format!("http://127.0.0.1:{port}"))
            .and("Origin", "https://evil.example");
        check_kept(&served, &served.send(&twice), "two origins");
    }
}

#[test]
fn a_browser_says_that_another_site_asks() {
    let served = Served::new();
    for asked in each_kind(&served) {
        for site in [
            "cross-site",
            "same-site",
            "",
            "Same-Origin",
            "none, cross-site",
        ] {
            let reply = served.send(&asked.clone().without("Origin").with("Sec-Fetch-Site", site));
            assert_eq!(reply.status, 403, "{site}");
            check_kept(&served, &reply, site);
        }
        let twice = asked
            .with("Sec-Fetch-Site", "none")
            .and("Sec-Fetch-Site", "cross-site");
        check_kept(&served, &served.send(&twice), "two sites");
    }
}

#[test]
fn the_page_itself_and_a_person_are_let_through_without_cors() {
    let served = Served::new();
    let cases = [
        (
            "opened",
            served.get("/").with("Sec-Fetch-Site", "none"),
            200,
        ),
        (
            "of the page",
            served
                .get("/index.html")
                .with("Sec-Fetch-Site", "same-origin"),
            200,
        ),
        ("asked by the page", served.question("echo", "{}"), 200),
        (
            "asked by a program",
            served
                .question("echo", "{}")
                .without("Origin")
                .without("Sec-Fetch-Site"),
            200,
        ),
        ("refused", served.question("nothing", "{}"), 404),
    ];
    for (what, asked, status) in cases {
        let reply = served.send(&asked);
        assert_eq!(reply.status, status, "{what}: {}", reply.text());
        check_no_cors(&reply, what);
    }
}

#[test]
fn a_preflight() {
    let served = Served::new();
    for path in ["/", "/api/echo", "/download/0", "*"] {
        let asked = served
            .get(path)
            .method("OPTIONS")
            .with("Access-Control-Request-Method", "POST")
            .with(
                "Access-Control-Request-Headers",
                "larder-token, content-type",
            )
            .with("Access-Control-Request-Private-Network", "true");
        for asked in [asked.clone().with("Origin", "https://evil.example"), asked] {
            check_kept(&served, &served.send(&asked), path);
        }
    }
}

/// A form of another page's can be sent without a preflight, but not as JSON.
#[test]
fn a_form_post() {
    let served = Served::new();
    let kinds = [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain;charset=UTF-8",
        "text/plain; application/json",
        "application/jsonp",
        "application/json, text/plain",
        "",
    ];
    for kind in kinds {
        let reply = served.send(&served.question("echo", "{}").with("Content-Type", kind));
        assert_eq!(reply.status, 415, "{kind}");
        check_kept(&served, &reply, kind);
    }
    let reply = served.send(&served.question("echo", "{}").without("Content-Type"));
    assert_eq!(reply.status, 415);
    let reply = served.send(
        &served
            .question("echo", "{}")
            .and("Content-Type", "text/plain"),
    );
    check_kept(&served, &reply, "two types");
    let reply = served.send(
        &served
            .question("echo", "{}")
            .with("Content-Type", "application/json; charset=utf-8"),
    );
    assert_eq!(reply.status, 200);
}

#[test]
fn another_method() {
    let served = Served::new();
    let ticket = served.ticket("{}");
    for method in [
        "GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "QUERY", "post",
    ] {
        let reply = served.send(&served.question("echo", "{}").method(method));
        assert_eq!(reply.status, 405, "{method}");
        assert_eq!(reply.header("allow"), Some("POST"));
    }
    for method in ["POST", "HEAD", "PUT", "DELETE"] {
        let reply = served.send(&served.get(&ticket).method(method));
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("GET")),
            "{method}"
        );
        let reply = served.send(&served.get("/").method(method));
        let status = if method == "HEAD" { 200 } else { 405 };
        assert_eq!(reply.status, status, "{method}");
    }
    assert!(served.played.asked().is_empty());
    assert_eq!(
        served.send(&served.get(&ticket)).status,
        200,
        "none of these has used it up"
    );
}
