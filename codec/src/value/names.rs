//! The names of an object's properties: JavaScript's order, and no name twice.
//!
//! Own properties come with array indices first, ascending, then the others in the order of their making. V8 writes
//! them so; [`sort`] makes sure. A name that occurs twice cannot come from V8 and V8 refuses to read it, so
//! [`Names::unique`] finds it: by comparing all pairs of small fingerprints where there are few names, with a hash
//! table where there are many, by sorting where names were chosen to collide.

use super::js_str::JsStr;
use super::node::{Property, PropertyName};

/// Up to this many names, all pairs are compared.
const PAIRS_MAX: usize = 16;

/// Puts array indices first, ascending; the others stay as they are. True if that moved any.
pub(super) fn sort(properties: &mut [Property<'_>]) -> bool {
    let rank = |property: &Property<'_>| match property.name {
        PropertyName::Index(index) => u64::from(index),
        _ => u64::MAX,
    };
    let moves = !properties.is_sorted_by_key(rank);
    if moves {
        properties.sort_by_key(rank);
    }
    moves
}

/// The hash table for objects with many names, kept between objects.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Position plus one of the property whose name landed here; 0 is free.
    table: Vec<u32>,
}

impl Names {
    /// Whether no two of the [sorted](sort) properties have the same name.
    pub(super) fn unique(&mut self, properties: &[Property<'_>]) -> bool {
        let indices = properties
            .iter()
            .take_while(|p| matches!(p.name, PropertyName::Index(_)))
            .count();
        let (indexed, named) = properties.split_at(indices);
        if indexed.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return false;
        }
        if named.len() <= PAIRS_MAX {
            pairs_differ(named)
        } else {
            self.table_unique(named)
                .unwrap_or_else(|| sorted_unique(named))
        }
    }

