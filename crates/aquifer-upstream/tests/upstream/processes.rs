//! No process and no file descriptor outlives its upstream.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{ROUNDS, Stage, fake, is_alive, until};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn no_child_and_no_grandchild_survives() {
    let mut pids: Vec<u32> = Vec::new();
    for round in 0..5 {
        let stage = Stage::up(fake(&[])).await;
        let spawned = stage.get("spawn", json!({})).await;
        let both: Vec<u32> = serde_json::from_value(spawned).unwrap();
        assert!(both.iter().all(|pid| is_alive(*pid)));
        pids.extend(&both);
        match round % 3 {
            0 => drop(stage),
            1 => stage.upstream.stop(),
            // The child ends by itself; the grandchild would stay.
            _ => {
                stage.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
            }
        }
        until("both are gone", async || both.iter().all(|pid| !is_alive(*pid))).await;
    }
    until("all are gone", async || pids.iter().all(|pid| !is_alive(*pid))).await;
}

#[test]
fn a_runtime_that_ends_takes_its_children_along() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (stage, both) = runtime.block_on(async {
        let stage = Stage::up(fake(&[])).await;
        let spawned = stage.get("spawn", json!({})).await;
        (stage, serde_json::from_value::<Vec<u32>>(spawned).unwrap())
    });
    // The handle is still there: only the runtime ends.
    drop(runtime);
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while both.iter().any(|pid| is_alive(*pid)) {
        assert!(std::time::Instant::now() < deadline, "{both:?} live on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(stage);
}

#[tokio::test]
async fn no_descriptor_is_leaked() {
    let stage = Stage::up(fake(&[])).await;
    stage.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
    stage.pid().await;
    let before = descriptors();
    for _ in 0..ROUNDS {
        stage.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
        stage.pid().await;
    }
    until("descriptors are given back", async || descriptors() <= before + 2).await;
}

#[tokio::test]
async fn a_child_gets_little_and_what_it_is_given() {
    let mut settings = fake(&[]);
    let aquifer_upstream::Transport::Stdio { env, .. } = &mut settings.transport else { unreachable!() };
    env.push(("GIVEN".to_owned(), "yes".to_owned()));
    let stage = Stage::up(settings).await;
    let got: BTreeMap<String, Value> = serde_json::from_value(stage.get("environment", json!({})).await).unwrap();
    assert_eq!(got["GIVEN"], "yes");
    assert!(got.contains_key("PATH"));
    // Set by cargo for every test, and nobody else's business.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(got.keys().all(|name| !name.starts_with("CARGO")), "{got:?}");
}
