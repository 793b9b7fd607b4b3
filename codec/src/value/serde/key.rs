//! Keys of maps: JavaScript's property names are text, so numbers and truth values go by their
//! text.

use std::borrow::Cow;

use serde::de::{Deserializer, EnumAccess, IntoDeserializer, Unexpected, VariantAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::super::number::JsNumber;
use super::SerdeError;
use super::ser::Never;

/// Serialises a key to its text.
pub(super) struct KeyText;

fn no_text<T>() -> Result<T, SerdeError> {
    Err(SerdeError::new("a map's key must have a text"))
}

macro_rules! displayed {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(fn $name(self, value: $type) -> Result<String, SerdeError> {
            Ok(value.to_string())
        })*
    };
}

impl Serializer for KeyText {
    type Ok = String;
    type Error = SerdeError;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    displayed! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_char: char,
        serialize_str: &str,
    }

    fn serialize_f32(self, value: f32) -> Result<String, SerdeError> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<String, SerdeError> {
        Ok(JsNumber(value).to_string())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, SerdeError> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, SerdeError> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, SerdeError> {
        value.serialize(self)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<String, SerdeError> {
        no_text()
    }

    fn serialize_none(self) -> Result<String, SerdeError> {
        no_text()
    }

    fn serialize_unit(self) -> Result<String, SerdeError> {
        no_text()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, SerdeError> {
        no_text()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, SerdeError> {
        no_text()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, SerdeError> {
        no_text()
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, SerdeError> {
        no_text()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, SerdeError> {
        no_text()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, SerdeError> {
        no_text()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, SerdeError> {
        no_text()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Never, SerdeError> {
        no_text()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, SerdeError> {
        no_text()
    }
}

/// A property's name as a map's key.
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

macro_rules! parsed {
    ($($name:ident $visit:ident: $type:ty),* $(,)?) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
            match self.0.parse::<$type>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(serde::de::Error::invalid_type(Unexpected::Str(&self.0), &visitor)),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = SerdeError;

    parsed! {
        deserialize_bool visit_bool: bool,
        deserialize_i8 visit_i8: i8,
        deserialize_i16 visit_i16: i16,
        deserialize_i32 visit_i32: i32,
        deserialize_i64 visit_i64: i64,
        deserialize_i128 visit_i128: i128,
        deserialize_u8 visit_u8: u8,
        deserialize_u16 visit_u16: u16,
        deserialize_u32 visit_u32: u32,
        deserialize_u64 visit_u64: u64,
        deserialize_u128 visit_u128: u128,
        deserialize_f32 visit_f32: f32,
        deserialize_f64 visit_f64: f64,
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_enum(UnitVariant(self.0.into_owned()))
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A variant that is only its name.
pub(super) struct UnitVariant(pub(super) String);

impl<'de> EnumAccess<'de> for UnitVariant {
    type Error = SerdeError;
    type Variant = NothingInside;

    fn variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, NothingInside), SerdeError> {
        let name: serde::de::value::StringDeserializer<SerdeError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, NothingInside))
    }
}

/// What a unit variant holds.
pub(super) struct NothingInside;

impl NothingInside {
    fn not<T>(what: &'static str) -> Result<T, SerdeError> {
        Err(serde::de::Error::invalid_type(
            Unexpected::UnitVariant,
            &what,
        ))
    }
}

impl<'de> VariantAccess<'de> for NothingInside {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        Ok(())
    }

    fn newtype_variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        _: S,
    ) -> Result<S::Value, SerdeError> {
        Self::not("newtype variant")
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, SerdeError> {
        Self::not("tuple variant")
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, SerdeError> {
        Self::not("struct variant")
    }
}
