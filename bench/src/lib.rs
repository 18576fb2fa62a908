//! What the programs of this package share: a client's side of HTTP and MCP, servers as child processes, statistics.

pub mod http;
pub mod mcp;
pub mod process;
pub mod session;
pub mod statistics;
pub mod turns;

/// A configuration that asks nobody for confirmation.
pub const UNGUARDED: &str = "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";

/// A command in words.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
