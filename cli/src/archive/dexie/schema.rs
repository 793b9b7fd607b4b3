//! A table's schema as Dexie writes it: `++id,&messageId,*labels,[folder+date],from.address`.

use larder_backing_store::{IndexParameters, ObjectStoreParameters};
use larder_codec::{JsString, KeyPath};

use super::super::json::Wrong;
use super::super::line::ObjectStore;

/// What stands between two commas: marks, and a key path.
struct Part {
    name: String,
    key_path: KeyPath,
    unique: bool,
    multi_entry: bool,
    auto_increment: bool,
}

impl Part {
    fn of(text: &str) -> Result<Self, Wrong> {
        // Behind a colon stands a type, which nothing in a store has.
        let text = text.split(':').next().unwrap_or_default().trim();
        let name = text.replace("++", "").replace(['&', '*'], "");
        let key_path = match name.strip_prefix('[') {
            Some(rest) => {
                let paths = rest
                    .strip_suffix(']')
                    .ok_or_else(|| format!("the schema has {text:?}, which does not end with ]"))?;
                KeyPath::Array(paths.split('+').map(JsString::from).collect())
            }
            None if name.is_empty() => KeyPath::Null,
            None => KeyPath::String(JsString::from(name.as_str())),
        };
        Ok(Self {
            name,
            key_path,
            unique: text.contains('&'),
            multi_entry: text.contains('*'),
            auto_increment: text.contains("++"),
        })
    }
}

/// The object store of a table.
pub(super) fn object_store(name: JsString, schema: &str) -> Result<ObjectStore, Wrong> {
    let mut parts = schema.split(',');
    let primary = Part::of(parts.next().unwrap_or_default())?;
    if primary.auto_increment && matches!(primary.key_path, KeyPath::Array(_)) {
        return Err("a key of several parts cannot be generated".to_owned());
    }
    let mut indexes: Vec<IndexParameters> = Vec::new();
    for part in parts {
        let part = Part::of(part)?;
        match &part.key_path {
            KeyPath::Null => return Err("an index has no key path".to_owned()),
            KeyPath::Array(_) if part.multi_entry => {
                return Err("an index of several key paths cannot have the mark *".to_owned());
            }
            _ => {}
        }
        let name = JsString::from(part.name.as_str());
        if indexes.iter().any(|other| other.name == name) {
            return Err(format!("two indexes have the name {:?}", part.name));
        }
        indexes.push(IndexParameters {
            id: None,
            name,
            key_path: part.key_path,
            unique: part.unique,
            multi_entry: part.multi_entry,
        });
    }
    Ok(ObjectStore {
        parameters: ObjectStoreParameters {
            id: None,
            name,
            key_path: primary.key_path,
            auto_increment: primary.auto_increment,
        },
        // As many as the keys of its rows.
        next_key: None,
        indexes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(schema: &str) -> Result<String, Wrong> {
        let store = object_store(JsString::from("t"), schema)?;
        let path = |path: &KeyPath| match path {
            KeyPath::Null => "none".to_owned(),
            KeyPath::String(path) => path.to_string(),
            KeyPath::Array(paths) => {
                let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                format!("({})", paths.join(" "))
            }
        };
        let mut text = path(&store.parameters.key_path);
        if store.parameters.auto_increment {
            text += " auto";
        }
        for index in &store.indexes {
            text += &format!("; {} = {}", index.name, path(&index.key_path));
            text += if index.unique { " unique" } else { "" };
            text += if index.multi_entry { " multi" } else { "" };
        }
        Ok(text)
    }

    #[test]
    fn marks_and_key_paths_are_those_that_dexie_sees() {
        for (schema, expected) in [
            ("", "none"),
            ("++", "none auto"),
            ("++id", "id auto"),
            ("[a+b.c],&d", "(a b.c); d = d unique"),
            (
                "&id, *tags , &*x",
                "id; tags = tags multi; x = x unique multi",
            ),
            ("id,[a]", "id; [a] = (a)"),
            (
                "id,&[a+b],from.address:text",
                "id; [a+b] = (a b) unique; from.address = from.address",
            ),
        ] {
            assert_eq!(shown(schema).unwrap(), expected, "{schema}");
        }
        for wrong in ["++[a+b]", "id,", "id,*[a+b]", "id,a,&a", "[a"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }
}
