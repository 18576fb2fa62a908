//! Clients' configurations, read as they are (R-DIS-7).

use aquifer_discovery::Servers;
use aquifer_discovery::servers::{Environment, Server, ServerTransport, env_file, expand};
use proptest::prelude::*;

fn read(text: &str) -> Servers {
    Servers::read(text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn stdio(server: &Server) -> (String, Vec<String>, Vec<(String, String)>) {
    match &server.transport {
        ServerTransport::Stdio { command, args, env, .. } => (command.clone(), args.clone(), env.clone()),
        ServerTransport::Http { .. } => panic!("{server:?}"),
    }
}

fn http(server: &Server) -> (String, Vec<(String, String)>) {
    match &server.transport {
        ServerTransport::Http { url, headers } => (url.clone(), headers.clone()),
        ServerTransport::Stdio { .. } => panic!("{server:?}"),
    }
}

#[test]
fn r_dis_7_all_client_formats_give_the_same_servers() {
    let started = [
        // Claude Desktop, Claude Code, Cursor, Windsurf, Cline
        r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}}}}"#,
        r#"{"mcpServers": {"files": {"type": "stdio", "command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"},
            "autoApprove": ["x"], "alwaysAllow": []}}}"#,
        // VS Code: mcp.json, and inside the settings
        r#"{ // comment
            "inputs": [{"type": "promptString", "id": "token", "password": true}],
            "servers": {"files": {"type": "stdio", "command": "npx", "args": ["-y", "pkg",], "env": {"A": "b"},}, /* and more */ }}"#,
        r#"{"editor.tabSize": 2, "mcp": {"servers": {"files": {"command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}}}}}"#,
        // Zed, now and before
        r#"{"context_servers": {"files": {"source": "custom", "command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}}}}"#,
        r#"{"context_servers": {"files": {"command": {"path": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}}, "settings": {}}}}"#,
        // One list, other words
        r#"{"mcp": {"files": {"type": "local", "command": ["npx", "-y", "pkg"], "environment": {"A": "b"}, "enabled": true}}}"#,
    ];
    for text in started {
        let found = read(text);
        assert!(found.invalid.is_empty() && found.warnings.is_empty(), "{found:?}");
        let [server] = found.servers.as_slice() else { panic!("{found:?}") };
        assert_eq!((server.name.as_str(), server.disabled), ("files", false));
        let env = vec![("A".to_owned(), "b".to_owned())];
        assert_eq!(stdio(server), ("npx".to_owned(), vec!["-y".to_owned(), "pkg".to_owned()], env), "{text}");
    }
    for text in [
        r#"{"mcpServers": {"far": {"url": "https://example.com/mcp", "headers": {"X-Key": "k"}}}}"#,
        r#"{"mcpServers": {"far": {"serverUrl": "https://example.com/mcp", "headers": {"X-Key": "k"}}}}"#,
        r#"{"mcpServers": {"far": {"httpUrl": "https://example.com/mcp", "headers": {"X-Key": "k"}, "timeout": 5000}}}"#,
        r#"{"servers": {"far": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "k"}}}}"#,
        r#"{"mcpServers": {"far": {"type": "streamable-http", "url": "https://example.com/mcp", "headers": {"X-Key": "k"}}}}"#,
    ] {
        let found = read(text);
        assert!(found.invalid.is_empty() && found.warnings.is_empty(), "{found:?}");
        let headers = vec![("X-Key".to_owned(), "k".to_owned())];
        assert_eq!(http(&found.servers[0]), ("https://example.com/mcp".to_owned(), headers), "{text}");
    }
}

#[test]
fn r_dis_7_disabled_servers_stay_disabled() {
    let found = read(
        r#"{"mcpServers": {
            "a": {"command": "a", "disabled": true}, "b": {"command": "b", "enabled": false},
            "c": {"command": "c", "disabled": false, "timeout": 90, "disabledTools": ["drop"]},
            "d": {"url": "http://localhost:1/mcp", "timeout": 90000}
        }}"#,
    );
    let off: Vec<bool> = found.servers.iter().map(|server| server.disabled).collect();
    assert_eq!(off, [true, true, false, false]);
    assert_eq!(found.servers[2].hidden_tools, ["drop"]);
    let seconds: Vec<Option<u64>> =
        found.servers.iter().map(|server| server.timeout.map(|time| time.as_secs())).collect();
    assert_eq!(seconds, [None, None, Some(90), Some(90)]);
}

