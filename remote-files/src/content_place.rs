//! Where the content of a namespace lies, if that is elsewhere than its catalogue.
//!
//! A process that looks for it in another place would find nothing, and take that for content that was deleted. So the namespace says where it is, and a
//! process that looks elsewhere gets an error with the place.

use crate::catalogue::{Row, Write};
use crate::cluster::Cluster;
use crate::error::{Error, ErrorKind, Result};
use crate::key::Keys;
use crate::namespace::Namespace;
use crate::row::PlaceRow;

/// What is written when a namespace is taken whose rows are these: the place, if it is new.
///
/// # Errors
/// `Usage` if its content lies in another place than this process looks.
pub(crate) fn of_taking(
    cluster: &Cluster,
    keys: &Keys,
    namespace: &Namespace,
    rows: &[Row],
) -> Result<Option<Write>> {
    let key = keys.content_place();
    let row = rows.iter().find(|row| row.key == key);
    let (files, here) = (keys.files(), cluster.content_place());
    match (row, here) {
        (None, Some(here)) if !rows.iter().any(|row| files.contains(&row.key)) => {
            let value = PlaceRow(here.to_owned()).encode();
            Ok(Some(Write::Put(Row { key, value })))
        }
        (row, here) => same(namespace, row.map(|row| &row.value[..]), here).map(|()| None),
    }
}

/// Checks that a file is read with the content that its namespace has.
///
/// # Errors
/// `Usage` if its content lies in another place than this process looks, and the engine's errors.
pub(crate) fn of_reading(cluster: &Cluster, keys: &Keys, namespace: &Namespace) -> Result<()> {
    let [row] = cluster.get([keys.content_place()])?;
    same(namespace, row.as_deref(), cluster.content_place())
}

fn same(namespace: &Namespace, row: Option<&[u8]>, here: Option<&str>) -> Result<()> {
    let row = row.map(PlaceRow::decode).transpose()?;
    let there = row.as_ref().map(|row| row.0.as_str());
    let what = match there {
        there if there == here => return Ok(()),
        Some(there) => {
            format!(
                "{namespace}: its content lies in {there}: put ?content={there} behind its address"
            )
        }
        None => format!("{namespace}: its content lies with its names: leave ?content= away"),
    };
    Err(Error::new(ErrorKind::Usage, what))
}
