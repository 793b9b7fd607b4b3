//! Whether a value nests too deep to be read, found without a tree.

use super::super::decode::{DEPTH_MAX, Decoder};
use super::super::envelope::Payload;
use super::super::reader::error;
use super::AskTree;
use super::scan::{Memory, Scanner, Watch};
use crate::{ErrorKind, Result};

/// The bytes of a container around another: an error's tag and those of its cause and its end, a set's tag, its end
/// and its count. Others take more.
const AROUND_LEN_BYTES_MIN: usize = 3;

/// Ends a scan where no decoder would go on.
struct Shallow;

impl Watch for Shallow {
    fn reference(&mut self, _: usize, _: usize, _: u32) {}
    fn two_byte_string(&mut self, _: usize, _: usize, _: u32) {}
    #[inline]
    fn container(&mut self, at: usize, depth: usize) -> Result<()> {
        if depth <= DEPTH_MAX {
            return Ok(());
        }
        let limit = DEPTH_MAX as u64;
        error(ErrorKind::LimitExceeded { limit }, at, "nesting")
    }
}

impl Payload<'_> {
    /// Whether more than [`DEPTH_MAX`] containers of the value are one inside the other, so that no [`Decoder`] takes it.
    /// Bytes that are no value for other reasons are not too deep.
    ///
    /// Short values are not looked into: they have no room for so many.
    #[must_use]
    #[inline]
    pub fn is_too_deep(&self) -> bool {
        self.bytes().len() / AROUND_LEN_BYTES_MIN >= DEPTH_MAX && self.is_found_too_deep()
    }

    fn is_found_too_deep(&self) -> bool {
        let scanned = match Scanner::new(self, &mut Memory::default()) {
            Ok(mut scanner) => scanner.skip(&mut Shallow),
            Err(AskTree) => Decoder::new().decode(self).map(drop),
        };
        let limit = DEPTH_MAX as u64;
        scanned.is_err_and(|error| *error.kind() == ErrorKind::LimitExceeded { limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Builder, ErrorObject, JsStr, Needs, PropertyName};

    /// What begins a container, up to where another begins in it.
    type Begin = fn(&mut Builder<'_>);

    const BEGINS: [(&str, Begin); 6] = [
        ("object", |builder| {
            builder.begin_object();
            builder.name(&PropertyName::from_js(JsStr::from("a")));
        }),
        ("array", |builder| {
            builder.begin_array(1);
        }),
        ("sparse array", |builder| {
            builder.begin_sparse_array(9);
            builder.name(&PropertyName::Index(8));
        }),
        ("map", |builder| {
            builder.begin_map();
            builder.null();
        }),
        ("set", |builder| {
            builder.begin_set();
        }),
        ("error", |builder| {
            builder.begin_error(&ErrorObject::default());
            builder.cause();
        }),
    ];

    fn nested(depth: usize, begin: impl Fn(usize, &mut Builder<'_>)) -> (Vec<u8>, Needs) {
        let mut bytes = Vec::new();
        let mut builder = Builder::begin(&mut bytes);
        for at in 0..depth {
            begin(at, &mut builder);
        }
        builder.null();
        let needs = builder.end();
        (bytes, needs)
    }

    fn mixed(at: usize, builder: &mut Builder<'_>) {
        BEGINS[at % BEGINS.len()].1(builder);
    }

    fn check(what: &str, bytes: &[u8], is_too_deep: bool) {
        let payload = Payload::read(bytes).unwrap();
        assert_eq!(payload.is_too_deep(), is_too_deep, "{what}");
        let decoded = Decoder::new().decode(&payload).map(|tree| tree.depth());
        assert_eq!(decoded.is_err(), is_too_deep, "{what}: {decoded:?}");
    }

    #[test]
    fn what_is_too_deep_for_the_decoder_is_found_in_the_bytes_and_while_they_are_written() {
        for (depth, is_too_deep) in [(DEPTH_MAX, false), (DEPTH_MAX + 1, true)] {
            for (what, begin) in BEGINS {
                let (mut bytes, needs) = nested(depth, |_, builder| begin(builder));
                assert_eq!(needs.depth(), depth, "{what}");
                check(what, &bytes, is_too_deep);
                // In old versions, which are read by way of the tree.
                assert!(needs.restate(needs.version(), &mut bytes));
                check(what, &bytes, is_too_deep);
            }
            check("mixed", &nested(depth, mixed).0, is_too_deep);
        }
    }

    #[test]
    fn what_lies_side_by_side_or_is_no_value_is_not_too_deep() {
        let mut bytes = Vec::new();
        let mut builder = Builder::begin(&mut bytes);
        builder.begin_set();
        for _ in 0..=DEPTH_MAX {
            builder.begin_set();
            builder.close();
        }
        assert_eq!(builder.end().depth(), 2);
        check("side by side", &bytes, false);
        let (mut damaged, _) = nested(DEPTH_MAX, |_, builder| {
            builder.begin_set();
        });
        damaged.truncate(damaged.len() - 9);
        damaged.extend(b"???????????????");
        assert!(!Payload::read(&damaged).unwrap().is_too_deep());
    }

    #[test]
    fn an_encoded_tree_is_as_deep_as_it_was() {
        let (bytes, needs) = nested(500, mixed);
        let tree = Decoder::new().decode(&Payload::read(&bytes).unwrap());
        let again = crate::value::Encoder::new().encode(&tree.unwrap(), &mut Vec::new());
        assert_eq!(again.depth(), needs.depth());
        assert_eq!(again.depth(), 500);
    }
}
