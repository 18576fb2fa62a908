//! Secure connections: which certificates are accepted.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aquifer_protocol::error::Code;
use aquifer_rest::{Authenticator, ClientSettings, HttpClient};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{assert_code, client, failure, post, send};

/// A server with a self-signed certificate for 127.0.0.1.
struct TlsServer {
    port: u16,
    certificate: Vec<u8>,
    requests: Arc<AtomicUsize>,
}

impl TlsServer {
    async fn start(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem", "-subj", "/CN=aquifer"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"])
            .current_dir(&folder)
            .output()
            .expect("openssl starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let chain = vec![CertificateDer::from_pem_file(folder.join("certificate.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
        let certificate = std::fs::read(folder.join("certificate.pem")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), requests.clone()));
        Self { port, certificate, requests }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}", self.port)
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, requests: Arc<AtomicUsize>) {
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(mut stream) = acceptor.accept(stream).await else { continue };
        if stream.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {
            requests.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}").await;
            let _ = stream.shutdown().await;
        }
    }
}

#[tokio::test]
async fn trusted_certificates_are_accepted() {
    let server = TlsServer::start("trusted").await;
    let url = server.url("127.0.0.1");
    let settings =
        ClientSettings { root_certificates: vec![server.certificate.clone()], ..ClientSettings::new(url.as_str()) };
    assert_eq!(send(&client(&settings), post(&url)).await.unwrap().status, 200);
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn other_certificates_are_refused_before_anything_is_sent() {
    let server = TlsServer::start("refused").await;
    let trusted = vec![server.certificate.clone()];
    for (host, root_certificates) in [("127.0.0.1", Vec::new()), ("localhost", trusted)] {
        let url = server.url(host);
        let settings = ClientSettings { root_certificates, ..ClientSettings::new(url.as_str()) };
        let failure = failure(&client(&settings), post(&url)).await;
        assert_code(&failure, Code::TransportTlsError);
        assert!(!failure.is_outcome_unknown(), "{host}");
    }
    assert_eq!(server.requests.load(Ordering::SeqCst), 0);
}

#[test]
fn invalid_certificates_are_reported() {
    let settings = ClientSettings {
        root_certificates: vec![b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----".to_vec()],
        ..ClientSettings::new("https://api.example")
    };
    assert!(HttpClient::new(&settings, Authenticator::none()).is_err());
}
