//! Values for the tests of the codec in JavaScript (`node/js/codec`), and that codec's judge.
//!
//! `stored_values fixtures` writes every value of every golden store to its output: what lies in the record, what that unpacks to, and
//! what `larder-codec` writes for it. `stored_values judge` reads values from its input and writes what `larder-codec` makes of each.
//! Everything is in frames: a length of 4 bytes, low byte first, and so many bytes.
#![expect(
    clippy::print_stderr,
    reason = "a program for tests: it says what it leaves out"
)]

mod again;
mod fixtures;

use std::io::{self, Read, Write};

use again::again;
use larder_codec::value::{Decoder, Encoder, Envelope, Payload};

/// Long enough a stack for [`again`], which recurses.
const STACK_LEN_BYTES: usize = 1 << 30;

fn main() -> Result<(), String> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let run = move || match mode.as_str() {
        "fixtures" => fixtures::write(&mut io::stdout().lock()),
        "judge" => judge(),
        _ => Err("usage: stored_values fixtures | judge".into()),
    };
    let thread = std::thread::Builder::new().stack_size(STACK_LEN_BYTES);
    let done = thread.spawn(run).map_err(|error| error.to_string())?;
    done.join().map_err(|_| "it panicked".to_owned())?
}

/// Writes one frame.
fn frame(out: &mut dyn Write, bytes: &[u8]) -> Result<(), String> {
    let len = u32::try_from(bytes.len()).map_err(|_| "a frame is too long")?;
    let written = out.write_all(&len.to_le_bytes());
    let written = written.and_then(|()| out.write_all(bytes));
    written.map_err(|error| error.to_string())
}

/// A value written anew, as if a script had made it, and written as it was read.
fn both(payload: &Payload<'_>) -> larder_codec::Result<[Vec<u8>; 2]> {
    let tree = Decoder::new().decode(payload)?;
    let mut as_read = Vec::new();
    Encoder::new().encode(&tree, &mut as_read);
    Ok([again(&tree), as_read])
}

/// For each frame of the input two: the error, or nothing; and the value written anew.
fn judge() -> Result<(), String> {
    let (mut bytes, mut out) = (Vec::new(), io::stdout().lock());
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let mut rest = bytes.as_slice();
    while let Some((len, tail)) = rest.split_first_chunk() {
        let len = u32::from_le_bytes(*len) as usize;
        let (value, tail) = tail.split_at_checked(len).ok_or("a frame is cut off")?;
        rest = tail;
        let mut buffer = Vec::new();
        let told = match Envelope::peel(value, &mut buffer) {
            Ok(Envelope::Inline(payload)) => both(&payload).map_err(|error| error.to_string()),
            Ok(Envelope::InBlob { .. }) => Err("it lies in a blob".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let (error, [value, _]) = match told {
            Ok(written) => (String::new(), written),
            Err(error) => (error, [Vec::new(), Vec::new()]),
        };
        frame(&mut out, error.as_bytes())?;
        frame(&mut out, &value)?;
    }
    out.flush().map_err(|error| error.to_string())
}
