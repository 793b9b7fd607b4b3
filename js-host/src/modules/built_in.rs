//! The host's own modules, which are built in.

/// What the names of the host's own modules begin with.
pub(super) const SCHEME: &str = "larder:";
/// The module that sets up the global scope.
pub(crate) const MAIN: &str = "larder:platform/mod.js";

macro_rules! built_in {
    ($($path:literal)*) => {
        &[$((concat!("larder:", $path), include_str!(concat!("../", $path)))),*]
    };
}

static BUILT_IN: &[(&str, &str)] = built_in![
    "clone/helpers.js"
    "platform/abort.js"
    "platform/array_join.js"
    "platform/binding.js"
    "platform/blob.js"
    "platform/broadcast_channel.js"
    "platform/common_js.js"
    "platform/console.js"
    "platform/console_format.js"
    "platform/console_table.js"
    "platform/crypto.js"
    "platform/crypto_algorithms.js"
    "platform/crypto_jwk.js"
    "platform/crypto_key.js"
    "platform/crypto_pairs.js"
    "platform/crypto_secrets.js"
    "platform/custom_event.js"
    "platform/data_url.js"
    "platform/dedicated_worker.js"
    "platform/encoding.js"
    "platform/event_loop.js"
    "platform/fetch.js"
    "platform/file_reader.js"
    "platform/files.js"
    "platform/geometry.js"
    "platform/geometry_matrix.js"
    "platform/image_data.js"
    "platform/inspect.js"
    "platform/larder.js"
    "platform/locale.js"
    "platform/location.js"
    "platform/matrix_arithmetic.js"
    "platform/message_channel.js"
    "platform/mod.js"
    "platform/native.js"
    "platform/opaque.js"
    "platform/other_realms.js"
    "platform/performance.js"
    "platform/report_error.js"
    "platform/storage_manager.js"
    "platform/subtle_crypto.js"
    "platform/transfer.js"
    "platform/transform_list.js"
    "platform/url.js"
    "platform/web_storage.js"
    "platform/window.js"
    "platform/worker.js"
    "platform/xml_http_request.js"
];

/// What the names of the binding's modules begin with, which are another package's.
const BINDING: &str = "larder:binding/";

/// The source of one of the host's modules.
pub(crate) fn built_in(name: &str) -> Option<&'static str> {
    if let Some(name) = name.strip_prefix(BINDING) {
        return larder_binding::source(name);
    }
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source)
}

/// The name of the module that one of the host's own imports: all lie in a folder of the sources, and are named from there.
pub(super) fn resolved(base: &str, specifier: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("{SCHEME}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_module_of_the_host_is_built_in() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut seen = 0;
        for folder in ["clone", "platform"] {
            for entry in here.join(folder).read_dir().unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".js") {
                    assert!(
                        built_in(&format!("larder:{folder}/{name}")).is_some(),
                        "{name}"
                    );
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, BUILT_IN.len());
    }
}
