//! Results of MCP servers, shaped and held by the running binary as its configuration says (R-DIS-8).

use serde_json::{Value, json};

use crate::support::{Folder, HttpServer, Server, StdioServer, Transport, forgetful, run, server, text, tools, until};

/// What a list of things looks like.
pub(crate) fn things() -> Value {
    let thing =
        json!({ "type": "object", "properties": { "id": { "type": "integer" }, "size": { "type": "integer" } } });
    json!({ "type": "object", "properties": { "items": { "type": "array", "items": thing } } })
}

/// The names of the parameters of an operation, without its own.
fn parameters(piped: &mut StdioServer, operation: &str) -> Vec<String> {
    let shown = piped.data("read", "introspect", json!({ "query": "operations", "name": operation }));
    let all = shown["operation"]["parameters"].as_array().unwrap();
    let names = all.iter().map(|parameter| parameter["name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "owner_name").collect()
}

/// A server whose calls are counted, and a configuration for it.
struct Desk {
    folder: Folder,
    record: String,
}

impl Desk {
    fn new() -> Self {
        Self::with(&[])
    }

    /// With more tools.
    fn with(more: &[Value]) -> Self {
        let folder = Folder::new();
        let mut offered = tools();
        offered[0]["outputSchema"] = things();
        for name in ["twoLists", "get_text"] {
            let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
            let tool = json!({ "name": name, "inputSchema": nothing, "annotations": { "readOnlyHint": true } });
            offered.as_array_mut().unwrap().push(tool);
        }
        offered.as_array_mut().unwrap().extend(more.iter().cloned());
        folder.tools("tools.json", &offered);
        let record = folder.file("record", "");
        Self { folder, record }
    }

    /// Writes a configuration: what is said of results, and what is said of the source.
    fn config(&self, results: &str, source: &str) -> String {
        let [python, program, offered] = server(&self.folder.path("tools.json"));
        let record = &self.record;
        let state = self.folder.path("state");
        self.folder.file(
            "aquifer.toml",
            &format!(
                "[state]\ndir = {state:?}\n\n[results]\n{results}\n\n[[source]]\nname = \"things\"\ncommand = {python:?}\n\
                 args = [{program:?}, {offered:?}]\nenv = {{ MCP_RECORD = {record:?} }}\n{source}\n"
            ),
        )
    }

    fn serve(&self, results: &str, source: &str) -> StdioServer {
        let config = self.config(results, source);
        let mut piped = StdioServer::spawn(forgetful(&self.folder).args(["serve", "--config", &config]));
        piped.initialize("2025-06-18");
        until("things are offered", || piped.operations().contains(&"list_things".to_owned()).then_some(()));
        piped
    }

    /// How often the server behind us was called.
    fn calls(&self) -> usize {
        let record = std::fs::read_to_string(&self.record).unwrap();
        record.lines().filter(|line| *line == "tools/call").count()
    }
}

/// Goes from page to page, however each is asked for.
fn walk(params: &Value, mut page: impl FnMut(Value) -> Value) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut params = params.clone();
    loop {
        let data = page(params.clone());
        let info = data["pageInfo"].clone();
        pages.push(data);
        assert!(pages.len() < 200, "pages without end");
        if info["hasNextPage"] != true {
            return pages;
        }
        params["after"] = info["endCursor"].clone();
    }
}

fn ids(pages: &[Value]) -> Vec<i64> {
    let items = pages.iter().flat_map(|page| page["items"].as_array().unwrap().clone());
    items.map(|item| item["id"].as_i64().unwrap()).collect()
}

#[test]
fn r_dis_8_later_pages_come_from_what_is_held_and_not_from_a_second_call() {
    let desk = Desk::new();
    let mut piped = desk.serve("max_text_bytes = 1024", "");
    let params = json!({ "first": 7, "fields": ["id"], "filter": { "size": { "lte": 290 } } });
    let pages = walk(&params, |params| piped.data("read", "list_things", params));
    assert_eq!(ids(&pages), (1..=29).collect::<Vec<_>>());
    assert_eq!((pages.len(), desk.calls()), (5, 1));
    // Text that is no JSON, too, whoever asks for it or not.
    let pages = walk(&json!({}), |params| piped.data("read", "get_text", params));
    let whole: String = pages.iter().map(|page| page["text"].as_str().unwrap()).collect();
    let expected: String = (0..500).map(|number| format!("line {number} of many\n")).collect();
    assert_eq!(whole, expected);
    assert!(pages.len() > 5, "{}", pages.len());
    assert_eq!(desk.calls(), 2);
    // The same cursor leads to the same page as long as the result is held, and to no other call's.
    let first = piped.data("read", "list_things", json!({ "first": 2 }));
    let next = json!({ "first": 2, "after": first["pageInfo"]["endCursor"] });
    let again = [1, 2].map(|_| piped.data("read", "list_things", next.clone()));
    assert_eq!(again[0], again[1]);
    let foreign = piped.error("read", "get_text", json!({ "after": next["after"] }));
    assert_eq!(foreign["code"], "VALIDATION_INVALID_VALUE", "{foreign}");
    assert_eq!(desk.calls(), 3);
    // Another process with the same secret knows the cursor for one of ours, holds nothing, and asks nobody.
    drop(piped);
    let mut other = desk.serve("", "");
    let gone = other.error("read", "list_things", next);
    assert_eq!(gone["code"], "VALIDATION_INVALID_VALUE", "{gone}");
    assert_eq!(desk.calls(), 3);
}

#[test]
fn r_dis_8_pages_are_turned_over_http_with_and_without_a_session() {
    let desk = Desk::new();
    let config = desk.config("", "");
    let served = HttpServer::start(&["serve", "--config", &config, "--http", "127.0.0.1:0"]);
    let pages = walk(&json!({ "first": 8 }), |params| {
        let answer = served.call("mcp_aql_read", json!({ "operation": "list_things", "params": params }));
        assert_eq!(answer["success"], true, "{answer}");
        answer["data"].clone()
    });
    assert_eq!(ids(&pages), (1..=30).collect::<Vec<_>>());
    assert_eq!(desk.calls(), 1);
    // What belongs to one connection is of no use to another.
    let mut sessions = ["a", "b"].map(|_| Session::open(&served));
    let pages = walk(&json!({ "first": 8 }), |params| sessions[0].call("list_things", params)["data"].clone());
    assert_eq!(ids(&pages), (1..=30).collect::<Vec<_>>());
    assert_eq!(desk.calls(), 2);
    let next = json!({ "first": 8, "after": pages[0]["pageInfo"]["endCursor"] });
    assert_eq!(sessions[0].call("list_things", next.clone())["success"], true);
    let stolen = sessions[1].call("list_things", next.clone());
    assert_eq!(stolen["error"]["code"], "VALIDATION_INVALID_VALUE", "{stolen}");
    let nobody = served.call("mcp_aql_read", json!({ "operation": "list_things", "params": next }));
    assert_eq!(nobody["error"]["code"], "VALIDATION_INVALID_VALUE", "{nobody}");
    assert_eq!(desk.calls(), 2);
}

/// A session over HTTP, of an older client.
struct Session<'a> {
    served: &'a HttpServer,
    id: String,
}

