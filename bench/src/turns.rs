//! Two sides asked in short blocks and in changing order, so that the machine's noise hits both.

use std::hint::black_box;
use std::time::Instant;

use aquifer_report::Figure;

use crate::statistics::{median, percentile, ratio};

/// The times of all blocks of both sides, in microseconds.
pub struct Sides([Vec<Vec<f64>>; 2]);

impl Sides {
    /// Both medians. The ratio is the median of the ratios of neighbouring blocks.
    pub fn p50(&self, name: String, reference: &str) -> Figure {
        let medians = |blocks: &Vec<Vec<f64>>| blocks.iter().map(|block| median(block)).collect::<Vec<_>>();
        let Self([one, other]) = self;
        self.share(name, reference, 0.5).ratio(ratio(&medians(one), &medians(other)))
    }

    /// What all but a hundredth of the calls stay below.
    pub fn p99(&self, name: String, reference: &str) -> Figure {
        self.share(name, reference, 0.99)
    }

    fn share(&self, name: String, reference: &str, share: f64) -> Figure {
        let [one, other] = self.0.each_ref().map(|blocks| percentile(&blocks.concat(), share));
        Figure::new(name, one, "µs").compared_with(reference, other)
    }
}

/// Asks both sides in turns, in so many blocks of so many calls. What a side does before it returns its future is not timed.
/// The first block only makes what is made on first use.
pub async fn take_turns<A, B>(
    (blocks, calls): (usize, usize),
    one: impl Fn() -> A,
    other: impl Fn() -> B,
) -> anyhow::Result<Sides>
where
    A: Future<Output = anyhow::Result<String>>,
    B: Future<Output = anyhow::Result<String>>,
{
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for turn in 0..=blocks {
        if turn % 2 == 0 {
            first.push(block(calls, &one).await?);
            second.push(block(calls, &other).await?);
        } else {
            second.push(block(calls, &other).await?);
            first.push(block(calls, &one).await?);
        }
    }
    Ok(Sides([first, second].map(|blocks| blocks.into_iter().skip(1).collect())))
}

/// Microseconds of so many calls.
async fn block<F>(calls: usize, ask: &impl Fn() -> F) -> anyhow::Result<Vec<f64>>
where
    F: Future<Output = anyhow::Result<String>>,
{
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let asking = ask();
        let asked = Instant::now();
        let answer = asking.await?;
        times.push(asked.elapsed().as_secs_f64() * 1e6);
        black_box(answer);
    }
    Ok(times)
}
