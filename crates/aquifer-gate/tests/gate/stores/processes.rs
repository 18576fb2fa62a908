//! Several processes, and several connections, on one store behave as one.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use aquifer_engine::store::StateStore;
use futures::future::join_all;

use super::setup::{MINUTE, Process, open_stores, rerun_test, store_from_environment, with_deadline};

const TEST: &str = "stores::processes::r_saf_6_processes_on_one_store_behave_as_one";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_processes_on_one_store_behave_as_one() {
    if let Some(store) = store_from_environment() {
        return with_deadline(race(store)).await;
    }
    for place in open_stores(None).into_iter().filter(|place| place.again.is_some()) {
        let mut others: Vec<_> = (0..2)
            .map(|_| {
                let mut command = rerun_test(std::env::current_exe().unwrap(), TEST);
                let mut process = Process(command.envs(place.address.iter().cloned()).spawn().unwrap());
                let output = BufReader::new(process.0.stdout.take().unwrap());
                (process, output)
            })
            .collect();
        for (_, output) in &mut others {
            let ready = output.lines().map(Result::unwrap).find(|line| line.ends_with("ready to race"));
            assert!(ready.is_some(), "{}: a process did not come to the start", place.name);
        }
        for (process, _) in &mut others {
            process.0.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }
        let (mut won, mut spent) = (0, 0);
        for (process, output) in &mut others {
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            process.succeeds();
            let mut stats = text.lines().find_map(|line| line.strip_prefix("won ")).unwrap().split(" spent ");
            won += stats.next().unwrap().parse::<u32>().unwrap();
            spent += stats.next().unwrap().parse::<u32>().unwrap();
        }
        assert_eq!((won, spent), (100, 200), "{}", place.name);

        // A later process finds all of it.
        let later = place.again.as_ref().unwrap()();
        assert!(!later.compare_and_set("race/0", None, Vec::new(), MINUTE).await.unwrap(), "{}", place.name);
        assert_eq!(later.list("race/", 1_000).await.unwrap().len(), 100, "{}", place.name);
        assert!(!later.spend("purse", 1, 200, MINUTE * 60).await.unwrap().accepted, "{}", place.name);
    }
}

/// Five writers for each of a hundred keys, and five hundred spenders, all at once.
async fn race(store: Arc<dyn StateStore>) {
    assert_eq!(store.get("race/0").await.unwrap(), None);
    println!("ready to race");
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    let tasks = (0..500_u32).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            let key = format!("race/{}", task % 100);
            let won = store.compare_and_set(&key, None, b"mine".to_vec(), MINUTE * 5).await.unwrap();
            let spent = store.spend("purse", 1, 200, MINUTE * 60).await.unwrap().accepted;
            (won, spent)
        })
    });
    let done: Vec<_> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    let (won, spent) = (done.iter().filter(|(won, _)| *won).count(), done.iter().filter(|(_, spent)| *spent).count());
    println!("\nwon {won} spent {spent}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_a_thousand_writers_on_two_connections_give_one_winner() {
    for place in open_stores(None).into_iter().filter(|place| place.again.is_some()) {
        let stores = [place.store.clone(), place.again.as_ref().unwrap()()];
        let writers = (0..1_000).map(|writer| {
            let store = stores[writer % 2].clone();
            tokio::spawn(async move { store.compare_and_set("race", None, Vec::new(), MINUTE).await.unwrap() })
        });
        let won = with_deadline(join_all(writers)).await.into_iter().filter(|won| *won.as_ref().unwrap()).count();
        assert_eq!(won, 1, "{}", place.name);
    }
}