impl<'a> Session<'a> {
    fn open(served: &'a HttpServer) -> Self {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" } } });
        let answer = served.post(&[], hello.to_string().as_bytes());
        let session = Self { served, id: answer.header("mcp-session-id").unwrap() };
        session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn post(&self, message: &Value) -> crate::support::Answer {
        let headers = [("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", "2025-06-18")];
        self.served.post(&headers, message.to_string().as_bytes())
    }

    fn call(&mut self, operation: &str, params: Value) -> Value {
        let arguments = json!({ "operation": operation, "params": params });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                           "params": { "name": "mcp_aql_read", "arguments": arguments } });
        crate::support::envelope(&self.post(&call).json())
    }
}

#[test]
fn r_dis_8_what_is_held_is_bounded_as_configured() {
    let desk = Desk::new();
    let mut piped = desk.serve("held_ttl_seconds = 1\nmax_page_size = 3", "");
    let first = piped.call("mcp_aql_read", json!({ "operation": "list_things", "params": { "first": 10 } }));
    assert_eq!(first["data"]["items"].as_array().unwrap().len(), 3, "{first}");
    assert!(!first["warnings"].as_array().unwrap().is_empty(), "a page made smaller is told: {first}");
    let next = json!({ "operation": "list_things",
                       "params": { "first": 3, "after": first["data"]["pageInfo"]["endCursor"] } });
    until("it is forgotten", || {
        let answer = piped.call("mcp_aql_read", next.clone());
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        message.contains("no longer held").then_some(())
    });
    assert_eq!(desk.calls(), 1);
    drop(piped);
    // Nothing is held: the first page is there, and says that it is all there will be.
    let mut piped = desk.serve("max_held_bytes = 0", "");
    let first = piped.call("mcp_aql_read", json!({ "operation": "list_things", "params": { "first": 10 } }));
    assert_eq!(first["data"]["items"].as_array().unwrap().len(), 10, "{first}");
    assert_eq!(first["warnings"][0]["code"], "RESULT_NOT_HELD", "{first}");
    assert_eq!(first["data"]["pageInfo"]["endCursor"], Value::Null, "{first}");
    drop(piped);
    // Rows that weigh more than a page may.
    let mut piped = desk.serve("max_page_bytes = 1024", "");
    let pages = walk(&json!({ "sort": "id" }), |params| {
        let params = if params["after"].is_null() {
            params
        } else {
            json!({ "sort": "id", "first": 1000, "after": params["after"] })
        };
        piped.data("read", "list_things", params)
    });
    assert!(pages.len() > 1, "{}", pages.len());
    assert_eq!(ids(&pages), (1..=30).collect::<Vec<_>>());
}

