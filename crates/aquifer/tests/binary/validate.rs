//! `aquifer validate`: everything that is wrong, where, and what was meant.

use serde_json::Value;

use crate::support::{Folder, run, text};

#[test]
fn r_dis_9_files_are_checked_with_place_and_suggestion() {
    let folder = Folder::new();
    for (name, content, words) in [
        ("a.toml", "[[source]]\nnaem = \"x\"\n", "a.toml:2:1: SCHEMA_INVALID_NAME: unknown field `naem`"),
        ("a.toml", "[[source]]\nnaem = \"x\"\n", "Did you mean 'name'?"),
        ("b.toml", "lenient = \"hush-4711\"\n", "b.toml:1:11: SCHEMA_INVALID_TYPE: invalid type: string"),
        ("c.toml", "\n[[source]]\nname = \"x\"\n", "c.toml:2:1: SCHEMA_MISSING_FIELD: A source needs a target"),
        (
            "d.toml",
            "[limits]\nmax_nesting_depth = 500\n",
            "d.toml:2:1: SCHEMA_INVALID_TYPE: 'max_nesting_depth' is 500",
        ),
        (
            "d.toml",
            "[[source]]\ncommand = \"x\"\nmax_page_size = 7\n\n[results]\nheld_ttl_seconds = 5\nmax_page_size = 0\n",
            "d.toml:7:1: SCHEMA_INVALID_TYPE: 'max_page_size' is 0; it must be from 1 to 1000",
        ),
        ("d.toml", "[results]\nmax_held_byte = 0\n", "Did you mean 'max_held_bytes'?"),
        (
            "d.toml",
            "[[source]]\ntarget = \"demo:\"\nname = \"shop\"\n[[source]]\ntarget = \"tasks:\"\nname = \" shop\"\n",
            "d.toml:6:1: SCHEMA_INVALID_NAME: the source name \" shop\" begins or ends with a space",
        ),
        (
            "d.toml",
            "[[source]]\ntarget = \"demo:\"\nname = \"shop\u{200b}\"\n",
            "d.toml:3:1: SCHEMA_INVALID_NAME: the source name \"shop\\u{200b}\" contains an invisible character",
        ),
        (
            "d.toml",
            "[[source]]\ncommand = \"x\"\n\n[source.operations.list_x]\nrows = \"a[].b[].c\"\n",
            "d.toml:4:1: SCHEMA_INVALID_TYPE: 'rows' must be a path such as items",
        ),
        (
            "d.toml",
            "[[source]]\ncommand = \"x\"\noperations.list_x = { controls = \"some\" }\n",
            "d.toml:3:34: SCHEMA_INVALID_NAME: unknown variant",
        ),
        (
            "d.toml",
            "[[source]]\ncommand = \"x\"\ninclude = [\"list_*\"]\n",
            "d.toml:3:1: SCHEMA_INVALID_NAME: 'include' is for databases and HTTP APIs",
        ),
        (
            "d.toml",
            "\nversion = 0\n",
            "d.toml:2:1: SCHEMA_INVALID_TYPE: The configuration has version 0; this Aquifer knows 2",
        ),
        (
            "d.toml",
            "version = 7\n[sorce]\n",
            "d.toml:1:1: SCHEMA_INVALID_TYPE: The configuration has version 7; this Aquifer knows 2",
        ),
        (
            "d.toml",
            "[[source]]\ntarget = \"sqlite:a.db\"\n[source.operations.list_x]\nrows = \"a\"\n",
            "d.toml:3:1: SCHEMA_INVALID_NAME: 'operations' applies to MCP servers",
        ),
        (
            "d.toml",
            "[approvals]\nwebhook = \"http://hooks.example/\"\nwebhook_secret = \"0123456789abcdef\"\n",
            "d.toml:2:1: SCHEMA_INVALID_TYPE: approvals.webhook has to begin with https://",
        ),
        (
            "d.toml",
            "[approvals]\nwebhook = \"https://hooks.example/\"\n",
            "d.toml:1:1: SCHEMA_INVALID_TYPE: approvals.webhook_secret is missing",
        ),
        (
            "d.toml",
            "[approvals]\nexplorer_url = \"aquifer.example.com\"\n",
            "d.toml:2:1: SCHEMA_INVALID_TYPE: approvals.explorer_url is not the address of a website",
        ),
        ("e.json", "{\"mcpServers\": {\"x\": {\"comand\": \"hush-4711\"}}}", "e.json:1:17: SCHEMA_MISSING_FIELD"),
        ("f.json", "{\"mcpServers\": {\"x\" {}}}", "f.json:1:21: SCHEMA_INVALID_TYPE: Not readable as JSON"),
        ("g.json", "{\"raw_capture\": {}, \"schema_version\": \"9\"}", "SCHEMA_VERSION_UNSUPPORTED"),
        ("h.json", "{\"raw_capture\": {}, \"schema_version\": \"1.0.0-draft\"}", "h.json:1:"),
        ("i.yaml", "tools:\n  x:\n    endpont: READ\n", "i.yaml:3:5: SCHEMA_INVALID_NAME"),
        ("j.md", "---\nname: x\n---\n", "SCHEMA_MISSING_FIELD: Missing field 'target'"),
        ("k.md", "no front matter", "k.md:1:1: SCHEMA_MISSING_FIELD"),
    ] {
        let file = folder.file(name, content);
        let output = run(&["validate", &file]);
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{name}: {printed}{}", text(&output.stderr));
        assert!(printed.contains(words) && !printed.contains("hush-4711"), "{name}: {printed}");
        assert!(!text(&output.stderr).contains("hush-4711"), "{name}");
        let json = run(&["validate", "--json", &file]);
        let json: Value = serde_json::from_slice(&json.stdout).unwrap();
        let first = &json["problems"][0];
        assert!(json["valid"] == false && first["line"].as_u64() >= Some(1), "{json}");
        assert!(first["code"].as_str().unwrap().starts_with("SCHEMA_"), "{json}");
    }
}

