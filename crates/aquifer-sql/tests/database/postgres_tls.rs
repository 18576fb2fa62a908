//! `sslmode` and `sslrootcert` against a real server behind TLS: each mode verifies exactly what libpq's does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use aquifer_sql::Settings;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::postgres_failures::role_on;
use crate::server::{Server, address};
use crate::support::{open, unique};

/// Certificates in a temporary folder whose name needs percent-encoding.
struct Certificates(PathBuf);

impl Certificates {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("{} ä+%2F&=", unique("tls")));
        std::fs::create_dir_all(&folder).unwrap();
        let certificates = Self(folder);
        certificates.authority("authority");
        certificates.authority("stranger");
        certificates.signed("for_host", "DNS:localhost,IP:127.0.0.1", "2");
        certificates.signed("for_other", "DNS:db.internal", "2");
        certificates
    }

    fn openssl(&self, words: &str) {
        let made =
            Command::new("openssl").args(words.split(' ')).current_dir(&self.0).output().expect("openssl starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn authority(&self, name: &str) {
        self.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout {name}.key -out {name}.pem \
             -subj /CN={name} -addext keyUsage=critical,keyCertSign"
        ));
    }

    fn signed(&self, name: &str, names: &str, days: &str) {
        self.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days {days} -keyout {name}.key \
             -out {name}.pem -subj /CN=server -CA authority.pem -CAkey authority.key \
             -addext subjectAltName={names} -addext basicConstraints=critical,CA:FALSE"
        ));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every special byte is encoded.
fn percent_encoded(path: &Path) -> String {
    let encoded = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    path.to_str().unwrap().bytes().map(encoded).collect()
}

/// A TLS port in front of the server of the tests.
async fn behind_tls(certificates: &Certificates, name: &str) -> u16 {
    let chain = CertificateDer::from_pem_file(certificates.file(&format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates.file(&format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![chain], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // The eight bytes that request TLS, and the answer.
                let mut request = [0; 8];
                near.read_exact(&mut request).await?;
                near.write_all(b"S").await?;
                let mut near = acceptor.accept(near).await?;
                let mut far = TcpStream::connect(address()).await?;
                tokio::io::copy_bidirectional(&mut near, &mut far).await
            });
        }
    });
    port
}

#[tokio::test]
async fn each_sslmode_verifies_what_libpq_verifies() {
    let server = Server::new("CREATE TABLE notes (id int PRIMARY KEY)").await;
    let role = role_on(&server).await;
    let certificates = Certificates::new();
    let (host, port) = address();
    let ca = format!("&sslrootcert={}", percent_encoded(&certificates.file("authority.pem")));
    let strange = format!("&sslrootcert={}", percent_encoded(&certificates.file("stranger.pem")));
    let missing = format!("&sslrootcert={}", percent_encoded(&certificates.file("missing.pem")));
    let empty = format!("&sslrootcert={}", percent_encoded(&certificates.file("authority.key")));
    let (distrusted, elsewhere) = ("is not trusted", "is for another host name");
    for (certificate, query, refused) in [
        ("for_other", "sslmode=prefer", None),
        ("for_other", "sslmode=require", None),
        ("for_other", &format!("sslmode=require{ca}"), None),
        ("for_other", &format!("sslmode=verify-ca{ca}"), None),
        ("for_other", &format!("sslmode=verify-full{ca}"), Some(elsewhere)),
        ("for_host", &format!("sslmode=verify-ca{ca}"), None),
        ("for_host", &format!("sslmode=verify-full{ca}"), None),
        ("for_host", &format!("sslmode=verify-ca{strange}"), Some(distrusted)),
        ("for_host", &format!("sslmode=require{strange}"), Some(distrusted)),
        ("for_host", &format!("sslmode=verify-full{strange}"), Some(distrusted)),
        ("for_host", "sslmode=verify-ca", Some(distrusted)),
        ("for_host", "sslmode=verify-full", Some(distrusted)),
        ("for_host", "sslrootcert=system", Some(distrusted)),
        ("for_host", &format!("sslmode=verify-ca{missing}"), Some("sslrootcert cannot be read")),
        ("for_host", &format!("sslmode=verify-ca{empty}"), Some("sslrootcert cannot be read")),
        // The key of one authority does not make a certificate of another one valid.
        ("stranger", &format!("sslmode=verify-ca{ca}"), Some(distrusted)),
    ] {
        let near = behind_tls(&certificates, certificate).await;
        let url = server.url_of(&role).replace(&format!("@{host}:{port}/"), &format!("@127.0.0.1:{near}/"));
        let settings = Settings::new("here", &format!("{url}?{query}")).unwrap();
        match (open(settings).await, refused) {
            (Ok(_), None) => {}
            (Err(failure), Some(words)) => {
                assert!(failure.message().contains(words), "{certificate} {query}: {failure:?}");
            }
            (opened, _) => panic!("{certificate} {query}: {:?}", opened.err()),
        }
    }
}
