//! HTTP APIs as sources: a real API behind the binary, by its OpenAPI description and by an adapter file.

mod adapter_file;
mod conformance;
mod credentials;
mod errors;
mod links;
mod lists;
mod reading;
mod reloaded;
mod sources;
mod writing;

use std::process::Command;

use serde_json::Value;

use crate::support::shop::{Received, Shop, adapter, description};
use crate::support::{Folder, StdioServer, forgetful};

/// An API, and a folder with what describes it.
struct Fixture {
    folder: Folder,
    shop: Shop,
}

impl Fixture {
    /// The API by its description. The keys belong to its `[[source]]`.
    fn described(keys: &str) -> Self {
        let fixture = Self { folder: Folder::new(), shop: Shop::start() };
        fixture.folder.file("shop.yaml", &description(&fixture.shop));
        fixture.configure(&format!(
            "[[source]]\nopenapi = \"shop.yaml\"\nbase_url = \"{}\"\n{keys}\n",
            fixture.shop.url()
        ));
        fixture
    }

    /// The API by its adapter file, which the operator trusts.
    fn adapted() -> Self {
        let fixture = Self { folder: Folder::new(), shop: Shop::start() };
        fixture.folder.file("shop-adapter.md", &adapter(&fixture.shop));
        fixture.configure("[[source]]\ntarget = \"shop-adapter.md\"\ntrust = \"validated\"\n");
        fixture
    }

    fn configure(&self, content: &str) {
        self.folder.file("aquifer.toml", content);
    }

    /// Replaces a part of a file, all at once.
    fn edit(&self, name: &str, from: &str, to: &str) {
        let before = std::fs::read_to_string(self.folder.path(name)).unwrap();
        let after = before.replacen(from, to, 1);
        assert_ne!(before, after, "{from}");
        let draft = self.folder.file(&format!("{name}.draft"), &after);
        std::fs::rename(draft, self.folder.path(name)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = forgetful(&self.folder);
        command.current_dir(self.folder.path("")).args(arguments);
        command.env("SHOP_TOKEN", "s3cret-bearer");
        command
    }

    fn serve(&self) -> StdioServer {
        Self::start(&mut self.command(&["serve"]))
    }

    fn start(command: &mut Command) -> StdioServer {
        let mut server = StdioServer::spawn(command);
        server.initialize("2025-06-18");
        server
    }
}

/// The method of each request.
fn methods(requests: &[Received]) -> Vec<&str> {
    requests.iter().map(|request| request.method.as_str()).collect()
}

/// The values of a field in the rows of a result.
fn column(data: &Value, field: &str) -> Vec<u64> {
    let rows = data["items"].as_array().or(data.as_array()).unwrap_or_else(|| panic!("{data}"));
    rows.iter().map(|row| row[field].as_u64().unwrap()).collect()
}
