//! The seam to object stores: six calls that wait for their result. Nothing else here knows which client makes them.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use oarlock_ir::{Error, Kind, Result};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use tokio::runtime::Runtime;

/// Bytes that are sent at a time; the least that S3 takes as a part is 5 MiB.
const PART: usize = 8 << 20;

/// How often, and for how long, a request is tried again when the server fails or does not answer.
const RETRIES: usize = 6;
const PATIENCE: Duration = Duration::from_secs(60);

/// The objects of one bucket.
#[derive(Clone)]
pub(super) struct Objects {
    client: Arc<dyn ObjectStore>,
    runtime: Arc<Runtime>,
    /// The bucket, as messages name it: `s3://bucket`.
    pub(super) bucket: String,
}

/// An object that exists.
pub(super) struct Found {
    pub(super) key: String,
    pub(super) size: u64,
}

/// A service: how its URLs start, what it needs to know, and where that can stand.
struct Service {
    scheme: &'static str,
    /// One of these must be set.
    credentials: &'static [&'static str],
    help: &'static str,
    connect: fn(&str) -> object_store::Result<Arc<dyn ObjectStore>>,
}

const SERVICES: [Service; 3] = [
    Service {
        scheme: "s3",
        credentials: &[
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_METADATA_ENDPOINT",
            "AWS_SKIP_SIGNATURE",
        ],
        help: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_REGION, or AWS_ENDPOINT for another server); \
               AWS_SKIP_SIGNATURE=true reads public buckets",
        connect: |url| Ok(Arc::new(AmazonS3Builder::from_env().with_url(url).with_retry(retries()).build()?)),
    },
    Service {
        scheme: "gs",
        credentials: &[
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SKIP_SIGNATURE",
        ],
        help: "set GOOGLE_APPLICATION_CREDENTIALS to the path of a key file; GOOGLE_SKIP_SIGNATURE=true reads public buckets",
        connect: |url| Ok(Arc::new(GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retries()).build()?)),
    },
    Service {
        scheme: "az",
        credentials: &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_ID",
            "AZURE_SKIP_SIGNATURE",
        ],
        help: "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        connect: |url| Ok(Arc::new(MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retries()).build()?)),
    },
];

fn retries() -> RetryConfig {
    RetryConfig { max_retries: RETRIES, retry_timeout: PATIENCE, ..RetryConfig::default() }
}

