//! Values against a naive model: encode what the model says, decode it, and let model, tree and JSON each print what
//! they hold.
//!
//! All three are printed as one text, in which every object has a number by first visit; so identity, order, holes and
//! signs must agree. The encoder here is written from V8's format alone and shares nothing with the decoder.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests"
)]

mod encode;
mod key_paths;
mod model;
mod show_json;
mod show_oracle;
mod show_tree;

use encode::encode;
use larder_codec::value::{Decoder, Encoder, Envelope, Tree};
use model::Model;
use quickcheck::{Gen, QuickCheck};

/// A checker for values of about this size. The seed is printed; `LARDER_SEED` sets it.
fn checker(size: usize) -> QuickCheck {
    let seed = match std::env::var("LARDER_SEED") {
        Ok(seed) => seed.parse().expect("LARDER_SEED is a number"),
        Err(_) => std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0),
    };
    println!("LARDER_SEED={seed}");
    QuickCheck::new().rng(Gen::from_size_and_seed(size, seed))
}

fn with_tree<R>(bytes: &[u8], f: impl FnOnce(&Tree<'_>) -> R) -> larder_codec::Result<R> {
    let mut buffer = Vec::new();
    match Envelope::peel(bytes, &mut buffer)? {
        Envelope::Inline(payload) => Ok(f(&Decoder::new().decode(&payload)?)),
        Envelope::InBlob { .. } => panic!("a model is never in a blob"),
    }
}

#[test]
fn trees_hold_what_the_model_holds() {
    fn holds(model: Model) -> bool {
        let (bytes, ids) = encode(&model);
        let shown = with_tree(&bytes, show_tree::show).expect("the model's bytes decode");
        assert_eq!(shown, model.show(&ids));
        true
    }
    checker(40)
        .tests(2000)
        .quickcheck(holds as fn(Model) -> bool);
}

/// What the encoder makes of a tree.
fn encode_tree(tree: &Tree<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::new().encode(tree, &mut out);
    out
}

#[test]
fn encoded_trees_hold_what_the_model_holds() {
    fn holds(model: Model) -> bool {
        let (bytes, ids) = encode(&model);
        let again = with_tree(&bytes, encode_tree).unwrap();
        let shown = with_tree(&again, show_tree::show).expect("what was encoded decodes");
        assert_eq!(shown, model.show(&ids));
        // Deno's decoder takes V8's versions up to 15, which this is.
        assert_eq!(show_oracle::show(&again[15..]), Some(shown), "{again:02x?}");
        assert_eq!(with_tree(&again, encode_tree).unwrap(), again);
        true
    }
    checker(40)
        .tests(2000)
        .quickcheck(holds as fn(Model) -> bool);
}

#[test]
fn denos_decoder_holds_the_same() {
    fn holds(model: Model) -> bool {
        let (bytes, ids) = encode(&model);
        // Blink's envelope is 15 bytes.
        let shown = show_oracle::show(&bytes[15..]).expect("the model's bytes decode");
        assert_eq!(shown, model.show(&ids));
        true
    }
    checker(40)
        .tests(2000)
        .quickcheck(holds as fn(Model) -> bool);
}

#[test]
fn what_deno_takes_of_damaged_bytes_we_take_as_the_same() {
    fn holds(model: Model, flips: Vec<(u16, u8)>) -> bool {
        let (mut bytes, _) = encode(&model);
        for (at, mask) in flips.into_iter().take(2) {
            let at = 17 + usize::from(at) % (bytes.len() - 17);
            bytes[at] ^= mask;
        }
        if let Some(theirs) = show_oracle::show(&bytes[15..])
            && let Ok(ours) = with_tree(&bytes, show_tree::show)
        {
            assert_eq!(ours, theirs, "{bytes:02x?}");
        }
        true
    }
    checker(30)
        .tests(5000)
        .quickcheck(holds as fn(Model, Vec<(u16, u8)>) -> bool);
}

#[test]
fn json_loses_nothing() {
    fn holds(model: Model) -> bool {
        let (bytes, ids) = encode(&model);
        let json = with_tree(&bytes, |tree| serde_json::to_string(tree).unwrap()).unwrap();
        assert_eq!(show_json::show(&json), model.show(&ids), "{json}");
        true
    }
    checker(40)
        .tests(2000)
        .quickcheck(holds as fn(Model) -> bool);
}

/// How deep brackets and braces nest; the texts in these tests contain none.
fn levels(json: &str) -> i32 {
    let step = |(now, most): (i32, i32), b| match b {
        b'{' | b'[' => (now + 1, most.max(now + 1)),
        b'}' | b']' => (now - 1, most),
        _ => (now, most),
    };
    json.bytes().fold((0, 0), step).1
}

#[test]
fn deep_values_come_out_whole_and_shallow() {
    // Chains that are longer than what is written in place, with a way back to the top.
    for depth in [31, 32, 33, 64, 65, 500] {
        let mut model = Model::Ref(0);
        for level in 0..depth {
            model = match level % 4 {
                0 => Model::Dense(vec![Some(Model::Null), Some(model), None]),
                1 => Model::Object(vec![(vec![0x61], model), (vec![0x31], Model::Int(1))]),
                2 => Model::Map(vec![(Model::Int(level), model)]),
                _ => Model::Set(vec![model]),
            };
        }
        let (bytes, ids) = encode(&model);
        let json = with_tree(&bytes, |tree| serde_json::to_string(tree).unwrap()).unwrap();
        assert_eq!(show_json::show(&json), model.show(&ids), "depth {depth}");
        assert!(
            levels(&json) <= 110,
            "depth {depth}: {} levels",
            levels(&json)
        );
    }
}

#[test]
fn references_met_in_another_order_than_written_are_not_lost() {
    // `b` is written first and holds a long chain; `0` comes out first and leads into it.
    let mut chain = Model::Int(7);
    for _ in 0..30 {
        chain = Model::Dense(vec![Some(chain)]);
    }
    let mut other = Model::Ref(1);
    for _ in 0..30 {
        other = Model::Dense(vec![Some(other)]);
    }
    let model = Model::Object(vec![(vec![0x62], chain), (vec![0x30], other)]);
    let (bytes, ids) = encode(&model);
    let json = with_tree(&bytes, |tree| serde_json::to_string(tree).unwrap()).unwrap();
    assert_eq!(show_json::show(&json), model.show(&ids));
    // 62 containers in a row come out, of which none was more than 31 deep.
    assert!(levels(&json) <= 40, "{} levels", levels(&json));
}

#[test]
fn damaged_bytes_decode_or_err_and_what_decodes_serialises_and_encodes() {
    fn holds(model: Model, cuts: Vec<u16>, flips: Vec<(u16, u8)>) -> bool {
        let (bytes, _) = encode(&model);
        let try_all = |bytes: &[u8]| {
            let _ = with_tree(bytes, |tree| {
                serde_json::to_string(tree).expect("every tree is JSON");
                let again = encode_tree(tree);
                let same = with_tree(&again, |again| again.is_same_value(tree));
                assert_eq!(same, Ok(true), "{bytes:02x?} became {again:02x?}");
            });
        };
        for cut in cuts {
            try_all(&bytes[..usize::from(cut) % bytes.len()]);
        }
        for (at, mask) in flips {
            let mut bytes = bytes.clone();
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= mask | 1;
            try_all(&bytes);
        }
        true
    }
    checker(30)
        .tests(500)
        .quickcheck(holds as fn(Model, Vec<u16>, Vec<(u16, u8)>) -> bool);
}
