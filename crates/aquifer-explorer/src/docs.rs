//! The documentation at `/docs`, rendered from the files that are compiled in. It needs no login.

use std::sync::{Arc, LazyLock};

use aquifer_docs::{LinkStyle, Site, SiteFile};
use aquifer_protocol::hex::hex;
use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use crate::Explorer;

/// Rendered at the first request, once: the pages are part of the program.
static SITE: LazyLock<Site> = LazyLock::new(|| Site::render(LinkStyle::Served));

/// A digest of all pages. They change together, with the program.
static ETAG: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    SITE.files().for_each(|(_, file)| digest.update(&file.body));
    format!("\"{}\"", hex(&digest.finalize()))
});

pub(crate) fn router() -> Router<Arc<Explorer>> {
    Router::new().route("/docs", get(start_page)).route("/docs/", get(start_page)).route("/docs/{*page}", get(page))
}

async fn start_page(headers: HeaderMap) -> Response {
    find("", &headers)
}

async fn page(Path(path): Path<String>, headers: HeaderMap) -> Response {
    find(&path, &headers)
}

fn find(path: &str, headers: &HeaderMap) -> Response {
    if let Some(file) = SITE.get(path) {
        return send(file, headers);
    }
    if let Some(name) = page_of_repository_path(path) {
        return Redirect::permanent(&format!("/docs/{name}")).into_response();
    }
    (StatusCode::NOT_FOUND, Html(SITE.not_found())).into_response()
}

/// The page for a path as people know it from the repository: the name of a file, or of a directory with a README.
fn page_of_repository_path(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/').to_ascii_lowercase();
    let name = path.strip_suffix(".md").unwrap_or(&path);
    [name.to_owned(), format!("{name}/readme")].into_iter().find(|name| SITE.get(name).is_some())
}

fn send(file: &'static SiteFile, headers: &HeaderMap) -> Response {
    let etag = HeaderValue::from_static(ETAG.as_str());
    if headers.get(header::IF_NONE_MATCH) == Some(&etag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response();
    }
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, etag),
    ];
    (head, &*file.body).into_response()
}
