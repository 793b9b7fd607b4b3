//! The text of the JSON form: a reader of `docs/format/jsonl-values.md`, written from the document.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::model::{Visits, hex, named_parts, number};

struct Reader<'j> {
    /// Objects under a `$id`, wherever they stand.
    by_id: HashMap<u64, &'j Map<String, Value>>,
    visits: Visits,
}

/// What this JSON holds.
pub(crate) fn show(json: &str) -> String {
    let json: Value = serde_json::from_str(json).expect("JSON that common parsers read");
    let mut reader = Reader {
        by_id: HashMap::new(),
        visits: Visits::default(),
    };
    collect(&json, &mut reader.by_id);
    let root = match json.get("$root") {
        Some(root) => root,
        None => &json,
    };
    reader.show(root)
}

fn collect<'j>(json: &'j Value, by_id: &mut HashMap<u64, &'j Map<String, Value>>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| collect(item, by_id)),
        Value::Object(members) => {
            if let Some(id) = members.get("$id") {
                let twice = by_id.insert(id.as_u64().expect("$id is a number"), members);
                assert!(twice.is_none(), "{id} is there twice");
            }
            members.values().for_each(|member| collect(member, by_id));
        }
        _ => {}
    }
}

/// The units of a string: JSON text or `{"$utf16":…}`.
fn units(json: &Value) -> Vec<u16> {
    if let Some(text) = json.as_str() {
        return text.encode_utf16().collect();
    }
    let digits = json["$utf16"].as_str().expect("a string");
    let (chunks, _) = digits.as_bytes().as_chunks::<4>();
    let unit = |chunk: &[u8; 4]| u16::from_str_radix(std::str::from_utf8(chunk).unwrap(), 16);
    chunks.iter().map(|chunk| unit(chunk).unwrap()).collect()
}

fn number_of(json: &Value) -> f64 {
    if let Some(number) = json.as_f64() {
        return number;
    }
    match json["$number"].as_str().expect("a number") {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        "-0" => -0.0,
        other => panic!("{other} is not a number"),
    }
}

fn bytes_of(json: &Value) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = json.as_str().expect("base64").trim_end_matches('=');
    let mut bits = 0_u32;
    let mut out = Vec::new();
    for (at, c) in text.chars().enumerate() {
        bits = (bits << 6) | DIGITS.find(c).expect("a digit of base64") as u32;
        if at % 4 != 0 {
            out.push((bits >> (6 - at % 4 * 2)) as u8);
        }
    }
    out
}

