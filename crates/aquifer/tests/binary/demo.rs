//! What a new user sees of `aquifer demo`: a shop that is the same everywhere, requests that work, and every endpoint family
//! with something to try.

use serde_json::{Value, json};

use crate::safety::Fixture;
use crate::support::{HttpServer, StdioServer, aquifer, run, shell, text, token, until, with_people};

fn demo() -> StdioServer {
    StdioServer::initialized(&["demo", "--stdio"], "2025-06-18")
}

/// The operations and parameters that stand behind this beginning of a line.
fn suggested<'t>(talk: &'t str, beginning: &str) -> Vec<(&'t str, &'t str)> {
    let lines = talk.lines().filter_map(|line| line.strip_prefix(beginning)?.split_once(' '));
    lines.filter(|(name, rest)| !name.contains('{') && rest.starts_with(['{', '\''])).collect()
}

/// The state directory of the demo, which it prints.
fn state(talk: &str) -> &str {
    talk.lines().find_map(|line| line.trim().strip_prefix("aquifer approvals secret --state ")).unwrap()
}

/// Approves a call with the commands that the demo prints, and a new admin secret.
fn approve(talk: &str, id: &str, shown_call: &str) {
    let state = state(talk);
    let person = |talk: &[(&str, &str)], words: &[&str]| {
        let command = [&[env!("CARGO_BIN_EXE_aquifer"), "approvals"], words, &["--state", state]].concat();
        Fixture::at_terminal("", talk, &command)
    };
    let _ = std::fs::remove_file(std::path::Path::new(state).join("admin.key"));
    let (code, shown) = person(&[], &["secret"]);
    assert_eq!(code, 0, "{shown}");
    let secret = shown.lines().map(str::trim).find(|line| line.len() == 64 && line.contains('-')).unwrap();
    let (code, shown) = person(&[("Admin secret:", secret), ("[y/N]", "y")], &["approve", id]);
    assert!(code == 0 && shown.contains(shown_call), "{shown}");
}

/// R-SAF-3, R-SAF-5: as a new user would try it.
fn deleting_asks_is_confirmed_happens_and_stands_in_the_audit(
    served: &HttpServer,
    talk: &str,
    to_agents: (&str, &str),
    to_shells: (&str, &str),
) {
    let (operation, params) = to_agents;
    let mut params: Value = serde_json::from_str(params).unwrap();
    let delete = |params: &Value| served.call("mcp_aql_delete", json!({ "operation": operation, "params": params }));
    let there =
        || served.call("mcp_aql_read", json!({ "operation": "get_tag", "params": { "id": 3 } }))["success"] == true;
    let asked = delete(&params);
    let details = &asked["error"]["details"];
    assert!(details["confirmation_message"].as_str().unwrap().contains("Delete tag 3"), "{asked}");
    assert!(details["reasons"][0].is_string() && there(), "{asked}");
    params["confirmation_token"] = token(&asked).unwrap().into();
    assert_eq!(delete(&params)["error"]["details"]["approval_status"], "pending", "a token alone confirms nothing");
    assert!(there());
    approve(talk, details["approval_id"].as_str().unwrap(), "Delete tag 3");
    assert_eq!(delete(&params)["success"], true);
    assert!(!there());
    assert_eq!(delete(&params)["error"]["code"], "TOKEN_ALREADY_USED");
    let show = talk.lines().find_map(|line| line.trim().strip_prefix("aquifer audit show ")).unwrap();
    let shown = text(&shell(&format!("aquifer audit show {show}")).stdout);
    for event in ["CONFIRMATION_REQUIRED", "CONFIRMATION_GRANTED", "OPERATION_INTENT", "OPERATION_OUTCOME"] {
        assert!(shown.contains(event), "{event}: {shown}");
    }
    let verified = shell(&format!("aquifer audit verify {show}"));
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stdout));
    // The same from a shell, on a shop of its own.
    let first = shell(&format!("aquifer call {} {}", to_shells.0, to_shells.1));
    assert!(text(&first.stdout).contains("CONFIRMATION_REQUIRED"), "{}", text(&first.stdout));
}

/// The lifecycle of an execution, from both sides.
fn exporting_takes_its_time_and_ends(served: &HttpServer, to_agents: (&str, &str), to_shells: (&str, &str)) {
    let (operation, params) = to_agents;
    let params: Value = serde_json::from_str(params).unwrap();
    let ended = served.call("mcp_aql_execute", json!({ "operation": operation, "params": params }));
    assert_eq!(ended["data"]["status"], "completed", "{ended}");
    let printed: Value =
        serde_json::from_slice(&shell(&format!("aquifer call {} {}", to_shells.0, to_shells.1)).stdout).unwrap();
    assert_eq!(printed["data"]["result"], ended["data"]["result"], "{printed}");
}

