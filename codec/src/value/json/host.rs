//! Objects of the web platform in the JSON form.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::Node;
use super::text::Number;
use crate::value::host::{
    CryptoKey, CryptoKeyAlgorithm, DomPoint, HandleKind, HostObject, ImageBitmap, LegacyFile,
};

/// Writes the members of a host object, the one with `$` first.
pub(super) fn members<'a, M: SerializeMap>(
    map: &mut M,
    node: &Node<'_, '_, 'a>,
    host: &HostObject<'a>,
) -> Result<(), M::Error> {
    match host {
        HostObject::Blob(index) => map.serialize_entry("$blob", index),
        HostObject::File(index) => map.serialize_entry("$file", index),
        HostObject::FileList(indices) => map.serialize_entry("$filelist", indices),
        HostObject::LegacyBlob {
            uuid,
            mime_type,
            size,
        } => {
            map.serialize_entry("$blob", &())?;
            map.serialize_entry("uuid", &node.str(*uuid))?;
            map.serialize_entry("type", &node.str(*mime_type))?;
            map.serialize_entry("size", size)
        }
        HostObject::LegacyFile(file) => legacy_file(map, node, file),
        HostObject::LegacyFileList(files) => {
            map.serialize_entry("$filelist", &LegacyFiles(*node, files))
        }
        HostObject::FileSystemHandle(handle) => {
            map.serialize_entry("$filesystemhandle", &handle.token_index)?;
            let kind = match handle.kind {
                HandleKind::File => "file",
                HandleKind::Directory => "directory",
            };
            map.serialize_entry("kind", kind)?;
            map.serialize_entry("name", &node.str(handle.name))
        }
        HostObject::DomFileSystem {
            fs_type,
            name,
            root_url,
        } => {
            map.serialize_entry("$domfilesystem", &node.str(*name))?;
            map.serialize_entry("type", fs_type)?;
            map.serialize_entry("root", &node.str(*root_url))
        }
        HostObject::CryptoKey(key) => crypto_key(map, node, key),
        HostObject::RtcCertificate {
            private_key_pem,
            certificate_pem,
        } => {
            map.serialize_entry("$rtccertificate", &node.str(*certificate_pem))?;
            map.serialize_entry("privateKey", &node.str(*private_key_pem))
        }
        HostObject::DomException {
            name,
            message,
            stack,
        } => {
            map.serialize_entry("$domexception", &node.str(*name))?;
            map.serialize_entry("message", &node.str(*message))?;
            map.serialize_entry("stack", &node.str(*stack))
        }
        HostObject::QuotaExceededError {
            message,
            stack,
            quota,
            requested,
        } => {
            map.serialize_entry("$quotaexceedederror", &node.str(*message))?;
            map.serialize_entry("stack", &node.str(*stack))?;
            map.serialize_entry("quota", &quota.map(Number))?;
            map.serialize_entry("requested", &requested.map(Number))
        }
        picture => pixels_and_geometry(map, node, picture),
    }
}

fn pixels_and_geometry<'a, M: SerializeMap>(
    map: &mut M,
    node: &Node<'_, '_, 'a>,
    host: &HostObject<'a>,
) -> Result<(), M::Error> {
    match host {
        HostObject::ImageData(image) => {
            map.serialize_entry("$imagedata", &node.bytes(image.pixels))?;
            map.serialize_entry("width", &image.width)?;
            map.serialize_entry("height", &image.height)?;
            map.serialize_entry("colorSpace", image.color_space.name())?;
            map.serialize_entry("format", image.format.name())
        }
        HostObject::ImageBitmap(image) => image_bitmap(map, node, image),
        HostObject::DomPoint(p) => map.serialize_entry("$dompoint", &Numbers(&point(p))),
        HostObject::DomPointReadOnly(p) => {
            map.serialize_entry("$dompointreadonly", &Numbers(&point(p)))
        }
        HostObject::DomRect(r) => {
            map.serialize_entry("$domrect", &Numbers(&[r.x, r.y, r.width, r.height]))
        }
        HostObject::DomRectReadOnly(r) => {
            map.serialize_entry("$domrectreadonly", &Numbers(&[r.x, r.y, r.width, r.height]))
        }
        HostObject::DomQuad(points) => {
            let points = points.map(|p| point(&p));
            map.serialize_entry("$domquad", &points.each_ref().map(|p| Numbers(p)))
        }
        HostObject::DomMatrix(m) if m.is_2d => {
            map.serialize_entry("$dommatrix", &Numbers(&m.a_to_f()))
        }
        HostObject::DomMatrix(m) => map.serialize_entry("$dommatrix", &Numbers(&m.members)),
        HostObject::DomMatrixReadOnly(m) if m.is_2d => {
            map.serialize_entry("$dommatrixreadonly", &Numbers(&m.a_to_f()))
        }
        HostObject::DomMatrixReadOnly(m) => {
            map.serialize_entry("$dommatrixreadonly", &Numbers(&m.members))
        }
        _ => Ok(()),
    }
}

