//! Routes: the method and path of an operation, and where each parameter is sent. No I/O.
//!
//! [`Route::request`] fills the path template, writes the query, headers and cookies in the notations of the
//! description, and encodes the body. A value cannot escape its place: it never becomes another segment, parameter or
//! header.

mod body;
mod encoding;
mod header;
mod multipart;
mod notation;
mod path;
mod request;
mod security;

use std::sync::Arc;

pub(crate) use header::is_override;
pub use header::is_reserved_header;
pub(crate) use header::is_token as is_header_name;
pub(crate) use request::{BaseUrl, is_same_origin};
pub use request::{HttpRequest, RequestBody, check_base_url};
pub use security::Security;

/// Describes the request of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path with `{placeholders}`, which are the original names of parameters. It begins with a slash.
    pub path: Arc<str>,
    /// The base URL, if it differs from that of the API.
    pub base_url: Option<Arc<str>>,
    /// Where each parameter of the operation is sent. Parameters that are not listed here are not sent.
    pub parameters: Vec<RouteParameter>,
    /// How the body is encoded, if the request can have one.
    pub body: Option<Body>,
    /// The media types that are accepted in a response, the preferred one first. Empty for JSON.
    pub accept: Arc<str>,
    /// Headers that are always sent.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// The header that makes it safe to send a request twice, such as `Idempotency-Key`, if the target supports one.
    /// The client fills it with a random key.
    pub idempotency_header: Option<Arc<str>>,
    /// The credentials that the request needs.
    pub security: Security,
    /// The canonical name of the parameter with which the target selects fields. It receives the fields that callers
    /// request.
    pub fields_parameter: Option<Arc<str>>,
    /// How the target paginates the result, if it does.
    pub pagination: Option<Pagination>,
    /// The parameters that look like paging, if nothing is known about how the target paginates the result.
    pub unmanaged_paging: Vec<UnmanagedPaging>,
    /// The headers of a response that belong to the result, as far as the description lists them.
    pub result_headers: Vec<Arc<str>>,
    /// The path of the result inside a response, such as `data.items`.
    pub unwrap: Option<Arc<str>>,
}

/// A parameter that looks like paging and that callers fill themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmanagedPaging {
    /// Its canonical name.
    pub name: Arc<str>,
    /// Whether it is the size of a page.
    pub is_size: bool,
    /// The size of a page if it is not given, if known.
    pub default_size: Option<u64>,
}

impl Route {
    /// A route without parameters to the base URL itself.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            path: "/".into(),
            base_url: None,
            parameters: Vec::new(),
            body: None,
            accept: "".into(),
            headers: Vec::new(),
            idempotency_header: None,
            security: Security::default(),
            fields_parameter: None,
            pagination: None,
            unmanaged_paging: Vec::new(),
            result_headers: Vec::new(),
            unwrap: None,
        }
    }
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Head,
    Options,
    Trace,
    Query,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
            Method::Trace => "TRACE",
            Method::Query => "QUERY",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Method::Get,
            Method::Head,
            Method::Options,
            Method::Trace,
            Method::Query,
            Method::Post,
            Method::Put,
            Method::Patch,
            Method::Delete,
        ];
        all.into_iter().find(|method| method.as_str() == name)
    }

    /// Whether repeating a request with this method has no further effect (RFC 9110, section 9.2.2).
    pub fn is_idempotent(self) -> bool {
        self.is_safe() || matches!(self, Method::Put | Method::Delete)
    }

    /// Whether a request with this method changes nothing (RFC 9110, section 9.2.1).
    pub fn is_safe(self) -> bool {
        matches!(self, Method::Get | Method::Head | Method::Options | Method::Trace | Method::Query)
    }
}

/// Where a parameter is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteParameter {
    /// Its canonical name.
    pub name: Arc<str>,
    /// Its name at the target.
    pub original_name: Arc<str>,
    /// The place.
    pub place: Place,
}

/// The parts of a request that can contain parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A segment of the path, or a part of one.
    Path(Notation),
    /// The query.
    Query {
        /// The notation.
        notation: Notation,
        /// Whether reserved characters are sent as they are.
        allow_reserved: bool,
    },
    /// A header.
    Header(Notation),
    /// A cookie.
    Cookie(Notation),
    /// A field of the body.
    BodyField,
    /// The body as a whole.
    Body,
}

/// How a value is written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// In an OpenAPI style.
    Style {
        /// The style.
        style: Style,
        /// Whether every item or member is written separately.
        explode: bool,
    },
    /// As JSON text.
    Json,
}

/// The styles of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// The format of a request body.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Its media type, as it is sent.
    pub media_type: Arc<str>,
    /// Its encoding.
    pub encoding: BodyEncoding,
    /// Whether a request needs one.
    pub required: bool,
    /// Fields whose encoding is not the default, by original name.
    pub fields: Vec<(Arc<str>, FieldEncoding)>,
}

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEncoding {
    /// JSON.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`.
    Multipart,
    /// Text, unchanged.
    Text,
    /// Bytes. The parameter is base64.
    Binary,
}

/// The encoding of a field of a form or of multipart data.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldEncoding {
    /// In a parameter notation.
    Notation(Notation),
    /// As a file. The value is base64, or an object `{content, filename, media_type}` with content in base64.
    File,
    /// With a media type of its own.
    MediaType(Arc<str>),
}

/// How a target paginates its lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pagination {
    /// A number of items to skip.
    Offset {
        /// The parameter for the number of items to skip, by its original name.
        offset: Arc<str>,
        /// The parameter for the size of a page.
        limit: Option<Arc<str>>,
        /// The maximum page size that the target allows, if known.
        max_size: Option<u64>,
    },
    /// A page number.
    Page {
        /// The parameter for the number.
        page: Arc<str>,
        /// The parameter for the size of a page.
        size: Option<Arc<str>>,
        /// The number of the first page.
        first: u64,
        /// The maximum page size that the target allows, if known.
        max_size: Option<u64>,
    },
    /// A cursor from the previous response.
    Cursor {
        /// The parameter for the cursor.
        cursor: Arc<str>,
        /// The path of the next cursor in a response, such as `meta.next_cursor`.
        next: Arc<str>,
        /// The parameter for the size of a page.
        limit: Option<Arc<str>>,
        /// The maximum page size that the target allows, if known.
        max_size: Option<u64>,
    },
    /// A `Link` header with `rel="next"` (RFC 8288).
    Link {
        /// The parameter for the size of a page.
        limit: Option<Arc<str>>,
        /// The maximum page size that the target allows, if known.
        max_size: Option<u64>,
    },
}
