//! `larder sync` between two devices, each of which a real Chromium or `larder run` changes: what pages wrote comes to another profile whole,
//! and after rounds of changes offline both pages show the same. A naive model says what that may be.

mod device;
mod model;
mod profiles;
mod rounds;

use serde_json::Value;

/// Databases without what differs between devices: the change feed's own object stores, and the numbers that key generators give next.
fn alike(mut databases: Value) -> Value {
    for database in databases.as_array_mut().into_iter().flatten() {
        let stores = database["stores"].as_array_mut().unwrap();
        stores.retain(|store| {
            !store["name"]
                .as_str()
                .unwrap_or_default()
                .starts_with("larder.feed.")
        });
        for store in stores {
            store.as_object_mut().unwrap().remove("nextKey");
        }
    }
    databases
}
