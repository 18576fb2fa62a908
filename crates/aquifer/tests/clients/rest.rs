//! An HTTP API, used by the official clients through its OpenAPI description and through an adapter file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::Process;
use crate::shop::{Shop, adapter, description};
use crate::{AQUIFER, Client, Server, TYPESCRIPT_V1_2025_11_25, TYPESCRIPT_V2_2026_07_28, state};

/// A configuration that serves the API, in a folder of its own.
fn configuration(shop: &Shop, source: &str) -> PathBuf {
    let folder = state();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("shop.yaml"), description(shop)).unwrap();
    let file = adapter(shop).replace("PUT /products", "PATCH /products");
    // Without the credential, which the API does not ask for here.
    let file = file.replace("type: bearer\n  token_env: SHOP_TOKEN", "type: none");
    std::fs::write(folder.join("shop-adapter.md"), file).unwrap();
    let config = folder.join("aquifer.toml");
    std::fs::write(&config, format!("[[source]]\n{source}\n")).unwrap();
    config
}

fn over_stdio(client: Client, config: &Path) {
    let server = ["stdio", AQUIFER, "serve", "--model-confirms", "--config", config.to_str().unwrap()];
    Process::start(client.command(false, "rest", server)).passes();
}

fn over_http(client: Client, config: &Path) {
    let mut command = Command::new(AQUIFER);
    command.args(["serve", "--model-confirms", "--http", "127.0.0.1:0", "--config"]).arg(config).stdin(Stdio::null());
    command.env("XDG_STATE_HOME", state());
    let server = Server::from_command(command);
    Process::start(client.command(false, "rest", ["http", &server.url])).passes();
}

const DESCRIBED: &str = "openapi = \"shop.yaml\"\nallow_private_addresses = true";
const ADAPTED: &str = "target = \"shop-adapter.md\"\ntrust = \"validated\"";

#[test]
fn typescript_v1_walks_a_description_over_stdio() {
    let shop = Shop::start();
    over_stdio(TYPESCRIPT_V1_2025_11_25, &configuration(&shop, DESCRIBED));
    let deleted = shop.received().iter().filter(|request| request.method == "DELETE").count();
    assert_eq!(deleted, 1);
}

#[test]
fn typescript_v2_walks_a_description_over_http() {
    let shop = Shop::start();
    over_http(TYPESCRIPT_V2_2026_07_28, &configuration(&shop, DESCRIBED));
    assert_eq!(shop.product(7).unwrap()["stock"], 12);
}

#[test]
fn typescript_v1_walks_an_adapter_file_over_http() {
    let shop = Shop::start();
    over_http(TYPESCRIPT_V1_2025_11_25, &configuration(&shop, ADAPTED));
    assert_eq!(shop.product(7).unwrap()["stock"], 12);
}
