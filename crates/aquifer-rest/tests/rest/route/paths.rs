//! Paths and base URLs, and attempts to leave them.

use aquifer_protocol::error::Code;
use aquifer_rest::Route;
use aquifer_rest::route::{Method, Place, Style, check_base_url};
use serde_json::{Map, json};

use super::{assert_refused, get, parameter, request, route, simple, style, url};

#[test]
fn values_stay_in_their_segment() {
    let route = get("/pets/{id}/toys", &[("id", simple())]);
    for (value, expected) in [
        (json!("a/b"), "a%2Fb"),
        (json!("a?b#c"), "a%3Fb%23c"),
        (json!("..a/.b/admin"), "..a%2F.b%2Fadmin"),
        (json!("%2e%2e"), "%252e%252e"),
        (json!("%2F"), "%252F"),
        (json!("..."), "..."),
        (json!("a;.."), "a%3B.."),
        (json!("\\...\\"), "%5C...%5C"),
        (json!("é 😀"), "%C3%A9%20%F0%9F%98%80"),
        (json!("https://evil.example/"), "https%3A%2F%2Fevil.example%2F"),
        (json!("@evil.example"), "%40evil.example"),
        (json!(7), "7"),
        (json!(1.50), "1.5"),
        (json!(false), "false"),
    ] {
        assert_eq!(url(&route, json!({"id": value})), format!("/pets/{expected}/toys"), "{value}");
    }
}

#[test]
fn values_that_would_change_the_path_are_refused() {
    let route = get("/pets/{id}", &[("id", simple())]);
    for value in
        [json!(""), json!("."), json!(".."), json!("a\nb"), json!("\0"), json!("\u{7f}"), json!([]), json!([""])]
    {
        assert_refused(&route, json!({"id": value}), Code::ValidationInvalidValue, "id");
    }
    for params in [json!({}), json!({"id": null})] {
        assert_refused(&route, params, Code::ValidationMissingParam, "id");
    }
    let pair = get("/{a}{b}", &[("a", simple()), ("b", simple())]);
    assert_refused(&pair, json!({"a": ".", "b": "."}), Code::ValidationInvalidValue, "a");
    assert_eq!(url(&pair, json!({"a": ".", "b": "x"})), "/.x");
    let dotted = get("/.{a}", &[("a", simple())]);
    assert_refused(&dotted, json!({"a": "."}), Code::ValidationInvalidValue, "a");
    let encoded = get("/%2E{a}", &[("a", simple())]);
    assert_refused(&encoded, json!({"a": "."}), Code::ValidationInvalidValue, "a");
    let label = get("/{a}", &[("a", Place::Path(style(Style::Label, false)))]);
    assert_refused(&label, json!({"a": "."}), Code::ValidationInvalidValue, "a");
}

#[test]
fn segments_may_have_several_placeholders_and_suffixes() {
    let both = [("base", simple()), ("head", simple())];
    let params = json!({"base": "v1.0", "head": "a/b"});
    assert_eq!(url(&get("/compare/{base}...{head}", &both), params.clone()), "/compare/v1.0...a%2Fb");
    assert_eq!(url(&get("/{base}.json", &both), params.clone()), "/v1.0.json");
    assert_eq!(url(&get("/{base}/{head}/{base}", &both), params.clone()), "/v1.0/a%2Fb/v1.0");
    assert_eq!(url(&get("/jobs/{base}:cancel", &both), params.clone()), "/jobs/v1.0:cancel");
    assert_eq!(url(&get("/r(id='{base}')", &both), params), "/r(id='v1.0')");
}

#[test]
fn values_cannot_lead_to_other_paths() {
    let file = get("/files/{id}", &[("id", simple())]);
    for value in [
        "../admin",
        "../../admin",
        "..\\admin",
        "a/../../admin",
        "a/..",
        "./a",
        "a\\.\\b",
        "%2e%2e/admin",
        "..%2Fadmin",
        "..%252fadmin",
        "..;/admin",
        "..;x=1",
        "\\..\\",
    ] {
        assert_refused(&file, json!({ "id": value }), Code::ValidationInvalidValue, "id");
        let part = get("/files/{id}.json", &[("id", simple())]);
        if !value.ends_with("..") && !value.ends_with("..;x=1") {
            assert_refused(&part, json!({ "id": value }), Code::ValidationInvalidValue, "id");
        }
    }
    let two = get("/{a}{b}", &[("a", simple()), ("b", simple())]);
    assert_refused(&two, json!({ "a": ".", "b": "./x" }), Code::ValidationInvalidValue, "a");
    for (value, expected) in
        [("a/b", "a%2Fb"), ("...", "..."), ("a..b/c", "a..b%2Fc"), (".git/x", ".git%2Fx"), ("50%", "50%25")]
    {
        assert_eq!(url(&file, json!({ "id": value })), format!("/files/{expected}"));
    }
}

