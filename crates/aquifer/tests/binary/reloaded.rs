//! A configuration that changes while it is served takes effect as a whole or not at all: rules, limits and sources.

use serde_json::{Value, json};

use crate::safety::{Fixture, delete, delete_with};
use crate::support::{Folder, Server, StdioServer, Transport, forgetful, signal, token, until};

/// The library, served over both transports.
fn both(keys: &str) -> [(Fixture, Server); 2] {
    Transport::BOTH.map(|transport| {
        let fixture = Fixture::new(keys);
        let server = Server::spawn(transport, &mut fixture.command(&["serve"]));
        (fixture, server)
    })
}

/// Deletes a book, as far as that goes without a token.
fn deletes(server: &mut Server, id: i64) -> String {
    server.code("mcp_aql_delete", delete(id))
}

fn token_for(server: &mut Server, id: i64) -> String {
    let answer = server.call("mcp_aql_delete", delete(id));
    token(&answer).unwrap_or_else(|| panic!("{answer}")).to_owned()
}

const TOKENS: &str = "[gate.strength]\ndestructive = \"token\"\n";
const DENY: &str = "[[gate.rule]]\nname = \"no deletes\"\neffect = \"deny\"\noperation = \"delete_*\"\n";
const IN_EFFECT: &str = "the changed configuration is in effect";
const REFUSED: &str = "the changed configuration is invalid, so the old one stays in effect: ";

