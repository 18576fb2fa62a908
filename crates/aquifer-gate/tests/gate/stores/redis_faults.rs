//! Failures of Redis during use: each is an error within a bounded time, and the store recovers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};
use aquifer_gate::store::{RedisSettings, RedisStore};
use futures::future::join_all;
use tokio::sync::Semaphore;

use super::redis_server::{PASSWORD, Server, free_port};
use super::setup::{Folder, MINUTE, eventually, with_deadline};

async fn put(store: &RedisStore, key: &str) -> Result<bool, StoreError> {
    let written = with_deadline(store.compare_and_set(key, None, b"value".to_vec(), MINUTE * 60)).await;
    if let Err(error) = &written {
        let message = format!("{error} {error:?}");
        assert!(!message.contains(PASSWORD), "{message}");
    }
    written
}

async fn works_again(store: &RedisStore, key: &str) {
    eventually("Redis works again", async || put(store, key).await.is_ok()).await;
    assert!(!put(store, key).await.unwrap());
    assert!(store.spend(key, 1, 10, MINUTE).await.unwrap().accepted);
}

/// Asserts a failure with this message.
async fn fails(store: &RedisStore, says: &str) {
    let error = put(store, "fails").await.unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(with_deadline(store.spend("fails", 1, 10, MINUTE)).await.is_err());
}

#[tokio::test]
async fn r_saf_6_redis_killed_and_restarted() {
    let mut server = Server::start();
    let store = server.store();
    for round in 0..3 {
        assert!(put(&store, &format!("before {round}")).await.unwrap());
        server.kill();
        for _ in 0..20 {
            assert!(put(&store, "down").await.is_err());
            assert!(with_deadline(store.get("down")).await.is_err());
            assert!(with_deadline(store.list("", 10)).await.is_err());
        }
        fails(&store, "refuses connections").await;
        server.restart();
        works_again(&store, &format!("after {round}")).await;
        assert!(!put(&store, &format!("before {round}")).await.unwrap(), "what was written is still there");
    }
}

/// A thousand tokens, each redeemed by several callers at once while Redis is killed and restarted twice: none is
/// redeemed twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_no_race_is_won_twice_while_redis_is_killed() {
    let mut server = Server::start();
    let stores = [Arc::new(server.store()), Arc::new(server.store())];
    // Lets this many tasks begin.
    let start = Arc::new(Semaphore::new(0));
    let (wins, failures) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..2_000_usize)
        .map(|task| {
            let store = stores[task % 2].clone();
            let (start, wins, failures) = (start.clone(), wins.clone(), failures.clone());
            tokio::spawn(async move {
                start.acquire().await.unwrap().forget();
                let mut won = 0;
                let key = format!("token {}", task / 2);
                loop {
                    match store.compare_and_set(&key, None, b"used".to_vec(), MINUTE * 60).await {
                        Ok(true) => {
                            won += 1;
                            wins.fetch_add(1, Ordering::SeqCst);
                        }
                        Ok(false) => return (task / 2, won),
                        Err(_) => {
                            failures.fetch_add(1, Ordering::SeqCst);
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    }
                }
            })
        })
        .collect();
    for _ in 0..2 {
        // Many are redeemed when it is killed, and some begin while it is down.
        let (won, failed) = (wins.load(Ordering::SeqCst), failures.load(Ordering::SeqCst));
        start.add_permits(600);
        eventually("tokens are redeemed", async || wins.load(Ordering::SeqCst) > won).await;
        server.kill();
        start.add_permits(200);
        eventually("calls fail", async || failures.load(Ordering::SeqCst) > failed).await;
        server.restart();
    }
    start.add_permits(400);
    let mut winners = vec![0; 1_000];
    for done in with_deadline(join_all(tasks)).await {
        let (token, won) = done.unwrap();
        winners[token] += won;
    }
    assert!(winners.iter().all(|won| *won <= 1), "a token was redeemed twice");
    let (won, failed) = (winners.iter().sum::<u32>(), failures.load(Ordering::SeqCst));
    println!("{won} of 1,000 calls reported that they won; {failed} calls failed");
    assert_eq!(stores[0].list("token ", 2_000).await.unwrap().len(), 1_000);
}

#[tokio::test]
async fn r_saf_6_a_slow_redis() {
    let server = Server::start();
    let store = server.store();
    assert!(put(&store, "before").await.unwrap());
    server.signal("STOP");
    let late = with_deadline(join_all((0..50).map(|_| put(&store, "slow")))).await;
    server.signal("CONT");
    for error in late {
        assert!(error.unwrap_err().to_string().contains("did not answer in time"));
    }
    works_again(&store, "after").await;
}

