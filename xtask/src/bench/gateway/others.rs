//! How each gateway is started in front of servers, and how it is asked.

use super::{Gateways, shown};
use crate::step::root;

/// A gateway in front of something, as `bench-client` takes it: the tool, its arguments, the command.
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) words: Vec<String>,
}

fn described(name: &'static str, tool: &str, call: &str, options: &[&str], command: Vec<String>) -> Described {
    let mut words = vec![tool.to_owned(), "--call".to_owned(), call.to_owned()];
    words.extend(options.iter().map(|option| (*option).to_owned()));
    words.extend(command);
    Described { name, words }
}

pub(super) const COMPRESSOR: &str = "mcp-compressor";
pub(super) const FASTMCP: &str = "fastmcp";
pub(super) const MCP_PROXY: &str = "mcp-proxy";

/// What the upstream is sent, by whichever way.
pub(super) const ARGUMENTS: &str = r#"{"text":"Water the plants"}"#;

fn invoked(tool: &str) -> String {
    format!(r#"{{"tool_name":"{tool}","tool_input":{ARGUMENTS}}}"#)
}

impl Gateways {
    pub(super) fn compressor(&self, words: &[&str]) -> Vec<String> {
        let mut command = vec![shown(&self.compressor), "-m".to_owned(), "mcp_compressor.cli".to_owned()];
        command.extend(words.iter().map(|word| (*word).to_owned()));
        command
    }

    pub(super) fn fastmcp(&self, words: &[&str]) -> Vec<String> {
        let mut command = vec![shown(&self.fastmcp), shown(&root().join("bench/peers/fastmcp_proxy.py"))];
        command.extend(words.iter().map(|word| (*word).to_owned()));
        command
    }

    pub(super) fn mcp_proxy(&self, words: &[&str]) -> Vec<String> {
        let mut command = vec![shown(&self.mcp_proxy), "-m".to_owned(), "mcp_proxy".to_owned()];
        command.extend(words.iter().map(|word| (*word).to_owned()));
        command
    }

    /// The others on stdio, in front of the echo server that `file` starts. One of them can only do so in front of a
    /// server over HTTP, which runs at `url`.
    pub(super) fn on_stdio(&self, file: &str, url: &str) -> Vec<Described> {
        vec![
            described(COMPRESSOR, "invoke_tool", &invoked("echo"), &[], self.compressor(&["--config", file])),
            described(FASTMCP, "echo", ARGUMENTS, &[], self.fastmcp(&[file])),
            described(MCP_PROXY, "echo", ARGUMENTS, &[], self.mcp_proxy(&["--transport", "streamablehttp", url])),
        ]
    }

    /// The others over HTTP, in front of the same. One says port 0 when it is told to choose, so that a free one is
    /// chosen for it.
    pub(super) fn over_http(&self, file: &str, echo: &str, port: u16) -> Vec<Described> {
        vec![
            described(
                COMPRESSOR,
                "invoke_tool",
                &invoked("echo"),
                &["--session", "--path", "/mcp"],
                self.compressor(&["--config", file, "--transport", "streamable-http", "--port", "0"]),
            ),
            described(
                FASTMCP,
                "echo",
                ARGUMENTS,
                &["--session", "--path", "/mcp"],
                self.fastmcp(&[file, "--http", "0"]),
            ),
            described(
                MCP_PROXY,
                "echo",
                ARGUMENTS,
                &["--session", "--path", "/servers/echo/mcp"],
                self.mcp_proxy(&["--port", &port.to_string(), "--named-server", "echo", &format!("{echo} --stdio")]),
            ),
        ]
    }
}
