//! The settings of a client.

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;

/// The settings of a client.
#[derive(Clone)]
pub struct ClientSettings {
    /// The base URL of the API. Requests to its origin are sent, others are refused.
    pub base_url: String,
    /// Who named the base URL.
    pub base_url_origin: BaseUrlOrigin,
    /// Further base URLs that the operator named. Their origins get requests and credentials.
    pub trusted_base_urls: Vec<String>,
    /// Further base URLs that a description named. Their origins get requests without credentials, and they must be
    /// public, unless private addresses are allowed. Those that are not allowed are left out.
    pub other_base_urls: Vec<String>,
    /// Headers that the operator named. They go where credentials go, and their values are treated like credentials.
    pub headers: Vec<(String, String)>,
    /// The time for a request as a whole, with all attempts.
    pub timeout: Duration,
    /// Further texts that callers must not see, such as a key in the base URL.
    pub secrets: Vec<String>,
    /// The size of an answer after decompression.
    pub max_answer_bytes: usize,
    /// Requests at the same time. Others wait.
    pub max_concurrent: usize,
    /// The longest pause before another attempt. If the target asks for more, the call fails with the time to wait.
    pub max_retry_wait: Duration,
    /// The pause before the second attempt, on average. It doubles with each attempt.
    pub retry_delay: Duration,
    /// Whether names may resolve to private and loopback addresses. If the environment names a proxy, the proxy resolves
    /// the names of targets and has to check their addresses itself.
    pub allow_private_addresses: bool,
    /// Certificates (PEM) that are trusted in addition to those of the operating system.
    pub root_certificates: Vec<Vec<u8>>,
    /// Resolves names, if not the operating system.
    pub resolver: Option<Arc<dyn Resolve>>,
}

/// Who named the base URL of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseUrlOrigin {
    /// The operator, who may name any address as a literal, and `localhost`.
    Operator,
    /// A description. It may name public hosts only, unless private addresses are allowed.
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
