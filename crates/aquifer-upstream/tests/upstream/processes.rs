//! No process and no file descriptor outlives its upstream.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Gateway, ROUNDS, fake, is_alive, until};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn child_processes_and_their_children_are_killed() {
    let mut pids: Vec<u32> = Vec::new();
    for round in 0..5 {
        let gateway = Gateway::ready(fake(&[])).await;
        let spawned = gateway.get("spawn", json!({})).await;
        let both: Vec<u32> = serde_json::from_value(spawned).unwrap();
        assert!(both.iter().all(|pid| is_alive(*pid)));
        pids.extend(&both);
        match round % 3 {
            0 => drop(gateway),
            1 => gateway.upstream.stop(),
            // The child exits by itself; the grandchild would stay.
            _ => {
                gateway.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
            }
        }
        until("both are gone", async || both.iter().all(|pid| !is_alive(*pid))).await;
    }
    until("all are gone", async || pids.iter().all(|pid| !is_alive(*pid))).await;
}

#[test]
fn a_runtime_that_ends_kills_its_children() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (gateway, both) = runtime.block_on(async {
        let gateway = Gateway::ready(fake(&[])).await;
        let spawned = gateway.get("spawn", json!({})).await;
        (gateway, serde_json::from_value::<Vec<u32>>(spawned).unwrap())
    });
    // The handle still exists; only the runtime ends.
    drop(runtime);
    let deadline = std::time::Instant::now() + crate::support::WAIT_TIMEOUT;
    while both.iter().any(|pid| is_alive(*pid)) {
        assert!(std::time::Instant::now() < deadline, "{both:?} live on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(gateway);
}

#[tokio::test]
async fn no_descriptor_is_leaked() {
    let gateway = Gateway::ready(fake(&[])).await;
    gateway.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
    gateway.pid().await;
    let before = descriptors();
    for _ in 0..ROUNDS {
        gateway.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
        gateway.pid().await;
    }
    until("descriptors are given back", async || descriptors() <= before + 2).await;
}

#[tokio::test]
async fn a_child_gets_a_minimal_environment() {
    let mut settings = fake(&[]);
    let aquifer_upstream::Transport::Stdio { env, .. } = &mut settings.transport else { unreachable!() };
    env.push(("GIVEN".to_owned(), "yes".to_owned()));
    let gateway = Gateway::ready(settings).await;
    let got: BTreeMap<String, Value> = serde_json::from_value(gateway.get("environment", json!({})).await).unwrap();
    assert_eq!(got["GIVEN"], "yes");
    assert!(got.contains_key("PATH"));
    // Set by cargo for every test and not inherited.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(got.keys().all(|name| !name.starts_with("CARGO")), "{got:?}");
}
