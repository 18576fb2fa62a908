//! Many clients at once against servers that answer JSON over HTTP.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{FIRST_ID, Prepared, Ready, shortened};
use aquifer_bench::process::Server;
use aquifer_bench::statistics::{median, percentile, ratio};
use aquifer_report::Figure;
use serde_json::Value;

const CLIENTS: usize = 16;
/// How often a server's memory is measured with all clients at once. Repeated, because the number of answers in flight
/// at the same moment varies.
const MEMORY_RUNS: usize = 4;

/// A request in the protocol of the server.
pub(crate) enum Request<'a> {
    Mcp { arguments: &'a str },
    Post { body: &'a str },
    Get { path: &'a str },
}

/// A running server, the request to send, and the size of its first answer.
struct Running {
    server: Server,
    request: Vec<u8>,
    address: Address,
    size: Size,
}

/// The size of an answer.
struct Size {
    bytes: usize,
    /// Number of bytes that a model reads.
    shown_bytes: usize,
    /// Number of tokens that a model reads.
    tokens: usize,
}

impl Running {
    /// Starts a server. Its answers must contain this many rows, so that a fast failure is not taken for a fast answer.
    fn start(request: &Request<'_>, command: &[String], rows: Option<usize>) -> anyhow::Result<Self> {
        let (server, url) = Server::start_http(command)?;
        let address = Address::read(&url)?;
        let (host, path) = (&address.authority, &address.path);
        let bytes = match request {
            Request::Mcp { arguments } => {
                let mut bytes = Vec::new();
                // Without a session, ids are not compared.
                let ready = Ready::over_http(&Prepared::call("mcp_aql_read", arguments), &address);
                ready.write(&FIRST_ID.to_string(), &mut bytes);
                bytes
            }
            Request::Post { body } => format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
                 Accept: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes(),
            Request::Get { path } => {
                format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n\r\n").into_bytes()
            }
        };
        let mut connection = Http::open(&address)?;
        let size = size(connection.exchange(&bytes)?, matches!(request, Request::Mcp { .. }), rows)?;
        Ok(Self { server, request: bytes, address, size })
    }

    /// Lets this many clients send requests as long as `may_continue` allows. Returns the microseconds of each request.
    fn run_clients(&self, clients: usize, may_continue: impl Fn(usize) -> bool + Sync) -> anyhow::Result<Vec<f64>> {
        let client = || {
            let mut connection = Http::open(&self.address)?;
            let mut times = Vec::new();
            while may_continue(times.len()) {
                let asked = Instant::now();
                let answer = connection.exchange(&self.request)?;
                // An answer much smaller than the first one is a failure.
                let is_whole = answer.len() >= self.size.bytes / 10 * 9;
                ensure!(is_whole, "an answer is too short: {}", shortened(&String::from_utf8_lossy(answer)));
                times.push(asked.elapsed().as_secs_f64() * 1e6);
            }
            Ok(times)
        };
        let times = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            let times = clients.into_iter().map(|client| client.join().ok().context("a client panicked")?);
            times.collect::<anyhow::Result<Vec<_>>>()
        })?;
        Ok(times.concat())
    }

    /// The peak resident memory while this many clients send this many requests in total.
    fn peak_kb(&self, clients: usize, requests: usize) -> anyhow::Result<f64> {
        self.server.reset_peak()?;
        self.run_clients(clients, |done| done < requests.div_ceil(clients))?;
        self.server.peak_kb()
    }
}

/// The measurements of one server, over all its turns.
#[derive(Default)]
struct Samples {
    /// Microseconds of each request.
    times: Vec<f64>,
    /// The throughput of each turn.
    per_second: Vec<f64>,
    cpu_us: Vec<f64>,
}

/// Lets all clients send requests for this many seconds.
fn turn(running: &Running, seconds: f64, samples: &mut Samples) -> anyhow::Result<()> {
    let (cpu_before, begun) = (running.server.cpu_us()?, Instant::now());
    let end = begun + Duration::from_secs_f64(seconds);
    let times = running.run_clients(CLIENTS, |_| Instant::now() < end)?;
    samples.per_second.push(times.len() as f64 / begun.elapsed().as_secs_f64());
    samples.cpu_us.push((running.server.cpu_us()? - cpu_before) / times.len() as f64);
    samples.times.extend(times);
    Ok(())
}