/// Days and time of day, back to milliseconds.
fn time_of(text: &str) -> f64 {
    let year_end = text[1..].find('-').unwrap() + 1;
    let field = |from: usize, to: usize| text[from..to].parse::<i64>().unwrap();
    let (year, rest) = (field(0, year_end), year_end + 1);
    let (month, day) = (field(rest, rest + 2), field(rest + 3, rest + 5));
    let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let days_to_year = |y: i64| {
        y * 365 + (y + 3).div_euclid(4) - (y + 99).div_euclid(100) + (y + 399).div_euclid(400)
    };
    let months = [
        31,
        28 + i64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
    ];
    let days = days_to_year(year) - days_to_year(1970)
        + months[..month as usize - 1].iter().sum::<i64>()
        + day
        - 1;
    let time = rest + 6;
    let (hour, minute) = (field(time, time + 2), field(time + 3, time + 5));
    let (second, ms) = (field(time + 6, time + 8), field(time + 9, time + 12));
    ((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms) as f64
}

impl Reader<'_> {
    fn show(&mut self, json: &Value) -> String {
        let members = match json {
            Value::Null => return "null".into(),
            Value::Bool(bool) => return bool.to_string(),
            Value::Number(_) => return number(number_of(json)),
            Value::String(_) => return format!("s{}", hex(units(json))),
            Value::Array(items) => {
                self.visits.skip();
                return self.items(items);
            }
            Value::Object(members) => members,
        };
        match members.keys().next().map_or("", String::as_str) {
            "$undefined" => return "undefined".into(),
            "$number" => return number(number_of(json)),
            "$bigint" => return format!("{}n", members["$bigint"].as_str().unwrap()),
            "$utf16" => return format!("s{}", hex(units(json))),
            _ => {}
        }
        let members = match members.get("$ref").and_then(Value::as_u64) {
            Some(id) => *self.by_id.get(&id).expect("a $ref has its $id"),
            None => members,
        };
        match members.get("$id").and_then(Value::as_u64) {
            Some(id) => {
                if let Some(again) = self.visits.again(id as usize) {
                    return again;
                }
            }
            None => self.visits.skip(),
        }
        self.object(members)
    }

    fn items(&mut self, items: &[Value]) -> String {
        let parts: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(at, item)| (hex(at.to_string().encode_utf16()), self.show(item)))
            .collect();
        named_parts(&format!("Array{}", items.len()), &parts)
    }

    fn pairs(&mut self, kind: &str, pairs: &Value) -> String {
        let parts: Vec<_> = pairs
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| (hex(units(&pair[0])), self.show(&pair[1])))
            .collect();
        named_parts(kind, &parts)
    }

    fn object(&mut self, members: &Map<String, Value>) -> String {
        let mut members = members.iter().filter(|(name, _)| *name != "$id").peekable();
        let Some(&(tag, first)) = members.peek() else {
            return named_parts("Object", &[]);
        };
        if !tag.starts_with('$') {
            let parts: Vec<_> = members
                .map(|(name, value)| (hex(name.encode_utf16()), self.show(value)))
                .collect();
            return named_parts("Object", &parts);
        }
        let rest: HashMap<&str, &Value> = members.map(|(name, value)| (&**name, value)).collect();
        match tag.as_str() {
            "$object" => self.pairs("Object", first),
            "$items" => self.items(first.as_array().unwrap()),
            "$array" => self.pairs(&format!("Array{first}"), rest["properties"]),
            "$map" => {
                let entries = first.as_array().unwrap();
                let parts: Vec<_> = entries
                    .iter()
                    .map(|e| (self.show(&e[0]), self.show(&e[1])))
                    .collect();
                named_parts("Map", &parts)
            }
            "$set" => {
                let entries = first.as_array().unwrap();
                let parts: Vec<_> = entries
                    .iter()
                    .map(|e| (String::new(), self.show(e)))
                    .collect();
                named_parts("Set", &parts)
            }
            "$view" => {
                let buffer = self.show(rest["buffer"]);
                let kind = first.as_str().unwrap();
                format!(
                    "{kind}({},{},{buffer})",
                    rest["byteOffset"], rest["byteLength"]
                )
            }
            "$error" => {
                let text = |name| rest.get(name).map(|json| hex(units(json)));
                let cause = rest.get("cause").map(|cause| self.show(cause));
                let name = first.as_str().unwrap();
                format!(
                    "{name}({:?},{:?},{cause:?})",
                    text("message"),
                    text("stack")
                )
            }
            _ => leaf(tag, first, &rest),
        }
    }
}

fn leaf(tag: &str, first: &Value, rest: &HashMap<&str, &Value>) -> String {
    match tag {
        "$date" => {
            let time_ms = first.as_str().map_or(f64::NAN, time_of);
            format!("Date({})", number(time_ms))
        }
        "$booleanobject" => format!("Boolean({first})"),
        "$numberobject" => format!("Number({})", number(number_of(first))),
        "$stringobject" => format!("String({})", hex(units(first))),
        "$regexp" => {
            let flags = rest["flags"].as_str().unwrap();
            let bit = |letter| match letter {
                'g' => 1,
                'i' => 2,
                'm' => 4,
                'y' => 8,
                's' => 32,
                'd' => 128,
                other => panic!("flag {other}"),
            };
            let bits: u32 = flags.chars().map(bit).sum();
            format!("RegExp({},{bits})", hex(units(first)))
        }
        "$arraybuffer" => format!("Buffer({:?})", bytes_of(first)),
        other => panic!("no model has {other}"),
    }
}
