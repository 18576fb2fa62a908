//! The files of the page, compiled in.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

use aquifer_protocol::hex::hex;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) bytes: &'static [u8],
}

/// `files!("app.js", …)`: the files of `ui/` under their paths.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(Asset { path: concat!("/", $path), bytes: include_bytes!(concat!("../ui/", $path)) }),*]
    };
}

/// Every file of `ui/`. A test compares the list with the folder.
pub(crate) static ASSETS: &[Asset] = files![
    "index.html",
];

/// Answers for every path that only the page knows: the addresses in it, such as `/operations/list_orders`.
const INDEX: &str = "/index.html";

/// A digest of all files. They change together, with the program.
static ETAG: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    ASSETS.iter().for_each(|asset| digest.update(asset.bytes));
    format!("\"{}\"", hex(&digest.finalize()[..16]))
});

/// Serves a file, or the page for an address in it.
pub(crate) async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let wanted = if is_file && !path.starts_with("/operations/") && !path.starts_with("/schema/") { path } else { INDEX };
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == wanted) else {
        return (StatusCode::NOT_FOUND, "Not Found\n").into_response();
    };
    let etag = HeaderValue::from_static(ETAG.as_str());
    if headers.get(header::IF_NONE_MATCH) == Some(&etag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response();
    }
    let body = if method == Method::HEAD { Body::empty() } else { Body::from(asset.bytes) };
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type(asset.path))),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, etag),
    ];
    (head, body).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
