//! The files of the page, compiled in, and compressed on first use.

use std::io::Write as _;
use std::sync::LazyLock;

use aquifer_protocol::hex::hex;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// A file of the page.
struct Asset {
    path: &'static str,
    bytes: &'static [u8],
}

/// `files!["app.js", …]`: the files of `ui/` under their paths.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(Asset { path: concat!("/", $path), bytes: include_bytes!(concat!("../ui/", $path)) }),*]
    };
}

/// Every file of `ui/`. A test compares the list with the folder.
static ASSETS: &[Asset] = files![
    "app.js",
    "favicon.svg",
    "index.html",
    "pages.css",
    "style.css",
    "try.css",
    "lib/answer.js",
    "lib/api.js",
    "lib/dialog.js",
    "lib/dom.js",
    "lib/events.js",
    "lib/filter.js",
    "lib/fixes.js",
    "lib/format.js",
    "lib/json_text.js",
    "lib/key_order.js",
    "lib/references.js",
    "lib/request_tabs.js",
    "lib/router.js",
    "lib/schema.js",
    "lib/sorting.js",
    "lib/storage.js",
    "lib/theme.js",
    "pages/approval.js",
    "pages/approvals.js",
    "pages/audit.js",
    "pages/live.js",
    "pages/login.js",
    "pages/operation.js",
    "pages/operations.js",
    "pages/overview.js",
    "pages/review.js",
    "pages/schema.js",
    "pages/settings.js",
    "pages/try.js",
    "parts/aggregate_builder.js",
    "parts/alerts.js",
    "parts/approval_edit.js",
    "parts/approval_view.js",
    "parts/audit_entry.js",
    "parts/audit_request.js",
    "parts/call_messages.js",
    "parts/call_tree.js",
    "parts/caller.js",
    "parts/chart.js",
    "parts/collections.js",
    "parts/copy.js",
    "parts/deadline.js",
    "parts/decision_page.js",
    "parts/diagram.js",
    "parts/diff_view.js",
    "parts/editor.js",
    "parts/elements.js",
    "parts/failure.js",
    "parts/filter_builder.js",
    "parts/form.js",
    "parts/form_inputs.js",
    "parts/form_nested.js",
    "parts/glossary.js",
    "parts/layout.js",
    "parts/levels.js",
    "parts/line_diff.js",
    "parts/operation_details.js",
    "parts/picker.js",
    "parts/query_builder.js",
    "parts/record_graph.js",
    "parts/recording.js",
    "parts/result.js",
    "parts/result_table.js",
    "parts/rules.js",
    "parts/runner.js",
    "parts/table_details.js",
    "parts/tabs.js",
    "parts/tree.js",
    "parts/viewport.js",
    "parts/virtual_grid.js",
];

/// Answers for every address in the page, such as `/operations/list_orders`.
const INDEX: &str = "/index.html";

/// Folders of files: under them nothing else has an address.
const FOLDERS: [&str; 3] = ["/lib/", "/pages/", "/parts/"];

/// The files, compressed, in the order of [`ASSETS`]. `None` for a file that could not be compressed.
static COMPRESSED: LazyLock<Vec<Option<Bytes>>> =
    LazyLock::new(|| ASSETS.iter().map(|asset| compress(asset.bytes)).collect());

/// A digest of all files. They change together, with the program.
static ETAG: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    ASSETS.iter().for_each(|asset| digest.update(asset.bytes));
    HeaderValue::try_from(format!("\"{}\"", hex(&digest.finalize()))).ok()
});

/// Serves a file, or the page for an address in it.
pub(crate) async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let Some((position, asset)) = find(uri.path()) else {
        return (StatusCode::NOT_FOUND, "Not Found\n").into_response();
    };
    let etag = ETAG.clone();
    let is_known = etag.is_some() && headers.get(header::IF_NONE_MATCH) == etag.as_ref();
    let accepts_gzip = headers.get(header::ACCEPT_ENCODING).is_some_and(accepts_gzip);
    let compressed = COMPRESSED.get(position).cloned().flatten().filter(|_| accepts_gzip);
    let is_compressed = compressed.is_some();
    let body = compressed.unwrap_or(Bytes::from_static(asset.bytes));
    let mut response = match method {
        _ if is_known => StatusCode::NOT_MODIFIED.into_response(),
        Method::HEAD => StatusCode::OK.into_response(),
        _ => body.into_response(),
    };
    let head = response.headers_mut();
    head.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(asset.path)));
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    head.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_compressed && !is_known {
        head.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    head.extend(etag.map(|etag| (header::ETAG, etag)));
    response
}

