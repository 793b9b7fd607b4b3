//! How the format document writes values down.

use larder_codec::blob_journal::{BlobJournal, JournalBlobs};
use larder_codec::external_object::schema_3::{Schema3Kind, Schema3Object};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::row_key::{
    DatabaseField, GlobalKey, IndexDataKey, IndexField, ObjectStoreField, RecordTable, ScopeTask,
    ScopesKey,
};
use larder_codec::scopes::{CleanupTask, LockKey, ScopeMetadata, ScopesMetadata, UndoTask};
use larder_codec::{DataVersion, JsString, Key, KeyBound, KeyPath, KeyPrefix, RowKey, RowValue};

pub(crate) trait Render {
    fn render(&self) -> String;
}

macro_rules! render_as_display {
    ($($type:ty),*) => {
        $(impl Render for $type {
            fn render(&self) -> String {
                self.to_string()
            }
        })*
    };
}

render_as_display!(u8, bool, i64, f64);

impl Render for &[u8] {
    fn render(&self) -> String {
        if self.is_empty() {
            return "-".to_owned();
        }
        self.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Render for JsString {
    fn render(&self) -> String {
        let unit = |unit: &u16| match u8::try_from(*unit) {
            Ok(plain @ 0x20..=0x7e) if !b"\"\\".contains(&plain) => char::from(plain).to_string(),
            _ => format!("\\u{unit:04x}"),
        };
        format!("\"{}\"", self.units().iter().map(unit).collect::<String>())
    }
}

fn list<T: Render>(items: &[T]) -> String {
    items
        .iter()
        .map(Render::render)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Render for Key {
    fn render(&self) -> String {
        match self {
            Self::Number(number) => format!("number {number}"),
            Self::Date(milliseconds) => format!("date {milliseconds}"),
            Self::String(string) => string.render(),
            Self::Binary(bytes) => format!("binary {}", (&bytes[..]).render()),
            Self::Array(array) => format!("[{}]", list(array)),
        }
    }
}

impl Render for KeyBound {
    fn render(&self) -> String {
        match self {
            Self::Min => "min".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Key(key) => key.render(),
        }
    }
}

impl Render for KeyPrefix {
    fn render(&self) -> String {
        format!("{} {} {}", self.database, self.object_store, self.index)
    }
}

impl Render for KeyPath {
    fn render(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::String(path) => path.render(),
            Self::Array(paths) => format!("[{}]", list(paths)),
        }
    }
}

impl Render for DataVersion {
    fn render(&self) -> String {
        format!("v8 {} blink {}", self.v8, self.blink)
    }
}

impl Render for BlobJournal {
    fn render(&self) -> String {
        if self.entries.is_empty() {
            return "none".to_owned();
        }
        let entries = self.entries.iter().map(|entry| match entry.blobs {
            JournalBlobs::All => format!("{}/all", entry.database_id),
            JournalBlobs::One(number) => format!("{}/{number}", entry.database_id),
        });
        entries.collect::<Vec<_>>().join(" ")
    }
}

impl Render for BlobInfo {
    fn render(&self) -> String {
        format!(
            "{} {} {}",
            self.number,
            self.mime_type.render(),
            self.size_bytes
        )
    }
}

impl Render for ExternalObject {
    fn render(&self) -> String {
        match self {
            Self::Blob(blob) => format!("blob {}", blob.render()),
            Self::File {
                blob,
                name,
                last_modified_micros,
            } => format!(
                "file {} {} {last_modified_micros}",
                blob.render(),
                name.render()
            ),
            Self::FileSystemAccessHandle { token } => format!("handle {}", (&token[..]).render()),
        }
    }
}

impl Render for Vec<ExternalObject> {
    fn render(&self) -> String {
        list(self)
    }
}

impl Render for Schema3Object {
    fn render(&self) -> String {
        let (number, mime_type) = (self.number, self.mime_type.render());
        match &self.kind {
            Schema3Kind::Blob { size_bytes } => format!("blob {number} {mime_type} {size_bytes}"),
            Schema3Kind::File { name } => format!("file {number} {mime_type} {}", name.render()),
        }
    }
}

impl Render for Vec<Schema3Object> {
    fn render(&self) -> String {
        list(self)
    }
}

impl Render for ScopesMetadata {
    fn render(&self) -> String {
        format!("version {}", self.version)
    }
}

impl Render for ScopeMetadata<'_> {
    fn render(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for lock in &self.locks {
            let key = match lock.key {
                LockKey::Key(key) => key.render(),
                LockKey::Range { begin, end } => format!("{} to {}", begin.render(), end.render()),
            };
            parts.push(format!("lock {} {key}", lock.partition));
        }
        if self.is_committed() {
            parts.push("committed".to_owned());
        }
        if self.ignore_cleanup_tasks {
            parts.push("ignore clean-up tasks".to_owned());
        }
        parts.join(", ")
    }
}

impl Render for UndoTask<'_> {
    fn render(&self) -> String {
        match self {
            Self::Put { key, value } => format!("put {} = {}", key.render(), value.render()),
            Self::Delete { key } => format!("delete {}", key.render()),
            Self::DeleteRange { begin, end } => {
                format!("delete {} to {}", begin.render(), end.render())
            }
        }
    }
}

impl Render for CleanupTask<'_> {
    fn render(&self) -> String {
        match self {
            Self::DeleteRange { begin, end } => {
                format!("delete {} to {}", begin.render(), end.render())
            }
            Self::DeleteRangeAndCompact { begin, end } => {
                format!("delete and compact {} to {}", begin.render(), end.render())
            }
        }
    }
}

