//! The driver's TLS streams, made by rustls. The password exchange is bound to the certificate that the server showed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Makes TLS connections with one configuration.
#[derive(Clone)]
pub(super) struct RustlsConnector(pub(super) Arc<ClientConfig>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for RustlsConnector {
    type Stream = RustlsStream<S>;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        let name = ServerName::try_from(host)?.to_owned();
        Ok(Handshake { connector: Arc::clone(&self.0).into(), name })
    }
}

/// A handshake with one host.
pub(super) struct Handshake {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = RustlsStream<S>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<RustlsStream<S>>>;

    fn connect(self, stream: S) -> Self::Future {
        async move { self.connector.connect(self.name, stream).await.map(RustlsStream) }.boxed()
    }
}

/// An encrypted connection.
pub(super) struct RustlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for RustlsStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates().unwrap_or_default();
        let digest = certificates.first().and_then(|certificate| end_point(certificate));
        digest.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for RustlsStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RustlsStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// The digest of a certificate that RFC 5929 calls `tls-server-end-point`: with the hash of the certificate's own
/// signature, or SHA-256 instead of MD5 and SHA-1. `None` where the signature has no single hash.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    /// 1.2.840.113549.1.1, the signatures of RSA.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    /// 1.2.840.10045.4, the signatures of ECDSA.
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];

    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { algorithm OBJECT IDENTIFIER, … }, … }
    let (fields, _) = element(certificate)?;
    let (_, after_body) = element(fields)?;
    let (algorithm, _) = element(after_body)?;
    let (identifier, _) = element(algorithm)?;
    let sha256 = || Sha256::digest(certificate).to_vec();
    let sha384 = || Sha384::digest(certificate).to_vec();
    let sha512 = || Sha512::digest(certificate).to_vec();
    if let Some(kind) = identifier.strip_prefix(RSA) {
        return match kind {
            [4 | 5 | 11] => Some(sha256()),
            [12] => Some(sha384()),
            [13] => Some(sha512()),
            _ => None,
        };
    }
    match identifier.strip_prefix(ECDSA)? {
        [1] | [3, 2] => Some(sha256()),
        [3, 3] => Some(sha384()),
        [3, 4] => Some(sha512()),
        _ => None,
    }
}

/// The content of the first element of DER, and what follows the element.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::process::Command;

    use super::*;

    /// What OpenSSL prints.
    fn openssl(arguments: &str) -> Vec<u8> {
        let output = Command::new("openssl").args(arguments.split(' ')).output().expect("openssl starts");
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    #[test]
    fn certificates_have_the_digest_of_their_signature() {
        let folder = std::env::temp_dir().join(format!("aquifer-end-point-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (key, file) = (folder.join("key.pem"), folder.join("certificate.der"));
        let (key, file) = (key.to_str().unwrap(), file.to_str().unwrap());
        let table = [
            ("rsa:2048", "sha1", Some("sha256")),
            ("rsa:2048", "sha256", Some("sha256")),
            ("rsa:2048", "sha384", Some("sha384")),
            ("rsa:2048", "sha512", Some("sha512")),
            ("ec -pkeyopt ec_paramgen_curve:prime256v1", "sha256", Some("sha256")),
            ("ec -pkeyopt ec_paramgen_curve:prime256v1", "sha384", Some("sha384")),
            ("ec -pkeyopt ec_paramgen_curve:prime256v1", "sha512", Some("sha512")),
            ("ed25519", "sha256", None),
        ];
        for (algorithm, signature, digest) in table {
            let request = "req -x509 -nodes -days 2 -subj /CN=server -outform DER";
            openssl(&format!("{request} -keyout {key} -out {file} -newkey {algorithm} -{signature}"));
            let expected = digest.map(|digest| openssl(&format!("dgst -{digest} -binary {file}")));
            let certificate = std::fs::read(file).unwrap();
            assert_eq!(end_point(&certificate), expected, "{algorithm} {signature}");
            // No part of one is taken for a certificate.
            assert!((0..certificate.len()).all(|end| end_point(&certificate[..end]).is_none()), "{algorithm}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
