//! What the lines of an archive say.

use larder_backing_store::{IndexParameters, KEY_GENERATOR_MAX, ObjectStoreParameters};
use larder_codec::{DataVersion, JsString, KeyPath, feed};

use super::FORMAT_VERSION;
use super::export::Counts;
use super::json::{Json, Wrong};
use crate::display::Quoted;

/// A line.
#[derive(Debug)]
pub(super) enum Line {
    Head,
    Store(StoreHead),
    Database(Database),
    Records {
        database: JsString,
        object_store: JsString,
    },
    /// A piece of a blob.
    Blob {
        number: u64,
        bytes: Vec<u8>,
    },
    /// A record, with its members as they are.
    Record(Json),
    Entries {
        index: JsString,
    },
    Entry {
        key: Json,
        primary_key: Json,
    },
    End(Counts),
}

/// A store begins.
#[derive(Debug, Clone)]
pub(super) struct StoreHead {
    pub(super) origin: String,
    pub(super) identifier: Option<String>,
    /// The parts of the LevelDB folder's path.
    pub(super) folder: Vec<String>,
    pub(super) schema: Option<i64>,
    pub(super) version: Option<DataVersion>,
}

/// A database's schema.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pub(super) name: JsString,
    pub(super) version: i64,
    pub(super) object_stores: Vec<ObjectStore>,
}

#[derive(Debug, Clone)]
pub(super) struct ObjectStore {
    pub(super) parameters: ObjectStoreParameters,
    pub(super) next_key: Option<i64>,
    pub(super) indexes: Vec<IndexParameters>,
}

/// Folders within one another, in the path of a store.
const FOLDERS_MAX: usize = 32;

impl Line {
    pub(super) fn of(json: Json) -> Result<Self, Wrong> {
        let Json::Object(members) = &json else {
            return Err(format!("a line is an object, and this is {json}"));
        };
        let Some((kind, body)) = members.first() else {
            return Err("the line is empty".to_owned());
        };
        match kind.as_str() {
            "archive" => {
                let format = json.need("format")?.whole_u32()?;
                if format > FORMAT_VERSION {
                    return Err(format!(
                        "the archive has format {format}, and this larder reads up to {FORMAT_VERSION}: a newer one is needed"
                    ));
                }
                Ok(Self::Head)
            }
            "store" => Ok(Self::Store(StoreHead::of(body)?)),
            "database" => Ok(Self::Database(Database::of(body)?)),
            "records" => Ok(Self::Records {
                database: body.need("database")?.name()?,
                object_store: body.need("objectStore")?.name()?,
            }),
            "blob" => Ok(Self::Blob {
                number: body.whole()?,
                bytes: json.need("base64")?.base64()?,
            }),
            "key" => Ok(Self::Record(json)),
            "entries" => Ok(Self::Entries {
                index: body.need("index")?.name()?,
            }),
            "entry" => match body.items()? {
                [key, primary_key] => Ok(Self::Entry {
                    key: key.clone(),
                    primary_key: primary_key.clone(),
                }),
                _ => Err("an entry is a key and a primary key".to_owned()),
            },
            "end" => {
                let count = |name: &str| body.need(name)?.whole();
                Ok(Self::End(Counts {
                    stores: count("stores")?,
                    databases: count("databases")?,
                    object_stores: count("objectStores")?,
                    records: count("records")?,
                    blobs: count("blobs")?,
                }))
            }
            other => Err(format!("lines that begin with {other:?} are not known")),
        }
    }
}

impl StoreHead {
    fn of(json: &Json) -> Result<Self, Wrong> {
        let text = |name: &str| {
            json.get(name)
                .map(|text| text.text().map(str::to_owned))
                .transpose()
        };
        let number = |name: &str| json.get(name).map(Json::whole_u32).transpose();
        let folder = json
            .get("folder")
            .map(Json::text)
            .transpose()?
            .unwrap_or_default();
        let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        let leads_away =
            |part: &&str| matches!(*part, "." | "..") || part.contains(['\\', ':', '\0']);
        if folder.starts_with('/') || parts.iter().any(leads_away) || parts.len() > FOLDERS_MAX {
            return Err(format!("{folder:?} is no path of a folder below another"));
        }
        let version = match (number("v8")?, number("blink")?) {
            (Some(v8), Some(blink)) => Some(DataVersion { v8, blink }),
            _ => None,
        };
        Ok(Self {
            origin: json.need("origin")?.text()?.to_owned(),
            identifier: text("identifier")?,
            folder: parts.into_iter().map(str::to_owned).collect(),
            schema: number("schema")?.map(i64::from),
            version,
        })
    }
}

impl Database {
    fn of(json: &Json) -> Result<Self, Wrong> {
        let version = json.need("version")?.whole()?;
        let stores = json
            .need("objectStores")?
            .items()?
            .iter()
            .map(ObjectStore::of);
        let database = Self {
            name: json.need("name")?.name()?,
            version: i64::try_from(version).unwrap_or(0),
            object_stores: stores.collect::<Result<_, _>>()?,
        };
        if database.version < 1 {
            return Err("a database's version is 1 or more".to_owned());
        }
        database.check()?;
        Ok(database)
    }

    /// Whether its object stores can be made.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let mut names: Vec<&JsString> = self
            .object_stores
            .iter()
            .map(|store| &store.parameters.name)
            .collect();
        names.sort();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err("two object stores have one name".to_owned());
        }
        if let Some(name) = names.iter().find(|name| feed::is_reserved(name)) {
            let begins = feed::RESERVED_PREFIX;
            return Err(format!(
                "object store {}: names that begin with {begins} are a change feed's, which is turned on in a store and not imported: take it and its records out of the archive",
                Quoted(name)
            ));
        }
        Ok(())
    }
}

impl ObjectStore {
    fn of(json: &Json) -> Result<Self, Wrong> {
        let auto_increment = json.need("autoIncrement")?.bool()?;
        let next_key = match json.get("nextKey") {
            None => None,
            Some(Json::Null) => Some(KEY_GENERATOR_MAX + 1),
            Some(number) => i64::try_from(number.whole()?).ok(),
        };
        let index = |json: &Json| {
            let index = IndexParameters {
                id: None,
                name: json.need("name")?.name()?,
                key_path: json.need("keyPath")?.key_path()?,
                unique: json.need("unique")?.bool()?,
                multi_entry: json.need("multiEntry")?.bool()?,
            };
            match index.key_path {
                KeyPath::Null => Err("an index has a key path".to_owned()),
                KeyPath::Array(_) if index.multi_entry => {
                    Err("an index of several key paths cannot be multiEntry".to_owned())
                }
                _ => Ok(index),
            }
        };
        let indexes: Vec<IndexParameters> = json
            .need("indexes")?
            .items()?
            .iter()
            .map(index)
            .collect::<Result<_, _>>()?;
        let mut names: Vec<&JsString> = indexes.iter().map(|index| &index.name).collect();
        names.sort();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err("two indexes have one name".to_owned());
        }
        Ok(Self {
            parameters: ObjectStoreParameters {
                id: None,
                name: json.need("name")?.name()?,
                key_path: json.need("keyPath")?.key_path()?,
                auto_increment,
            },
            next_key: next_key.filter(|_| auto_increment),
            indexes,
        })
    }
}