#[test]
fn placeholders_have_original_names() {
    let mut route = get("/{petId}", &[]);
    route.parameters = vec![parameter("pet_id", simple())];
    route.parameters[0].original_name = "petId".into();
    assert_eq!(url(&route, json!({"pet_id": 1})), "/1");
    assert_refused(&route, json!({"petId": 1}), Code::ValidationMissingParam, "pet_id");
}

#[test]
fn literal_parts_keep_their_meaning() {
    for (path, expected) in
        [("/", "/"), ("/a b/é", "/a%20b/%C3%A9"), ("/a//b/", "/a//b/"), ("/a%20b", "/a%20b"), ("/~x|y", "/~x%7Cy")]
    {
        assert_eq!(url(&route(Method::Get, path), json!({})), expected);
    }
    assert_eq!(url(&route(Method::Get, "//evil.example/x"), json!({})), "//evil.example/x", "the host stays");
}

#[test]
fn invalid_templates_are_refused() {
    for path in [
        "",
        "x",
        "https://evil.example/",
        "@evil.example/",
        ".evil.example/",
        ":80/",
        "\\\\evil.example",
        "/a/../b",
        "/./x",
        "/%2e%2E/x",
        "/.%2e",
        "/a?b=c",
        "/a#b",
        "/{",
        "/{a",
        "/a}",
        "/{unknown}",
        "/{}",
        "/a\\b",
        "/a\nb",
        "/{a{b}}",
    ] {
        let failure = request(&route(Method::Get, path), json!({})).expect_err(path);
        assert_eq!(failure.code(), Code::InternalError, "{path}: {}", failure.message());
        assert_eq!(failure.details()["plugin_error"], "PROTOCOL_INVALID_MAPPING", "{path}");
    }
}

#[test]
fn base_urls_are_checked() {
    let pets = route(Method::Get, "/pets");
    for (base_url, expected) in [
        ("https://api.example", "https://api.example/pets"),
        ("https://api.example/", "https://api.example/pets"),
        ("https://api.example/v1", "https://api.example/v1/pets"),
        ("https://api.example/v1/", "https://api.example/v1/pets"),
        ("HTTPS://API.Example:443/v1", "https://api.example/v1/pets"),
        ("https://api.example:8443/v1", "https://api.example:8443/v1/pets"),
        ("http://[::1]:80/v1", "http://[::1]/v1/pets"),
        ("http://2130706433/", "http://127.0.0.1/pets"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/pets"),
        ("https://api.example/a/../b", "https://api.example/b/pets"),
    ] {
        assert_eq!(pets.request(base_url, &Map::new()).unwrap().url.as_str(), expected, "{base_url}");
    }
    for base_url in [
        "",
        "api.example",
        "/v1",
        "ftp://api.example",
        "file:///etc",
        "https://",
        "https://user@api.example",
        "https://user:password@api.example",
        "https://:x@api.example",
        "https://api.example?x=1",
        "https://api.example/?",
        "https://api.example#",
        "https://api.example/v1#x",
        "https://api.example\\@evil.example",
        "https://api\t.example",
        "https://api.example/\n",
        " https://api.example",
        "javascript:alert(1)",
        "https://999.1.1.1/",
        "https://a b/",
    ] {
        assert!(check_base_url(base_url).is_err(), "{base_url}");
        let failure = pets.request(base_url, &Map::new()).expect_err(base_url);
        assert!(!failure.message().contains("password@"), "{}", failure.message());
    }
}

#[test]
fn a_route_may_have_a_base_url_of_its_own() {
    let uploads = Route { base_url: Some("https://uploads.example".into()), ..route(Method::Get, "/x") };
    assert_eq!(request(&uploads, json!({})).unwrap().url.as_str(), "https://uploads.example/x");
}

#[test]
fn long_urls_are_refused() {
    let route = get("/{id}", &[("id", simple())]);
    let failure = request(&route, json!({"id": "x".repeat(40_000)})).unwrap_err();
    assert_eq!(failure.code(), Code::ValidationPayloadTooLarge);
}