/// R-SAF-3: nothing but the admin secret, typed at a terminal, lets it go.
fn a_newsletter_is_sent_once_a_person_approved_it(served: &HttpServer, talk: &str, (operation, params): (&str, &str)) {
    let mut params: Value = serde_json::from_str(params).unwrap();
    let send = |params: &Value| served.call("mcp_aql_execute", json!({ "operation": operation, "params": params }));
    let asked = send(&params);
    let id = asked["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}"));
    assert!(asked["error"]["details"]["confirmation_message"].as_str().unwrap().contains("Tents for less"), "{asked}");
    let details = &asked["error"]["details"];
    assert_eq!(details["reasons"][0], "It does something that cannot be undone", "{asked}");
    assert!(details["confirmation_message"].as_str().unwrap().contains(" customers."), "{asked}");
    let mut tried = params.clone();
    tried["dry_run"] = true.into();
    assert_eq!(send(&tried)["data"]["sent"], false, "nobody is asked about a dry run");
    params["confirmation_token"] = token(&asked).unwrap().into();
    assert_eq!(send(&params)["error"]["details"]["approval_status"], "pending");
    approve(talk, id, "Tents for less");
    let sent = send(&params);
    assert_eq!(sent["data"]["sent"], true, "{sent}");
    assert!(sent["data"]["recipients"].as_u64().unwrap() > 10, "{sent}");
    // The request, the decision and the call are joined by the approval.
    let log = shell(&format!("aquifer audit show --approval {id} --json --state {}", state(talk)));
    let entries: Vec<Value> = text(&log.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut events: Vec<&str> = entries.iter().map(|entry| entry["event"].as_str().unwrap()).collect();
    events.sort_unstable();
    let expected =
        ["APPROVAL_GRANTED", "CONFIRMATION_GRANTED", "CONFIRMATION_REQUIRED", "OPERATION_INTENT", "OPERATION_OUTCOME"];
    assert_eq!(events, expected, "{entries:?}");
    assert!(entries.iter().all(|entry| entry["client_name"].is_string()), "{entries:?}");
}

#[test]
fn its_state_is_current_from_the_start() {
    let mut served = HttpServer::spawn(with_people(aquifer()).args(["demo", "--http", "127.0.0.1:0"]));
    let talk = served.says("Press Ctrl-C to stop");
    let state = talk.lines().find_map(|line| line.trim().strip_prefix("aquifer approvals list --state ")).unwrap();
    assert_eq!(std::fs::read_to_string(format!("{state}/version")).unwrap(), "2\n");
    let verified = shell(&format!("aquifer audit verify --state {state}"));
    let said = text(&verified.stderr);
    assert!(verified.status.success() && !said.contains("was changed from version"), "{said}");
    assert!(!std::fs::exists(format!("{state}/backup-v1")).unwrap());
}

#[test]
fn what_it_suggests_works_and_answers_the_same_everywhere() {
    let mut served = HttpServer::spawn(with_people(aquifer()).args(["demo", "--http", "127.0.0.1:0"]));
    let talk = served.says("Press Ctrl-C to stop");
    let (to_agents, to_shells) = (suggested(&talk, "  "), suggested(&talk, "  aquifer call "));
    // The newsletter waits for an approval only on this server.
    assert_eq!((to_agents.len(), to_shells.len()), (6, 5), "{talk}");
    deleting_asks_is_confirmed_happens_and_stands_in_the_audit(&served, &talk, to_agents[4], to_shells[4]);
    exporting_takes_its_time_and_ends(&served, to_agents[3], to_shells[3]);
    a_newsletter_is_sent_once_a_person_approved_it(&served, &talk, to_agents[5]);
    let mut answers = Vec::new();
    for ((operation, params), (same_operation, rest)) in to_agents.into_iter().zip(to_shells).take(3) {
        assert_eq!(operation, same_operation);
        let params: Value = serde_json::from_str(params).unwrap();
        let answer = served.call("mcp_aql_read", json!({ "operation": operation, "params": params }));
        assert_eq!(answer["success"], true, "{operation}: {answer}");
        // The command as it stands there, for a shell.
        let output = shell(&format!("aquifer call {operation} {rest}"));
        assert_eq!(output.status.code(), Some(0), "{operation}: {}", text(&output.stderr));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(printed, answer, "{operation}");
        answers.push(answer["data"].clone());
    }

    let [sums, found, related] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(
        sums["aggregations"]["by_status"],
        json!({
            "cancelled": { "count": 75, "sum": 20577.32 },
            "delivered": { "count": 1010, "sum": 260366.99 },
            "paid": { "count": 3, "sum": 804.8 },
            "pending": { "count": 22, "sum": 5977.91 },
            "returned": { "count": 60, "sum": 17549.6 },
            "shipped": { "count": 11, "sum": 2348.73 },
        })
    );
    let hits = found["items"].as_array().unwrap();
    assert_eq!(hits.len(), 5);
    let subject = hits[0]["subject"].as_str().unwrap();
    assert!(subject.contains("Tent") && subject.contains("leak"), "{found}");
    let references = related["relationships"].as_array().unwrap();
    let steps: Vec<(&str, i64)> =
        references.iter().map(|one| (one["type"].as_str().unwrap(), one["depth"].as_i64().unwrap())).collect();
    // Three steps lead back to the customer of the ticket.
    assert!(steps.contains(&("tickets.customer_id", 1)) && steps.contains(&("products.suggested_by", 3)), "{related}");
}

