//! S3 as blobs: objects of a bucket, beside a catalogue of another engine.
//!
//! An object is made by one request and never changed, so a segment cannot be added to one: each [`append`](crate::Blobs::append) makes an object. Its name says
//! which segments it has and where they lie in it, so that the listing of a blob is its index, and an object is nothing but segments.

mod blobs;
mod errors;
mod index;
mod object;
mod url;

pub use url::S3Url;

use crate::error::{Error, ErrorKind, Result};
use crate::io_thread::IoThread;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::{ClientOptions, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// What the names of all objects may have before that of the namespace.
const PREFIX_LEN_MAX: usize = 100;

/// How a bucket is used. What is not set here is taken from the variables of AWS's own programs: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
/// `AWS_REGION`, `AWS_ENDPOINT_URL` and others.
#[derive(Clone)]
#[non_exhaustive]
pub struct S3Options {
    /// How long a request may take before it is given up. Less than a lease: 3 seconds by default.
    pub request_time_max: Duration,
    /// `http://HOST:PORT` or `https://HOST:PORT` of a server that is not Amazon's.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The access key and its secret.
    pub keys: Option<(String, String)>,
}

impl std::fmt::Debug for S3Options {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Options")
            .field("request_time_max", &self.request_time_max)
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("keys", &self.keys.as_ref().map(|(key, _)| key))
            .finish()
    }
}

impl Default for S3Options {
    fn default() -> S3Options {
        S3Options {
            request_time_max: Duration::from_secs(3),
            endpoint: None,
            region: None,
            keys: None,
        }
    }
}

impl S3Options {
    /// The defaults.
    pub fn new() -> S3Options {
        S3Options::default()
    }

    /// With another longest time of a request.
    #[must_use]
    pub fn request_time_max(mut self, time: Duration) -> S3Options {
        self.request_time_max = time;
        self
    }

    /// With a server that is not Amazon's.
    #[must_use]
    pub fn endpoint(mut self, url: &str) -> S3Options {
        self.endpoint = Some(url.to_owned());
        self
    }

    /// With a region.
    #[must_use]
    pub fn region(mut self, region: &str) -> S3Options {
        self.region = Some(region.to_owned());
        self
    }

    /// With an access key and its secret.
    #[must_use]
    pub fn keys(mut self, key: &str, secret: &str) -> S3Options {
        self.keys = Some((key.to_owned(), secret.to_owned()));
        self
    }
}

/// A bucket, or what of it begins with a prefix. It is [`Blobs`](crate::Blobs); the catalogue is one of another engine. Clones are the same.
///
/// ```no_run
/// use larder_remote_files::{Cluster, S3, S3Options, S3Url, SystemClock};
/// use larder_remote_files::model::{Model, ModelClock};
/// use std::{sync::Arc, time::Duration};
///
/// // In place of a real engine's.
/// let catalogue = Arc::new(Model::new(Arc::new(ModelClock::new())).client());
/// let url = S3Url::parse("s3://stores/larder")?;
/// let blobs = Arc::new(S3::connect(&url, S3Options::new().endpoint("http://127.0.0.1:9000"))?);
/// let cluster = Cluster::new(catalogue, blobs, Arc::new(SystemClock::new()), Duration::from_secs(10));
/// # Ok::<(), larder_remote_files::Error>(())
/// ```
#[derive(Clone)]
pub struct S3 {
    shared: Arc<Shared>,
}

struct Shared {
    bucket: Arc<AmazonS3>,
    /// The address, also for messages.
    place: String,
    /// What the names of all objects begin with: empty, or with a `/` at its end.
    prefix: String,
    time_max: Duration,
    index: index::Index,
    thread: IoThread,
}

impl std::fmt::Debug for S3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shared.place)
    }
}

impl S3 {
    /// Connects to a bucket, which must be there.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer, `Denied` for a wrong key, `Usage` for a bucket that is not there or a prefix of more than 100 bytes.
    pub fn connect(url: &S3Url, options: S3Options) -> Result<S3> {
        let place = url.to_string();
        let opened = open(url, &options).map_err(|error| error.context(&place))?;
        let prefix = match url.prefix() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        let s3 = S3 {
            shared: Arc::new(Shared {
                bucket: Arc::new(opened),
                place,
                prefix,
                time_max: options.request_time_max,
                index: index::Index::default(),
                thread: IoThread::start("larder-s3")?,
            }),
        };
        // Whether it answers, and lists what begins with the prefix.
        let probe = PaginatedListOptions {
            max_keys: Some(1),
            ..PaginatedListOptions::default()
        };
        let (bucket, prefix) = (Arc::clone(&s3.shared.bucket), s3.shared.prefix.clone());
        s3.run(ErrorKind::Unavailable, async move {
            let listed = bucket.list_paginated(Some(&prefix), probe).await;
            listed.map(drop).map_err(|error| errors::of(&error))
        })?;
        Ok(s3)
    }

    fn run<T: Send + 'static>(
        &self,
        late: ErrorKind,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let result = self.shared.thread.run(self.shared.time_max, late, request);
        result.map_err(|error| error.context(&self.shared.place))
    }
}

fn open(url: &S3Url, options: &S3Options) -> Result<AmazonS3> {
    if url.prefix().len() > PREFIX_LEN_MAX {
        let what = format!("a prefix has {PREFIX_LEN_MAX} bytes at most");
        return Err(Error::new(ErrorKind::Usage, what));
    }
    // The client's protocol for https has no cryptography of its own. If the program has installed some, that is used.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(url.bucket());
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &options.region {
        builder = builder.with_region(region);
    }
    if let Some((key, secret)) = &options.keys {
        builder = builder
            .with_access_key_id(key)
            .with_secret_access_key(secret);
    }
    let client = ClientOptions::new()
        .with_timeout(options.request_time_max)
        .with_connect_timeout(options.request_time_max)
        // Only a server whose address begins with http:// is asked without TLS.
        .with_allow_http(true);
    // Requests are tried again by `Cluster`.
    let once = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let built = builder.with_client_options(client).with_retry(once).build();
    built.map_err(|error| Error::new(ErrorKind::Usage, errors::words(&error)))
}
