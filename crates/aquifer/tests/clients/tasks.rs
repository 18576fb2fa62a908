//! The task board, used by every client there is.

use crate::process::Process;
use crate::{
    AQUIFER, Client, PYTHON_V1_2025_11_25, PYTHON_V2_2025_11_25, PYTHON_V2_2026_07_28, Server,
    TYPESCRIPT_V1_2025_03_26, TYPESCRIPT_V1_2025_06_18, TYPESCRIPT_V1_2025_11_25, TYPESCRIPT_V2_2025_11_25,
    TYPESCRIPT_V2_2026_07_28,
};

macro_rules! over_stdio_and_http {
    ($($name:ident: $client:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn stdio_semantic() {
                over_stdio($client, "semantic");
            }

            #[test]
            fn stdio_single() {
                over_stdio($client, "single");
            }

            #[test]
            fn http_semantic() {
                over_http($client, "semantic");
            }

            #[test]
            fn http_single() {
                over_http($client, "single");
            }
        }
    )*};
}

over_stdio_and_http! {
    typescript_v1_2025_03_26: TYPESCRIPT_V1_2025_03_26;
    typescript_v1_2025_06_18: TYPESCRIPT_V1_2025_06_18;
    typescript_v1_2025_11_25: TYPESCRIPT_V1_2025_11_25;
    typescript_v2_2025_11_25: TYPESCRIPT_V2_2025_11_25;
    typescript_v2_2026_07_28: TYPESCRIPT_V2_2026_07_28;
    python_v1_2025_11_25: PYTHON_V1_2025_11_25;
    python_v2_2025_11_25: PYTHON_V2_2025_11_25;
    python_v2_2026_07_28: PYTHON_V2_2026_07_28;
}

/// All are connected before the first goes on, so each works while every other connection stands.
#[test]
fn one_process_serves_every_revision_at_once() {
    let server = Server::start(["tasks:", "--model-confirms"]);
    let everybody = [
        TYPESCRIPT_V1_2025_03_26,
        TYPESCRIPT_V1_2025_11_25,
        TYPESCRIPT_V2_2026_07_28,
        PYTHON_V1_2025_11_25,
        PYTHON_V2_2026_07_28,
    ];
    let mut connected: Vec<Process> = everybody
        .iter()
        .map(|client| Process::start(client.command(true, "semantic", ["http", &server.url])))
        .collect();
    for client in &mut connected {
        client.line("it is connected", |line| (line == "holding").then_some(()));
    }
    for mut client in connected {
        client.release();
        client.passes();
    }
}

fn over_stdio(client: Client, mode: &str) {
    let server = ["stdio", AQUIFER, "serve", "tasks:", "--model-confirms", "--mode", mode];
    Process::start(client.command(false, mode, server)).passes();
}

fn over_http(client: Client, mode: &str) {
    let server = Server::start(["tasks:", "--model-confirms", "--mode", mode]);
    Process::start(client.command(false, mode, ["http", &server.url])).passes();
}