/// Compares lists of 25 rows from our server and from a peer, with 16 clients. The servers take turns.
pub(crate) fn throughput(
    title: &str,
    peer: &str,
    servers: [(Request<'_>, Vec<String>); 2],
    (turns, seconds): (usize, f64),
) -> anyhow::Result<Vec<Figure>> {
    let [ours, other] = servers.map(|(request, command)| Running::start(&request, &command, Some(25)));
    let running = [ours?, other?];
    // Warm up just-in-time compilers and caches.
    for server in &running {
        turn(server, seconds, &mut Samples::default())?;
    }
    let mut samples = [Samples::default(), Samples::default()];
    for round in 0..turns {
        let mut pairs: Vec<_> = running.iter().zip(&mut samples).collect();
        if round % 2 == 1 {
            pairs.reverse();
        }
        pairs.into_iter().try_for_each(|(server, samples)| turn(server, seconds, samples))?;
    }
    let [own, others] = &samples;
    let [own_size, other_size] = running.each_ref().map(|server| &server.size);
    let named = |what: &str, unit: &str, own: f64, other: f64| {
        Figure::new(format!("{title}, 16 clients: {what}"), own, unit).compared_with(peer, other)
    };
    let sampled = |what: &str, unit: &str, value: fn(&Samples) -> f64| named(what, unit, value(own), value(others));
    let sized = |what: &str, unit: &str, value: fn(&Size) -> usize| {
        named(what, unit, value(own_size) as f64, value(other_size) as f64).max_ratio(1.0)
    };
    Ok(vec![
        sampled("lists of 25 a second", "", |samples| median(&samples.per_second))
            .ratio(ratio(&own.per_second, &others.per_second))
            .min_ratio(5.0),
        sampled("list, p50", "µs", |samples| percentile(&samples.times, 0.5)),
        sampled("list, p99", "µs", |samples| percentile(&samples.times, 0.99)),
        sampled("server CPU of a list", "µs", |samples| median(&samples.cpu_us)),
        sized("bytes of the HTTP body", "bytes", |size| size.bytes),
        sized("bytes that a model reads", "bytes", |size| size.shown_bytes),
        sized("tokens that a model reads", "tokens", |size| size.tokens),
    ])
}

/// Measures the memory of our server while it answers many large requests. It is flat if it does not grow when
/// repeated.
pub(crate) fn memory(title: &str, arguments: &str, command: &[String], requests: usize) -> anyhow::Result<Vec<Figure>> {
    let running = Running::start(&Request::Mcp { arguments }, command, None)?;
    let before = running.server.resident_kb()?;
    let one = running.peak_kb(1, requests)?;
    let storms = || (0..MEMORY_RUNS).try_fold(0.0, |most: f64, _| Ok(most.max(running.peak_kb(CLIENTS, requests)?)));
    let (many, again): (anyhow::Result<f64>, anyhow::Result<f64>) = (storms(), storms());
    let (many, again) = (many?, again?);
    let named = |what: &str, peak: f64, compared: &str, other: f64| {
        let name = format!("{title}: memory, 400 of the largest page, {what}");
        Figure::new(name, peak, "kB").compared_with(compared, other)
    };
    Ok(vec![
        named("one by one", one, "before", before),
        named("16 at once", many, "before", before),
        named("16 at once again", again, "the first time", many).max_ratio(1.1),
    ])
}

/// Measures an answer. A model reads the text of an MCP result.
fn size(answer: &[u8], is_mcp: bool, rows: Option<usize>) -> anyhow::Result<Size> {
    let whole = str::from_utf8(answer).context("the answer is not text")?;
    let value: Value = serde_json::from_str(whole).context("the answer is not JSON")?;
    let text = match is_mcp {
        true => value.pointer("/result/content/0/text").and_then(Value::as_str).context("no text")?,
        false => whole,
    };
    let read: Value = serde_json::from_str(text).context("what a model reads is not JSON")?;
    let is_full = rows.is_none_or(|rows| holds_rows(&read, rows));
    ensure!(is_full, "no {} rows in {}", rows.unwrap_or_default(), shortened(text));
    Ok(Size { bytes: answer.len(), shown_bytes: text.len(), tokens: crate::count_tokens(text)? })
}

fn holds_rows(value: &Value, rows: usize) -> bool {
    match value {
        Value::Array(items) if items.len() == rows => items.iter().all(Value::is_object),
        Value::Array(items) => items.iter().any(|item| holds_rows(item, rows)),
        Value::Object(members) => members.values().any(|member| holds_rows(member, rows)),
        _ => false,
    }
}