#[test]
fn r_saf_2_rules_change_without_a_restart() {
    for (fixture, mut server) in both(TOKENS) {
        assert_eq!(deletes(&mut server, 1), "CONFIRMATION_REQUIRED");
        let token = token_for(&mut server, 1);
        fixture.rewrite(&format!("{TOKENS}{DENY}"));
        server.says(IN_EFFECT);
        assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED");
        // What was confirmed under the old rules has to pass the new ones: here no call takes a token any more,
        assert_ne!(server.code("mcp_aql_delete", delete_with(1, &token)), "done");
        // and here some do.
        fixture.rewrite(&format!("{TOKENS}{DENY}when = [{{ param = \"id\", less = 10 }}]\n"));
        server.says(IN_EFFECT);
        assert_eq!(server.code("mcp_aql_delete", delete_with(1, &token)), "PERMISSION_DENIED");
        fixture.rewrite("[gate.strength]\ndestructive = \"approval\"\n");
        server.says(IN_EFFECT);
        let weak = server.call("mcp_aql_delete", delete_with(1, &token));
        assert_eq!(weak["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{weak}");
        assert_eq!(weak["error"]["details"]["mismatch"], "strength", "{weak}");
        assert_eq!(fixture.books(), 50, "nothing was deleted");
        // Under the rules it was issued under, the same token is good again: it was neither used up nor changed.
        fixture.rewrite(&format!("# as before\n{TOKENS}"));
        server.says(IN_EFFECT);
        assert_eq!(server.code("mcp_aql_delete", delete_with(1, &token)), "done");
        assert_eq!(server.code("mcp_aql_delete", delete_with(1, &token)), "TOKEN_ALREADY_USED");
        assert_eq!(fixture.books(), 49);
    }
}

#[test]
fn r_saf_4_limits_change_without_a_restart_and_keep_counting() {
    let limits = |calls: u32, day: &str| {
        format!(
            "[[gate.rate_limit]]\nname = \"looks\"\nlimit = {calls}\nwindow = \"hour\"\noperation = \"get_book\"\n{day}"
        )
    };
    let day = |most: u32| {
        format!("[[gate.quota]]\nmetric = \"requests_per_day\"\nhard_stop = {most}\noperation = \"list_books\"\n")
    };
    let get = || json!({ "operation": "get_book", "params": { "id": 1 } });
    let list = || json!({ "operation": "list_books" });
    for (fixture, mut server) in both(&limits(2, &day(1))) {
        let mut codes = |calls: &[Value]| -> Vec<String> {
            calls.iter().map(|call| server.code("mcp_aql_read", call.clone())).collect()
        };
        assert_eq!(codes(&[get(), get(), get()]), ["done", "done", "RATE_LIMIT_EXCEEDED"]);
        assert_eq!(codes(&[list(), list()]), ["done", "RATE_LIMIT_QUOTA_EXHAUSTED"]);
        // One more of each; a quota that is put before another does not make that one forget.
        let other = "[[gate.quota]]\nmetric = \"requests_per_day\"\nhard_stop = 9\noperation = \"search_books\"\n";
        fixture.rewrite(&limits(3, &format!("{other}{}", day(2))));
        server.says(IN_EFFECT);
        let mut codes = |calls: &[Value]| -> Vec<String> {
            calls.iter().map(|call| server.code("mcp_aql_read", call.clone())).collect()
        };
        assert_eq!(codes(&[get(), get()]), ["done", "RATE_LIMIT_EXCEEDED"]);
        assert_eq!(codes(&[list(), list()]), ["done", "RATE_LIMIT_QUOTA_EXHAUSTED"]);
    }
}

#[test]
fn r_saf_4_a_limit_that_restarts_from_zero_is_reported() {
    let limit = |window: &str| format!("[[gate.rate_limit]]\nname = \"looks\"\nlimit = 2\nwindow = \"{window}\"\n");
    let fixture = Fixture::new(&limit("hour"));
    let mut server = Server::Stdio(fixture.piped());
    fixture.rewrite(&limit("day"));
    server.says("rate limit 'looks' counts from zero: its window changed");
}

#[test]
fn a_change_that_is_wrong_anywhere_changes_nothing() {
    let tasks = "[[source]]\ntarget = \"tasks:\"\n";
    let wrong = [
        ("[[gate.rule]]\nname = \"odd\"\neffect = \"allow\"\nloosen = true\n", "[gate] rule 1 'odd'"),
        ("[gate.confirmation]\nttl_seconds = 100000\n", "[gate] 'ttl_seconds'"),
        ("[gate.strength]\ndestuctive = \"token\"\n", "[gate] "),
        ("[limits]\nmax_nesting_depth = 1\n", "'max_nesting_depth' in [limits] is 1"),
        ("[results]\nheld_ttl_seconds = 0\n", "'held_ttl_seconds' in [results] is 0"),
        ("[surface]\nprofile = \"nobody\"\n", "unknown profile 'nobody'"),
        ("[[source]]\ntarget = \"nothing:\"\n", "unknown source"),
        ("[[source]]\ncommand = \"x\"\nurl = \"y\"\n", "it has both a command and a url"),
        ("[[source]]\ntarget = \"missing.json\"\n", "cannot read"),
        ("[surface]\nmode = 5\n", "line "),
    ];
    let fixture = Fixture::new(&format!("{TOKENS}{DENY}"));
    let mut server = Server::Stdio(fixture.piped());
    for (keys, words) in wrong {
        // What is right beside it does not take effect, either: neither a source nor a rule that is gone.
        fixture.rewrite(&format!("{keys}{tasks}"));
        server.says(REFUSED);
        assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED", "{keys}");
        assert_eq!(server.code("mcp_aql_read", json!({ "operation": "list_tasks" })), "NOT_FOUND_OPERATION", "{keys}");
        let Server::Stdio(piped) = &server else { panic!("on pipes") };
        let output = piped.stderr_so_far();
        let last = output.lines().rfind(|line| line.contains(REFUSED)).unwrap().to_owned();
        assert!(last.contains(words), "{keys}: {last}");
    }
    fixture.rewrite(&format!("{TOKENS}{tasks}"));
    server.says(IN_EFFECT);
    assert_eq!(deletes(&mut server, 1), "CONFIRMATION_REQUIRED", "the library keeps its names");
    assert_eq!(server.code("mcp_aql_read", json!({ "operation": "tasks_list_tasks" })), "done");
}

#[test]
fn what_waits_for_a_restart_is_named() {
    let fixture = Fixture::new(&format!("{TOKENS}[audit]\nrequired = false\n"));
    let mut server = Server::Stdio(fixture.piped());
    fixture.rewrite(&format!("{DENY}[limits]\nmax_nesting_depth = 64\n"));
    server.says("the changed configuration is in effect, except for [limits] and [audit]. Restart to apply the rest");
    server.says("Warning: the settings in effect are less strict than the file in [audit]");
    assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED");
    // What was named once is named again: it still waits.
    fixture.rewrite(&format!("{TOKENS}[limits]\nmax_nesting_depth = 64\n"));
    server.says("the changed configuration is in effect, except for [limits] and [audit]. Restart to apply the rest");
    fixture.rewrite(&format!("{DENY}[audit]\nrequired = false\n"));
    until("nothing waits any more", || {
        server.says(IN_EFFECT);
        let Server::Stdio(piped) = &server else { panic!("on pipes") };
        piped.stderr_so_far().lines().next_back().filter(|line| line.ends_with(IN_EFFECT)).map(drop)
    });
}

#[test]
fn r_saf_2_a_file_that_is_empty_or_gone_is_no_configuration_without_rules() {
    // With sources on the command line, a file that has nothing left in it would be valid.
    let fixture = Fixture::new("");
    let rules = fixture.folder.file("rules.toml", DENY);
    let mut command = forgetful(&fixture.folder);
    let source = format!("sqlite:{}", fixture.library);
    let mut piped = StdioServer::spawn(command.args(["serve", &source, "--config", &rules]));
    piped.initialize("2025-06-18");
    let mut server = Server::Stdio(piped);
    assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED");
    for (text, words) in [(Some(""), "is empty"), (Some("# nothing\n"), "is empty"), (None, "does not exist any more")]
    {
        match text {
            Some(text) => drop(fixture.folder.file("rules.toml", text)),
            None => std::fs::remove_file(&rules).unwrap(),
        }
        server.says(words);
        assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED", "{words}");
    }
    // Back as it was, there is nothing to tell; changed, it takes effect.
    fixture.folder.file("rules.toml", &format!("{TOKENS}{DENY}"));
    server.says(IN_EFFECT);
    assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED");
    let Server::Stdio(piped) = server else { panic!("on pipes") };
    let message = piped.last_words();
    assert_eq!(message.matches("does not exist any more").count(), 1, "{message}");
}

#[test]
fn a_hangup_reads_the_configuration_again() {
    for (fixture, mut server) in both(TOKENS) {
        signal("-HUP", server.pid());
        server.says("the configuration has not changed");
        fixture.rewrite(DENY);
        signal("-HUP", server.pid());
        server.says(IN_EFFECT);
        assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED");
        fixture.rewrite("[gate.strength]\ndestuctive = \"token\"\n");
        signal("-HUP", server.pid());
        server.says(REFUSED);
        assert_eq!(deletes(&mut server, 1), "PERMISSION_DENIED");
    }
}

#[test]
fn r_dis_7a_a_newcomer_takes_neither_name_nor_prefix_of_a_source_that_is_served() {
    let folder = Folder::new();
    let [first, second] = ["first", "second"].map(|name| {
        std::fs::create_dir_all(folder.path(name)).unwrap();
        let table = "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL);";
        folder.database(&format!("{name}/library.db"), &format!("{table} INSERT INTO books VALUES (1, '{name}');"))
    });
    let source = |path: &str, keys: &str| format!("[[source]]\ntarget = \"sqlite:{path}\"\n{keys}\n");
    let path = folder.file("aquifer.toml", &source(&first, ""));
    let mut piped = StdioServer::spawn(forgetful(&folder).args(["serve", "--config", &path]));
    piped.initialize("2025-06-18");
    let title =
        |piped: &mut StdioServer, operation: &str| piped.data("read", operation, json!({ "id": 1 }))["title"].clone();
    assert_eq!(title(&mut piped, "get_book"), "first");
    // Another of the same name, and before it in the file.
    folder.file("aquifer.toml", &format!("{}{}", source(&second, ""), source(&first, "")));
    piped.says(IN_EFFECT);
    assert_eq!(title(&mut piped, "get_book"), "first");
    assert_eq!(title(&mut piped, "library_2_get_book"), "second");
    // One that is changed keeps its prefix as well.
    folder.file("aquifer.toml", &format!("{}{}", source(&second, ""), source(&first, "page_size = 5")));
    piped.says(IN_EFFECT);
    assert_eq!(
        (title(&mut piped, "get_book"), title(&mut piped, "library_2_get_book")),
        (json!("first"), json!("second"))
    );
    // A prefix of the operator's choice follows the configuration, at once.
    folder.file(
        "aquifer.toml",
        &format!("{}{}", source(&second, ""), source(&first, "page_size = 5\nprefix = \"old_\"")),
    );
    piped.says(IN_EFFECT);
    assert_eq!(title(&mut piped, "old_get_book"), "first");
    // Whoever is left keeps what it has; after a restart, names are those of the configuration again.
    folder.file("aquifer.toml", &source(&second, ""));
    piped.says(IN_EFFECT);
    assert_eq!(title(&mut piped, "library_2_get_book"), "second");
    drop(piped);
    let mut piped = StdioServer::spawn(forgetful(&folder).args(["serve", "--config", &path]));
    piped.initialize("2025-06-18");
    assert_eq!(title(&mut piped, "get_book"), "second");
}
