//! What is measured. Servers take turns in short blocks, in changing order, and ratios are taken within a block pair.

use std::time::Instant;

use anyhow::Context;
use aquifer_bench::mcp::{Prepared, Ready};
use aquifer_bench::process::Server;
use aquifer_bench::statistics::{median, percentile, ratio};

use crate::connection::{Connected, Connection, Target};

/// How much of what.
pub(crate) struct Plan {
    /// Calls in a block.
    pub(crate) calls: usize,
    /// Blocks of a run for each server.
    pub(crate) blocks: usize,
    /// Starts of each server.
    pub(crate) runs: usize,
    /// Arguments of one call before all others.
    pub(crate) prepare: Option<String>,
    /// Arguments of the calls measured.
    pub(crate) call: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self { calls: 300, blocks: 10, runs: 10, prepare: None, call: "{}".to_owned() }
    }
}

/// Named numbers; names begin with the server's place on the command line.
type Figures = Vec<(String, f64)>;

/// A server under measurement.
struct Running {
    connected: Connected,
    call: Ready,
}

/// What was measured of a server, over all its runs.
#[derive(Default)]
struct Measured {
    times: Vec<f64>,
    block_medians: Vec<f64>,
    block_cpu: Vec<f64>,
}

impl Running {
    fn start(target: &Target, plan: &Plan) -> anyhow::Result<Self> {
        let mut connected = target.connect()?;
        let connection = &mut connected.connection;
        if let Some(arguments) = &plan.prepare {
            let prepare = connection.prepare(&Prepared::call(&target.tool, arguments));
            connection.send_checked(&prepare)?;
        }
        let call = connection.prepare(&Prepared::call(&target.tool, target.call.as_ref().unwrap_or(&plan.call)));
        connection.send_checked(&call)?;
        Ok(Self { connected, call })
    }

    /// One block; its times in microseconds.
    fn block(&mut self, calls: usize) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            let sent = Instant::now();
            self.connected.connection.send(&self.call)?;
            times.push(sent.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times)
    }

    fn measure(&mut self, calls: usize, measured: &mut Measured) -> anyhow::Result<()> {
        let before = self.connected.server.as_ref().map(Server::cpu_us).transpose()?;
        let times = self.block(calls)?;
        let after = self.connected.server.as_ref().map(Server::cpu_us).transpose()?;
        if let (Some(before), Some(after)) = (before, after) {
            measured.block_cpu.push((after - before) / calls as f64);
        }
        measured.block_medians.push(median(&times));
        measured.times.extend(times);
        Ok(())
    }
}

/// Sequential calls: `N.p50_us`, `N.p99_us`, `N.cpu_us` for each server; `ratio.p50` and `ratio.cpu` of the first two.
///
/// Servers are started anew several times: where its threads and pages happen to lie makes one process faster than
/// the next of the same program.
pub(crate) fn round_trip(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    let mut all: Vec<Measured> = targets.iter().map(|_| Measured::default()).collect();
    for _ in 0..plan.runs {
        let servers = targets.iter().map(|target| Running::start(target, plan));
        let mut servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
        for server in &mut servers {
            server.block(plan.calls * 2)?;
        }
        for turn in 0..plan.blocks {
            let mut pairs: Vec<_> = servers.iter_mut().zip(&mut all).collect();
            if turn % 2 == 1 {
                pairs.reverse();
            }
            pairs.into_iter().try_for_each(|(server, measured)| server.measure(plan.calls, measured))?;
        }
    }
    let mut figures = Figures::new();
    for (index, measured) in all.iter().enumerate() {
        figures.push((format!("{index}.p50_us"), percentile(&measured.times, 0.5)));
        figures.push((format!("{index}.p99_us"), percentile(&measured.times, 0.99)));
        figures.push((format!("{index}.cpu_us"), median(&measured.block_cpu)));
    }
    if let [first, second, ..] = all.as_slice() {
        figures.push(("ratio.p50".to_owned(), ratio(&first.block_medians, &second.block_medians)));
        figures.push(("ratio.cpu".to_owned(), ratio(&first.block_cpu, &second.block_cpu)));
    }
    ratios(&mut figures, &all);
    Ok(figures)
}

/// `ratio.N`: how many times as long a call of the first server takes as one of server N.
fn ratios(figures: &mut Figures, all: &[Measured]) {
    let Some((first, others)) = all.split_first() else { return };
    for (index, other) in others.iter().enumerate() {
        figures.push((format!("ratio.{}", index + 1), ratio(&first.block_medians, &other.block_medians)));
    }
}

