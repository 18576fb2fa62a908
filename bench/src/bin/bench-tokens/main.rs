//! What a model pays, in tokens of `o200k_base`: for what a server shows at connect, and for a whole task.
//!
//! Usage: bench-tokens capture FILE -- SERVER…
//!        bench-tokens connect -- SERVER…
//!        bench-tokens tasks aquifer|compressor|fastmcp TASKS.json CAPTURE -- SERVER…
//!
//! `capture` writes the tools that a server lists. `tasks` plays every task of that capture: from words to the call, as
//! a model would that knows nothing but the tools' own texts. Results are lines of a name, a tab and a number.

mod tasks;
mod walks;

use anyhow::{Context, bail};
use aquifer_bench::session::Session;
use serde_json::{Value, json};

const USAGE: &str = "usage: bench-tokens capture FILE|connect|tasks PEER TASKS CAPTURE -- SERVER…";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = arguments.iter().position(|argument| argument == "--").context(USAGE)?;
    let (head, server) = arguments.split_at(at);
    let server = server.get(1..).unwrap_or_default();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut session = Session::open(server)?;
    let figures = match head.as_slice() {
        ["capture", file] => {
            let tools = session.tools()?;
            std::fs::write(file, json!({ "tools": tools }).to_string())?;
            vec![("tools".to_owned(), tools.len() as f64)]
        }
        ["connect"] => vec![("connect".to_owned(), connect(&mut session)?.1 as f64)],
        ["tasks", peer, file, capture] => tasks::play(&mut session, peer, file, capture)?,
        _ => bail!(USAGE),
    };
    print(&figures);
    Ok(())
}

/// The tools, and the tokens of what clients show a model of them: names, descriptions and input schemas.
fn connect(session: &mut Session) -> anyhow::Result<(Vec<Value>, usize)> {
    let tools = session.tools()?;
    let shown = |tool: &Value| {
        let members = ["name", "description", "inputSchema"];
        members.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(name)?.clone()))).collect::<Value>()
    };
    let shown: Vec<Value> = tools.iter().map(shown).collect();
    let tokens = count(&Value::from(shown).to_string())?;
    Ok((tools, tokens))
}

/// Tokens of a text.
fn count(text: &str) -> anyhow::Result<usize> {
    Ok(tiktoken::get_encoding("o200k_base").context("no tokenizer")?.count(text))
}

#[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
fn print(figures: &[(String, f64)]) {
    for (name, value) in figures {
        println!("{name}\t{value:.3}");
    }
}
