//! Requests as JavaScript makes them, and requests that it never makes.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use larder_codec::Key;
use quickcheck::{Gen, QuickCheck};

use crate::instance::Instance;
use crate::wire::{Ask, Reply};

/// An environment, woken as an event loop is.
struct Environment {
    instance: Instance,
    memory: Vec<u8>,
    woken: Receiver<()>,
}

/// Calls by their numbers (`js/engine/calls.js`).
const NEXT: u32 = 0;
const GET: u32 = 1;
const PUT: u32 = 2;
const MORE: u32 = 7;
const GET_ALL: u32 = 10;
const BEGIN: u32 = 18;
const WATCH_TRANSACTION: u32 = 19;
const COMMIT: u32 = 20;
const OBJECT_STORE: u32 = 22;
const CREATE_OBJECT_STORE: u32 = 23;
const OPEN_DATABASE: u32 = 31;
const OPEN_FOLDER: u32 = 42;
const OPEN_MEMORY: u32 = 43;

/// Kinds of answers.
const NONE: i32 = 0;
const NOTHING: i32 = 1;
const KEY: i32 = 3;
const VALUE: i32 = 4;
const LIST: i32 = 6;
const UPGRADE: i32 = 10;
const OPENED: i32 = 11;

const FAILED: i32 = -1;
const TOO_SMALL: i32 = -2;

impl Environment {
    fn new(len: usize) -> Self {
        let (wake, woken) = channel();
        let instance = Instance::new(Box::new(move || {
            // A test that has ended looks no more.
            let _ = wake.send(());
        }));
        Self {
            instance,
            memory: vec![0; len],
            woken,
        }
    }