#[test]
fn files_that_are_right_and_files_that_are_not_there() {
    let folder = Folder::new();
    let toml = folder.file("aquifer.toml", "[[source]]\ncommand = \"x\"\nenv = { A = \"${B}\" }\n");
    let json =
        folder.file("mcp.json", "{\"servers\": {\"x\": {\"type\": \"http\", \"url\": \"https://example.com\"},}}");
    let output = run(&["validate", &toml, &json]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("valid configuration, 1 source"), "{}", text(&output.stdout));
    let output = run(&["validate", &toml, &folder.path("nothing.json")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot read"), "{}", text(&output.stderr));
}

/// A configuration of this database, with rules.
fn with_rules(folder: &Folder, rules: &str) -> String {
    let library = folder.database("library.db", "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT)");
    let state = folder.path("state");
    let sources = format!("[[source]]\nname = \"library\"\ntarget = \"sqlite:{library}\"\n");
    folder.file("rules.toml", &format!("{sources}[state]\ndir = \"{state}\"\n{rules}"))
}

#[test]
fn r_saf_2_a_rule_that_matches_nothing_is_an_error() {
    let rule = |keys: &str| format!("[[gate.rule]]\neffect = \"deny\"\n[[gate.rule]]\nname = \"second\"\n{keys}\n");
    for (rules, line, words) in [
        (
            rule("effect = \"deny\"\noperation = \"delete_bok\""),
            8,
            "no operation matches 'delete_bok'. Did you mean 'delete_book'?",
        ),
        (rule("effect = \"deny\"\nsource = \"libary\""), 8, "no source matches 'libary'. Did you mean 'library'?"),
        (rule("effect = \"deny\"\ntable = \"book\""), 8, "no table matches 'book'. Did you mean 'books'?"),
        (
            rule(
                "effect = \"deny\"\noperation = \"update_book\"\nwhen = [{ param = \"input.titel\", present = true }]",
            ),
            8,
            "'input.titel'",
        ),
        (
            rule("effect = \"allow\"\noperation = \"delete_book\""),
            8,
            "an allow rule has an effect only with loosen = true",
        ),
        (
            "[[gate.rule]]\neffect = \"allow\"\nloosen = true\noperation = \"get_book\"\n".to_owned(),
            6,
            "it loosens nothing",
        ),
        (
            "[[gate.rate_limit]]\nname = \"l\"\nlimit = 1\nwindow = \"day\"\noperation = \"x\"\n".to_owned(),
            6,
            "rate limit 1 'l': no operation matches 'x'",
        ),
    ] {
        let folder = Folder::new();
        let file = with_rules(&folder, &rules);
        let output = run(&["validate", &file]);
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{rules}: {printed}{}", text(&output.stderr));
        assert!(
            printed.contains(&format!("rules.toml:{line}:1: SCHEMA_UNRESOLVED_REF")) && printed.contains(words),
            "{rules}: {printed}"
        );
        let json: Value = serde_json::from_slice(&run(&["validate", "--json", &file]).stdout).unwrap();
        assert!(json["valid"] == false && json["problems"][0]["line"] == line, "{json}");
        // Files alone cannot tell.
        assert_eq!(run(&["validate", "--offline", &file]).status.code(), Some(0), "{rules}");
    }
    let folder = Folder::new();
    let right =
        with_rules(&folder, &rule("effect = \"deny\"\noperation = [\"delete_book\", \"drop_*\"]\ntable = \"BOOKS\""));
    let output = run(&["validate", &right]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn r_saf_2_rules_of_unreachable_sources_are_reported_as_unchecked() {
    let folder = Folder::new();
    let rules = "[[gate.rule]]\neffect = \"deny\"\noperation = \"anything\"\n\
                 [[gate.rule]]\neffect = \"deny\"\nsource = \"library\"\noperation = \"delete_bok\"\n";
    let file = with_rules(&folder, rules);
    let gone = "[[source]]\nname = \"gone\"\ncommand = \"/nothing/here\"\n\
                [[source]]\nname = \"broken\"\ntarget = \"sqlite:/nothing/there.db\"\n";
    let whole = std::fs::read_to_string(&file).unwrap();
    for (sources, code, unreached) in [(gone, 1, 2), ("", 1, 0)] {
        let file = folder.file("gone.toml", &format!("{sources}{whole}"));
        let output = run(&["validate", &file]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
        // The rule about a source that is there is checked; the other only if all are.
        assert!(stdout.contains("'delete_bok'"), "{stdout}");
        assert_eq!(stdout.contains("'anything'"), unreached == 0, "{stdout}");
        assert_eq!(stderr.matches("so its rules were not checked").count(), unreached, "{stderr}");
    }
    // Nothing is there: nothing is wrong.
    let file =
        folder.file("nowhere.toml", &format!("{gone}[[gate.rule]]\neffect = \"deny\"\noperation = \"anything\"\n"));
    assert_eq!(run(&["validate", &file]).status.code(), Some(0));
    let file = folder.file("none.toml", "[[gate.rule]]\neffect = \"deny\"\noperation = \"anything\"\n");
    let output = run(&["validate", &file]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("the rules were not checked: no source"), "{}", text(&output.stderr));
}
