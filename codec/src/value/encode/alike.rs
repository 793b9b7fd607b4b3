//! Bytes that are the same for the same value, however that was written or is kept, and values that are the same.

use super::Encoder;
use crate::value::needs::{GREATEST, USUAL};
use crate::value::node::Value;
use crate::value::tree::Tree;
use crate::value::writer::Writer;

impl Encoder {
    /// Appends a tree's value in bytes that are the same for the same value, whichever Chromium has written it: what
    /// [`is_same_value`](Tree::is_same_value) compares. They decode to that value. This is for whatever names values by their bytes, or
    /// compares those.
    ///
    /// The versions are 15 of V8 and 21 of Blink; or the greatest known, if the value needs greater ones than these and was not read in
    /// lesser ones.
    ///
    /// ```
    /// use larder_codec::value::{Decoder, Encoder, Payload};
    ///
    /// // `[1]` of Chromium 92, and of Chromium 110, which happened to keep the number as a double.
    /// let old = Payload::read(b"\xff\x14\xff\x0dA\x01I\x02$\0\x01")?;
    /// let new = Payload::read(b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fA\x01N\0\0\0\0\0\0\xf0\x3f$\0\x01")?;
    /// let alike = |payload| -> larder_codec::Result<Vec<u8>> {
    ///     let mut bytes = Vec::new();
    ///     Encoder::new().encode_alike(&Decoder::new().decode(&payload)?, &mut bytes);
    ///     Ok(bytes)
    /// };
    /// assert_eq!(alike(old)?, alike(new)?);
    /// # Ok::<(), larder_codec::Error>(())
    /// ```
    pub fn encode_alike(&mut self, tree: &Tree<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let needs = self.run(tree, Writer::begin_in(USUAL, out), true);
        if needs.fit(USUAL) {
            return;
        }
        let mut as_read = Vec::new();
        if self.encode(tree, &mut as_read).fit(USUAL) {
            return;
        }
        out.truncate(start);
        self.run(tree, Writer::begin_in(GREATEST, out), true);
    }

    /// Whether a value in a tree, as a property has it, is the same as one in another tree: the parts' own values, whatever else refers to them.
    /// Blobs and files are the same if they have the same place among their record's external objects.
    ///
    /// ```
    /// use larder_codec::value::{Decoder, Encoder, Payload, Value};
    ///
    /// let (one, other) = (b"\xff\x0fI\x02", b"\xff\x0fN\0\0\0\0\0\0\xf0\x3f");
    /// let (one, other) = (Payload::read(one)?, Payload::read(other)?);
    /// let (one, other) = (Decoder::new().decode(&one)?, Decoder::new().decode(&other)?);
    /// assert!(Encoder::new().is_same_part(&one, one.root(), &other, other.root()));
    /// assert!(!Encoder::new().is_same_part(&one, one.root(), &other, Value::Null));
    /// # Ok::<(), larder_codec::Error>(())
    /// ```
    #[must_use]
    pub fn is_same_part(
        &mut self,
        tree: &Tree<'_>,
        value: Value<'_>,
        other: &Tree<'_>,
        other_value: Value<'_>,
    ) -> bool {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.run_from(value, tree, Writer::begin(&mut ours), true);
        self.run_from(other_value, other, Writer::begin(&mut theirs), true);
        ours == theirs
    }
}

impl Tree<'_> {
    /// Whether this is the same value as another: the same primitives in the same places (NaN like
    /// NaN, -0 unlike 0), objects of the same kinds, and the same object wherever it is the same
    /// object there. How either was written does not matter.
    ///
    /// Takes time and memory in proportion to both.
    #[must_use]
    pub fn is_same_value(&self, other: &Tree<'_>) -> bool {
        Encoder::new().is_same_part(self, self.root(), other, other.root())
    }
}