    /// Asks something: the head's words, and what writes the body.
    fn ask(&mut self, words: &[u32], body: impl FnOnce(&mut Reply<'_>)) -> i32 {
        let mut reply = Reply::into_memory(&mut self.memory);
        body(&mut reply);
        assert!(reply.fits(), "the request does not fit");
        for at in 0..16 {
            reply.set(at, words.get(at).copied().unwrap_or(0));
        }
        self.instance.exchange(&mut self.memory)
    }

    fn word(&self, at: usize) -> u32 {
        Ask::read(&self.memory).word(at)
    }

    /// The next answer, waited for.
    fn answer(&mut self) -> i32 {
        loop {
            let kind = self.ask(&[NEXT], |_| {});
            if kind != NONE {
                return kind;
            }
            self.woken.recv().unwrap();
        }
    }

    /// A database that is being made, with an object store "s": the numbers of its connection and of its upgrade, whose end is request 0.
    fn upgrade(&mut self) -> (u32, u32) {
        let engine = number(self.ask(&[OPEN_MEMORY], |_| {}));
        let opened = self.ask(&[OPEN_DATABASE, engine, 5, 1], |body| {
            body.number(1.0);
            body.text("db");
        });
        assert_eq!(opened, 0);
        assert_eq!(self.answer(), UPGRADE);
        assert_eq!(self.word(2), 5, "script's number");
        let (connection, transaction) = (self.word(3), self.word(4));
        self.ask(&[WATCH_TRANSACTION, transaction, 0], |_| {});
        self.ask(&[CREATE_OBJECT_STORE, transaction], |body| {
            body.text("s");
            body.byte(0);
        });
        (connection, transaction)
    }

    /// A database with an object store "s": its connection's number.
    fn open(&mut self) -> u32 {
        let (connection, transaction) = self.upgrade();
        self.ask(&[COMMIT, transaction], |_| {});
        assert_eq!(
            (self.answer(), self.word(2)),
            (NOTHING, 0),
            "the end of the upgrade comes first"
        );
        assert_eq!((self.answer(), self.word(2)), (OPENED, 5));
        connection
    }

    /// A transaction, whose end is request 99, and its object store.
    fn begin(&mut self, connection: u32, writes: u32) -> (u32, u32) {
        let transaction = number(self.ask(&[BEGIN, connection, writes], |body| {
            body.strings(&["s".into()])
        }));
        self.ask(&[WATCH_TRANSACTION, transaction, 99], |_| {});
        let store = number(self.ask(&[OBJECT_STORE, transaction], |body| body.text("s")));
        (transaction, store)
    }

    fn put(&mut self, request: u32, store: u32, key: f64, value: &[u8]) {
        let done = self.ask(&[PUT, request, store, 1, 1], |body| {
            body.count(0);
            body.count(value.len());
            body.bytes(value);
            body.own_key(&Key::Number(key));
        });
        assert_eq!(done, 0);
    }

    fn get(&mut self, request: u32, store: u32, key: f64) {
        // One key: a lower bound alone.
        self.ask(&[GET, request, store, 4 | 8], |body| {
            body.own_key(&Key::Number(key))
        });
    }
}

fn number(answered: i32) -> u32 {
    u32::try_from(answered).unwrap()
}

/// A value of script's: a string of so many units.
fn text(len: usize) -> Vec<u8> {
    let value = larder_idb::Value::serialize(&"x".repeat(len)).unwrap();
    value.bytes().to_vec()
}

#[test]
fn what_is_put_is_found_and_answers_come_in_order() {
    let mut environment = Environment::new(1 << 12);
    let connection = environment.open();
    let (transaction, store) = environment.begin(connection, 1);
    let value = text(10);
    environment.put(1, store, 1.0, &value);
    environment.get(2, store, 1.0);
    environment.get(3, store, 2.0);
    assert_eq!((environment.answer(), environment.word(2)), (KEY, 1));
    assert_eq!((environment.answer(), environment.word(2)), (VALUE, 2));
    let mut answer = Ask::read(&environment.memory);
    assert_eq!(answer.count().unwrap(), 0, "objects");
    let len = answer.count().unwrap();
    assert_eq!(answer.bytes(len).unwrap(), value);
    assert_eq!((environment.answer(), environment.word(2)), (NOTHING, 3));
    environment.ask(&[COMMIT, transaction], |_| {});
    assert_eq!((environment.answer(), environment.word(2)), (NOTHING, 99));
    assert_eq!(environment.ask(&[NEXT], |_| {}), NONE);
}

#[test]
fn an_answer_that_does_not_fit_comes_again_when_there_is_room() {
    let mut environment = Environment::new(1 << 12);
    let connection = environment.open();
    let (transaction, store) = environment.begin(connection, 1);
    for key in 0..3 {
        environment.put(1, store, f64::from(key), &text(3000));
        assert_eq!(environment.answer(), KEY);
    }
    let memory = std::mem::replace(&mut environment.memory, vec![0; 1 << 10]);
    environment.get(2, store, 0.0);
    assert_eq!(environment.ask(&[NEXT], |_| {}), TOO_SMALL);
    let needed = environment.word(0) as usize;
    assert!((3000..memory.len()).contains(&needed), "{needed}");
    environment.memory = vec![0; needed];
    assert_eq!(
        (environment.ask(&[NEXT], |_| {}), environment.word(2)),
        (VALUE, 2)
    );
    // A list: as many records at a time as there is room for.
    environment.memory = memory;
    environment.ask(&[GET_ALL, 3, store], |_| {});
    assert_eq!((environment.answer(), environment.word(3)), (LIST, 3));
    for _ in 0..3 {
        assert_eq!(environment.ask(&[MORE], |_| {}), 1);
    }
    assert_eq!(
        environment.ask(&[MORE], |_| {}),
        FAILED,
        "there are no more"
    );
    environment.ask(&[COMMIT, transaction], |_| {});
    assert_eq!(environment.answer(), NOTHING);
}

#[test]
fn ends_of_transactions_come_before_what_had_to_wait_for_them() {
    for _ in 0..50 {
        let mut environment = Environment::new(1 << 12);
        let connection = environment.open();
        let (first, store) = environment.begin(connection, 1);
        environment.put(1, store, 1.0, &text(1));
        let transaction =
            number(environment.ask(&[BEGIN, connection, 0], |body| body.strings(&["s".into()])));
        environment.ask(&[WATCH_TRANSACTION, transaction, 98], |_| {});
        let reads = number(environment.ask(&[OBJECT_STORE, transaction], |body| body.text("s")));
        environment.get(2, reads, 1.0);
        environment.ask(&[COMMIT, transaction], |_| {});
        assert_eq!((environment.answer(), environment.word(2)), (KEY, 1));
        environment.ask(&[COMMIT, first], |_| {});
        let mut order = Vec::new();
        for _ in 0..3 {
            environment.answer();
            order.push(environment.word(2));
        }
        assert_eq!(order, [99, 2, 98]);
    }
}

#[test]
fn nothing_comes_between_the_end_of_an_upgrade_and_of_its_request() {
    for _ in 0..200 {
        let mut environment = Environment::new(1 << 12);
        let (connection, transaction) = environment.upgrade();
        environment.ask(&[COMMIT, transaction], |_| {});
        assert_eq!(environment.answer(), NOTHING);
        // As a listener of "complete" may.
        let (_, store) = environment.begin(connection, 1);
        environment.put(1, store, 1.0, &text(1));
        assert_eq!(environment.answer(), OPENED);
        assert_eq!((environment.answer(), environment.word(2)), (KEY, 1));
    }
}

#[test]
fn transactions_that_become_idle_together_end_in_the_order_in_which_they_were_made() {
    for _ in 0..200 {
        let mut environment = Environment::new(1 << 12);
        let connection = environment.open();
        let (writing, store) = environment.begin(connection, 1);
        environment.put(1, store, 1.0, &text(1));
        let mut readers = Vec::new();
        for end in 90..93 {
            let names = ["s".into()];
            let reader = environment.ask(&[BEGIN, connection, 0], |body| body.strings(&names));
            environment.ask(&[WATCH_TRANSACTION, number(reader), end], |_| {});
            readers.push(number(reader));
        }
        for reader in readers {
            environment.ask(&[COMMIT, reader], |_| {});
        }
        assert_eq!((environment.answer(), environment.word(2)), (KEY, 1));
        environment.ask(&[COMMIT, writing], |_| {});
        for end in [99, 90, 91, 92] {
            assert_eq!((environment.answer(), environment.word(2)), (NOTHING, end));
        }
    }
}

#[test]
fn upgrades_that_end_together_are_all_answered() {
    for _ in 0..100 {
        let mut environment = Environment::new(1 << 12);
        let engine = number(environment.ask(&[OPEN_MEMORY], |_| {}));
        for database in 0..4 {
            environment.ask(&[OPEN_DATABASE, engine, 10 + database, 1], |body| {
                body.number(1.0);
                body.text(&format!("db {database}"));
            });
        }
        let mut ends = Vec::new();
        while ends.len() < 8 {
            let kind = environment.answer();
            let request = environment.word(2);
            match kind {
                UPGRADE => {
                    let transaction = environment.word(4);
                    environment.ask(&[WATCH_TRANSACTION, transaction, request + 100], |_| {});
                    environment.ask(&[COMMIT, transaction], |_| {});
                }
                NOTHING | OPENED => ends.push(request),
                other => panic!("{other}"),
            }
        }
        for both in ends.chunks(2) {
            assert_eq!(both[0], both[1] + 100, "{ends:?}");
        }
    }
}

#[test]
fn a_transaction_that_always_has_a_request_holds_nothing_else_up() {
    let mut environment = Environment::new(1 << 12);
    let connection = environment.open();
    let (_, store) = environment.begin(connection, 0);
    // A thread's work, then one get after the other.
    environment.ask(&[GET_ALL, 1, store], |_| {});
    let engine = number(environment.ask(&[OPEN_MEMORY], |_| {}));
    environment.ask(&[OPEN_DATABASE, engine, 7, 1], |body| {
        body.number(1.0);
        body.text("other");
    });
    for _ in 0..1_000_000 {
        let kind = environment.answer();
        if kind == UPGRADE {
            return;
        }
        if kind == LIST {
            assert_eq!(
                environment.ask(&[MORE], |_| {}),
                FAILED,
                "there are no records"
            );
            // The thread that has answered lets go of the transaction.
            std::thread::sleep(Duration::from_millis(20));
        }
        environment.get(2, store, 1.0);
    }
    panic!("the other database is not opened");
}

/// Requests of arbitrary bytes, whose first word is a call that there is. What they name is rarely there; nothing panics.
#[test]
fn arbitrary_requests_are_answered() {
    fn answered(requests: Vec<(u8, Vec<u8>)>) -> bool {
        let mut environment = Environment::new(1 << 12);
        environment.open();
        for (call, bytes) in requests {
            let call = u32::from(call % 52);
            // It would make folders of arbitrary names.
            if call == OPEN_FOLDER {
                continue;
            }
            for (place, byte) in environment.memory.iter_mut().zip(bytes) {
                *place = byte;
            }
            // Handles that there are: small numbers.
            for word in 1..7 {
                if let Some(high) = environment.memory.get_mut(word * 4 + 1..word * 4 + 4) {
                    high.fill(0);
                }
                if let Some(low) = environment.memory.get_mut(word * 4) {
                    *low %= 4;
                }
            }
            environment.memory[..4].copy_from_slice(&call.to_le_bytes());
            let answered = environment.instance.exchange(&mut environment.memory);
            assert!(answered >= TOO_SMALL, "{answered}");
        }
        true
    }
    let seed = std::env::var("LARDER_TEST_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    // Shown only if the test fails.
    println!("LARDER_TEST_SEED={seed}");
    QuickCheck::new()
        .tests(300)
        .rng(Gen::from_size_and_seed(200, seed))
        .quickcheck(answered as fn(Vec<(u8, Vec<u8>)>) -> bool);
}
