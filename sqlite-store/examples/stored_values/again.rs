//! A value walked and written anew, as a host does that walks values of its own: what was read of it is the value alone.

use larder_codec::DataVersion;
use larder_codec::value::{
    Array, BufferKind, Builder, ErrorObject, JsStr, Object, ObjectId, Property, PropertyName, Tree,
    Value, ViewKind,
};

/// The bytes of a tree's value.
pub(crate) fn again(tree: &Tree<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut walk = Walk {
        tree,
        builder: Builder::begin(&mut bytes),
        ids: vec![None; tree.object_count()],
    };
    walk.value(tree.root());
    walk.builder.end();
    bytes
}

/// Calls a builder for every part of a tree.
struct Walk<'t, 'a, 'o> {
    tree: &'t Tree<'a>,
    builder: Builder<'o>,
    ids: Vec<Option<ObjectId>>,
}

/// The bytes of a string of one-byte units, however it is kept; `None` if it is none.
fn narrow(string: JsStr<'_>) -> Option<Vec<u8>> {
    string.units().map(|unit| u8::try_from(unit).ok()).collect()
}

/// Calls `f` with a string as an engine has it that keeps none wider than it must be.
fn with_narrow<R>(string: JsStr<'_>, f: impl FnOnce(JsStr<'_>) -> R) -> R {
    if let Some(bytes) = narrow(string) {
        return f(JsStr::Latin1(&bytes));
    }
    let units: Vec<u8> = string.units().flat_map(u16::to_le_bytes).collect();
    f(JsStr::Utf16Le(&units))
}

impl Walk<'_, '_, '_> {
    fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Undefined => self.builder.undefined(),
            Value::Null => self.builder.null(),
            Value::Bool(bool) => self.builder.bool(bool),
            Value::Number(number) => self.builder.number(number),
            Value::BigInt(bigint) => self.builder.bigint(bigint),
            Value::String(string) => with_narrow(string, |string| self.builder.string(string)),
            Value::Object(id) => match self.ids.get(id.get() as usize).copied().flatten() {
                Some(known) => self.builder.reference(known),
                None => self.object(id),
            },
        }
    }

    fn note(&mut self, id: ObjectId, number: ObjectId) {
        if let Some(place) = self.ids.get_mut(id.get() as usize) {
            *place = Some(number);
        }
    }

    fn object(&mut self, id: ObjectId) {
        let tree = self.tree;
        match tree.object(id) {
            Object::Plain(span) => {
                let number = self.builder.begin_object();
                self.note(id, number);
                self.properties(tree.properties(*span));
            }
            Object::Array(array) => self.array(id, array),
            container @ (Object::Map(span) | Object::Set(span)) => {
                let number = match container {
                    Object::Map(_) => self.builder.begin_map(),
                    _ => self.builder.begin_set(),
                };
                self.note(id, number);
                let parts = tree.slots(*span).iter().flatten();
                parts.for_each(|part| self.value(*part));
            }
            Object::Error(error) => self.error(id, error),
            Object::View(view) => {
                let Some(buffer) = tree.array_buffer(view.buffer) else {
                    return self.builder.undefined();
                };
                let known = self.ids.get(view.buffer.get() as usize).copied().flatten();
                self.read_in(buffer.kind != BufferKind::Fixed);
                let number = self.builder.view_buffer(known, buffer);
                self.note(view.buffer, number);
                self.read_in(view.kind == ViewKind::Float16Array);
                let number = self.builder.view(view, buffer.kind);
                self.builder.set_read_in(None);
                return self.note(id, number);
            }
            leaf => {
                let number = self.leaf(leaf);
                return self.note(id, number);
            }
        }
        self.builder.close();
    }

    /// As V8 keeps an array that is new: densely if it has no holes, as doubles if it has nothing but numbers of which some are no small
    /// integers.
    fn array(&mut self, id: ObjectId, array: &Array) {
        let tree = self.tree;
        let elements = tree.slots(array.elements);
        let whole = elements.iter().flatten().count() == array.length as usize;
        let number = match whole {
            true => self.builder.begin_array(array.length),
            false => self.builder.begin_sparse_array(array.length),
        };
        self.note(id, number);
        let numbers = elements.iter().map(|slot| match slot {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        });
        let numbers: Option<Vec<f64>> = numbers.collect();
        for (index, slot) in elements.iter().enumerate() {
            let Some(value) = slot else { continue };
            if !whole {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                self.builder.name(&PropertyName::Index(index));
                self.value(*value);
                continue;
            }
            match (&numbers, value) {
                (Some(all), Value::Number(number)) if !all.iter().all(|n| is_small(*n)) => {
                    self.builder.double(*number);
                }
                _ => self.value(*value),
            }
        }
        self.properties(tree.properties(array.properties));
    }

    fn properties(&mut self, properties: &[Property<'_>]) {
        for property in properties {
            match property.name {
                PropertyName::String(name) => with_narrow(name, |name| {
                    self.builder.name(&PropertyName::String(name));
                }),
                other => self.builder.name(&other),
            }
            self.value(property.value);
        }
    }

    fn error(&mut self, id: ObjectId, error: &ErrorObject<'_>) {
        let [message, stack] = [error.message, error.stack]
            .map(|text| text.map(|text| text.units().collect::<Vec<u16>>()));
        let wide = |units: &Vec<u16>| -> Vec<u8> {
            let narrow: Option<Vec<u8>> = units.iter().map(|u| u8::try_from(*u).ok()).collect();
            narrow.unwrap_or_else(|| units.iter().flat_map(|u| u.to_le_bytes()).collect())
        };
        let is_narrow = |units: &Vec<u16>| units.iter().all(|unit| *unit <= 0xff);
        let bytes = [&message, &stack].map(|text| text.as_ref().map(wide));
        let text = |units: &Option<Vec<u16>>, at: usize| {
            let bytes = bytes[at].as_deref()?;
            match units.as_ref().is_some_and(is_narrow) {
                true => Some(JsStr::Latin1(bytes)),
                false => Some(JsStr::Utf16Le(bytes)),
            }
        };
        let number = self.builder.begin_error(&ErrorObject {
            error_type: error.error_type,
            message: text(&message, 0),
            stack: text(&stack, 1),
            cause: None,
        });
        self.note(id, number);
        if let Some(cause) = error.cause {
            self.builder.cause();
            self.value(cause);
        }
    }

    /// Of some objects it is remembered what they were read in.
    fn read_in(&mut self, is_kept: bool) {
        let version = DataVersion::from(self.tree.versions());
        self.builder.set_read_in(is_kept.then_some(version));
    }

    fn leaf(&mut self, object: &Object<'_>) -> ObjectId {
        self.read_in(object.is_of_some_versions());
        let number = match object {
            Object::StringObject(text) => {
                with_narrow(*text, |text| self.builder.leaf(&Object::StringObject(text)))
            }
            Object::RegExp { source, flags } => with_narrow(*source, |source| {
                let flags = *flags;
                self.builder.leaf(&Object::RegExp { source, flags })
            }),
            Object::Host(host) => self.builder.leaf(&Object::Host(host.clone())),
            leaf => self.builder.leaf(leaf),
        };
        self.builder.set_read_in(None);
        number
    }
}

/// Whether V8 keeps a number as a small integer: 31 bits, and not -0.
fn is_small(number: f64) -> bool {
    (-1_073_741_824.0..=1_073_741_823.0).contains(&number)
        && number.fract() == 0.0
        && !(number == 0.0 && number.is_sign_negative())
}
