//! The address on a browser's command line, which other users of the machine can read.

use std::sync::atomic::Ordering;

use crate::support::Served;

/// The token, if the secret is good.
fn enter(served: &Served, secret: &str) -> (u16, String) {
    let reply = served.send(&served.question("enter", "{}").with("Larder-Token", secret));
    (reply.status, reply.text().to_owned())
}

#[test]
fn an_address_for_once_used_twice() {
    let served = Served::new();
    let (status, text) = enter(&served, &served.once);
    let expected = format!("{{\"token\":\"{}\"}}", served.token);
    assert_eq!((status, &*text), (200, &*expected));
    let (status, text) = enter(&served, &served.once);
    assert_eq!(status, 401);
    assert!(!text.contains(&served.token));
    served.check_answers();
}

#[test]
fn an_address_for_once_guessed_or_too_late() {
    let served = Served::new();
    for wrong in ["", &"0".repeat(32), &served.once[..31], &served.token] {
        assert_eq!(enter(&served, wrong).0, 401, "{wrong}");
    }
    served.seconds.store(60, Ordering::SeqCst);
    assert_eq!(enter(&served, &served.once).0, 401);
}

#[test]
fn an_address_for_once_in_place_of_the_token() {
    let served = Served::new();
    assert_ne!(served.once, served.token);
    for question in ["echo", "ticket", "alive"] {
        let asked = served.question(question, "{}");
        let reply = served.send(&asked.with("Larder-Token", &served.once));
        assert_eq!(reply.status, 401, "{question}");
    }
    // A download is neither.
    assert_eq!(
        served
            .send(&served.get(&format!("/download/{}", served.once)))
            .status,
        404
    );
    assert_eq!(enter(&served, &served.once).0, 200);
}