/// Calls with so many under way: `N.cpu_us` of the server for one, `N.per_second`, and `ratio.N` of the processor time.
pub(crate) fn in_flight(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    const MAX_COUNT: usize = 16;
    let mut all: Vec<Measured> = targets.iter().map(|_| Measured::default()).collect();
    for _ in 0..plan.runs {
        let servers = targets.iter().map(|target| Running::start(target, plan));
        let mut servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
        for turn in 0..=plan.blocks {
            let mut pairs: Vec<_> = servers.iter_mut().zip(&mut all).collect();
            if turn % 2 == 1 {
                pairs.reverse();
            }
            for (server, measured) in pairs {
                let process = server.connected.server.as_ref().context("the server is not ours")?;
                let (before, begun) = (process.cpu_us()?, Instant::now());
                server.connected.connection.send_many(&server.call, plan.calls, MAX_COUNT)?;
                let cpu = process.cpu_us()? - before;
                // The first turn only gets everybody warm.
                if turn > 0 {
                    measured.block_cpu.push(cpu / plan.calls as f64);
                    measured.times.push(plan.calls as f64 / begun.elapsed().as_secs_f64());
                }
            }
        }
    }
    let mut figures = Figures::new();
    for (index, measured) in all.iter().enumerate() {
        figures.push((format!("{index}.cpu_us"), median(&measured.block_cpu)));
        figures.push((format!("{index}.per_second"), median(&measured.times)));
        let ours = all.first().map(|first| first.block_cpu.as_slice()).unwrap_or_default();
        figures.push((format!("ratio.{index}"), ratio(ours, &measured.block_cpu)));
    }
    Ok(figures)
}

/// Calls and nothing else, for who counts from outside: a server of its own run for each target, ended in order.
pub(crate) fn calls(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    for target in targets {
        let mut server = Running::start(target, plan)?;
        server.block(plan.calls)?;
        let Connected { server, connection } = server.connected;
        drop(connection);
        server.map(Server::end).transpose()?;
    }
    Ok(Figures::new())
}

/// From spawning to the first answered request: `N.start_ms` for each server, `ratio.start` of the first two.
pub(crate) fn start(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    let mut times: Vec<Vec<f64>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.runs {
        for (target, times) in targets.iter().zip(&mut times) {
            let spawned = Instant::now();
            let mut connected = target.connect()?;
            // On stdio the handshake is a request, and connecting has waited for its answer.
            if matches!(connected.connection, Connection::Http(_)) {
                let list = connected.connection.prepare(&Prepared::list());
                connected.connection.send(&list)?;
            }
            times.push(spawned.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(summary(&times, "start_ms", "ratio.start"))
}

/// From spawning to the first answered call, with a look at the tools before it: `N.start_ms` for each server.
pub(crate) fn first_call(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    let mut times: Vec<Vec<f64>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.runs {
        for (target, times) in targets.iter().zip(&mut times) {
            let spawned = Instant::now();
            let mut connected = target.connect()?;
            let list = connected.connection.prepare(&Prepared::list());
            connected.connection.send(&list)?;
            let call = Prepared::call(&target.tool, target.call.as_ref().unwrap_or(&plan.call));
            let call = connected.connection.prepare(&call);
            connected.connection.send_checked(&call)?;
            times.push(spawned.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(summary(&times, "start_ms", "ratio.start"))
}

/// Resident memory after the handshake (where there is one), a look at the tools and one call: `N.resident_kb`.
pub(crate) fn memory(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    let mut sizes: Vec<Vec<f64>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.runs {
        for (target, sizes) in targets.iter().zip(&mut sizes) {
            let mut connected = target.connect()?;
            let list = connected.connection.prepare(&Prepared::list());
            connected.connection.send(&list)?;
            let call =
                connected.connection.prepare(&Prepared::call(&target.tool, target.call.as_ref().unwrap_or(&plan.call)));
            connected.connection.send_checked(&call)?;
            if let Some(server) = &connected.server {
                sizes.push(server.resident_kb()?);
            }
        }
    }
    Ok(summary(&sizes, "resident_kb", "ratio.resident"))
}

fn summary(values: &[Vec<f64>], name: &str, ratio_name: &str) -> Figures {
    let mut figures: Figures =
        values.iter().enumerate().map(|(index, values)| (format!("{index}.{name}"), median(values))).collect();
    if let [first, second, ..] = values {
        figures.push((ratio_name.to_owned(), median(first) / median(second)));
    }
    figures
}
