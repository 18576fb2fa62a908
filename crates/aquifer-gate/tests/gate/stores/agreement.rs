//! Every store counts alike, to the millisecond, and never more than the limit allows.

use std::time::Duration;

use aquifer_engine::store::{SpendResult, Window};
use proptest::prelude::*;

use super::place::{Place, places, unique};
use crate::house::Hands;

#[derive(Debug, Clone)]
struct Step {
    pass: i64,
    key: usize,
    amount: u64,
}

/// Limit and window of each key.
const KEYS: [(u64, Duration); 4] = [
    (10, Duration::from_secs(60)),
    (1_000, Duration::from_millis(100)),
    (7, Duration::from_secs(3_607)),
    (Window::MAX_AMOUNT, Duration::from_secs(30 * 24 * 3600)),
];

fn step() -> impl Strategy<Value = Step> {
    // Mostly forward, by little or by much; sometimes back.
    let pass = prop_oneof![
        4 => 0..500_i64,
        4 => 0..20_000_i64,
        2 => 0..3_000_000_i64,
        1 => 0..4_000_000_000_i64,
        1 => -100_000..0_i64
    ];
    let amount =
        prop_oneof![1 => Just(0), 6 => 1..5_u64, 2 => 1..400_u64, 1 => 1..Window::MAX_AMOUNT, 1 => any::<u64>()];
    (pass, 0..KEYS.len(), amount).prop_map(|(pass, key, amount)| Step { pass, key, amount })
}

#[test]
fn r_saf_4_every_store_counts_alike() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let clock = Hands::new();
    let places = {
        let _inside = runtime.enter();
        places(Some(&clock))
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
    let steps = proptest::collection::vec(step(), 1..60);
    runner.run(&steps, |steps| runtime.block_on(walk(&places, &clock, &steps))).unwrap();
}

async fn walk(places: &[Place], clock: &Hands, steps: &[Step]) -> Result<(), TestCaseError> {
    let case = unique();
    for Step { pass, key, amount } in steps {
        clock.pass(*pass);
        let (most, window) = KEYS[*key];
        let mut told: Option<SpendResult> = None;
        for place in places {
            let spent = place.store.spend(&format!("{case}/{key}"), *amount, most, window).await.unwrap();
            prop_assert!(told.is_none_or(|told| told == spent), "{}: {spent:?} instead of {told:?}", place.name);
            told = Some(spent);
        }
        let told = told.unwrap();
        prop_assert!(!told.accepted || told.total <= most);
        if told.accepted || told.retry_after == Duration::MAX {
            continue;
        }
        // Looking changes nothing, and the wait that was told is exact.
        let wait = i64::try_from(told.retry_after.as_millis()).unwrap();
        for (pass, fits) in [(wait - 1, false), (1, true)] {
            clock.pass(pass);
            for place in places {
                let room = most - amount;
                let looked = place.store.spend(&format!("{case}/{key}"), 0, room, window).await.unwrap();
                prop_assert_eq!(looked.accepted, fits, "{} after {} ms", place.name, wait);
            }
        }
    }
    Ok(())
}

/// What is spent within fifty-nine sixtieths of the window is never more than the limit, whenever one looks.
#[test]
fn r_saf_4_the_limit_is_kept() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let clock = Hands::new();
    let place = {
        let _inside = runtime.enter();
        places(Some(&clock)).remove(0)
    };
    let steps = proptest::collection::vec((0..3_000_i64, 1..5_u64), 1..400);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
    let walk = async |steps: Vec<(i64, u64)>| {
        let (case, mut now, mut spent) = (unique(), 0, Vec::new());
        for (pass, amount) in steps {
            clock.pass(pass);
            now += pass;
            if place.store.spend(&case, amount, 20, Duration::from_secs(60)).await.unwrap().accepted {
                spent.push((now, amount));
            }
            let inside = spent.iter().filter(|(when, _)| *when > now - 59_000).map(|(_, amount)| amount).sum::<u64>();
            prop_assert!(inside <= 20, "{inside} within 59 seconds");
        }
        Ok(())
    };
    runner.run(&steps, |steps| runtime.block_on(walk(steps))).unwrap();
}