/// The file for a path, and its position.
fn find(path: &str) -> Option<(usize, &'static Asset)> {
    let position = |wanted: &str| ASSETS.iter().position(|asset| asset.path == wanted);
    let is_address = !FOLDERS.iter().any(|folder| path.starts_with(folder));
    let position = position(path).or_else(|| position(INDEX).filter(|_| is_address))?;
    Some((position, ASSETS.get(position)?))
}

fn accepts_gzip(encodings: &HeaderValue) -> bool {
    let encodings = encodings.to_str().unwrap_or_default();
    encodings.split(',').any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.next().is_none_or(|quality| quality != "q=0")
    })
}

fn compress(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::path::Path;

    use super::*;

    /// What a browser loads when it has opened every page once.
    const MAX_COMPRESSED_BYTES: usize = 200 * 1000;

    fn add_files(folder: &Path, root: &Path, files: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => add_files(&path, root, files),
                false => files.push(format!("/{}", path.strip_prefix(root).unwrap().display())),
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
        let (mut files, mut listed) = (Vec::new(), ASSETS.iter().map(|asset| asset.path).collect::<Vec<_>>());
        add_files(&root, &root, &mut files);
        files.sort();
        listed.sort_unstable();
        assert_eq!(listed, files);
    }

    /// The modules that a file of the page imports, without those that it imports only when it needs them.
    fn imports(path: &str) -> Vec<&'static str> {
        let (_, asset) = find(path).unwrap();
        let lines = std::str::from_utf8(asset.bytes).unwrap().lines();
        lines.filter(|line| line.starts_with("import ")).map(|line| line.split('"').nth(1).unwrap()).collect()
    }

    /// Otherwise the browser would learn of a module only after it has read another one.
    #[test]
    fn the_document_names_every_module_that_the_frame_needs() {
        let mut needed = imports("/app.js");
        let mut position = 0;
        while let Some(path) = needed.get(position).copied() {
            let more: Vec<_> = imports(path).into_iter().filter(|path| !needed.contains(path)).collect();
            needed.extend(more);
            position += 1;
        }
        let document = std::str::from_utf8(find(INDEX).unwrap().1.bytes).unwrap();
        let links = document.lines().filter_map(|line| line.strip_prefix("<link rel=\"modulepreload\" href=\""));
        let mut listed: Vec<&str> = links.map(|rest| rest.split('"').next().unwrap()).collect();
        listed.sort_unstable();
        needed.sort_unstable();
        assert_eq!(listed, needed);
    }

    #[test]
    fn the_whole_page_is_small() {
        let size: usize = COMPRESSED.iter().map(|bytes| bytes.as_ref().unwrap().len()).sum();
        assert!(size < MAX_COMPRESSED_BYTES, "{size} bytes");
    }

    #[test]
    fn addresses_in_the_page_are_the_page_and_missing_files_are_missing() {
        for (path, found) in [
            ("/", Some("/index.html")),
            ("/operations/list_orders", Some("/index.html")),
            ("/operations/a.js", Some("/index.html")),
            ("/app.js", Some("/app.js")),
            ("/lib/dom.js", Some("/lib/dom.js")),
            ("/lib/missing.js", None),
            ("/parts/../app.js", None),
        ] {
            assert_eq!(find(path).map(|(_, asset)| asset.path), found, "{path}");
        }
    }

    #[test]
    fn gzip_is_used_where_it_is_accepted() {
        for (encodings, accepted) in
            [("gzip", true), ("br, gzip;q=0.5", true), ("gzip;q=0", false), ("br", false), ("", false)]
        {
            assert_eq!(accepts_gzip(&HeaderValue::from_static(encodings)), accepted, "{encodings}");
        }
    }

    #[test]
    fn no_file_can_turn_text_into_markup() {
        const FORBIDDEN: [&str; 7] =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"];
        for asset in ASSETS {
            let text = std::str::from_utf8(asset.bytes).unwrap();
            for word in FORBIDDEN {
                assert!(!text.contains(word), "{} contains {word}", asset.path);
            }
        }
    }
}
