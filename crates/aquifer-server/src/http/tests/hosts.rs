//! Unusual values of `Host` and `Origin`, byte by byte.

use super::*;

async fn status(server: &Server, request: &[u8]) -> u16 {
    let mut client = server.connect().await;
    client.send(request).await;
    // Invalid HTTP is answered and closed, or just closed.
    client.answer().await.map_or(400, |answer| answer.status)
}

#[tokio::test]
async fn hosts_are_parsed_strictly() {
    let server =
        Server::start(|settings| settings.allowed_hosts = vec!["db.internal:8080".into(), "[2001:db8::1]".into()])
            .await;
    let get = |lines: &[&[u8]]| {
        let mut request = b"GET /health HTTP/1.1\r\n".to_vec();
        lines.iter().for_each(|line| request.extend_from_slice(&[line, &b"\r\n"[..]].concat()));
        [request, b"\r\n".to_vec()].concat()
    };
    let hosts: [(u16, &[&[u8]]); 58] = [
        (200, &[b"host: localhost"]),
        (200, &[b"host: LOCALHOST"]),
        (200, &[b"host: localhost."]),
        (200, &[b"host: localhost:1"]),
        (200, &[b"host: localhost:65535"]),
        (200, &[b"host: 127.0.0.1:3910"]),
        (200, &[b"host: [::1]"]),
        (200, &[b"host: [0:0::1]:80"]),
        (200, &[b"host: db.internal:8080"]),
        (200, &[b"host: [2001:DB8::1]:80"]),
        // Surrounding blanks are not part of the value.
        (200, &[b"host:   localhost  "]),
        (200, &[b"host: 127.0.0.1\t"]),
        (400, &[]),
        (400, &[b"host:"]),
        (400, &[b"host: \t"]),
        (400, &[b"host: 127.0.0.1:80@evil.com"]),
        (400, &[b"host: localhost:80@evil"]),
        (400, &[b"host: [::1]@evil"]),
        (400, &[b"host: evil@localhost"]),
        (400, &[b"host: evil:80@localhost"]),
        (400, &[b"host: @localhost"]),
        (400, &[b"host: localhost:99999"]),
        (400, &[b"host: localhost:"]),
        (400, &[b"host: localhost:0"]),
        (400, &[b"host: localhost:8a"]),
        (400, &[b"host: localhost:-1"]),
        (400, &[b"host: localhost#"]),
        (400, &[b"host: localhost/x"]),
        (400, &[b"host: localhost?x"]),
        (400, &[b"host: localhost\\x"]),
        (400, &[b"host: local host"]),
        (400, &[b"host: local\thost"]),
        (400, &[b"host: localhost,evil.com"]),
        (400, &[b"host: %6cocalhost"]),
        (400, &[b"host: localhost%00"]),
        (400, &[b"host: l\xc3\xb6calhost"]),
        (400, &[b"host: \xff"]),
        (400, &[b"host: localhost\x00"]),
        (400, &[b"host: localhost\x01"]),
        (400, &[b"host: [fe80::1%25eth0]"]),
        (400, &[b"host: [::1%lo]"]),
        (400, &[b"host: [::1"]),
        (400, &[b"host: ::1"]),
        (400, &[b"host: 127.1"]),
        (400, &[b"host: 2130706433"]),
        (400, &[b"host: 127.0.0.1."]),
        (400, &[b"host: http://localhost"]),
        (400, &[b"host: localhost", b"host: localhost"]),
        (400, &[b"host: localhost", b"host: evil.com"]),
        (400, &[b"host: evil.com", b"host: localhost"]),
        (400, &[b"host : localhost"]),
        (400, &[b"host: localhost", b" evil.com"]),
        (403, &[b"host: evil.com"]),
        (403, &[b"host: localhost.evil.com"]),
        (403, &[b"host: db.internal"]),
        (403, &[b"host: db.internal:80"]),
        (403, &[b"host: [::ffff:127.0.0.1]"]),
        (403, &[b"host: 0.0.0.0"]),
    ];
    for (expected, lines) in hosts {
        let shown: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
        assert_eq!(status(&server, &get(lines)).await, expected, "{shown:?}");
    }
    for (expected, target, host) in [
        (200, "http://localhost/health", "localhost"),
        (200, "http://LOCALHOST:80/health", "localhost"),
        (200, "http://localhost:3910/health", "localhost:3910"),
        (400, "http://localhost/health", "localhost:3910"),
        (400, "http://localhost/health", "127.0.0.1"),
        (400, "http://evil.com/health", "localhost"),
        (400, "http://localhost/health", "evil.com"),
        (400, "http://evil@localhost/health", "localhost"),
        (400, "http://localhost:80@evil.com/health", "localhost"),
        (400, "http://localhost:/health", "localhost"),
        (400, "http://localhost/health", ""),
        (403, "http://evil.com/health", "evil.com"),
        (404, "*", "localhost"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        assert_eq!(status(&server, request.as_bytes()).await, expected, "{target} {host}");
    }
    assert_eq!(status(&server, b"GET /health HTTP/1.0\r\n\r\n").await, 400, "without a host in HTTP/1.0");
    assert_eq!(status(&server, b"GET /health HTTP/1.0\r\nhost: localhost\r\n\r\n").await, 200);
}

#[tokio::test]
async fn origins_are_parsed_strictly() {
    let server = Server::start(|settings| settings.allowed_origins = vec!["https://app.example/".into()]).await;
    for (expected, lines) in [
        (200, "origin: https://app.example"),
        (200, "origin: HTTPS://APP.example:443"),
        (400, "origin:"),
        (400, "origin: app.example"),
        (400, "origin: https://app.example/"),
        (400, "origin: https://app.example/x"),
        (400, "origin: https://app.example#"),
        (400, "origin: https://app.example:443@evil.com"),
        (400, "origin: https://user@app.example"),
        (400, "origin: https://app.example https://evil.com"),
        (400, "origin: https://app.example\r\norigin: https://app.example"),
        (400, "origin: https://app.example\r\norigin: https://evil.com"),
        (400, "origin: ://app.example"),
        (400, "origin: https://app.example:99999"),
        (403, "origin: null"),
        (403, "origin: http://app.example"),
        (403, "origin: https://app.example:8443"),
        (403, "origin: https://app.example.evil.com"),
        (403, "origin: http://localhost"),
        (403, "origin: chrome-extension://abcdef"),
    ] {
        for (method, path) in [("GET", "/health"), ("OPTIONS", "/mcp"), ("POST", "/mcp")] {
            let request =
                format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{lines}\r\ncontent-length: 0\r\n\r\n");
            let got = status(&server, request.as_bytes()).await;
            let is_as_expected = if expected == 200 { got != 403 && !lines.is_empty() } else { got == expected };
            assert!(is_as_expected, "{method} {lines}: {got}");
        }
    }
}

#[tokio::test]
async fn lists_that_could_never_match_are_errors() {
    let engine = || {
        let surface = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "").unwrap();
        Arc::new(Engine::builder(surface).build().unwrap())
    };
    let settings = HttpSettings::new("127.0.0.1:0".parse().unwrap());
    for host in ["https://app.example", "*.example", "app.example/", "user@app.example", "app.example:x", ""] {
        let wrong = HttpSettings { allowed_hosts: vec![host.to_owned()], ..settings.clone() };
        assert!(HttpServer::bind(engine(), wrong).await.is_err(), "{host}");
    }
    for origin in ["app.example", "null", "*", "https://app.example/x", "https://*.example", ""] {
        let wrong = HttpSettings { allowed_origins: vec![origin.to_owned()], ..settings.clone() };
        assert!(HttpServer::bind(engine(), wrong).await.is_err(), "{origin}");
    }
    let right = HttpSettings { allowed_hosts: vec!["::1".into(), "App.example.".into()], ..settings };
    assert!(HttpServer::bind(engine(), right).await.is_ok());
}

/// The server's configuration must not be revealed to callers.
#[tokio::test]
async fn a_refusal_reveals_nothing_about_the_configuration() {
    let server = Server::start(|_| {}).await;
    for lines in ["host: evil.example\r\n", "host: localhost\r\norigin: http://evil.example\r\n"] {
        let mut client = server.connect().await;
        client.send(format!("GET /health HTTP/1.1\r\n{lines}\r\n").as_bytes()).await;
        let answer = client.answer().await.unwrap();
        let body = answer.body;
        assert_eq!(answer.status, 403, "{lines}");
        assert!(body.starts_with("Forbidden: ") && !body.contains("--") && !body.contains('['), "{body}");
    }
}
