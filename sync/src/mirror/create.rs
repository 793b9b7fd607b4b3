//! A database that is made as a page has it.

use larder_idb::{Connection, Factory, Name};
use larder_pages::Page;

use super::error::{Error, Result};
use super::schema::Schema;

/// Opens the database of a name, and makes it with the version and the schema that a page has, if it is not there: object stores, indexes
/// and a change feed, but no records. [`Mirror::apply`](super::Mirror::apply) brings those.
///
/// ```
/// # use futures_executor::block_on;
/// # use larder_idb::{Database, FixedClock, ObjectStoreParameters, Origin, Storage, StorageOptions};
/// # use larder_idb::file_system::MemoryFileSystem;
/// # use larder_pages::{Page, Timestamp};
/// # use larder_sync::{Mirror, MirrorOptions, create_from_page, page_options};
/// # use std::{path::Path, sync::Arc};
/// # let library = Database::in_memory("library", 3, |upgrade| {
/// #     upgrade.transaction.create_object_store("books", ObjectStoreParameters::new())?;
/// #     upgrade.transaction.set_change_feed(true)
/// # })?
/// # .wait()?;
/// # let page = Page::open(Arc::new(MemoryFileSystem::new()), Path::new("page"), page_options())?;
/// # let storage = Storage::new(StorageOptions::in_memory(Arc::new(FixedClock::default())))?;
/// # let factory = storage.factory(&Origin::file());
/// block_on(async {
/// #   let mut mirror = Mirror::new(library.connection(), &page, MirrorOptions::new()).await?;
/// #   mirror.take(Timestamp(1)).await?;
///     let connection = create_from_page(&factory, "library", &page).await?;
///     assert_eq!(connection.version(), 3);
///     assert_eq!(connection.object_store_names(), ["books"]);
///     Ok::<(), larder_sync::MirrorError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::NoSchema`] if no mirror has brought one; [`Error::SchemaDiffers`] if heads of the page have different ones of one version;
/// `VersionError` if the database is there and has a greater version; if page or database fail.
pub async fn create_from_page(
    factory: &Factory,
    name: impl Into<Name<'_>>,
    page: &Page,
) -> Result<Connection> {
    let mut schema = Schema::default();
    for head in page.heads() {
        let of_head = Schema::of_commit(page, &head)?;
        schema.check_alike(&of_head)?;
        if of_head.version > schema.version {
            schema = of_head;
        }
    }
    if schema.version == 0 {
        return Err(Error::NoSchema);
    }
    let opening = factory.open(name, Some(schema.version))?;
    let opening = opening.with_upgrade(move |upgrade| {
        if upgrade.old_version == 0 {
            schema.create(&upgrade.transaction)?;
            upgrade.transaction.set_change_feed(true)?;
        }
        Ok(())
    });
    Ok(opening.await?)
}