#[test]
fn r_dis_8_the_operator_configures_where_rows_are_and_which_controls_exist() {
    let desk = Desk::new();
    // Two lists that could be meant are none.
    let mut piped = desk.serve("", "");
    let unsaid = piped.error("read", "two_lists", json!({ "first": 2 }));
    assert_eq!(unsaid["code"], "VALIDATION_UNKNOWN_PARAM", "{unsaid}");
    assert_eq!(parameters(&mut piped, "two_lists"), ["after", "max_tokens"]);
    drop(piped);
    // Said under the tool's own name, or the operation's.
    for name in ["twoLists", "two_lists"] {
        let source = format!(
            "[source.operations.{name}]\nrows = \"right\"\ncontrols = \"all\"\n[source.operations.get_text]\ncontrols = \"none\""
        );
        let mut piped = desk.serve("", &source);
        let shaped = piped.data("read", "two_lists", json!({ "first": 2, "total": true }));
        assert_eq!(shaped["items"], json!([{ "r": 0 }, { "r": 1 }]), "{shaped}");
        assert_eq!(shaped["pageInfo"]["totalCount"], 5, "{shaped}");
        let counted = piped.data("read", "two_lists", json!({ "page": 3, "page_size": 2 }));
        assert_eq!(counted["items"], json!([{ "r": 4 }]), "{counted}");
        assert!(parameters(&mut piped, "two_lists").contains(&"page_size".to_owned()));
        assert_eq!(parameters(&mut piped, "get_text"), ["max_tokens"]);
        assert!(parameters(&mut piped, "list_things").contains(&"fields".to_owned()));
    }
    let mut piped = desk.serve("", "controls = \"none\"\n[source.operations.list_things]\ncontrols = \"few\"");
    assert_eq!(parameters(&mut piped, "two_lists"), ["max_tokens"]);
    assert!(parameters(&mut piped, "list_things").contains(&"after".to_owned()));
}

