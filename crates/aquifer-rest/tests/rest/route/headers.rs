//! Headers and cookies, and attempts to inject others.

use aquifer_protocol::error::Code;
use aquifer_rest::Route;
use aquifer_rest::route::{Method, Notation, Place, Style};
use serde_json::{Value, json};

use super::{assert_refused, get, request, route, style};

fn header() -> Place {
    Place::Header(style(Style::Simple, false))
}

fn cookie() -> Place {
    Place::Cookie(style(Style::Form, true))
}

fn sent(route: &Route, params: Value) -> Vec<(String, String)> {
    request(route, params).unwrap().headers
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn fixed_headers_are_always_sent() {
    assert_eq!(sent(&route(Method::Get, "/"), json!({})), [pair("Accept", "application/json")]);
    let mut fixed = route(Method::Get, "/");
    fixed.accept = "text/csv".into();
    fixed.headers = vec![("X-Api-Version".into(), "2".into())];
    assert_eq!(sent(&fixed, json!({})), [pair("Accept", "text/csv"), pair("X-Api-Version", "2")]);
    fixed.headers = vec![("accept".into(), "application/vnd.x+json".into())];
    assert_eq!(sent(&fixed, json!({})), [pair("accept", "application/vnd.x+json")]);
}

#[test]
fn fixed_headers_cannot_break_the_request() {
    for (name, value) in [
        ("Host", "evil"),
        ("Authorization", "Bearer x"),
        ("X y", "z"),
        ("X", "a\r\nHost: b"),
        ("", "x"),
        ("Content-Length", "0"),
        ("Content-Type", "text/plain"),
        ("Proxy-Authorization", "x"),
    ] {
        let mut route = route(Method::Get, "/");
        route.headers = vec![(name.into(), value.into())];
        assert_eq!(request(&route, json!({})).unwrap_err().code(), Code::InternalError, "{name}");
    }
}

#[test]
fn values_cannot_inject_headers() {
    for notation in [style(Style::Simple, false), style(Style::Simple, true)] {
        let route = get("/", &[("X-V", Place::Header(notation))]);
        for value in [
            json!("a\r\nHost: evil"),
            json!("a\nb"),
            json!("a\rb"),
            json!("a\0"),
            json!("\u{7f}"),
            json!("é"),
            json!("\u{1}"),
            json!(["a", "b\r\n"]),
            json!({"a\r\n": "b"}),
            json!([["\u{85}"]]),
        ] {
            assert_refused(&route, json!({"X-V": value}), Code::ValidationInvalidValue, "X-V");
        }
        assert_eq!(sent(&route, json!({"X-V": "a\tb: c; \"d\""}))[1].1, "a\tb: c; \"d\"");
        assert_eq!(sent(&route, json!({"X-V": "  a "}))[1].1, "a");
        assert_eq!(sent(&route, json!({"X-V": null})).len(), 1);
    }
}

#[test]
fn parameters_never_set_reserved_headers() {
    for name in [
        "Authorization",
        "authorization",
        "Host",
        "HOST",
        "Content-Length",
        "Connection",
        "Transfer-Encoding",
        "Cookie",
        "Proxy-Authorization",
        "proxy-connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Accept",
        "Content-Type",
        "Accept-Encoding",
        "X Y",
        "X:",
        "",
        "X\r\nHost",
    ] {
        let route = get("/", &[(name, header())]);
        let mut params = serde_json::Map::new();
        params.insert(name.to_owned(), json!("x"));
        assert_refused(&route, Value::Object(params), Code::ValidationInvalidValue, name);
    }
}

#[test]
fn parameters_never_replace_fixed_headers() {
    let mut route = get("/", &[("x-version", header())]);
    route.headers = vec![("X-Version".into(), "1".into())];
    assert_refused(&route, json!({"x-version": "2"}), Code::ValidationInvalidValue, "x-version");
}

#[test]
fn cookies_are_collected_in_one_header() {
    let route = get("/", &[("a", cookie()), ("b", cookie()), ("c", Place::Cookie(Notation::Json))]);
    let headers = sent(&route, json!({"a": "x; admin=1", "b": "y=z/+", "c": {"k": [1, "é"]}}));
    assert_eq!(headers[1], pair("Cookie", "a=x%3B%20admin=1; b=y=z/+; c={%22k%22:[1%2C%22%C3%A9%22]}"));
    assert_eq!(sent(&route, json!({"b": "100%"}))[1], pair("Cookie", "b=100%25"));
    for value in [json!("a\r\nb"), json!("\0"), json!(["\n"]), json!({"\r": 1})] {
        assert_refused(&route, json!({"a": value}), Code::ValidationInvalidValue, "a");
    }
    let odd = get("/", &[("a;b=c", cookie())]);
    assert_eq!(sent(&odd, json!({"a;b=c": 1}))[1], pair("Cookie", "a%3Bb%3Dc=1"));
}