impl Render for GlobalKey {
    fn render(&self) -> String {
        match self {
            Self::SchemaVersion => "schema version".to_owned(),
            Self::MaxDatabaseId => "max database id".to_owned(),
            Self::DataVersion => "data version".to_owned(),
            Self::RecoveryBlobJournal => "recovery blob journal".to_owned(),
            Self::ActiveBlobJournal => "active blob journal".to_owned(),
            Self::EarliestSweep => "earliest sweep".to_owned(),
            Self::EarliestCompaction => "earliest compaction".to_owned(),
            Self::DatabaseFreeList(id) => format!("database free list {id}"),
            Self::DatabaseName { origin, name } => {
                format!("database name {} {}", origin.render(), name.render())
            }
        }
    }
}

impl Render for ScopesKey {
    fn render(&self) -> String {
        match self {
            Self::GlobalMetadata => "scopes metadata".to_owned(),
            Self::ScopeMetadata(scope) => format!("scope {scope}"),
            Self::Task {
                scope,
                task,
                sequence,
            } => {
                let task = match task {
                    ScopeTask::Undo => "undo",
                    ScopeTask::Cleanup => "cleanup",
                };
                format!("{task} task of scope {scope} number {sequence}")
            }
        }
    }
}

impl Render for DatabaseField {
    fn render(&self) -> String {
        match self {
            Self::OriginName => "origin".to_owned(),
            Self::DatabaseName => "name".to_owned(),
            Self::StringVersion => "string version".to_owned(),
            Self::MaxObjectStoreId => "max object store id".to_owned(),
            Self::UserVersion => "user version".to_owned(),
            Self::BlobNumberGenerator => "blob number generator".to_owned(),
            Self::ObjectStoreFreeList(store) => format!("object store free list {store}"),
            Self::IndexFreeList(store, index) => format!("index free list {store} {index}"),
            Self::ObjectStoreName(name) => format!("object store name {}", name.render()),
            Self::IndexName(store, name) => format!("index name {store} {}", name.render()),
        }
    }
}

const fn object_store_field(field: ObjectStoreField) -> &'static str {
    match field {
        ObjectStoreField::Name => "name",
        ObjectStoreField::KeyPath => "key path",
        ObjectStoreField::AutoIncrement => "auto increment",
        ObjectStoreField::Evictable => "evictable",
        ObjectStoreField::LastVersion => "last version",
        ObjectStoreField::MaxIndexId => "max index id",
        ObjectStoreField::HasKeyPath => "has key path",
        ObjectStoreField::KeyGenerator => "key generator",
    }
}

const fn index_field(field: IndexField) -> &'static str {
    match field {
        IndexField::Name => "name",
        IndexField::Unique => "unique",
        IndexField::KeyPath => "key path",
        IndexField::MultiEntry => "multi-entry",
    }
}

impl Render for IndexDataKey<'_> {
    fn render(&self) -> String {
        let ids = format!(
            "{} {} {}",
            self.database_id, self.object_store_id, self.index_id
        );
        let mut text = format!("entry of {ids} {}", self.index_key.to_key().render());
        if let Some(sequence) = self.sequence() {
            text += &format!(" sequence {sequence}");
        }
        if let Some(primary_key) = self.primary_key() {
            text += &format!(" primary {}", primary_key.to_key().render());
        }
        text
    }
}

impl Render for RowKey<'_> {
    fn render(&self) -> String {
        match self {
            Self::Global(key) => key.render(),
            Self::Scopes(key) => key.render(),
            Self::Database(key) => format!("database {} {}", key.database_id, key.field.render()),
            Self::ObjectStoreMetadata(key) => {
                let field = object_store_field(key.field);
                format!(
                    "database {} object store {} {field}",
                    key.database_id, key.object_store_id
                )
            }
            Self::IndexMetadata(key) => {
                let (database, store) = (key.database_id, key.object_store_id);
                let field = index_field(key.field);
                format!(
                    "database {database} object store {store} index {} {field}",
                    key.index_id
                )
            }
            Self::Record(key) => {
                let table = match key.table {
                    RecordTable::Data => "data",
                    RecordTable::Exists => "exists",
                    RecordTable::ExternalObject => "external objects",
                };
                let user_key = key.key.to_key().render();
                format!(
                    "{table} of {} {} {user_key}",
                    key.database_id, key.object_store_id
                )
            }
            Self::IndexData(key) => key.render(),
            Self::Unknown(key) => format!("unknown {}", key.rest().render()),
        }
    }
}

impl Render for RowValue<'_> {
    fn render(&self) -> String {
        match self {
            Self::Int(number) => format!("int {number}"),
            Self::VarInt(number) => format!("varint {number}"),
            Self::Bool(flag) => flag.render(),
            Self::String(text) => text.render(),
            Self::KeyPath(path) => format!("key path {}", path.render()),
            Self::DataVersion(version) => format!("data version {}", version.render()),
            Self::BlobJournal(journal) => journal.render(),
            Self::Data(row) => format!("data version {} value {}", row.version, row.value.render()),
            Self::Exists(row) => format!("exists version {}", row.version),
            Self::ExternalObjects(objects) => objects.render(),
            Self::Schema3Objects(objects) => objects.render(),
            Self::Index(row) => {
                let primary_key = row.primary_key.to_key().render();
                format!("entry version {} primary {primary_key}", row.version)
            }
            Self::ScopesMetadata(message) => format!("scopes {}", message.render()),
            Self::ScopeMetadata(message) => message.render(),
            Self::UndoTask(message) => message.render(),
            Self::CleanupTask(message) => message.render(),
            Self::Opaque(bytes) => bytes.render(),
        }
    }
}
