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
                over_stdio($client, "everything", &Home::with_processes("stdio", "everything"));
            }

            #[test]
            fn r_dis_7_stdio_beside_another() {
                over_stdio($client, "beside", &Home::with_processes("stdio", "beside"));
            }

            #[test]
            fn r_dis_7_http() {
                over_http($client, "everything", &Home::with_processes("http", "everything"));
            }

            #[test]
            fn r_dis_7_http_beside_another() {
                over_http($client, "beside", &Home::with_processes("http", "beside"));
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

/// The server itself on the web instead of behind pipes.
mod on_the_web {
    use super::*;

    #[test]
    fn r_dis_7_typescript_v1_2025_11_25() {
        served_from_the_web(TYPESCRIPT_V1_2025_11_25);
    }

    #[test]
    fn r_dis_7_typescript_v2_2026_07_28() {
        served_from_the_web(TYPESCRIPT_V2_2026_07_28);
    }

    fn served_from_the_web(client: Client) {
        let loopback = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/loopback.cjs");
        let mut command = Command::new(node());
        command.args(["--require", loopback]).arg(everything()).arg("streamableHttp").env("PORT", "0");
        let mut web = Process::start(command);
        let port = web.line("it tells its port", |line| Some(line.strip_prefix("loopback port ")?.to_owned()));
        let home = Home::new("web");
        let url = format!("http://127.0.0.1:{port}/mcp");
        home.write(&format!(r#"{{"mcpServers": {{"everything": {{"type": "http", "url": {url:?}}}}}}}"#));
        over_stdio(client, "everything", &home);
        over_http(client, "everything", &home);
    }
}

fn node() -> String {
    std::env::var("AQUIFER_TEST_NODE").expect("AQUIFER_TEST_NODE is not set. Run these tests with: cargo xtask test")
}

fn everything() -> PathBuf {
    let installed = std::env::var_os("AQUIFER_TEST_SERVERS_NPM")
        .expect("AQUIFER_TEST_SERVERS_NPM is not set. Run these tests with: cargo xtask test");
    Path::new(&installed).join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

/// A folder with a client's file that names the servers, and a memory of its own.
struct Home(PathBuf);

impl Home {
    fn new(of: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("everything-{}-{of}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// With the server as a process, alone or beside one that makes sounds.
    fn with_processes(of: &str, mode: &str) -> Self {
        let home = Self::new(&format!("{of}-{mode}"));
        let (node, everything) = (node(), everything());
        let small = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/support/mcp_server.py");
        let tools = home.0.join("tools.json");
        let sound =
            r#"[{"name": "get_sound", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]"#;
        std::fs::write(&tools, sound).expect("a file");
        let beside = match mode {
            "beside" => format!(r#", "small": {{"command": "python3", "args": [{small:?}, {tools:?}]}}"#),
            _ => String::new(),
        };
        home.write(&format!(
            r#"{{"mcpServers": {{"everything": {{"command": {node:?}, "args": [{everything:?}]}}{beside}}}}}"#
        ));
        home
    }

    fn write(&self, servers: &str) {
        std::fs::write(self.servers(), servers).expect("a file");
    }

    /// An operator who lets everything pass unasked and every server ask: what the server asks is what is looked at here.
    fn unguarded(&self) -> String {
        let file = self.0.join("unguarded.toml");
        let config = "[[source]]\ntarget = \"mcp.json\"\nallow = [\"elicitation\", \"sampling\"]\n\
                      [[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";
        std::fs::write(&file, config).expect("a file");
        file.display().to_string()
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

fn over_stdio(client: Client, mode: &str, home: &Home) {
    let command = client.command(false, mode, ["stdio", AQUIFER, "serve", "--config", &home.unguarded()]);
    Process::start(home.remember_here(command)).passes();
}

fn over_http(client: Client, mode: &str, home: &Home) {
    let mut serve = home.remember_here(Command::new(AQUIFER));
    serve.args(["serve", "--http", "127.0.0.1:0", "--config", &home.unguarded()]).stdin(Stdio::null());
    let server = Server::from_command(serve);
    Process::start(client.command(false, mode, ["http", &server.url])).passes();
}
