//! What all HTTP clients share: the networks that requests may go to, TLS, proxies, requested waits, limits of size, and
//! tokens of OAuth.

#[cfg(feature = "client")]
mod body;
#[cfg(feature = "client")]
mod causes;
#[cfg(feature = "client")]
mod client;
mod host;
#[cfg(feature = "client")]
mod resolver;
#[cfg(feature = "client")]
mod token;
#[cfg(feature = "client")]
mod url;
#[cfg(feature = "client")]
mod wait;
mod zone;

#[cfg(feature = "client")]
pub use body::{BodyError, read_body};
#[cfg(feature = "client")]
pub use causes::causes;
#[cfg(feature = "client")]
pub use client::{client_builder, client_builder_for, form_encoded, install_tls_provider};
pub use host::{host_address, is_loopback_host, normalized};
#[cfg(feature = "client")]
pub use resolver::{CheckedResolver, ResolveError, environment_proxies};
#[cfg(feature = "client")]
pub use token::{IssuedToken, OAuthError, UnusableToken, basic_credentials};
#[cfg(feature = "client")]
pub use url::{address, is_loopback, is_secure};
#[cfg(feature = "client")]
pub use wait::{parse_wait, retry_after, time_until_reset};
pub use zone::NetworkZone;
