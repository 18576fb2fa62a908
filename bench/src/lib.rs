//! Shared code of the benchmark programs: HTTP and MCP clients, servers as child processes, statistics.

pub mod http;
pub mod mcp;
pub mod process;
pub mod session;
pub mod statistics;
pub mod turns;

/// A configuration that requires no confirmation.
pub const UNGUARDED: &str = "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";

/// Splits a command into owned words.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
