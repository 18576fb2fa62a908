//! The documentation that a server has at `/docs`.

use crate::support::HttpServer;

#[test]
fn the_documentation_is_served_to_everybody_but_mcp_clients() {
    let demo = HttpServer::start(&["demo", "--http", "127.0.0.1:0"]);
    for (path, status, content_type, words) in [
        ("/docs", 200, "text/html; charset=utf-8", "<h1>Aquifer documentation</h1>"),
        ("/docs/", 200, "text/html; charset=utf-8", "<h1>Aquifer documentation</h1>"),
        ("/docs/databases", 200, "text/html; charset=utf-8", "<h1 id=\"databases\">Databases</h1>"),
        ("/docs/adr/0024-documentation-site", 200, "text/html; charset=utf-8", "<h1"),
        ("/docs/docs.css", 200, "text/css; charset=utf-8", "color-scheme"),
        ("/docs/search.js", 200, "text/javascript; charset=utf-8", "textContent"),
        ("/docs/search.json", 200, "application/json", "[{\"page\":"),
        ("/docs/tokens.schema.json", 200, "application/json", "$schema"),
        ("/docs/nowhere", 404, "text/html; charset=utf-8", "Page not found"),
        ("/docs/../Cargo.toml", 404, "text/html; charset=utf-8", "Page not found"),
    ] {
        let answer = demo.send("GET", path, &[], b"");
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("content-type").as_deref(), Some(content_type), "{path}");
        assert!(answer.body.contains(words), "{path}: {}", answer.body);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("style-src 'self'"), "{path}: {policy}");
    }
    for (path, page) in [
        ("/docs/SECURITY.md", "/docs/security"),
        ("/docs/how-to", "/docs/how-to/readme"),
        ("/docs/adr/", "/docs/adr/readme"),
        ("/docs/databases/", "/docs/databases"),
    ] {
        let moved = demo.send("GET", path, &[], b"");
        assert_eq!((moved.status, moved.header("location").as_deref()), (308, Some(page)), "{path}");
    }
    let etag = demo.send("GET", "/docs", &[], b"").header("etag").unwrap();
    let unchanged = demo.send("GET", "/docs/databases", &[("if-none-match", &etag)], b"");
    assert_eq!((unchanged.status, unchanged.body.as_str()), (304, ""));
    for header in ["authorization", "mcp-session-id", "mcp-protocol-version"] {
        assert_eq!(demo.send("GET", "/docs/databases", &[(header, "x")], b"").status, 403, "{header}");
    }
    assert_eq!(demo.send("POST", "/docs", &[], b"").status, 403);
}

#[test]
fn without_the_explorer_there_is_no_documentation() {
    let demo = HttpServer::start(&["demo", "--http", "127.0.0.1:0", "--no-explorer"]);
    assert_eq!(demo.send("GET", "/docs", &[], b"").status, 404);
}