#[tokio::test]
async fn r_saf_6_a_redis_that_refuses_to_write() {
    let server = Server::start();
    let store = server.store();
    assert!(put(&store, "before").await.unwrap());
    let nobody = free_port().to_string();
    // (what its operator does, the message, how it is undone)
    let table: [(&[&str], &str, &[&str]); 2] = [
        (&["REPLICAOF", "127.0.0.1", &nobody], "answered READONLY", &["REPLICAOF", "NO", "ONE"]),
        (&["CONFIG", "SET", "maxmemory", "1"], "has no memory left", &["CONFIG", "SET", "maxmemory", "0"]),
    ];
    for (fault, says, end) in table {
        server.run_command(fault);
        fails(&store, says).await;
        server.run_command(end);
        works_again(&store, says).await;
    }
    server.run_command(&["CONFIG", "SET", "requirepass", "another"]);
    server.run_command_as("another", &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    eventually("the password is refused", async || {
        put(&store, "refused").await.is_err_and(|error| error.to_string().contains("the password"))
    })
    .await;
    server.run_command_as("another", &["CONFIG", "SET", "requirepass", PASSWORD]);
    works_again(&store, "accepted").await;
}

#[tokio::test]
async fn r_saf_6_keys_of_another_kind_are_an_error() {
    let server = Server::start();
    let store = server.store();
    server.run_command(&["SET", "aquifer:record:k", "text"]);
    server.run_command(&["SET", "aquifer:spent:1000:k", "text"]);
    server.run_command(&["HSET", "aquifer:spent:1000:l", "not", "numbers"]);
    assert!(store.get("k").await.is_err());
    assert!(put(&store, "k").await.is_err());
    for key in ["k", "l"] {
        assert!(store.spend(key, 1, 1, MINUTE).await.is_err());
    }
    assert!(put(&store, "fine").await.unwrap());
}

/// A restart or an operator may remove scripts; that is not a failure.
#[tokio::test]
async fn r_saf_6_forgotten_scripts_are_sent_again() {
    let server = Server::start();
    let store = server.store();
    for key in ["a", "b"] {
        assert!(put(&store, key).await.unwrap());
        assert!(store.spend(key, 1, 1, MINUTE).await.unwrap().accepted);
        server.run_command(&["SCRIPT", "FLUSH"]);
    }
}

#[tokio::test]
async fn r_saf_6_a_server_that_is_not_redis_is_reported() {
    for answer in [&b""[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-ERR a-secret-for-nobody\r\n", &[0; 10_000]] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("redis://:{PASSWORD}@127.0.0.1:{}", listener.local_addr().unwrap().port());
        let answer = answer.to_vec();
        // Ends with the test's process at the latest; it keeps what it accepts.
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().take(20).flatten() {
                let mut stream = stream;
                let _ = stream.read(&mut [0; 1000]);
                let _ = stream.write_all(&answer);
                held.push(stream);
            }
        });
        let store = RedisStore::new(&RedisSettings::new(url)).unwrap();
        assert!(put(&store, "k").await.is_err());
        assert!(with_deadline(store.get("k")).await.is_err());
    }
}

#[test]
fn settings_and_their_errors_contain_no_secrets() {
    let bad =
        ["redis://:hush@", "http://:hush@127.0.0.1", "hush", "redis://u:hush@h:99999", "rediss://:hush@h/#insecure2"];
    for url in bad {
        let settings = RedisSettings::new(url);
        assert!(!format!("{settings:?}").contains("hush"));
        if let Err(error) = RedisStore::new(&settings) {
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
    }
    assert!(RedisStore::new(&RedisSettings::new("http://:hush@127.0.0.1")).is_err());
    let mut settings = RedisSettings::new("rediss://:hush@127.0.0.1");
    settings.authorities = Some(b"-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----".to_vec());
    assert!(RedisStore::new(&settings).is_err_and(|error| !error.to_string().contains("hush")));
}

#[tokio::test]
async fn r_saf_6_redis_over_tls() {
    let mut authority = Vec::new();
    let server = Server::start_with(|folder| {
        let (key, certificate) = (folder.0.join("key.pem"), folder.0.join("certificate.pem"));
        certify(folder);
        authority = std::fs::read(&certificate).unwrap();
        let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
        ["--tls-cert-file", &text(&certificate), "--tls-key-file", &text(&key), "--tls-auth-clients", "no"]
            .map(str::to_owned)
            .to_vec()
    });
    let mut settings = RedisSettings::new(format!("rediss://:{PASSWORD}@127.0.0.1:{}", server.port));
    let distrusting = RedisStore::new(&settings).unwrap();
    assert!(put(&distrusting, "k").await.is_err(), "nobody vouches for this server");
    settings.authorities = Some(authority);
    let store = RedisStore::new(&settings).unwrap();
    works_again(&store, "k").await;
    settings.url = format!("redis://:{PASSWORD}@127.0.0.1:{}", server.port);
    settings.authorities = None;
    assert!(put(&RedisStore::new(&settings).unwrap(), "k").await.is_err(), "not in the clear");
}

/// A self-signed certificate for 127.0.0.1.
fn certify(folder: &Folder) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem", "-subj", "/CN=aquifer"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(&folder.0)
        .output()
        .expect("openssl starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
