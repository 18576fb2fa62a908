//! TLS connections, and the verification of server certificates.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Config, NoTls};

use super::error;
use super::tls_stream::RustlsConnector;
use super::url::{Encryption, Roots};
use crate::error::SqlError;

/// How connections are encrypted.
#[derive(Clone)]
pub(super) enum Tls {
    Never,
    Rustls(RustlsConnector),
}

impl Tls {
    /// Sets up the encryption that a URL requires.
    pub(super) fn new(encryption: &Encryption) -> Result<Self, SqlError> {
        let builder = || {
            let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
            builder.map_err(setup_error)
        };
        let lenient = |roots| -> Result<ClientConfig, SqlError> {
            let verifier = Arc::new(AnyHost { roots, provider: provider() });
            Ok(builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
        };
        let client = match encryption {
            Encryption::Off => return Ok(Tls::Never),
            Encryption::Unverified => lenient(None)?,
            Encryption::Authority(roots) => lenient(Some(load_roots(roots)?))?,
            Encryption::AuthorityAndHost(roots) => {
                builder()?.with_root_certificates(load_roots(roots)?).with_no_client_auth()
            }
        };
        Ok(Tls::Rustls(RustlsConnector(Arc::new(client))))
    }

    /// A client, and a handle that aborts its connection.
    pub(super) async fn connect(&self, config: &Config) -> Result<(Client, AbortHandle), SqlError> {
        fn spawn_connection<S, T>(connection: tokio_postgres::Connection<S, T>) -> AbortHandle
        where
            S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
            T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        {
            // The task ends when its client is dropped.
            let line = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to PostgreSQL ended");
                }
            });
            line.abort_handle()
        }
        match self {
            Tls::Never => {
                let (client, connection) = config.connect(NoTls).await.map_err(|error| error::from_driver(&error))?;
                Ok((client, spawn_connection(connection)))
            }
            Tls::Rustls(make) => {
                let (client, connection) =
                    config.connect(make.clone()).await.map_err(|error| error::from_driver(&error))?;
                Ok((client, spawn_connection(connection)))
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

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn setup_error(error: impl std::fmt::Display) -> SqlError {
    SqlError::Unavailable { reason: "TLS cannot be set up".to_owned(), cause: error.to_string() }
}

fn load_roots(roots: &Roots) -> Result<RootCertStore, SqlError> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::File(path) => {
            let unread =
                |cause: String| SqlError::Unavailable { reason: "its sslrootcert cannot be read".to_owned(), cause };
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unread(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unread(error.to_string()))?;
                store.add(certificate).map_err(|error| unread(error.to_string()))?;
            }
            if store.is_empty() {
                return Err(unread("it holds no certificate".to_owned()));
            }
        }
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(store)
}

/// Verifies that a certificate was issued by one of these authorities, for any host. Without authorities, verifies
/// nothing.
#[derive(Debug)]
struct AnyHost {
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
