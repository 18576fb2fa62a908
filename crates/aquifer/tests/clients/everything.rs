//! `server-everything` behind the gateway, used by the official clients as if they were connected to it directly: results
//! of every kind, progress, cancellation, documents, prompts, completion, logging, and what servers ask of clients.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::Process;
use crate::{
    AQUIFER, Client, Server, TYPESCRIPT_V1_2025_06_18, TYPESCRIPT_V1_2025_11_25, TYPESCRIPT_V2_2025_11_25,
    TYPESCRIPT_V2_2026_07_28,
};

macro_rules! alone_and_beside_another {
    ($($name:ident: $client:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn r_dis_7_stdio() {
                over_stdio($client, "everything");
            }

            #[test]
            fn r_dis_7_stdio_beside_another() {
                over_stdio($client, "beside");
            }

            #[test]
            fn r_dis_7_http() {
                over_http($client, "everything");
            }

            #[test]
            fn r_dis_7_http_beside_another() {
                over_http($client, "beside");
            }
        }
    )*};
}

alone_and_beside_another! {
    typescript_v1_2025_06_18: TYPESCRIPT_V1_2025_06_18;
    typescript_v1_2025_11_25: TYPESCRIPT_V1_2025_11_25;
    typescript_v2_2025_11_25: TYPESCRIPT_V2_2025_11_25;
    typescript_v2_2026_07_28: TYPESCRIPT_V2_2026_07_28;
}

/// A folder with a client's file that names the servers, and a memory of its own.
struct Home(PathBuf);

impl Home {
    fn new(of: &str, mode: &str) -> Self {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("everything-{}-{of}-{mode}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let installed = std::env::var_os("AQUIFER_TEST_SERVERS_NPM")
            .unwrap_or_else(|| panic!("AQUIFER_TEST_SERVERS_NPM is not set. Run these tests with: cargo xtask test"));
        let everything =
            Path::new(&installed).join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let node = std::env::var("AQUIFER_TEST_NODE").expect("AQUIFER_TEST_NODE");
        let small = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/support/mcp_server.py");
        let tools = folder.join("tools.json");
        let sound =
            r#"[{"name": "get_sound", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]"#;
        std::fs::write(&tools, sound).expect("a file");
        let beside = if mode == "beside" {
            format!(r#", "small": {{"command": "python3", "args": [{small:?}, {tools:?}]}}"#)
        } else {
            String::new()
        };
        let servers =
            format!(r#"{{"mcpServers": {{"everything": {{"command": {node:?}, "args": [{everything:?}]}}{beside}}}}}"#);
        std::fs::write(folder.join("mcp.json"), servers).expect("a file");
        Self(folder)
    }

    fn servers(&self) -> String {
        self.0.join("mcp.json").display().to_string()
    }

    fn remember_here(&self, mut command: Command) -> Command {
        command.env("XDG_STATE_HOME", self.0.join("state"));
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn over_stdio(client: Client, mode: &str) {
    let home = Home::new("stdio", mode);
    let command = client.command(false, mode, ["stdio", AQUIFER, "serve", &home.servers()]);
    Process::start(home.remember_here(command)).passes();
}

fn over_http(client: Client, mode: &str) {
    let home = Home::new("http", mode);
    let mut serve = home.remember_here(Command::new(AQUIFER));
    serve.args(["serve", "--http", "127.0.0.1:0", &home.servers()]).stdin(Stdio::null());
    let server = Server::of(serve);
    Process::start(client.command(false, mode, ["http", &server.url])).passes();
}
