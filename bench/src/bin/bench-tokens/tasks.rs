//! The tasks, and what playing them costs.

use anyhow::{Context, bail};
use aquifer_bench::session::Session;
use aquifer_bench::statistics::median;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::walks::{Walk, aquifer, compressor, fastmcp};
use crate::{connect, count};

/// Something to be done: in words, and which call of the server behind does it.
#[derive(Deserialize)]
pub(crate) struct Task {
    capture: String,
    pub(crate) tool: String,
    pub(crate) words: String,
    pub(crate) arguments: Value,
}

/// A conversation, and what it has cost so far.
pub(crate) struct Talk<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) tools: &'a [Value],
    tokens: usize,
    requests: usize,
}

impl Talk<'_> {
    /// Calls a tool. What the model writes and what it reads are both paid for.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let written = json!({ "name": tool, "arguments": arguments }).to_string();
        let read = self.session.call(tool, arguments)?;
        self.tokens += count(&written)? + count(&read)?;
        self.requests += 1;
        Ok(read)
    }

    /// The tool whose name ends so: some put a prefix in front.
    pub(crate) fn tool(&self, end: &str) -> anyhow::Result<String> {
        let mut names = self.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        names.find(|name| name.ends_with(end)).map(str::to_owned).with_context(|| format!("no tool …{end}"))
    }
}

/// `connect`, and of all tasks `tasks`, `found` (how many were found by their words), `total` (the median of those,
/// connect included), `least`, `most`, and `before` (the most requests before the call).
pub(crate) fn play(session: &mut Session, peer: &str, file: &str, capture: &str) -> anyhow::Result<Vec<(String, f64)>> {
    let walk: Walk = match peer {
        "aquifer" => aquifer,
        "compressor" => compressor,
        "fastmcp" => fastmcp,
        other => bail!("unknown: {other}"),
    };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let tasks: Vec<Task> = serde_json::from_str(&text).with_context(|| format!("{file} holds no tasks"))?;
    let tasks: Vec<Task> = tasks.into_iter().filter(|task| task.capture == capture).collect();
    let (tools, shown) = connect(session)?;
    let mut totals = Vec::new();
    let mut before = 0;
    for task in &tasks {
        let mut talk = Talk { session, tools: &tools, tokens: shown, requests: 0 };
        let found = walk(&mut talk, task).with_context(|| format!("{peer}: {}", task.words))?;
        eprintln!("{peer} {capture} {}: {} tokens, {} requests, found: {found}", task.tool, talk.tokens, talk.requests);
        if found {
            totals.push(talk.tokens as f64);
            before = before.max(talk.requests - 1);
        }
    }
    let (least, most) =
        totals.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), total| (least.min(*total), most.max(*total)));
    let named = [
        ("connect", shown as f64),
        ("tasks", tasks.len() as f64),
        ("found", totals.len() as f64),
        ("total", median(&totals)),
        ("least", least),
        ("most", most),
        ("before", before as f64),
    ];
    Ok(named.map(|(name, value)| (name.to_owned(), value)).to_vec())
}