const fn point(p: &DomPoint) -> [f64; 4] {
    [p.x, p.y, p.z, p.w]
}

fn image_bitmap<'a, M: SerializeMap>(
    map: &mut M,
    node: &Node<'_, '_, 'a>,
    image: &ImageBitmap<'a>,
) -> Result<(), M::Error> {
    map.serialize_entry("$imagebitmap", &node.bytes(image.pixels))?;
    map.serialize_entry("width", &image.stored_width)?;
    map.serialize_entry("height", &image.stored_height)?;
    match &image.parametric {
        Some(numbers) => map.serialize_entry("colorSpace", &Numbers(numbers))?,
        None => map.serialize_entry("colorSpace", image.color_space.name())?,
    }
    map.serialize_entry("format", image.format.name())?;
    map.serialize_entry("originClean", &image.origin_clean)?;
    map.serialize_entry("premultiplied", &image.premultiplied)?;
    map.serialize_entry("opaque", &image.opaque)?;
    map.serialize_entry("orientation", &image.orientation)
}

fn legacy_file<'a, M: SerializeMap>(
    map: &mut M,
    node: &Node<'_, '_, 'a>,
    file: &LegacyFile<'a>,
) -> Result<(), M::Error> {
    map.serialize_entry("$file", &())?;
    map.serialize_entry("path", &node.str(file.path))?;
    map.serialize_entry("name", &file.name.map(|name| node.str(name)))?;
    map.serialize_entry(
        "relativePath",
        &file.relative_path.map(|path| node.str(path)),
    )?;
    map.serialize_entry("uuid", &node.str(file.uuid))?;
    map.serialize_entry("type", &node.str(file.mime_type))?;
    map.serialize_entry("size", &file.snapshot.map(|(size, _)| size))?;
    map.serialize_entry(
        "lastModified",
        &file.snapshot.map(|(_, modified)| Number(modified)),
    )
}

/// `[{"$file":null,…},…]`
struct LegacyFiles<'c, 't, 'f, 'a>(Node<'c, 't, 'a>, &'f [LegacyFile<'a>]);

impl Serialize for LegacyFiles<'_, '_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.1.len()))?;
        for file in self.1 {
            seq.serialize_element(&LegacyFileMember(self.0, file))?;
        }
        seq.end()
    }
}

struct LegacyFileMember<'c, 't, 'f, 'a>(Node<'c, 't, 'a>, &'f LegacyFile<'a>);

impl Serialize for LegacyFileMember<'_, '_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        legacy_file(&mut map, &self.0, self.1)?;
        map.end()
    }
}

/// `[number,…]`
struct Numbers<'n>(&'n [f64]);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|number| Number(*number)))
    }
}

fn crypto_key<'a, M: SerializeMap>(
    map: &mut M,
    node: &Node<'_, '_, 'a>,
    key: &CryptoKey<'a>,
) -> Result<(), M::Error> {
    map.serialize_entry("$cryptokey", &node.bytes(key.key_data))?;
    map.serialize_entry("type", key.key_type.name())?;
    map.serialize_entry("extractable", &key.extractable)?;
    map.serialize_entry("usages", &key.usages.names().collect::<Vec<_>>())?;
    map.serialize_entry("algorithm", &Algorithm(*node, key.algorithm))
}

struct Algorithm<'c, 't, 'a>(Node<'c, 't, 'a>, CryptoKeyAlgorithm<'a>);

impl Serialize for Algorithm<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.1 {
            CryptoKeyAlgorithm::Aes { name, length_bits } => {
                map.serialize_entry("name", name)?;
                map.serialize_entry("length", &length_bits)?;
            }
            CryptoKeyAlgorithm::Hmac { hash, length_bits } => {
                map.serialize_entry("name", "HMAC")?;
                map.serialize_entry("hash", hash)?;
                map.serialize_entry("length", &length_bits)?;
            }
            CryptoKeyAlgorithm::RsaHashed {
                name,
                modulus_length_bits,
                public_exponent,
                hash,
            } => {
                map.serialize_entry("name", name)?;
                map.serialize_entry("hash", hash)?;
                map.serialize_entry("modulusLength", &modulus_length_bits)?;
                map.serialize_entry("publicExponent", &self.0.bytes(public_exponent))?;
            }
            CryptoKeyAlgorithm::Ec { name, named_curve } => {
                map.serialize_entry("name", name)?;
                map.serialize_entry("namedCurve", named_curve)?;
            }
            CryptoKeyAlgorithm::Named { name } => {
                map.serialize_entry("name", name)?;
            }
        }
        map.end()
    }
}
