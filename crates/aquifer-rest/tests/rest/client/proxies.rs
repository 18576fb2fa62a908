//! Proxies that the environment names. The environment of a process cannot be changed safely, so that these tests run
//! themselves again in a process that has another one.

use std::process::{Command, ExitStatus};

use aquifer_rest::ClientSettings;

use super::server::{Reply, Server};
use super::{client, get, send};

/// The URL that the process that was started again requests.
const TARGET: &str = "AQUIFER_TEST_PROXY_TARGET";

/// Every variable that names a proxy, or exceptions from it.
const VARIABLES: [&str; 8] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"];

/// Runs a test again with these variables and returns how that ended.
async fn run_again(test: &'static str, target: String, variables: Vec<(&'static str, String)>) -> ExitStatus {
    let run = move || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(TARGET, target);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.envs(variables).output().unwrap().status
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn nothing_on_this_machine_is_reached_through_a_proxy() {
    if let Ok(target) = std::env::var(TARGET) {
        let answer = send(&client(&ClientSettings::new(&target)), get(&target)).await.unwrap();
        assert_eq!(answer.json().unwrap(), serde_json::json!({ "from": "server" }));
        return;
    }
    for host in ["127.0.0.1", "localhost"] {
        let server = Server::start(|_, _| Reply::json(200, "{\"from\":\"server\"}")).await;
        let proxy = Server::start(|_, _| Reply::json(200, "{\"from\":\"proxy\"}")).await;
        let target = format!("http://{host}:{}/x", server.port());
        let variables = VARIABLES[..6].iter().map(|name| (*name, proxy.url())).collect();
        let test = "client::proxies::nothing_on_this_machine_is_reached_through_a_proxy";
        assert!(run_again(test, target, variables).await.success());
        assert_eq!((server.count(), proxy.count()), (1, 0), "{host}");
    }
}

#[tokio::test]
async fn other_hosts_are_reached_through_the_proxy_which_may_be_on_this_machine() {
    if let Ok(target) = std::env::var(TARGET) {
        // The proxy refuses to connect, so that nothing leaves this machine.
        send(&client(&ClientSettings::new(&target)), get(&target)).await.unwrap_err();
        return;
    }
    let proxy = Server::start(|_, _| Reply::status(403)).await;
    let variables = vec![("HTTPS_PROXY", format!("http://localhost:{}", proxy.port()))];
    let test = "client::proxies::other_hosts_are_reached_through_the_proxy_which_may_be_on_this_machine";
    assert!(run_again(test, "https://api.example/x".to_owned(), variables).await.success());
    let received = proxy.received();
    assert!(!received.is_empty(), "the proxy was not asked");
    assert!(received.iter().all(|one| one.method == "CONNECT" && one.target == "api.example:443"), "{received:?}");
}