#[test]
fn a_shop_with_customers_orders_and_tickets() {
    let mut piped = demo();
    let families = ["create", "read", "update", "delete", "execute"].map(|family| format!("mcp_aql_{family}"));
    assert_eq!(piped.tools(), families);
    let operations = piped.operations();
    for name in
        ["list_orders", "get_customer", "search_tickets", "create_ticket", "update_order", "query_relationships"]
    {
        assert!(operations.iter().any(|known| known == name), "{name} is missing: {operations:?}");
    }
    let customer = piped.data("read", "get_customer", json!({ "id": 65 }));
    let orders =
        piped.data("read", "list_orders", json!({ "filter": { "customer_id": 65 }, "total": true, "first": 1 }));
    assert_eq!(orders["items"][0]["customer_id"], customer["id"]);
    assert!(orders["pageInfo"]["totalCount"].as_u64().unwrap() > 1, "{orders}");
}

/// R-END-6: begun, watched, cancelled, and over with the connection.
#[test]
fn an_export_is_watched_and_cancelled() {
    let mut piped = demo();
    let begun = piped.data("execute", "execute_export", json!({ "table": "orders", "rows_per_second": 20 }));
    let id = begun["execution_id"].clone();
    assert!(["pending", "running"].contains(&begun["status"].as_str().unwrap()), "{begun}");
    let running = until("progress", || {
        let now = piped.data("read", "get_execution", json!({ "execution_id": id }));
        (now["progress"]["current"].as_f64()? > 0.0).then_some(now)
    });
    assert_eq!(running["status"], "running", "{running}");
    assert!(running["progress"]["total"].as_f64() > running["progress"]["current"].as_f64(), "{running}");
    let listed = piped.data("read", "list_executions", json!({ "filter": { "status": "running" } }));
    assert_eq!(listed["items"][0]["execution_id"], id, "{listed}");
    assert_eq!(piped.data("execute", "cancel_execution", json!({ "execution_id": id }))["status"], "cancelled");
    assert_eq!(piped.data("read", "get_execution", json!({ "execution_id": id }))["status"], "cancelled");
    let tried = piped.data("execute", "execute_export", json!({ "table": "orders", "dry_run": true }));
    assert!(tried.get("execution_id").is_none(), "{tried}");
    for (params, code) in [
        (json!({ "table": "secrets" }), "VALIDATION_INVALID_VALUE"),
        (json!({ "rows_per_second": 0 }), "VALIDATION_INVALID_VALUE"),
        (json!({ "rows": 1 }), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        assert_eq!(piped.error("execute", "execute_export", params.clone())["code"], code, "{params}");
    }
    // Somebody else knows nothing of it.
    assert_eq!(demo().error("read", "get_execution", json!({ "execution_id": id }))["code"], "NOT_FOUND_RESOURCE");
}

#[test]
fn what_is_changed_is_gone_with_the_process() {
    let mut piped = demo();
    let made = piped.data("create", "create_tag", json!({ "name": "of today" }));
    assert_eq!(piped.data("read", "get_tag", json!({ "id": made["id"] }))["name"], "of today");
    assert!(piped.close().success());
    assert_eq!(demo().error("read", "get_tag", json!({ "id": made["id"] }))["code"], "NOT_FOUND_RESOURCE");
}

#[test]
fn the_same_shop_can_be_served_beside_others() {
    let output = run(&["introspect", "--source", "demo:", "--source", "tasks:"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["shop_list_orders", "tasks_list_tasks"] {
        assert!(text(&output.stdout).contains(name), "{name}: {}", text(&output.stdout));
    }
}
