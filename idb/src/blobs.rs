//! The contents of blobs and files, read without keeping the host's thread.

use std::ops::Range;
use std::sync::Arc;

use crate::error::attempt;
use crate::executor::{Job, Turn};
use crate::request::Request;
use crate::storage::Storage;
use crate::value::ExternalObject;

impl Storage {
    /// Reads the bytes of a range of a blob's or file's content: those that there are, so fewer at its end and none behind it. The storage's
    /// threads read them, or a step of the host's; how much one request reads is the host's choice. A thread that waits for the
    /// request ([`Request::wait`]) waits for the disk.
    ///
    /// The content is there as long as the object or a request for it is, whatever becomes of its record, transaction and connection.
    /// One that was put in the same transaction is read from the host's own source, which begins anew for each range.
    ///
    /// The request ends with `NotReadableError` if the content cannot be read: [`Error::kind`](crate::Error::kind) is
    /// [`Corruption`](crate::ErrorKind::Corruption) if the file is gone, or has another length than its record says, and
    /// [`Io`](crate::ErrorKind::Io) if the system or the source refuses. A handle of the File System Access API has no
    /// content.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use larder_idb::{Key, TransactionMode, NewExternalObject, ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock, TransactionOptions, Value};
    /// # let storage = Storage::new(StorageOptions::in_memory(Arc::new(SystemClock)))?;
    /// # let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    /// # let opening = factory.open("db", None)?.with_upgrade(|upgrade| {
    /// #     let parameters = ObjectStoreParameters::default();
    /// #     upgrade.transaction.create_object_store("files", parameters).map(drop)
    /// # });
    /// # let connection = opening.wait()?;
    /// # let begin = || connection.transaction("files", TransactionMode::ReadWrite, TransactionOptions::default());
    /// let blob = NewExternalObject::Blob {
    ///     mime_type: "text/plain".into(),
    ///     content: Arc::new(b"0123456789".to_vec()),
    /// };
    /// let value = Value::serialize("a file")?.and_objects(vec![blob]);
    /// # let transaction = begin()?;
    /// # let files = transaction.object_store("files")?;
    /// files.put(value, Some(Key::Number(1.0)))?;
    /// # transaction.commit()?.wait()?;
    /// # let transaction = begin()?;
    /// # let files = transaction.object_store("files")?;
    /// // Later:
    /// let value = files.get(Key::Number(1.0))?.wait()?.unwrap();
    /// let request = storage.read_blob(&value.objects()[0], 4..7);
    /// assert_eq!(request.wait()?, b"456");
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    pub fn read_blob(&self, object: &ExternalObject, range: Range<u64>) -> Request<Vec<u8>> {
        let (request, slot) = Request::of_storage(Arc::clone(self.inner()) as _);
        let object = object.clone();
        let job = Job::of(move |turn: &mut Turn| {
            let read = attempt(|| object.read_range(range));
            // The object is released before the end is reported: a host may delete the store then.
            drop(object);
            if let Some(callback) = slot.complete(read) {
                turn.call(callback);
            }
        });
        self.inner().ready().push(std::sync::Arc::new(job));
        request
    }
}
