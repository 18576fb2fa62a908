//! What one client measures of two servers. They take turns in short blocks, in changing order, so that the machine's noise
//! hits both, and ratios are taken within a pair of blocks.

use std::time::Instant;

use aquifer_bench::mcp::Ready;
use aquifer_bench::process::Server;
use aquifer_bench::statistics::{median, percentile, ratio};
use aquifer_report::Figure;

use crate::connection::{Connection, Target, Transport};

/// Turns that only warm everything up.
const WARM_UP: usize = 2;
/// Requests under way at once on one connection.
const IN_FLIGHT: usize = 16;

/// How often.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Starts of each server: where its threads and pages happen to lie makes one process faster than the next.
    pub(crate) runs: usize,
    /// Blocks of a run.
    pub(crate) blocks: usize,
    /// Calls in a block.
    pub(crate) calls: usize,
}

/// What was measured of a server, over all its runs.
#[derive(Default)]
pub(crate) struct Samples {
    /// Microseconds of each call.
    times: Vec<f64>,
    /// Of each block.
    medians: Vec<f64>,
    /// Processor time of a call, of each block.
    cpu: Vec<f64>,
}

/// What was measured of ours and of what it is compared with.
pub(crate) struct Pair {
    reference: &'static str,
    samples: [Samples; 2],
}

impl Pair {
    pub(crate) fn p50(&self, name: impl Into<String>) -> Figure {
        self.figure(name, |samples| percentile(&samples.times, 0.5), Some(|samples| &samples.medians))
    }

    pub(crate) fn p99(&self, name: impl Into<String>) -> Figure {
        self.figure(name, |samples| percentile(&samples.times, 0.99), None)
    }

    pub(crate) fn cpu(&self, name: impl Into<String>) -> Figure {
        self.figure(name, |samples| median(&samples.cpu), Some(|samples| &samples.cpu))
    }

    fn figure(
        &self,
        name: impl Into<String>,
        value: fn(&Samples) -> f64,
        blocks: Option<fn(&Samples) -> &Vec<f64>>,
    ) -> Figure {
        let [ours, other] = &self.samples;
        let figure = Figure::new(name, value(ours), "µs").beside(self.reference, value(other));
        match blocks {
            Some(blocks) => figure.ratio(ratio(blocks(ours), blocks(other))),
            None => figure,
        }
    }
}

struct Running {
    server: Server,
    connection: Connection,
    call: Ready,
}

impl Running {
    fn start(target: &Target) -> anyhow::Result<Self> {
        let (server, mut connection) = target.connect()?;
        if let Some(arguments) = target.prepare {
            let prepare = Target { call: arguments.to_owned(), ..target.clone() }.ready(&connection);
            connection.send_checked(&prepare)?;
        }
        let call = target.ready(&connection);
        connection.send_checked(&call)?;
        Ok(Self { server, connection, call })
    }

    /// Calls one after the other; their times in microseconds.
    fn block(&mut self, calls: usize) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            let sent = Instant::now();
            self.connection.send(&self.call)?;
            times.push(sent.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times)
    }

    fn measure(&mut self, calls: usize, in_flight: bool) -> anyhow::Result<Samples> {
        let before = self.server.cpu_us()?;
        let times = if in_flight {
            self.connection.send_many(&self.call, calls, IN_FLIGHT)?;
            Vec::new()
        } else {
            self.block(calls)?
        };
        let cpu = (self.server.cpu_us()? - before) / calls as f64;
        Ok(Samples { medians: vec![median(&times)], times, cpu: vec![cpu] })
    }
}

/// Sequential calls.
pub(crate) fn round_trips(ours: &Target, other: &Target, plan: Plan) -> anyhow::Result<Pair> {
    take_turns(ours, other, plan, false)
}

/// Calls with 16 under way; only the processor time is measured.
pub(crate) fn in_flight(ours: &Target, other: &Target, plan: Plan) -> anyhow::Result<Pair> {
    take_turns(ours, other, plan, true)
}

fn take_turns(ours: &Target, other: &Target, plan: Plan, in_flight: bool) -> anyhow::Result<Pair> {
    let mut samples = [Samples::default(), Samples::default()];
    for _ in 0..plan.runs {
        let mut running = [Running::start(ours)?, Running::start(other)?];
        for turn in 0..WARM_UP + plan.blocks {
            let mut pairs: Vec<_> = running.iter_mut().zip(&mut samples).collect();
            if turn % 2 == 1 {
                pairs.reverse();
            }
            for (server, samples) in pairs {
                let block = server.measure(plan.calls, in_flight)?;
                if turn >= WARM_UP {
                    samples.times.extend(block.times);
                    samples.medians.extend(block.medians);
                    samples.cpu.extend(block.cpu);
                }
            }
        }
    }
    Ok(Pair { reference: other.name, samples })
}

/// Calls and nothing else, counted from outside. The server is asked to end, so that its counter reports.
pub(crate) fn calls(target: &Target, count: usize) -> anyhow::Result<()> {
    let mut running = Running::start(target)?;
    running.block(count)?;
    drop(running.connection);
    running.server.end()
}

/// The medians of what is measured once for each start, compared.
pub(crate) fn starts(
    name: impl Into<String>,
    unit: &str,
    [ours, other]: [&Target; 2],
    runs: usize,
    measure: fn(&Target) -> anyhow::Result<f64>,
) -> anyhow::Result<Figure> {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        own.push(measure(ours)?);
        others.push(measure(other)?);
    }
    Ok(Figure::new(name, median(&own), unit).beside(other.name, median(&others)))
}

/// Milliseconds from the start to the first answer: the handshake on stdio, a list of the tools over HTTP.
pub(crate) fn start_ms(target: &Target) -> anyhow::Result<f64> {
    let started = Instant::now();
    let (_server, mut connection) = target.connect()?;
    if target.transport == Transport::Http {
        connection.list()?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds from the start to the first answered call, after a list of the tools.
pub(crate) fn first_call_ms(target: &Target) -> anyhow::Result<f64> {
    let started = Instant::now();
    let _connected = after_first_call(target)?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Resident kilobytes after a list of the tools and one call.
pub(crate) fn resident_kb(target: &Target) -> anyhow::Result<f64> {
    let (server, _connection) = after_first_call(target)?;
    server.resident_kb()
}

/// Milliseconds from the start to the first list of the tools.
pub(crate) fn first_list_ms(target: &Target) -> anyhow::Result<f64> {
    let started = Instant::now();
    let (_server, mut connection) = target.connect()?;
    connection.list()?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds of processor time from the start to the first list of the tools, which a busy machine does not change.
pub(crate) fn first_list_cpu_ms(target: &Target) -> anyhow::Result<f64> {
    let (server, mut connection) = target.connect()?;
    connection.list()?;
    Ok(server.cpu_us()? / 1e3)
}

/// The most kilobytes that were resident until the first list of the tools.
pub(crate) fn peak_kb(target: &Target) -> anyhow::Result<f64> {
    let (server, mut connection) = target.connect()?;
    connection.list()?;
    server.peak_kb()
}

fn after_first_call(target: &Target) -> anyhow::Result<(Server, Connection)> {
    let (server, mut connection) = target.connect()?;
    connection.list()?;
    let call = target.ready(&connection);
    connection.send_checked(&call)?;
    Ok((server, connection))
}
