//! Encrypted connections, with the meaning that PostgreSQL's own tools give to `sslmode`: `prefer` and `require` encrypt,
//! `verify-ca` and `verify-full` also check who answers, against the system's certificates or `sslrootcert`.

use std::str::FromStr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::task::AbortHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::trouble;
use crate::trouble::Trouble;

/// How connections are encrypted.
#[derive(Clone)]
pub(super) enum Tls {
    Never,
    Rustls(MakeRustlsConnect),
}

impl Tls {
    /// A client, and what ends its connection at once.
    pub(super) async fn connect(&self, config: &Config) -> Result<(Client, AbortHandle), Trouble> {
        fn spawned<S, T>(connection: tokio_postgres::Connection<S, T>) -> AbortHandle
        where
            S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
            T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        {
            // It ends when its client is dropped.
            let line = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to PostgreSQL ended");
                }
            });
            line.abort_handle()
        }
        match self {
            Tls::Never => {
                let (client, connection) = config.connect(NoTls).await.map_err(|error| trouble::of(&error))?;
                Ok((client, spawned(connection)))
            }
            Tls::Rustls(make) => {
                let (client, connection) = config.connect(make.clone()).await.map_err(|error| trouble::of(&error))?;
                Ok((client, spawned(connection)))
            }
        }
    }

    pub(super) async fn cancel(&self, token: &tokio_postgres::CancelToken) -> Result<(), tokio_postgres::Error> {
        match self {
            Tls::Never => token.cancel_query(NoTls).await,
            Tls::Rustls(make) => token.cancel_query(make.clone()).await,
        }
    }
}

/// What a URL says about where and how to connect.
pub(super) fn read(url: &str) -> Result<(Config, Tls), Trouble> {
    let invalid = |reason: &str, cause: String| Trouble::Unavailable { reason: reason.to_owned(), cause };
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => roots = Some(value.replace("%2F", "/").replace("%2f", "/")),
            _ => rest.push(pair),
        }
    }
    let base = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    let mut config = Config::from_str(&base).map_err(|error| invalid("its URL is not valid", error.to_string()))?;
    if config.get_application_name().is_none() {
        config.application_name("aquifer");
    }
    let mode = mode.as_deref().unwrap_or("prefer");
    let (ssl, verify) = match mode {
        "disable" => (SslMode::Disable, false),
        "allow" | "prefer" => (SslMode::Prefer, false),
        "require" => (SslMode::Require, roots.is_some()),
        "verify-ca" | "verify-full" => (SslMode::Require, true),
        other => {
            let reason = "its sslmode is not one of disable, prefer, require, verify-ca, verify-full";
            return Err(invalid(reason, format!("sslmode={other}")));
        }
    };
    config.ssl_mode(ssl);
    if ssl == SslMode::Disable {
        return Ok((config, Tls::Never));
    }
    let client = if verify { verifying(roots.as_deref())? } else { trusting()? };
    Ok((config, Tls::Rustls(MakeRustlsConnect::new(client))))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn unusable(error: impl std::fmt::Display) -> Trouble {
    Trouble::Unavailable { reason: "no encryption can be set up".to_owned(), cause: error.to_string() }
}

fn verifying(file: Option<&str>) -> Result<ClientConfig, Trouble> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let unread = |error: rustls::pki_types::pem::Error| Trouble::Unavailable {
                reason: "its sslrootcert cannot be read".to_owned(),
                cause: error.to_string(),
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(unread)? {
                roots.add(certificate.map_err(unread)?).map_err(unusable)?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    Ok(builder.map_err(unusable)?.with_root_certificates(roots).with_no_client_auth())
}

fn trusting() -> Result<ClientConfig, Trouble> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let anybody = Arc::new(Anybody(provider()));
    let builder = builder.map_err(unusable)?.dangerous().with_custom_certificate_verifier(anybody);
    Ok(builder.with_no_client_auth())
}

/// Encrypts without asking who answers: what `prefer` and `require` mean.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
