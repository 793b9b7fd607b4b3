//! One column of a file whose columns have types: which type, found in a first walk, and the values of a row group.

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

use super::cell;
use super::kind::{Bytes, Kind, bigint, date, number, safe_integer};
use crate::archive::Json;

/// What a value costs in memory beside its bytes.
const VALUE_BYTES: usize = 64;

/// What has been seen of a column.
#[derive(Debug, Default)]
pub(super) struct Seen {
    kind: Option<Kind>,
    nulls: u64,
    values: u64,
}

impl Seen {
    /// Takes the cell of a row.
    pub(super) fn take(&mut self, cell: Option<&Json>) {
        match present(cell) {
            None => {}
            Some(Json::Null) => self.nulls += 1,
            Some(value) => {
                self.values += 1;
                let kind = Kind::of(value);
                self.kind = Some(match self.kind.take() {
                    Some(seen) => seen.or(kind),
                    None => kind,
                });
            }
        }
    }

    /// The column of a table of so many rows.
    pub(super) fn column(self, rows: u64) -> TypedColumn {
        let has_missing = self.nulls + self.values < rows;
        let kind = match self.kind {
            // One null of a file cannot say two things; words can.
            _ if self.nulls > 0 && has_missing => Kind::Text,
            Some(kind) => kind,
            None => Kind::String,
        };
        let null = match kind {
            Kind::Text => Absent::Missing,
            _ if self.nulls > 0 => Absent::Null,
            _ => Absent::Missing,
        };
        TypedColumn::new(kind, null)
    }
}

/// A cell that is not `undefined`.
fn present(cell: Option<&Json>) -> Option<&Json> {
    cell.filter(|value| match value {
        Json::Object(members) => !matches!(&members[..], [(tag, _)] if tag == "$undefined"),
        _ => true,
    })
}

/// What a null of the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// No such property, or `undefined`.
    Missing,
    /// `null`.
    Null,
}

/// A column and its values of the rows of one row group.
#[derive(Debug)]
pub(super) struct TypedColumn {
    kind: Kind,
    absent: Absent,
    /// For each row 1 if it has a value, 0 for a null.
    levels: Vec<i16>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Booleans(Vec<bool>),
    Integers(Vec<i64>),
    Doubles(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

impl TypedColumn {
    fn new(kind: Kind, absent: Absent) -> Self {
        let values = match kind {
            Kind::Boolean => Values::Booleans(Vec::new()),
            Kind::Integer | Kind::Date | Kind::BigInt => Values::Integers(Vec::new()),
            Kind::Double => Values::Doubles(Vec::new()),
            Kind::String | Kind::Text | Kind::Bytes(_) | Kind::Binary => Values::Bytes(Vec::new()),
        };
        Self {
            kind,
            absent,
            levels: Vec::new(),
            values,
        }
    }

    /// Adds the cell of a row: the bytes that it takes in memory; `None` if it is not of the column's type.
    pub(super) fn push(&mut self, cell: Option<&Json>) -> Option<usize> {
        let value = match (present(cell), self.absent) {
            (None, Absent::Missing) | (Some(Json::Null), Absent::Null) => None,
            (None, Absent::Null) => return None,
            (Some(Json::Null), Absent::Missing) if self.kind != Kind::Text => return None,
            (Some(value), _) => Some(value),
        };
        let mut size_bytes = size_of::<i16>();
        self.levels.push(i16::from(value.is_some()));
        if let Some(value) = value {
            size_bytes += VALUE_BYTES + self.push_value(value)?;
        }
        Some(size_bytes)
    }

    fn push_value(&mut self, value: &Json) -> Option<usize> {
        let mut len_bytes = 0;
        match &mut self.values {
            Values::Booleans(values) => values.push(value.bool().ok()?),
            Values::Doubles(values) => values.push(number(value)?),
            Values::Integers(values) => values.push(match self.kind {
                Kind::Date => date(value)?,
                Kind::BigInt => bigint(value)?,
                _ => safe_integer(number(value)?)?,
            }),
            Values::Bytes(values) => {
                let bytes = match &self.kind {
                    Kind::Bytes(_) | Kind::Binary => {
                        (Kind::of(value) == self.kind).then_some(())?;
                        Bytes::of(value)?.decode()?
                    }
                    Kind::String => {
                        (Kind::of(value) == Kind::String).then_some(())?;
                        cell::text(value).into_bytes()
                    }
                    _ => cell::text(value).into_bytes(),
                };
                len_bytes = bytes.len();
                values.push(ByteArray::from(bytes));
            }
        }
        Some(len_bytes)
    }

    /// Writes the values, and has none then.
    pub(super) fn write(&mut self, to: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = Some(&self.levels[..]);
        match &mut self.values {
            Values::Booleans(values) => {
                to.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Integers(values) => {
                to.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Doubles(values) => {
                to.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Bytes(values) => {
                to.typed::<ByteArrayType>()
                    .write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }

    /// The column in the file's schema.
    pub(super) fn field(&self, name: &str) -> Result<Type> {
        let (physical, logical) = match &self.kind {
            Kind::Boolean => (PhysicalType::BOOLEAN, None),
            Kind::Integer | Kind::BigInt => (PhysicalType::INT64, None),
            Kind::Double => (PhysicalType::DOUBLE, None),
            Kind::Date => {
                let timestamp = LogicalType::timestamp(true, TimeUnit::MILLIS);
                (PhysicalType::INT64, Some(timestamp))
            }
            Kind::String | Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Bytes(_) | Kind::Binary => (PhysicalType::BYTE_ARRAY, None),
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()
    }

    /// What the file's note says about the column.
    pub(super) fn note(&self, name: &str, property: Option<&str>) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let mut members = vec![("name".to_owned(), text(name))];
        if let Some(property) = property {
            members.push(("property".to_owned(), text(property)));
        }
        let null = match self.absent {
            Absent::Missing => "missing",
            Absent::Null => "null",
        };
        members.push(("type".to_owned(), text(self.kind.name())));
        members.push(("null".to_owned(), text(null)));
        Json::Object(members)
    }
}