/// A caller who saw rows can use them with the next call, and is told so once. The next process knows it from the beginning.
#[test]
fn r_dis_8a_rows_that_a_result_had_are_offered_from_the_next_call() {
    let desk = Desk::new();
    // No definition says what these return.
    let mut offered: Value =
        serde_json::from_str(&std::fs::read_to_string(desk.folder.path("tools.json")).unwrap()).unwrap();
    offered[0].as_object_mut().unwrap().remove("outputSchema");
    desk.folder.tools("tools.json", &offered);
    let mut piped = desk.serve("", "");
    let mut warnings = Vec::new();
    for operation in ["list_things", "two_lists", "get_text", "list_things"] {
        let before = ["after", "max_tokens"];
        assert!(!warnings.is_empty() || parameters(&mut piped, operation) == before, "{operation}");
        let answer = piped.call("mcp_aql_read", json!({ "operation": operation, "params": {} }));
        warnings.push(answer["warnings"][0]["code"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(warnings, ["CONTROLS_ADDED", "", "", ""]);
    // Without introspection in between.
    let first = piped.data("read", "list_things", json!({ "first": 1, "fields": ["id"] }));
    assert_eq!(first["items"], json!([{ "id": 1 }]), "{first}");
    let known = ["list_things", "two_lists", "get_text"].map(|operation| parameters(&mut piped, operation));
    drop(piped);
    let mut piped = desk.serve("", "");
    assert_eq!(["list_things", "two_lists", "get_text"].map(|operation| parameters(&mut piped, operation)), known);
    assert_eq!(parameters(&mut piped, "two_lists"), ["fields", "max_tokens"], "an object");
    assert_eq!(parameters(&mut piped, "get_text"), ["after", "max_tokens"], "a text");
    for control in ["filter", "sort", "aggregate", "first", "last", "total"] {
        assert!(parameters(&mut piped, "list_things").contains(&control.to_owned()), "{control}");
        let refused = piped.error("read", "two_lists", json!({ control: 1 }));
        assert_eq!(refused["code"], "VALIDATION_UNKNOWN_PARAM", "{refused}");
    }
    let last =
        piped.data("read", "list_things", json!({ "last": 2, "fields": ["id"], "total": true, "shape": "table" }));
    assert_eq!(last["rows"], json!([[29], [30]]), "{last}");
    assert_eq!(last["pageInfo"]["totalCount"], 30, "{last}");
    let right = piped.data("read", "two_lists", json!({ "fields": ["right"] }));
    assert_eq!(right["right"].as_array().map(Vec::len), Some(5), "{right}");
    // The answer is declared as what it is: the result, or a page of its rows.
    let shown = piped.data("read", "introspect", json!({ "query": "operations", "name": "list_things" }));
    let name = &shown["operation"]["returns"]["name"];
    let answer = piped.data("read", "introspect", json!({ "query": "types", "name": name }));
    let members = answer["type"]["members"].to_string();
    assert!(members.contains("ResultPage"), "{answer}");
}

/// A search can find nothing many times before it finds something.
#[test]
fn r_dis_8a_rows_are_offered_after_many_empty_results() {
    let own = json!({ "type": "object", "properties": { "found": { "type": "integer" } } });
    let tool = json!({ "name": "search_things", "inputSchema": own, "annotations": { "readOnlyHint": true } });
    let desk = Desk::with(&[tool]);
    let mut piped = desk.serve("", "");
    let mut search =
        |params: Value| piped.call("mcp_aql_read", json!({ "operation": "search_things", "params": params }));
    for _ in 0..20 {
        let answer = search(json!({ "found": 0 }));
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(answer["warnings"], Value::Null, "{answer}");
    }
    let answer = search(json!({ "found": 2 }));
    assert_eq!(answer["warnings"][0]["code"], "CONTROLS_ADDED", "{answer}");
    for (found, items) in [(2, json!([{ "id": 0 }, { "id": 1 }])), (0, json!([]))] {
        let answer = search(json!({ "found": found, "fields": ["id"] }));
        assert_eq!(answer["data"], json!({ "items": items }), "{answer}");
    }
}

/// A path that leads nowhere in one result changes nothing about the other paths, whichever result was seen first.
#[test]
fn r_dis_8_the_shape_of_a_selection_depends_on_the_request_alone() {
    let own = json!({ "type": "object", "properties": { "id": { "type": "integer" } } });
    let tool = json!({ "name": "get_customer", "inputSchema": own, "annotations": { "readOnlyHint": true } });
    for seen_first in [1, 2] {
        let desk = Desk::with(std::slice::from_ref(&tool));
        let config = desk.config("", "");
        for round in ["first", "restarted"] {
            let start =
                |transport| Server::spawn(transport, forgetful(&desk.folder).args(["serve", "--config", &config]));
            let mut servers = Transport::BOTH.map(|transport| (transport, start(transport)));
            for (transport, served) in &mut servers {
                let mut get = |id: u64, fields: Value| {
                    let params =
                        if fields.is_null() { json!({ "id": id }) } else { json!({ "id": id, "fields": fields }) };
                    served.call("mcp_aql_read", json!({ "operation": "get_customer", "params": params }))
                };
                let whole = until("the customer", || {
                    let answer = get(seen_first, Value::Null);
                    (answer["success"] == true).then(|| answer["data"].clone())
                });
                assert_eq!(whole["items"].as_array().map(Vec::len), Some(3), "{whole}");
                for (id, payments) in [
                    (1, json!({ "payments": [{ "kind": "card" }] })),
                    (2, json!({ "payments": [] })),
                    (3, json!({ "payments": null })),
                    (4, json!({})),
                ] {
                    let mut expected = json!({ "name": { "first": "Ann" }, "orders": ["W1", "W2"] });
                    expected.as_object_mut().unwrap().extend(payments.as_object().unwrap().clone());
                    let answer = get(id, json!(["name.first", "orders", "payments.kind"]));
                    assert_eq!(answer["data"], expected, "{round} {transport:?} {id}: {answer}");
                    expected["items"] = json!([0, 1, 2].map(|n| json!({ "size": { "value": n } })));
                    let answer = get(id, json!(["name.first", "orders", "payments.kind", "items.size.value"]));
                    assert_eq!(answer["data"], expected, "{round} {transport:?} {id}: {answer}");
                }
            }
            servers.into_iter().for_each(|(_, served)| served.stop());
        }
    }
}

/// Names in results are data of the caller who got them, and may be written by anybody.
#[test]
fn r_dis_8a_names_in_results_reach_only_the_caller_who_got_them() {
    let desk = Desk::new();
    let own = json!({ "type": "object", "properties": { "of": { "type": "string" } } });
    let tool = json!({ "name": "get_inbox", "inputSchema": own, "annotations": { "readOnlyHint": true } });
    desk.folder.tools("tools.json", &json!([tool]));
    let config = desk.config("", "");
    let full = json!({ "query": "operations", "name": "get_inbox", "fields": "full" });
    let everything = [
        ("introspect", full.clone()),
        ("introspect", json!({ "query": "operations", "name": "get_inbox" })),
        ("introspect", json!({ "query": "types" })),
        ("introspect", json!({ "query": "signatures", "names": ["get_inbox"] })),
        ("introspect", json!({ "query": "signatures", "search": "inbox" })),
        ("get_inbox", json!({ "of": "bob" })),
        ("get_inbox", json!({ "of": "bob", "filter": { "and_delete": 1 } })),
        ("get_inbox", json!({ "of": "bob", "fields": ["ignore_the", "and_delete_everythin"] })),
        ("get_inbox", json!({ "of": "bob", "first": 1, "sort": "ignore" })),
    ];
    let is_clean = |answer: &Value| {
        let answer = answer.to_string();
        !answer.contains("ignore_the_user") && !answer.contains("and_delete_everything")
    };
    let start = |transport| Server::spawn(transport, forgetful(&desk.folder).args(["serve", "--config", &config]));
    let read = |served: &mut Server, operation: &str, params: &Value| {
        served.call("mcp_aql_read", json!({ "operation": operation, "params": params }))
    };
    {
        let mut other_process = start(Transport::Stdio);
        let served =
            HttpServer::spawn(forgetful(&desk.folder).args(["serve", "--config", &config, "--http", "127.0.0.1:0"]));
        let mut sessions = ["a", "b"].map(|_| Session::open(&served));
        let all = json!({ "query": "operations" });
        until("the inbox is offered", || {
            let listed = [sessions[1].call("introspect", all.clone()), read(&mut other_process, "introspect", &all)];
            listed.iter().all(|listed| listed.to_string().contains("get_inbox")).then_some(())
        });
        // However often they are seen.
        let seen: Vec<Value> = (0..4).map(|_| sessions[0].call("get_inbox", json!({ "of": "ann" }))).collect();
        assert!(!is_clean(&sessions[0].call("introspect", full.clone())), "what the caller saw itself");
        for (operation, params) in &everything {
            for answer in [
                sessions[1].call(operation, params.clone()),
                served.call("mcp_aql_read", json!({ "operation": operation, "params": params })),
                read(&mut other_process, operation, params),
            ] {
                assert!(is_clean(&answer), "{operation} {params}: {answer}");
            }
        }
        let warned = seen.iter().filter(|answer| answer["warnings"][0]["code"] == "CONTROLS_ADDED");
        assert_eq!(warned.count(), 1, "{seen:?}");
        // The controls are for everybody.
        let rows = sessions[1].call("get_inbox", json!({ "of": "ann", "first": 1 }));
        assert_eq!(rows["data"]["items"].as_array().map(Vec::len), Some(1), "{rows}");
        other_process.stop();
    }
    for transport in Transport::BOTH {
        let mut restarted = start(transport);
        let known = json!({ "query": "operations", "name": "get_inbox" });
        let known = until("the inbox is offered", || {
            let shown = read(&mut restarted, "introspect", &known);
            (!shown["data"]["operation"].is_null()).then_some(shown)
        });
        assert!(known.to_string().contains("\"filter\""), "what was seen before the restart: {known}");
        for (operation, params) in &everything {
            let answer = read(&mut restarted, operation, params);
            assert!(is_clean(&answer), "{transport:?} {operation} {params}: {answer}");
        }
        restarted.stop();
    }
}

#[test]
fn r_dis_8_an_unknown_operation_is_reported_with_a_suggestion() {
    let desk = Desk::new();
    let config = desk.config("", "[source.operations.list_thing]\nrows = \"items\"");
    let asked = || {
        let mut command = forgetful(&desk.folder);
        let output = command.args(["call", "list_things", "{}", "--config", &config]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    // The first time nobody knows yet what there is.
    asked();
    let answer = asked();
    assert!(answer.contains("'list_thing'") && answer.contains("Did you mean 'list_things'?"), "{answer}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let desk = Desk::new();
    for (results, source, words) in [
        ("held_ttl_seconds = 0", "", "'held_ttl_seconds' in [results] is 0; it must be from 1 to 86400"),
        ("max_page_size = 5000", "", "'max_page_size' in [results] is 5000; it must be from 1 to 1000"),
        ("max_text_bytes = 5", "", "'max_text_bytes' in [results] is 5"),
        ("", "[source.operations.x]\nrows = \"a..b\"", "'rows' must be a path"),
    ] {
        let output = run(&["call", "x", "--config", &desk.config(results, source)]);
        let printed = text(&output.stderr);
        assert!(output.status.code() == Some(2) && printed.contains(words), "{results}{source}: {printed}");
    }
}
