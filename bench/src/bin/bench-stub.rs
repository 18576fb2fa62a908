//! A stub server: lists the tools of a capture and answers every call with `done`. It communicates over stdio, supports
//! every revision that has a handshake, and starts immediately.
//!
//! Usage: bench-stub CAPTURE.json

use std::io::{BufRead, Write};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The tools of a capture, as raw JSON.
#[derive(Deserialize)]
struct Capture {
    tools: Box<RawValue>,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file] = arguments.as_slice() else { bail!("usage: bench-stub CAPTURE.json") };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let capture: Capture = serde_json::from_str(&text).with_context(|| format!("{file} is not a capture"))?;
    // A message is one line, so the tools must not contain line breaks.
    let tools = serde_json::from_str::<Value>(capture.tools.get())?.to_string();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if let Some(answer) = answer(&message, &tools) {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
    Ok(())
}

/// The answer to a request. `None` for notifications.
fn answer(message: &Value, tools: &str) -> Option<String> {
    let id = message.get("id")?;
    let result = match message.get("method")?.as_str()? {
        "initialize" => json!({
            "protocolVersion": message.pointer("/params/protocolVersion"),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "stub", "version": "1" },
        })
        .to_string(),
        "tools/list" => format!(r#"{{"tools":{tools}}}"#),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "done" }] }).to_string(),
        "ping" => "{}".to_owned(),
        _ => {
            return Some(
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" } })
                    .to_string(),
            );
        }
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}
