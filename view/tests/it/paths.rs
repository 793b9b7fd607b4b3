//! What paths lead to, and what is said with every answer.

use crate::support::{Reply, Served};

/// Targets that a server of files might take for one of its folder's neighbours.
const TRAVERSALS: [&str; 26] = [
    "/../Cargo.toml",
    "/../../../../../../etc/passwd",
    "/%2e%2e/Cargo.toml",
    "/%2e%2e%2fCargo.toml",
    "/..%2fCargo.toml",
    "/..%5cCargo.toml",
    "/..\\Cargo.toml",
    "/.%2e/Cargo.toml",
    "/%252e%252e/Cargo.toml",
    "/..;/Cargo.toml",
    "/%c0%ae%c0%ae/Cargo.toml",
    "//etc/passwd",
    "/etc/passwd",
    "/file:///etc/passwd",
    "/C:/Windows/win.ini",
    "/page/index.html",
    "/index.html/../../Cargo.toml",
    "/index.html%00.js",
    "/./index.html",
    "//index.html",
    "/index.html/",
    "/INDEX.HTML",
    "/index%2ehtml",
    "/src/lib.rs",
    "/download/../index.html",
    "/download/",
];

#[test]
fn path_traversal() {
    let served = Served::new();
    for target in TRAVERSALS {
        let reply = served.send(&served.get(target));
        assert!(
            matches!(reply.status, 400 | 404),
            "{target}: {}",
            reply.status
        );
        assert!(
            reply.body.is_empty() || reply.text().starts_with(r#"{"error":"#),
            "{target}: {}",
            reply.text()
        );
    }
    for target in ["etc/passwd", "../Cargo.toml", ""] {
        let reply = served.try_send(&served.get(target));
        assert!(
            reply.is_err() || reply.is_ok_and(|reply| reply.status >= 400),
            "{target}"
        );
    }
    for name in [
        "../echo",
        "%2e%2e/echo",
        "echo/",
        "echo/..",
        "/echo",
        "",
        "echo%00",
        "ec-ho",
        "écho",
        &"e".repeat(33),
    ] {
        let reply = served.try_send(&served.question(name, "{}"));
        assert!(
            reply.is_err() || reply.is_ok_and(|reply| matches!(reply.status, 400 | 404)),
            "{name}"
        );
    }
    assert!(served.played.asked().is_empty());
}

#[test]
fn a_query_leads_to_nothing() {
    let served = Served::new();
    for target in ["/?", "/?a=1", "/index.html?v=1"] {
        assert_eq!(served.send(&served.get(target)).status, 404, "{target}");
    }
    assert_eq!(served.send(&served.question("echo?", "{}")).status, 404);
    assert!(served.played.asked().is_empty());
}

#[test]
fn the_page_is_at_two_paths() {
    let served = Served::new();
    let page = served.send(&served.get("/"));
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(
        page.text().starts_with("<!doctype html>"),
        "{}",
        page.text()
    );
    assert!(!page.text().contains(&served.token));
    assert_eq!(served.send(&served.get("/index.html")).body, page.body);
    let head = served.send(&served.get("/").method("HEAD"));
    assert_eq!(
        head.header("content-length"),
        Some(page.body.len().to_string().as_str())
    );
}

/// What each answer says, so that a browser makes of it what it is and no more.
fn check_headers(reply: &Reply, policy: &str, what: &str) {
    let said = [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
    ];
    for (name, value) in said {
        assert_eq!(reply.header(name), Some(value), "{what}");
    }
    assert!(reply.header("content-type").is_some(), "{what}");
    for name in [
        "set-cookie",
        "server",
        "location",
        "access-control-allow-origin",
    ] {
        assert_eq!(reply.header(name), None, "{what}");
    }
}

#[test]
fn an_answer_that_is_taken_for_what_it_is_not() {
    let served = Served::new();
    let page = "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    served.played.open_gate();
    let cases = [
        ("page", served.get("/"), 200),
        ("nothing", served.get("/nothing"), 404),
        (
            "another host",
            served.get("/").with("Host", "evil.example"),
            421,
        ),
        (
            "another origin",
            served.get("/").with("Origin", "https://evil.example"),
            403,
        ),
        ("another method", served.get("/").method("PUT"), 405),
        (
            "no token",
            served.question("echo", "{}").without("Larder-Token"),
            401,
        ),
        (
            "no JSON",
            served.question("echo", "{}").without("Content-Type"),
            415,
        ),
        ("too long", served.question("echo", &" ".repeat(65537)), 413),
        ("an object", served.question("echo", "{}"), 200),
        ("lines", served.question("line", "{}"), 200),
        ("refused", served.question("malformed", "{}"), 400),
        ("a panic", served.question("panics", "{}"), 500),
        (
            "ticket",
            served.question("ticket", r#"{"download":{}}"#),
            200,
        ),
        ("no such ticket", served.get("/download/0"), 404),
    ];
    for (what, asked, status) in cases {
        let reply = served.send(&asked);
        assert_eq!(reply.status, status, "{what}");
        check_headers(&reply, page, what);
        assert_eq!(reply.header("content-disposition"), None, "{what}");
    }
    let sandboxed = [
        ("bytes", served.question("bytes", "{}")),
        ("download", served.get(&served.ticket("{}"))),
    ];
    for (what, asked) in sandboxed {
        let reply = served.send(&asked);
        assert_eq!(reply.status, 200, "{what}");
        check_headers(&reply, "sandbox; default-src 'none'", what);
        assert_eq!(
            reply.header("content-type"),
            Some("application/octet-stream"),
            "{what}"
        );
        assert!(
            reply
                .header("content-disposition")
                .unwrap()
                .starts_with("attachment"),
            "{what}"
        );
    }
}
