//! Gates that share a store behave as one, even if one of them is reopened.

use std::sync::Arc;

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::StateStore;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::approvals;
use aquifer_gate::store::SqliteStore;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Harness, ManualClock, approve, code, request, with_token};
use crate::stores::setup::Folder;
use crate::stores::setup::unique;

pub(crate) type Open = Box<dyn Fn(&Arc<SteadyClock>) -> Arc<dyn StateStore>>;

/// Every store that outlives a process.
pub(crate) fn stores() -> (Vec<(&'static str, Open)>, Folder) {
    let folder = Folder::new();
    let file = folder.file();
    let sqlite: Open = Box::new(move |clock| Arc::new(SqliteStore::new(&file, clock.clone()).unwrap()));
    let mut stores = vec![("SQLite", sqlite)];
    {
        use aquifer_gate::store::{RedisSettings, RedisStore};
        let mut settings = RedisSettings::new(std::env::var("AQUIFER_TEST_REDIS").expect("cargo xtask test sets it"));
        settings.prefix = format!("shared-{}:", unique());
        let redis = move |clock: &Arc<SteadyClock>| RedisStore::new(&settings).unwrap().with_clock(clock.clone());
        stores.push(("Redis", Box::new(move |clock| Arc::new(redis(clock)))));
    }
    (stores, folder)
}

fn open(store: &Open) -> Arc<Harness> {
    let (settings, clock) = (GateSettings::default(), ManualClock::new());
    let store = store(&clock.steady);
    Arc::new(Harness::over(&settings, Trust::Certified, store, clock, |_, clock| Audit::disabled(clock)))
}

fn delete() -> Value {
    request("alpha_delete_thing", json!({ "id": "x" }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_gates_on_one_store_redeem_a_token_once_and_remember_it_across_a_restart() {
    let (stores, _folder) = stores();
    for (name, store) in stores {
        let harnesses = [open(&store), open(&store)];
        let token = harnesses[0].token(delete()).await;
        let unused = harnesses[1].token(delete()).await;
        let mut running = JoinSet::new();
        for number in 0..1_000 {
            let (harness, sent) = (harnesses[number % 2].clone(), with_token(delete(), &token));
            running.spawn(async move { code(&harness.ask(sent).await).to_owned() });
        }
        let codes = running.join_all().await;
        let count = |wanted: &str| codes.iter().filter(|code| *code == wanted).count();
        assert_eq!((count("done"), count("TOKEN_ALREADY_USED")), (1, 999), "{name}: {codes:?}");
        assert_eq!(harnesses.iter().map(|harness| harness.done().len()).sum::<usize>(), 1, "{name}");
        drop(harnesses);
        let again = open(&store);
        assert_eq!(code(&again.ask(with_token(delete(), &token)).await), "TOKEN_ALREADY_USED", "{name}");
        assert_eq!(code(&again.ask(with_token(delete(), &unused)).await), "done", "{name}");
        assert_eq!(code(&again.ask(with_token(delete(), &unused)).await), "TOKEN_ALREADY_USED", "{name}");
    }
}

#[tokio::test]
async fn r_saf_3_an_approval_is_given_by_another_process() {
    let (stores, _folder) = stores();
    for (name, store) in stores {
        let harness = open(&store);
        let purge = || request("alpha_purge_thing", json!({ "id": "x" }));
        let answer = harness.ask(purge()).await;
        let id = answer["error"]["details"]["approval_id"].as_str().unwrap();
        let token = answer["error"]["details"]["confirmation_token"].as_str().unwrap();
        let clock = ManualClock::new();
        clock.advance(60);
        let (outside, now) = (store(&clock.steady), &*clock.steady);
        assert_eq!(approvals::list(&*outside, now).await.unwrap().len(), 1, "{name}");
        approve(&*outside, id, now).await.unwrap();
        assert_eq!(code(&harness.ask(with_token(purge(), token)).await), "done", "{name}");
        assert_eq!(code(&harness.ask(with_token(purge(), token)).await), "TOKEN_ALREADY_USED", "{name}");
        assert_eq!(harness.done().len(), 1, "{name}");
    }
}
