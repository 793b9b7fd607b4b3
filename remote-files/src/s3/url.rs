//! Addresses: `s3://BUCKET/PREFIX`.

use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// An address of what a bucket has below a prefix. The server, the region and the keys are in the variables of AWS's own programs, and never in an address.
///
/// ```
/// use larder_remote_files::S3Url;
/// let url = S3Url::parse("s3://stores/larder/a")?;
/// assert_eq!((url.bucket(), url.prefix()), ("stores", "larder/a"));
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Url {
    bucket: String,
    prefix: String,
}

fn wrong(why: impl fmt::Display) -> Error {
    let what = format!("the address of a bucket is s3://BUCKET/PREFIX: {why}");
    Error::new(ErrorKind::Usage, what)
}

impl S3Url {
    /// Parses an address.
    ///
    /// # Errors
    /// `Usage`.
    pub fn parse(text: &str) -> Result<S3Url> {
        let rest = text
            .strip_prefix("s3://")
            .ok_or_else(|| wrong("it does not begin so"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let of_bucket = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if bucket.is_empty() || !bucket.chars().all(of_bucket) {
            return Err(wrong("it names no bucket"));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        // What no server and no program changes in a name.
        let of_prefix = |c: char| c.is_ascii_alphanumeric() || ".-_=".contains(c);
        let is_part = |part: &str| !["", ".", ".."].contains(&part) && part.chars().all(of_prefix);
        if !prefix.is_empty() && !prefix.split('/').all(is_part) {
            return Err(wrong(
                "a prefix has letters, digits and .-_= in parts between single slashes",
            ));
        }
        Ok(S3Url {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    /// The bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// What the names of all objects begin with, without a `/` at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl fmt::Display for S3Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "s3://{}{slash}{}", self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_bucket_and_maybe_a_prefix() {
        for (text, bucket, prefix, shown) in [
            ("s3://b", "b", "", "s3://b"),
            ("s3://b/", "b", "", "s3://b"),
            ("s3://a.b-c/p/", "a.b-c", "p", "s3://a.b-c/p"),
            ("s3://b/p/q=1", "b", "p/q=1", "s3://b/p/q=1"),
        ] {
            let url = S3Url::parse(text).unwrap();
            assert_eq!((url.bucket(), url.prefix()), (bucket, prefix), "{text}");
            assert_eq!(url.to_string(), shown);
        }
        for text in [
            "s3:/b",
            "s3://",
            "s3:///p",
            "s3://k:s@b/p",
            "s3://b//p",
            "s3://b/../p",
            "s3://b/p q",
        ] {
            let error = S3Url::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        }
    }
}
