//! Blobs and files in canonical JSON: what the record's list says, with their content.

use std::io::{self, Read};

use larder::canonical::{BlobSource, Browser, Error, ExternalBlob, FileInfo, write_value};
use larder_codec::value::{Decoder, Envelope};

/// A list of external objects in memory; reading the last one fails.
struct List;

impl BlobSource for List {
    fn open(&mut self, index: u32) -> io::Result<Option<ExternalBlob<'_>>> {
        let file = |name: &str| FileInfo {
            name: name.encode_utf16().collect(),
            last_modified_ms: 1_500_000_000_005.0,
        };
        let (size, file, content): (_, _, Box<dyn Read>) = match index {
            0 => (Some(3), None, Box::new(&b"abc"[..])),
            1 => (Some(1), Some(file("ä")), Box::new(&b"z"[..])),
            2 => (Some(9), None, Box::new(&b"short"[..])),
            3 => (Some(1), None, Box::new(Failing)),
            _ => return Ok(None),
        };
        Ok(Some(ExternalBlob {
            mime_type: "a/b".encode_utf16().collect(),
            size,
            file,
            content,
        }))
    }
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _out: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("no"))
    }
}

/// Canonical JSON of V8's bytes, or the error and what it left in the buffer.
fn canonical(wire: &[u8]) -> Result<String, (Error, Vec<u8>)> {
    let bytes = [b"\xff\x14\xff\x0d", wire].concat();
    let mut buffer = Vec::new();
    let mut out = b"before".to_vec();
    if let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer)
        && let Ok(tree) = Decoder::new().decode(&payload)
    {
        write_value(&mut out, &tree, &mut List, Browser::default())
            .map_err(|error| (error, out.clone()))?;
    }
    Ok(String::from_utf8_lossy(&out[6..]).into_owned())
}

#[test]
fn blobs_files_and_lists_have_their_members() {
    let file = "\"name\":\"ä\",\"lastModified\":1500000000005,\"type\":\"a/b\",\"size\":1,\
                \"bytes\":{\"len\":1,\"hex\":\"7a\"}}";
    assert_eq!(
        canonical(b"\\i\0").unwrap(),
        "{\"t\":\"Blob\",\"id\":0,\"type\":\"a/b\",\"size\":3,\"bytes\":{\"len\":3,\"hex\":\"616263\"}}"
    );
    assert_eq!(
        canonical(b"\\e\x01").unwrap(),
        format!("{{\"t\":\"File\",\"id\":0,{file}")
    );
    assert_eq!(
        canonical(b"\\L\x02\x01\x01").unwrap(),
        format!(
            "{{\"t\":\"FileList\",\"id\":0,\"files\":[{{\"t\":\"File\",\"id\":1,{file},\
             {{\"t\":\"File\",\"id\":2,{file}]}}"
        )
    );
    assert_eq!(
        canonical(b"\\L\0").unwrap(),
        "{\"t\":\"FileList\",\"id\":0,\"files\":[]}"
    );
}

#[test]
fn a_blob_that_cannot_be_had_leaves_nothing_behind() {
    for (index, expected) in [
        (4, "the record has no external object 4"),
        (2, "external object 2 should have 9 bytes and has 5"),
        (3, "blob: no"),
    ] {
        let wire = [b"A\x02T\\i", &[index][..], b"$\0\x02"].concat();
        let (error, out) = canonical(&wire).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), &out[..]),
            (expected, &b"before"[..])
        );
    }
}