#[test]
fn r_dis_7_an_invalid_server_is_reported_with_its_position_and_skipped() {
    let text = "{\n  \"mcpServers\": {\n    \"fine\": {\"command\": \"x\"},\n    \"none\": {},\n    \"near\": {\"comand\": \"x\"},\n    \
                \"odd\": {\"command\": \"x\", \"args\": \"-y\"},\n    \"list\": [],\n    \"late\": {\"type\": \"http\", \"command\": \"x\"},\n    \
                \"web\": {\"url\": \"example.com\"},\n    \"env\": {\"command\": \"x\", \"env\": {\"T\": {}}},\n    \"also\": {\"url\": \"http://a/b\"}\n  }\n}";
    let found = read(text);
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["fine", "also"]);
    let reported: Vec<String> = found
        .invalid
        .iter()
        .flat_map(|server| server.problems.iter().map(|problem| format!("{} {problem}", problem.path)))
        .collect();
    assert_eq!(
        reported,
        [
            "mcpServers.none.command 4:5: SCHEMA_MISSING_FIELD: Server 'none' has neither 'command' nor 'url'",
            "mcpServers.near.command 5:5: SCHEMA_MISSING_FIELD: Server 'near' has neither 'command' nor 'url'. Did you mean 'command'?",
            "mcpServers.odd.args 6:37: SCHEMA_INVALID_TYPE: Field 'mcpServers.odd.args' expected 'array', got 'string'",
            "mcpServers.list 7:13: SCHEMA_INVALID_TYPE: Field 'mcpServers.list' expected 'object', got 'array'",
            "mcpServers.late.url 8:5: SCHEMA_MISSING_FIELD: Server 'late' has no 'url'",
            "mcpServers.web.url 9:20: SCHEMA_INVALID_TYPE: Field 'mcpServers.web.url' is not a URL of the web. It begins with https:// or http://",
            "mcpServers.env.env.T 10:42: SCHEMA_INVALID_TYPE: Field 'mcpServers.env.env.T' expected 'string', got 'object'",
        ]
    );
}

#[test]
fn r_dis_7_an_invalid_file_is_reported_with_its_position_and_not_quoted() {
    for (text, reported) in [
        ("", "1:1: SCHEMA_INVALID_TYPE: Not readable as JSON: The file is empty"),
        (
            "{\n  \"mcpServers\": {\"a\": {\"env\": {\"T\": \"hunter2\" \"x\"}}}}",
            "2:46: SCHEMA_INVALID_TYPE: Not readable as JSON: Expected comma",
        ),
        ("{\"a\": 1}", "1:1: SCHEMA_MISSING_FIELD: No MCP servers are named here"),
        ("{\"mcpServers\": []}", "1:16: SCHEMA_INVALID_TYPE: Field 'mcpServers' expected 'object', got 'array'"),
    ] {
        let problems = Servers::read(text).unwrap_err();
        let found = problems[0].to_string();
        assert!(found.starts_with(reported) && !found.contains("hunter2"), "{found}");
    }
}

#[test]
fn r_dis_7_references_are_resolved_or_reported() {
    let variable = |name: &str| match name {
        "TOKEN" | "GITHUB_TOKEN" => Some("t".to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let environment = Environment { variable: &variable, folder: "/home/me/project" };
    for (text, expanded) in [
        ("${TOKEN}", Ok("t")),
        ("Bearer ${env:TOKEN}!", Ok("Bearer t!")),
        ("${input:github-token}", Ok("t")),
        ("${NOTHING:-none}/${EMPTY:-none}", Ok("none/none")),
        ("${userHome}/x", Ok("/home/me/x")),
        ("${workspaceFolder}${/}${workspaceFolderBasename}", Ok("/home/me/project/project")),
        ("$TOKEN costs $5 ${", Ok("$TOKEN costs $5 ${")),
        ("${MISSING}", Err("it refers to ${MISSING}: set the environment variable MISSING")),
        (
            "${input:api key}",
            Err(
                "it refers to ${input:api key}: the client asks a person for it. Set the environment variable API_KEY instead",
            ),
        ),
        ("${command:x}", Err("it refers to ${command:x}: this kind of reference is not supported")),
    ] {
        let found = expand(text, &environment).map_err(|unresolved| unresolved.to_string());
        assert_eq!(found, expanded.map(str::to_owned).map_err(str::to_owned));
    }
    let found =
        read(r#"{"mcpServers": {"a": {"command": "x", "args": ["$TOKEN"], "env": {"T": "$TOKEN", "U": "a$TOKEN"}}}}"#);
    let (_, args, env) = stdio(&found.servers[0].resolved(&environment).unwrap());
    assert_eq!(args, ["$TOKEN"]);
    assert_eq!(env, [("T".to_owned(), "t".to_owned()), ("U".to_owned(), "a$TOKEN".to_owned())]);
    let shown = format!("{:?}", found.servers[0].resolved(&environment).unwrap());
    assert!(!shown.contains("\"t\""), "{shown}");
    assert_eq!(
        env_file("# no\nA=1\nexport B=\"two words\"\n\n C = 'x=y' \nnot a line\n1X=2"),
        [("A", "1"), ("B", "two words"), ("C", "x=y")].map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

proptest! {
    #[test]
    fn r_dis_7_no_text_as_a_configuration_panics(text in any::<String>(), near in "[{}\\[\\]\",:/* a\n]{0,60}") {
        let _ = Servers::read(&text);
        let _ = Servers::read(&near);
        let _ = Servers::read(&format!("{{\"mcpServers\": {near}}}"));
        let environment = Environment { variable: &|_| None, folder: "/" };
        let _ = expand(&text, &environment);
        let _ = expand(&format!("${{{near}}}${{"), &environment);
        let _ = env_file(&text);
    }
}

#[test]
fn extensions_of_zed_are_no_servers_and_no_problem() {
    let read = read(
        r#"{"context_servers": {"a": {"settings": {"key": "x"}}, "b": {"source": "extension", "enabled": true, "settings": {}},
            "c": {"command": "c", "settings": {}}, "d": {"source": "custom", "settings": {}}, "e": {}}}"#,
    );
    assert_eq!(read.extensions, ["a", "b"]);
    assert_eq!(read.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["c"]);
    assert_eq!(read.invalid.iter().map(|broken| broken.name.as_str()).collect::<Vec<_>>(), ["d", "e"]);
}
