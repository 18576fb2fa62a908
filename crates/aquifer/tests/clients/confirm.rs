//! Deleting asks the person behind an official client: in a session, and stateless.

use crate::process::Process;
use crate::{
    AQUIFER, Client, Server, TYPESCRIPT_V1_2025_06_18, TYPESCRIPT_V1_2025_11_25, TYPESCRIPT_V2_2025_11_25,
    TYPESCRIPT_V2_2026_07_28,
};

macro_rules! over_stdio_and_http {
    ($($name:ident: $client:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn r_saf_3_stdio() {
                let server = ["stdio", AQUIFER, "serve", "tasks:"];
                Process::start(Client::command($client, false, "confirm", server)).passes();
            }

            #[test]
            fn r_saf_3_http() {
                let server = Server::start(["tasks:"]);
                Process::start(Client::command($client, false, "confirm", ["http", &server.url])).passes();
            }
        }
    )*};
}

over_stdio_and_http! {
    typescript_v1_2025_06_18: TYPESCRIPT_V1_2025_06_18;
    typescript_v1_2025_11_25: TYPESCRIPT_V1_2025_11_25;
    typescript_v2_2025_11_25: TYPESCRIPT_V2_2025_11_25;
    typescript_v2_2026_07_28: TYPESCRIPT_V2_2026_07_28;
}
