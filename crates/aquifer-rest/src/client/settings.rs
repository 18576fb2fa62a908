//! The settings of a client.

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;

/// The settings of a client.
#[derive(Clone)]
pub struct ClientSettings {
    /// The base URL of the API. Its origin receives requests and credentials. Requests to origins that are not
    /// configured are refused.
    pub base_url: String,
    /// Who named the base URL.
    pub base_url_origin: BaseUrlOrigin,
    /// Additional base URLs named by the operator. Their origins receive requests and credentials.
    pub trusted_base_urls: Vec<String>,
    /// Additional base URLs named by a description. Their origins receive requests without credentials. They must be
    /// public unless private addresses are allowed; others are ignored.
    pub other_base_urls: Vec<String>,
    /// Headers set by the operator. They are sent wherever credentials are sent, and their values are treated like
    /// credentials.
    pub headers: Vec<(String, String)>,
    /// The timeout of a request, including all attempts.
    pub timeout: Duration,
    /// Additional texts that callers must not see, such as a key in the base URL.
    pub secrets: Vec<String>,
    /// The maximum size of a response after decompression.
    pub max_answer_bytes: usize,
    /// The maximum number of concurrent requests. Others wait.
    pub max_concurrent: usize,
    /// The maximum delay before a retry. If the target requests more, the call fails and reports the time to wait.
    pub max_retry_wait: Duration,
    /// The average delay before the first retry. It doubles with each retry.
    pub retry_delay: Duration,
    /// Whether host names may resolve to private and loopback addresses. If the environment configures a proxy, the
    /// proxy resolves the host names of targets and must check their addresses itself.
    pub allow_private_addresses: bool,
    /// PEM certificates that are trusted in addition to those of the operating system.
    pub root_certificates: Vec<Vec<u8>>,
    /// Resolves host names instead of the operating system.
    pub resolver: Option<Arc<dyn Resolve>>,
}

/// Who named the base URL of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseUrlOrigin {
    /// The operator, who may name any literal address and `localhost`.
    Operator,
    /// A description, which may name only public hosts unless private addresses are allowed.
    Description,
}

impl ClientSettings {
    /// Settings for a base URL that the operator named.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            base_url_origin: BaseUrlOrigin::Operator,
            trusted_base_urls: Vec::new(),
            other_base_urls: Vec::new(),
            headers: Vec::new(),
            timeout: Duration::from_secs(30),
            secrets: Vec::new(),
            max_answer_bytes: 10 * 1024 * 1024,
            max_concurrent: 16,
            max_retry_wait: Duration::from_secs(10),
            retry_delay: Duration::from_millis(250),
            allow_private_addresses: false,
            root_certificates: Vec::new(),
            resolver: None,
        }
    }
}
