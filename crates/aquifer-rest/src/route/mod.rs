//! The request behind an operation: which method and path, and where each parameter goes. Pure.
//!
//! [`Route::request`] fills the template of the path, writes the query, the headers and the cookies in the notations of
//! the description, and encodes the body. A value never leaves its place: it cannot become another segment, another
//! parameter or another header.

mod body;
mod encoding;
mod header;
mod multipart;
mod notation;
mod path;
mod request;

use std::sync::Arc;

use crate::api::Security;

pub(crate) use header::is_override;
pub use header::is_reserved_header;
pub(crate) use header::is_token as is_header_name;
pub(crate) use request::{BaseUrl, is_same_origin};
pub use request::{HttpRequest, RequestBody, check_base_url};

/// The request behind an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path with `{placeholders}`, which are the original names of parameters. It begins with a slash.
    pub path: Arc<str>,
    /// The base URL, if this path has another one than the API.
    pub base_url: Option<Arc<str>>,
    /// Where each parameter of the operation goes. Parameters that are not listed here are not sent.
    pub parameters: Vec<RouteParameter>,
    /// How the body is written, if there may be one.
    pub body: Option<Body>,
    /// The media types that are accepted as an answer, the preferred one first. Empty for JSON.
    pub accept: Arc<str>,
    /// Headers that are always sent.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// The header that makes it safe to send a request twice, such as `Idempotency-Key`, if the target supports one. The
    /// client fills it with a random key.
    pub idempotency_header: Option<Arc<str>>,
    /// Which credentials it needs.
    pub security: Security,
    /// The parameter with which the target selects fields, by its canonical name. It gets the fields that callers ask for.
    pub fields_parameter: Option<Arc<str>>,
    /// How the target pages, if it does.
    pub pagination: Option<Pagination>,
    /// Where the result is inside an answer, as a path such as `data.items`.
    pub unwrap: Option<Arc<str>>,
}

impl Route {
    /// A request without parameters to the base URL itself.
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

    /// Whether repeating a request with this method changes nothing more (RFC 9110, section 9.2.2).
    pub fn is_idempotent(self) -> bool {
        self.is_safe() || matches!(self, Method::Put | Method::Delete)
    }

    /// Whether a request with this method changes nothing (RFC 9110, section 9.2.1).
    pub fn is_safe(self) -> bool {
        matches!(self, Method::Get | Method::Head | Method::Options | Method::Trace | Method::Query)
    }
}

/// Where a parameter goes.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteParameter {
    /// Its canonical name.
    pub name: Arc<str>,
    /// Its name at the target.
    pub original_name: Arc<str>,
    /// The place.
    pub place: Place,
}

/// The places of a request that parameters go to.
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
    /// By a style of OpenAPI.
    Style {
        /// The style.
        style: Style,
        /// Whether every value or member is written by itself.
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

/// How a body is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Its media type, as it is sent.
    pub media_type: Arc<str>,
    /// How it is written.
    pub encoding: BodyEncoding,
    /// Whether a request needs one.
    pub required: bool,
    /// Fields that are not written in the usual way, by original name.
    pub fields: Vec<(Arc<str>, FieldEncoding)>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEncoding {
    /// JSON.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`.
    Multipart,
    /// Text as it is.
    Text,
    /// Bytes. The parameter is base64.
    Binary,
}

/// How a field of a form or of multipart data is written.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldEncoding {
    /// In a notation of parameters.
    Notation(Notation),
    /// As a file. The value is base64, or an object `{content, filename, media_type}` with content in base64.
    File,
    /// With a media type of its own.
    MediaType(Arc<str>),
}

/// How a target pages its lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pagination {
    /// A number of items to skip.
    Offset {
        /// The parameter for the number of items to skip, by its original name.
        offset: Arc<str>,
        /// The parameter for the size of a page.
        limit: Option<Arc<str>>,
        /// The largest page that the target allows, if known.
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
        /// The largest page that the target allows, if known.
        max_size: Option<u64>,
    },
    /// A cursor from the previous answer.
    Cursor {
        /// The parameter for the cursor.
        cursor: Arc<str>,
        /// Where the next cursor is in an answer, as a path such as `meta.next_cursor`.
        next: Arc<str>,
        /// The parameter for the size of a page.
        limit: Option<Arc<str>>,
        /// The largest page that the target allows, if known.
        max_size: Option<u64>,
    },
    /// A `Link` header with `rel="next"` (RFC 8288).
    Link {
        /// The parameter for the size of a page.
        limit: Option<Arc<str>>,
        /// The largest page that the target allows, if known.
        max_size: Option<u64>,
    },
}