    /// `None` if the table had to look in too many places: a set of names made to collide.
    fn table_unique(&mut self, named: &[Property<'_>]) -> Option<bool> {
        let size = (named.len() * 2).next_power_of_two();
        let mut steps_left = named.len() * 8;
        self.table.clear();
        self.table.resize(size, 0);
        for (at, property) in named.iter().enumerate() {
            let mut place = hash(&property.name) as usize & (size - 1);
            loop {
                match self.table[place] {
                    0 => break,
                    other if named[other as usize - 1].name == property.name => return Some(false),
                    _ => {}
                }
                steps_left = steps_left.checked_sub(1)?;
                place = (place + 1) & (size - 1);
            }
            self.table[place] = u32::try_from(at + 1).ok()?;
        }
        Some(true)
    }
}

fn pairs_differ(named: &[Property<'_>]) -> bool {
    let mut prints = [0; PAIRS_MAX];
    for (at, property) in named.iter().enumerate() {
        let print = fingerprint(&property.name);
        let twin = prints[..at].iter().position(|&other| other == print);
        // Equal fingerprints are rare; only then are names looked at.
        if twin.is_some() && named[..at].iter().any(|other| other.name == property.name) {
            return false;
        }
        prints[at] = print;
    }
    true
}

fn sorted_unique(named: &[Property<'_>]) -> bool {
    let mut names: Vec<Vec<u16>> = named
        .iter()
        .map(|property| property.name.with_str(|name| name.units().collect()))
        .collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

/// Something cheap that equal names have in common, in whatever shape they are stored: length,
/// first, middle and last unit.
fn fingerprint(name: &PropertyName<'_>) -> u64 {
    match name {
        PropertyName::String(JsStr::Latin1(bytes)) if !bytes.is_empty() => {
            let unit = |at: usize| u64::from(bytes[at]);
            mix(
                bytes.len(),
                unit(0),
                unit(bytes.len() / 2),
                unit(bytes.len() - 1),
            )
        }
        PropertyName::String(JsStr::Utf16Le(bytes)) if bytes.len() > 1 => {
            let (units, _) = bytes.as_chunks::<2>();
            let unit = |at: usize| u64::from(u16::from_le_bytes(units[at]));
            mix(
                units.len(),
                unit(0),
                unit(units.len() / 2),
                unit(units.len() - 1),
            )
        }
        other => other.with_str(|name| {
            let units: Vec<u16> = name.units().collect();
            let unit = |at: usize| units.get(at).copied().map_or(0, u64::from);
            let last = units.len().saturating_sub(1);
            mix(units.len(), unit(0), unit(units.len() / 2), unit(last))
        }),
    }
}

fn mix(len: usize, first: u64, middle: u64, last: u64) -> u64 {
    (len as u64) << 48 ^ first << 32 ^ middle << 16 ^ last
}

/// A hash over the units of a name.
fn hash(name: &PropertyName<'_>) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let of = |name: JsStr<'_>| {
        name.units().fold(0, |hash: u64, unit| {
            (hash.rotate_left(5) ^ u64::from(unit)).wrapping_mul(MULTIPLIER)
        })
    };
    let hash = match name {
        PropertyName::String(name) => of(*name),
        other => other.with_str(of),
    };
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn properties<'a>(names: &[PropertyName<'a>]) -> Vec<Property<'a>> {
        names
            .iter()
            .map(|&name| Property {
                name,
                value: Value::Null,
            })
            .collect()
    }

    /// The naive twin of [`Names::unique`].
    fn naive_unique(properties: &[Property<'_>]) -> bool {
        let mut seen = std::collections::HashSet::new();
        properties
            .iter()
            .all(|p| seen.insert(p.name.with_str(|name| name.units().collect::<Vec<_>>())))
    }

    #[test]
    fn indices_come_first_and_names_keep_their_order() {
        let name = |text: &'static str| PropertyName::from_js(JsStr::from(text));
        let mut own = properties(&["b", "10", "a", "2", "-1", "4294967295"].map(name));
        assert!(sort(&mut own));
        let order: Vec<_> = own.iter().map(|p| p.name).collect();
        assert!(!sort(&mut own));
        assert_eq!(order, ["2", "10", "b", "a", "-1", "4294967295"].map(name));
    }

    #[test]
    fn all_ways_to_find_a_double_name_agree_with_the_naive_one() {
        fn holds(texts: Vec<String>, wide: Vec<bool>) -> bool {
            // Short names from a small alphabet, in two shapes, so that doubles do occur.
            let stored: Vec<(Vec<u8>, bool)> = texts
                .iter()
                .zip(wide.iter().cycle())
                .map(|(text, &wide)| {
                    let letters = text.bytes().take(2).map(|b| b'a' + b % 6);
                    if wide {
                        (letters.flat_map(|b| [b, 0]).collect(), true)
                    } else {
                        (letters.collect(), false)
                    }
                })
                .collect();
            let names: Vec<_> = stored
                .iter()
                .map(|(bytes, wide)| {
                    let name = if *wide {
                        JsStr::Utf16Le(bytes)
                    } else {
                        JsStr::Latin1(bytes)
                    };
                    PropertyName::from_js(name)
                })
                .collect();
            let own = properties(&names);
            let expected = naive_unique(&own);
            Names::default().unique(&own) == expected
                && Names::default()
                    .table_unique(&own)
                    .is_none_or(|unique| unique == expected)
                && sorted_unique(&own) == expected
        }
        quickcheck::QuickCheck::new()
            .tests(500)
            .quickcheck(holds as fn(Vec<String>, Vec<bool>) -> bool);
    }

    #[test]
    fn many_distinct_names_are_found_distinct_and_one_double_is_found() {
        let texts: Vec<String> = (0..5000).map(|n| format!("name{n}")).collect();
        let mut names: Vec<_> = (texts.iter())
            .map(|text| PropertyName::from_js(JsStr::from(text.as_str())))
            .collect();
        assert!(Names::default().unique(&properties(&names)));
        names.push(PropertyName::from_js(JsStr::Latin1(b"name4321")));
        assert!(!Names::default().unique(&properties(&names)));
    }
}
