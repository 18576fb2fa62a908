//! Requests per second with many clients at once. Servers take turns; ratios are taken within a round of turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use aquifer_bench::statistics::{median, percentile, ratio};

use crate::answer::Size;
use crate::target::{Running, Target};
use crate::{Figures, Plan};

/// What was measured of a server, over all its turns.
#[derive(Default)]
struct Measured {
    /// Microseconds of each request.
    times: Vec<f64>,
    /// Of each turn.
    per_second: Vec<f64>,
    cpu_us: Vec<f64>,
}

/// `N.per_second`, `N.p50_us`, `N.p99_us`, `N.cpu_us` (of the server alone), `N.bytes`, `N.shown_bytes`, `N.tokens`;
/// `ratio.N` is how many times as many requests per second the first server answers.
pub(crate) fn measure(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    let servers = targets.iter().map(Target::start).collect::<anyhow::Result<Vec<_>>>()?;
    let mut sizes = Vec::new();
    for server in &servers {
        let size = server.first_answer(plan.rows)?;
        // What compiles while it runs has to be warm, like its caches.
        turn(server, &size, plan, &mut Measured::default())?;
        sizes.push(size);
    }
    let mut all: Vec<Measured> = servers.iter().map(|_| Measured::default()).collect();
    for round in 0..plan.turns {
        let mut pairs: Vec<_> = servers.iter().zip(&sizes).zip(&mut all).collect();
        if round % 2 == 1 {
            pairs.reverse();
        }
        pairs.into_iter().try_for_each(|((server, size), measured)| turn(server, size, plan, measured))?;
    }
    Ok(figures(&all, &sizes))
}

fn figures(all: &[Measured], sizes: &[Size]) -> Figures {
    let mut figures = Figures::new();
    for (index, (measured, size)) in all.iter().zip(sizes).enumerate() {
        let named = [
            ("per_second", median(&measured.per_second)),
            ("p50_us", percentile(&measured.times, 0.5)),
            ("p99_us", percentile(&measured.times, 0.99)),
            ("cpu_us", median(&measured.cpu_us)),
            ("bytes", size.bytes as f64),
            ("shown_bytes", size.shown_bytes as f64),
            ("tokens", size.tokens as f64),
        ];
        figures.extend(named.map(|(name, value)| (format!("{index}.{name}"), value)));
    }
    if let Some((first, others)) = all.split_first() {
        let ratios = others.iter().enumerate();
        figures.extend(
            ratios.map(|(index, other)| (format!("ratio.{}", index + 1), ratio(&first.per_second, &other.per_second))),
        );
    }
    figures
}

/// All clients send as fast as answers come, until time is up.
fn turn(server: &Running, first: &Size, plan: &Plan, measured: &mut Measured) -> anyhow::Result<()> {
    let over = AtomicBool::new(false);
    let cpu_before = server.server.cpu_us()?;
    let begun = Instant::now();
    let times = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.clients).map(|_| scope.spawn(|| client(server, first, &over))).collect();
        std::thread::sleep(Duration::from_secs_f64(plan.seconds));
        over.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for client in clients {
            match client.join() {
                Ok(own) => times.extend(own?),
                Err(_) => bail!("a client panicked"),
            }
        }
        Ok(times)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_us = server.server.cpu_us()? - cpu_before;
    measured.per_second.push(times.len() as f64 / seconds);
    measured.cpu_us.push(cpu_us / times.len() as f64);
    measured.times.extend(times);
    Ok(())
}

fn client(server: &Running, first: &Size, over: &AtomicBool) -> anyhow::Result<Vec<f64>> {
    let mut client = server.client(first)?;
    let mut times = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        client.ask()?;
        times.push(asked.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}
