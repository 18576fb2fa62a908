use crate::support::shop::{Shop, adapter, description};
use crate::support::{Folder, StdioServer, forgetful};
use serde_json::json;

#[test]
fn explore() {
    let shop = Shop::start();
    let folder = Folder::new();
    let file = folder.file("shop.yaml", &description(&shop));
    folder.file("shop-adapter.md", &adapter(&shop));
    let config =
        folder.file("aquifer.toml", &format!("[[source]]\nopenapi = \"{file}\"\nallow_private_addresses = true\n"));
    eprintln!("URL {} FOLDER {}", shop.url(), folder.path(""));
    let _ = (config, json!({}), StdioServer::tasks, forgetful);
    std::thread::sleep(std::time::Duration::from_secs(3000));
}
