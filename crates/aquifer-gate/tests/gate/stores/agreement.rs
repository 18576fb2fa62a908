//! Every store counts the same, to the millisecond, and never more than the limit allows.

use std::time::Duration;

use aquifer_engine::store::{SpendResult, Window};
use proptest::prelude::*;

use super::setup::{StoreUnderTest, open_stores, unique};
use crate::harness::ManualClock;

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
    let clock = ManualClock::new();
    let stores = {
        let _inside = runtime.enter();
        open_stores(Some(&clock))
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
    let steps = proptest::collection::vec(step(), 1..60);
    runner.run(&steps, |steps| runtime.block_on(walk(&stores, &clock, &steps))).unwrap();
}

async fn walk(stores: &[StoreUnderTest], clock: &ManualClock, steps: &[Step]) -> Result<(), TestCaseError> {
    let case = unique();
    for Step { pass, key, amount } in steps {
        clock.pass(*pass);
        let (limit, window) = KEYS[*key];
        let mut first: Option<SpendResult> = None;
        for tested in stores {
            let spent = tested.store.spend(&format!("{case}/{key}"), *amount, limit, window).await.unwrap();
            prop_assert!(first.is_none_or(|first| first == spent), "{}: {spent:?} instead of {first:?}", tested.name);
            first = Some(spent);
        }
        let first = first.unwrap();
        prop_assert!(!first.accepted || first.total <= limit);
        if first.accepted || first.retry_after == Duration::MAX {
            continue;
        }
        // Checking changes nothing, and the reported wait is exact.
        let wait = i64::try_from(first.retry_after.as_millis()).unwrap();
        for (pass, fits) in [(wait - 1, false), (1, true)] {
            clock.pass(pass);
            for tested in stores {
                let room = limit - amount;
                let checked = tested.store.spend(&format!("{case}/{key}"), 0, room, window).await.unwrap();
                prop_assert_eq!(checked.accepted, fits, "{} after {} ms", tested.name, wait);
            }
        }
    }
    Ok(())
}

/// Within fifty-nine sixtieths of the window, never more than the limit is spent.
#[test]
fn r_saf_4_the_limit_is_enforced() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let clock = ManualClock::new();
    let tested = {
        let _inside = runtime.enter();
        open_stores(Some(&clock)).remove(0)
    };
    let steps = proptest::collection::vec((0..3_000_i64, 1..5_u64), 1..400);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
    let walk = async |steps: Vec<(i64, u64)>| {
        let (case, mut now, mut spent) = (unique(), 0, Vec::new());
        for (pass, amount) in steps {
            clock.pass(pass);
            now += pass;
            if tested.store.spend(&case, amount, 20, Duration::from_secs(60)).await.unwrap().accepted {
                spent.push((now, amount));
            }
            let inside = spent.iter().filter(|(when, _)| *when > now - 59_000).map(|(_, amount)| amount).sum::<u64>();
            prop_assert!(inside <= 20, "{inside} within 59 seconds");
        }
        Ok(())
    };
    runner.run(&steps, |steps| runtime.block_on(walk(steps))).unwrap();
}