impl Objects {
    /// Connects to the bucket of a URL such as `s3://bucket/some/folder`; returns the key of the folder, too.
    pub(super) fn connect(scheme: &str, rest: &str) -> Result<(Objects, String)> {
        let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
        let url = format!("{scheme}://{bucket}");
        let Some(service) = SERVICES.iter().find(|s| s.scheme == scheme) else {
            let known: Vec<String> = SERVICES.iter().map(|s| format!("{}://", s.scheme)).collect();
            let what = format!("{scheme}://{rest}: there is no storage of that kind");
            return Err(Error::new(Kind::Unsupported, what).help(format!("use a directory, or {}", known.join(", "))));
        };
        if bucket.is_empty() {
            return Err(Error::new(Kind::Argument, format!("{scheme}://{rest} names no bucket"))
                .help(format!("write {scheme}://bucket/folder")));
        }
        if !service.credentials.iter().any(|name| is_set(name)) {
            return Err(Error::new(Kind::Argument, format!("there are no credentials for {url}")).help(service.help));
        }
        let client = (service.connect)(&url).map_err(|e| failed("connect to", &url, &e))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|e| Error::new(Kind::Io, format!("cannot start a thread for {url}: {e}")))?;
        let objects = Objects { client, runtime: Arc::new(runtime), bucket: url };
        Ok((objects, folder.trim_matches('/').to_string()))
    }

    fn name(&self, key: &str) -> String {
        format!("{}/{key}", self.bucket)
    }

    /// Some bytes of an object.
    pub(super) fn get(&self, key: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let bytes = self.runtime.block_on(self.client.get_range(&Path::from(key), range));
        bytes.map(|b| b.to_vec()).map_err(|e| failed("read", &self.name(key), &e))
    }

    /// An object's size; `None` if there is no such object.
    pub(super) fn size(&self, key: &str) -> Result<Option<u64>> {
        match self.runtime.block_on(self.client.head(&Path::from(key))) {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(failed("look for", &self.name(key), &e)),
        }
    }

    /// Writes an object at once.
    pub(super) fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        let done = self.runtime.block_on(self.client.put(&Path::from(key), PutPayload::from(bytes)));
        done.map(|_| ()).map_err(|e| failed("write", &self.name(key), &e))
    }

    /// Copies an object inside the bucket.
    pub(super) fn copy(&self, from: &str, to: &str) -> Result<()> {
        let done = self.runtime.block_on(self.client.copy(&Path::from(from), &Path::from(to)));
        done.map_err(|e| failed("copy to", &self.name(to), &e))
    }

    /// Deletes an object; one that is gone already is as good.
    pub(super) fn delete(&self, key: &str) -> Result<()> {
        match self.runtime.block_on(self.client.delete(&Path::from(key))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(failed("delete", &self.name(key), &e)),
        }
    }

    /// All objects of a folder and the folders inside it.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<Found>> {
        let prefix = Path::from(folder);
        let found = self.runtime.block_on(self.client.list(Some(&prefix)).try_collect::<Vec<_>>());
        let found = found.map_err(|e| failed("list", &self.name(folder), &e))?;
        Ok(found.into_iter().map(|meta| Found { key: meta.location.to_string(), size: meta.size }).collect())
    }

    /// The folders directly inside a folder, as keys.
    pub(super) fn folders(&self, folder: &str) -> Result<Vec<String>> {
        let found = self.runtime.block_on(self.client.list_with_delimiter(Some(&Path::from(folder))));
        let found = found.map_err(|e| failed("list", &self.name(folder), &e))?;
        Ok(found.common_prefixes.iter().map(ToString::to_string).collect())
    }

    /// Starts to write an object piece by piece. It exists once [`Upload::finish`] has returned.
    pub(super) fn upload(&self, key: &str) -> Upload {
        Upload { objects: self.clone(), key: key.into(), buffer: Vec::new(), parts: None }
    }
}

#[expect(clippy::disallowed_methods, reason = "credentials stand in the environment; their values are not read here")]
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// An error of the client.
fn failed(does: &str, what: &str, e: &object_store::Error) -> Error {
    let kind = match e {
        object_store::Error::NotFound { .. } => Kind::Missing,
        _ => Kind::Io,
    };
    // The client wraps the cause in several layers, of which the innermost says what happened.
    let mut cause: &dyn std::error::Error = e;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let error = Error::new(kind, format!("cannot {does} {what}: {cause}"));
    match e {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            error.help("check the credentials in the environment, and that they may read and write there")
        }
        object_store::Error::NotFound { .. } => error.help("check the bucket and the path"),
        _ => error.note(format!("it was tried {} times within {} s", RETRIES + 1, PATIENCE.as_secs())),
    }
}

/// An object being written.
pub(super) struct Upload {
    objects: Objects,
    key: String,
    buffer: Vec<u8>,
    /// Set once there is more than one part.
    parts: Option<Box<dyn MultipartUpload>>,
}

impl Upload {
    fn send(&mut self) -> object_store::Result<()> {
        let part = PutPayload::from(std::mem::take(&mut self.buffer));
        let (runtime, path) = (&self.objects.runtime, Path::from(self.key.as_str()));
        if self.parts.is_none() {
            self.parts = Some(runtime.block_on(self.objects.client.put_multipart(&path))?);
        }
        match &mut self.parts {
            Some(parts) => runtime.block_on(parts.put_part(part)),
            None => Ok(()),
        }
    }

    /// Makes the object exist.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.parts.is_none() {
            return self.objects.put(&self.key, std::mem::take(&mut self.buffer));
        }
        let name = self.objects.name(&self.key);
        self.send().map_err(|e| failed("write", &name, &e))?;
        match &mut self.parts {
            Some(parts) => {
                let done = self.objects.runtime.block_on(parts.complete());
                done.map(|_| ()).map_err(|e| failed("write", &name, &e))
            }
            None => Ok(()),
        }
    }
}

impl io::Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(PART - self.buffer.len().min(PART));
        self.buffer.extend_from_slice(&bytes[..n]);
        if self.buffer.len() >= PART {
            self.send().map_err(io::Error::other)?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
