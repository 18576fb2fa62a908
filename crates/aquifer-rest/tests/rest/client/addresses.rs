//! The hosts and addresses that requests may go to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_protocol::error::Code;
use aquifer_rest::client::BaseUrlOrigin;
use aquifer_rest::{Authenticator, ClientSettings, HttpClient};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server::{Reply, Server};
use super::{assert_code, client, failure, get, post, send};

/// Resolves each lookup to the next address, and repeats the last one. An empty text is a failed lookup.
struct ScriptedResolver {
    addresses: Vec<&'static str>,
    lookups: AtomicUsize,
}

impl ScriptedResolver {
    fn new(addresses: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { addresses: addresses.to_vec(), lookups: AtomicUsize::new(0) })
    }
}

impl Resolve for ScriptedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let number = self.lookups.fetch_add(1, Ordering::SeqCst).min(self.addresses.len() - 1);
        let addresses: Vec<SocketAddr> =
            self.addresses[number].split_whitespace().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
        Box::pin(async move {
            if addresses.is_empty() {
                return Err("no such host".into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

fn resolved(url: &str, resolver: &Arc<ScriptedResolver>) -> ClientSettings {
    ClientSettings {
        resolver: Some(resolver.clone()),
        retry_delay: Duration::from_millis(1),
        timeout: Duration::from_secs(5),
        ..ClientSettings::new(url)
    }
}

#[tokio::test]
async fn names_that_resolve_to_forbidden_addresses_are_refused() {
    for addresses in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "192.168.0.1 fe80::1",
        "::1",
    ] {
        let resolver = ScriptedResolver::new(&[addresses]);
        let failure =
            failure(&client(&resolved("https://api.example", &resolver)), post("https://api.example/x")).await;
        assert_eq!(failure.code(), Code::PermissionDenied, "{addresses}: {}", failure.message());
        assert!(!failure.is_outcome_unknown(), "{addresses}");
        assert_eq!(resolver.lookups.load(Ordering::SeqCst), 1, "{addresses}: there is no second attempt");
    }
}

#[tokio::test]
async fn localhost_is_this_machine_and_nothing_else() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let url = format!("http://localhost:{}", server.port());
    for (addresses, is_allowed) in
        [("127.0.0.1", true), ("10.0.0.1", false), ("1.1.1.1", false), ("10.0.0.1 127.0.0.1", true)]
    {
        let result = send(&client(&resolved(&url, &ScriptedResolver::new(&[addresses]))), get(&url)).await;
        assert_eq!(result.is_ok(), is_allowed, "{addresses}");
    }
}

#[tokio::test]
async fn every_lookup_is_checked() {
    let server = Server::start(|_, _| Reply::json(200, "{}").with("connection", "close")).await;
    let url = format!("http://localhost:{}", server.port());
    let resolver = ScriptedResolver::new(&["127.0.0.1", "169.254.169.254"]);
    let client = client(&resolved(&url, &resolver));
    send(&client, get(&url)).await.unwrap();
    server.wait_for_closed(1).await;
    let failure = failure(&client, get(&url)).await;
    assert_eq!(failure.code(), Code::PermissionDenied, "{}", failure.message());
    assert_eq!((server.count(), resolver.lookups.load(Ordering::SeqCst)), (1, 2));
}

/// Accepts connections and responds without TLS. Returns its port.
async fn plain_server(response: &'static [u8]) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(response).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

#[tokio::test]
async fn private_addresses_may_be_allowed() {
    for response in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b""] {
        let url = format!("https://api.example:{}", plain_server(response).await);
        let resolver = ScriptedResolver::new(&["127.0.0.1"]);
        let settings = ClientSettings { allow_private_addresses: true, ..resolved(&url, &resolver) };
        // The server does not support TLS: the connection is established, but not secure.
        let failure_of_tls = failure(&client(&settings), post(&url)).await;
        assert_code(&failure_of_tls, Code::TransportTlsError);
        assert!(!failure_of_tls.is_outcome_unknown());
        assert_eq!(resolver.lookups.load(Ordering::SeqCst), 1, "there is no second attempt");
        let metadata = ClientSettings { resolver: Some(ScriptedResolver::new(&["169.254.169.254"])), ..settings };
        assert_eq!(failure(&client(&metadata), get(&url)).await.code(), Code::PermissionDenied);
    }
}

#[tokio::test]
async fn unknown_names_are_looked_up_again() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let url = format!("http://localhost:{}", server.port());
    let resolver = ScriptedResolver::new(&["", "", "127.0.0.1"]);
    assert_eq!(send(&client(&resolved(&url, &resolver)), post(&url)).await.unwrap().status, 200);
    assert_eq!(server.count(), 1, "nothing was sent before");
    let resolver = ScriptedResolver::new(&[""]);
    let failure = failure(&client(&resolved(&url, &resolver)), post(&url)).await;
    assert_code(&failure, Code::TransportDnsError);
    assert!(!failure.is_outcome_unknown());
    assert_eq!(resolver.lookups.load(Ordering::SeqCst), 3);
}

#[test]
fn base_urls_are_checked_when_the_client_is_created() {
    use BaseUrlOrigin::{Description, Operator};
    for (base_url, origin, is_allowed) in [
        ("https://api.example/v1", Operator, true),
        ("https://api.example/v1", Description, true),
        ("http://api.example/v1", Operator, false),
        ("http://localhost:1", Operator, true),
        ("http://localhost:1", Description, false),
        ("http://127.0.0.1:1", Operator, true),
        ("http://127.0.0.1:1", Description, false),
        ("http://2130706433:1", Operator, true),
        ("http://0x7f.1:1", Description, false),
        ("http://[::1]:1", Operator, true),
        ("https://10.0.0.1", Operator, true),
        ("http://10.0.0.1", Operator, false),
        ("https://10.0.0.1", Description, false),
        ("https://169.254.169.254", Description, false),
        ("http://169.254.169.254", Operator, false),
        ("https://0.0.0.0", Operator, false),
        ("https://user:password@api.example", Operator, false),
        ("https://api.example?x=1", Operator, false),
        ("https://api.example#x", Operator, false),
        ("ftp://api.example", Operator, false),
        ("", Operator, false),
    ] {
        let settings = ClientSettings { base_url_origin: origin, ..ClientSettings::new(base_url) };
        let result = HttpClient::new(&settings, Authenticator::none());
        assert_eq!(result.is_ok(), is_allowed, "{base_url} {origin:?}");
        if let Err(error) = result {
            assert!(!error.into_failure("pets").message().contains("password@"));
        }
    }
    let private = ClientSettings {
        base_url_origin: Description,
        allow_private_addresses: true,
        ..ClientSettings::new("https://10.0.0.1")
    };
    assert!(HttpClient::new(&private, Authenticator::none()).is_ok());
}

#[tokio::test]
async fn requests_to_other_origins_are_not_sent() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let other = Server::start(|_, _| Reply::json(200, "{}")).await;
    let settings = ClientSettings::new(server.url());
    let refusing = client(&settings);
    for url in [
        other.url(),
        format!("http://localhost:{}", server.port()),
        format!("https://127.0.0.1:{}", server.port()),
        format!("http://127.0.0.1:{}@127.0.0.1:{}/", server.port(), other.port()),
        format!("http://user@127.0.0.1:{}/", server.port()),
        "https://evil.example/".to_owned(),
        "http://169.254.169.254/".to_owned(),
    ] {
        let failure = failure(&refusing, get(&url)).await;
        assert_eq!(failure.code(), Code::PermissionDenied, "{url}: {}", failure.message());
    }
    assert_eq!((server.count(), other.count()), (0, 0));
    let trusted = ClientSettings { trusted_base_urls: vec![other.url()], ..settings.clone() };
    assert_eq!(send(&client(&trusted), get(&other.url())).await.unwrap().status, 200);
    // A description cannot name this machine, even if the operator did.
    let named = ClientSettings { other_base_urls: vec![other.url(), "nonsense".to_owned()], ..settings };
    assert_eq!(failure(&client(&named), get(&other.url())).await.code(), Code::PermissionDenied);
    let allowed = ClientSettings { allow_private_addresses: true, ..named };
    assert_eq!(send(&client(&allowed), get(&other.url())).await.unwrap().status, 200);
    assert_eq!((server.count(), other.count()), (0, 2));
}
