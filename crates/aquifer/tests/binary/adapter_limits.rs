//! Limits that an adapter file declares are kept, and told by introspection.

use serde_json::{Value, json};

use crate::support::{Folder, forgetful, server, text, tools};

/// A folder with an adapter that declares limits, and the words that start its server.
struct Desk {
    folder: Folder,
    command: Vec<String>,
}

impl Desk {
    fn new(limits: &str) -> Self {
        let folder = Folder::new();
        let started = server(&folder.tools("tools.json", &tools())).to_vec();
        let command = [vec!["--".to_owned()], started].concat();
        let desk = Self { folder, command };
        desk.run(&["interrogate", "--name", "small", "-o", "small.bundle.json"], true);
        desk.run(&["build", "small.bundle.json"], false);
        let file = std::fs::read_to_string(desk.folder.path("small-adapter.md")).unwrap();
        let with_limits = file.replacen("\noperations:\n", &format!("\nrate_limits: {limits}\noperations:\n"), 1);
        assert_ne!(file, with_limits);
        desk.folder.file("small-adapter.md", &with_limits);
        desk
    }

    /// Runs a command in the folder. Gives whether it succeeded, and what it said.
    fn run(&self, arguments: &[&str], with_server: bool) -> (bool, String) {
        let mut command = forgetful(&self.folder);
        command.args(arguments).current_dir(self.folder.path(""));
        if with_server {
            command.args(&self.command);
        }
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    }

    fn call(&self, operation: &str, params: &Value) -> Value {
        let params = params.to_string();
        let (_, printed) =
            self.run(&["call", operation, &params, "--source", "small-adapter.md", "--trust", "validated"], true);
        let line = printed.lines().find(|line| line.starts_with('{'));
        let answer = line.and_then(|_| serde_json::Deserializer::from_str(&printed).into_iter::<Value>().next()?.ok());
        answer.unwrap_or_else(|| panic!("{operation}: {printed}"))
    }

    fn code(&self, operation: &str, params: &Value) -> String {
        let answer = self.call(operation, params);
        answer["error"]["code"].as_str().unwrap_or("done").to_owned()
    }
}

#[test]
fn r_saf_4_limits_of_an_adapter_file_are_enforced() {
    let desk = Desk::new(
        "{ requests_per_day: 6, api_limits: [{ scope: endpoint, endpoint: \"list_*\", limit: 2, window: day }], \
         quotas: { limits: [{ metric: cost_per_day, hard_stop: 1.0, currency: EUR }] }, \
         cost: { pricing: [{ endpoint: \"tool:environment\", cost_per_call: 0.5 }] } }",
    );
    let environment = json!({ "name": "PATH" });
    assert_eq!(desk.code("list_things", &json!({})), "done");
    assert_eq!(desk.code("list_things", &json!({})), "done");
    let refused = desk.call("list_things", &json!({}));
    assert_eq!(refused["error"]["code"], "RATE_LIMIT_EXCEEDED", "{refused}");
    let details = &refused["error"]["details"];
    assert_eq!((&details["limit"], &details["window"]), (&json!(2), &json!("day")), "{refused}");
    assert_eq!(details["limit_name"], "small: endpoint_1_per_day");
    // What it costs, and the end of the quota.
    assert_eq!(desk.code("environment", &environment), "done");
    assert_eq!(desk.code("environment", &environment), "done");
    let ended = desk.call("environment", &environment);
    assert_eq!(ended["error"]["code"], "RATE_LIMIT_QUOTA_EXHAUSTED", "{ended}");
    assert_eq!(ended["error"]["details"]["current"], 1.0, "{ended}");
    // Every attempt counts for the limit of all operations.
    assert_eq!(desk.code("environment", &environment), "RATE_LIMIT_EXCEEDED");
    let status = desk.call("introspect", &json!({ "query": "quota_status" }))["data"].clone();
    assert_eq!(status["adapter"], "small", "{status}");
    let limits = &status["api_limits"];
    assert_eq!(limits["small: requests_per_day"]["remaining"], 0, "{status}");
    assert_eq!(limits["small: endpoint_1_per_day"]["remaining"], 0, "{status}");
    assert_eq!(
        (&status["quotas"][0]["status"], &status["quotas"][0]["currency"]),
        (&json!("exhausted"), &json!("EUR"))
    );
    assert!(status["next_reset"].as_str().is_some_and(|at| at.ends_with('Z')), "{status}");
    let (is_done, shown) = desk.run(&["policy", "show", "small-adapter.md", "--trust", "validated"], true);
    assert!(is_done && shown.contains("small: requests_per_day: 6 a day of source small"), "{shown}");
}

#[test]
fn r_int_6_adapter_info_has_name_version_and_trust() {
    let desk = Desk::new("{ requests_per_day: 6 }");
    let info = desk.call("introspect", &json!({ "query": "adapter_info" }))["data"].clone();
    assert_eq!(info["name"], "small", "{info}");
    assert!(info["version"].as_str().is_some_and(|version| version.split('.').count() == 3), "{info}");
    assert_eq!(info["trust"], json!({ "level": "accepted" }), "{info}");
}

#[test]
fn limits_that_make_no_sense_are_refused_with_their_place() {
    let desk = Desk::new("{ requests_per_minute: 0 }");
    let (is_done, printed) = desk.run(&["validate", "small-adapter.md"], false);
    assert!(!is_done && printed.contains("rate_limits.requests_per_minute"), "{printed}");
    let (is_done, printed) = desk.run(&["call", "list_things", "--source", "small-adapter.md"], true);
    assert!(!is_done && printed.contains("requests_per_minute"), "{printed}");
}
