//! Captures to test with.

use aquifer_discovery::bundle::{Auth, Bundle, RawCapture, ServerIdentity, Source, Transport};
use aquifer_discovery::{Offer, normalize};
use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::surface::{Receiver, Surface};
use aquifer_protocol::validate::{Strictness, route};
use serde_json::{Map, Value, json};

/// A source over HTTP.
pub(crate) fn http(name: &str) -> Source {
    Source {
        name: name.to_owned(),
        server_url: format!("https://{name}.example.com/mcp"),
        transport: Transport::StreamableHttp,
        captured_at: "2026-11-15T07:00:00Z".to_owned(),
        server: Some(ServerIdentity::read(&json!({ "name": name, "version": "1.2.3" }))),
        auth: Auth::bearer("EXAMPLE_TOKEN"),
        capture_config_redacted: Map::new(),
    }
}

/// A bundle of these tools.
pub(crate) fn bundle(tools: Value) -> Bundle {
    let page = json!({ "tools": tools }).to_string();
    normalize(http("example"), RawCapture::from_pages(&[&page]).unwrap())
}

/// Every capture: what real servers answered to `tools/list`.
pub(crate) fn captures() -> Vec<(String, String)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/discovery/captures");
    let mut found: Vec<(String, String)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() >= 10, "too few captures");
    found
}

/// Every capture as a bundle.
pub(crate) fn bundles() -> Vec<(String, Bundle)> {
    captures()
        .into_iter()
        .map(|(name, text)| {
            let bundle = normalize(http(&name), RawCapture::from_pages(&[&text]).unwrap());
            (name, bundle)
        })
        .collect()
}

/// The catalog of an offer.
pub(crate) fn catalog(offer: &Offer) -> Catalog {
    Catalog::build(offer.operations.clone(), offer.types.clone(), &Surface::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What reaches the upstream: the parameters checked against the catalog and translated back.
pub(crate) fn reach(offer: &Offer, catalog: &Catalog, operation: &str, params: Value) -> Result<Value, String> {
    let request = json!({ "operation": operation, "params": params });
    let parsed = parse(request.as_object().unwrap().clone(), 1).unwrap_or_else(|_| panic!("{request}"));
    let ParsedRequest::One(request) = parsed else { panic!("a batch") };
    let routed = route(catalog, &Surface::default(), &Receiver::Unified, request);
    let checked = routed.and_then(|routed| routed.check(catalog, Strictness::Strict));
    let checked = checked.map_err(|failure| failure.message().to_owned())?;
    Ok(Value::Object(offer.calls[operation].arguments(checked.params().clone())))
}
