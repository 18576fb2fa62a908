//! Client-side measurements of two servers. The servers take turns in short blocks, in alternating order, so that noise
//! affects both, and ratios are computed within a pair of blocks.

use std::time::Instant;

use aquifer_bench::mcp::Ready;
use aquifer_bench::process::Server;
use aquifer_bench::statistics::{median, percentile, ratio};
use aquifer_report::Figure;

use crate::connection::{Connection, Target, Transport};

/// Number of warm-up blocks.
const WARM_UP: usize = 2;
/// Number of concurrent requests on one connection.
const IN_FLIGHT: usize = 16;

/// The number of repetitions.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Number of times each server is started. Repeated, because the placement of threads and pages makes one process
    /// faster than the next.
    pub(crate) runs: usize,
    /// Number of blocks per run.
    pub(crate) blocks: usize,
    /// Number of calls per block.
    pub(crate) calls: usize,
}

/// The measurements of one server, over all its runs.
#[derive(Default)]
pub(crate) struct Samples {
    /// Microseconds of each call.
    times: Vec<f64>,
    /// The median of each block.
    medians: Vec<f64>,
    /// CPU time per call, for each block.
    cpu: Vec<f64>,
}

/// The measurements of our server and of its reference.
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
        let figure = Figure::new(name, value(ours), "µs").compared_with(self.reference, value(other));
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

    /// Makes sequential calls and returns their times in microseconds.
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

/// Measures sequential calls.
pub(crate) fn round_trips(ours: &Target, other: &Target, plan: Plan) -> anyhow::Result<Pair> {
    take_turns(ours, other, plan, false)
}

/// Measures calls with 16 in flight; only the CPU time.
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

/// Makes calls that are counted from outside. The server is stopped gracefully, so that the counter reports.
pub(crate) fn calls(target: &Target, count: usize) -> anyhow::Result<()> {
    let mut running = Running::start(target)?;
    running.block(count)?;
    drop(running.connection);
    running.server.stop()
}

/// Compares the medians of a value that is measured once per start.
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
    Ok(Figure::new(name, median(&own), unit).compared_with(other.name, median(&others)))
}

/// Milliseconds from start to the first answer: the handshake on stdio, a tool list over HTTP.
pub(crate) fn start_ms(target: &Target) -> anyhow::Result<f64> {
    let started = Instant::now();
    let (_server, mut connection) = target.connect()?;
    if target.transport == Transport::Http {
        connection.list()?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds from start to the first answered call, after a tool list.
pub(crate) fn first_call_ms(target: &Target) -> anyhow::Result<f64> {
    let started = Instant::now();
    let _connected = after_first_call(target)?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Resident memory in kilobytes after a tool list and one call.
pub(crate) fn resident_kb(target: &Target) -> anyhow::Result<f64> {
    let (server, _connection) = after_first_call(target)?;
    server.resident_kb()
}

/// The part of the resident memory that is not pages of files, in kilobytes, after a tool list and one call.
pub(crate) fn own_kb(target: &Target) -> anyhow::Result<f64> {
    let (server, _connection) = after_first_call(target)?;
    server.own_kb()
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
