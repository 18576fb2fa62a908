//! Adapter files: Markdown with YAML front matter that says which operations there are and what they call (R-DIS-6).
//!
//! People review the file. The sidecar beside it contains the data for which the published schema has no fields.
//! [`build()`] writes both from a bundle, [`Adapter::read`] reads them back, and an offer turns the adapter into
//! operations.

mod api;
mod build;
mod evidence;
mod page;
mod rate_limits;
mod read;
mod sidecar;
mod trust;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value};

use crate::digest::Pin;
use crate::problem::FileProblem;
use crate::tool::{Annotations, Tool};

pub use api::{ApiAdapter, ApiOperation, build_api, written_parameter};
pub use build::AdapterFiles;
pub use build::build;
pub use evidence::KnownEvidence;
pub use evidence::hold_to_description;
pub(crate) use evidence::raise_to_evidence;
pub use rate_limits::DeclaredLimit;
pub use rate_limits::DeclaredPrice;
pub use rate_limits::DeclaredQuota;
pub use rate_limits::LimitScope;
pub use rate_limits::RateLimits;
pub use rate_limits::Window;
pub use sidecar::Sidecar;
pub use sidecar::SidecarOperation;
pub use trust::TrustChange;
pub use trust::TrustEdit;
pub use trust::TrustError;
pub use trust::change as change_trust;

/// A valid adapter.
#[derive(Debug, Clone)]
pub struct Adapter {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its description.
    pub description: String,
    /// What it calls.
    pub target: Target,
    /// How it authenticates.
    pub auth: AdapterAuth,
    /// Its trust level, capped at the highest level that a file may claim for itself.
    pub trust: Trust,
    /// The trust level that the file claims. It applies only if the operator's configuration says so.
    pub stated_trust: Trust,
    /// How often its target may be called.
    pub rate_limits: RateLimits,
    /// Its operations, in the order of the file.
    pub operations: Vec<AdapterOperation>,
    /// Warnings that do not make the file invalid.
    pub warnings: Vec<String>,
    /// The Markdown after the front matter.
    pub body: String,
    /// The sidecar's data about the HTTP API that the file was built from, for the source that serves the API.
    pub api: Option<Value>,
}

/// What an adapter calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An MCP server over HTTP.
    McpHttp {
        /// Its URL.
        url: String,
    },
    /// An MCP server that is started; the command is in the configuration under this name.
    McpStdio {
        /// The name in the configuration.
        name: String,
    },
    /// A REST API.
    Rest {
        /// The base URL of every path.
        base_url: String,
    },
}

/// How an adapter authenticates: the names of environment variables, never a credential.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AdapterAuth {
    /// Not at all.
    #[default]
    None,
    /// With a token in a header.
    Bearer {
        /// The environment variable that holds it.
        token_env: Option<String>,
        /// The header.
        header: String,
        /// The text before the token, such as `Bearer `.
        prefix: String,
    },
    /// With a key in a header, in the query or in a cookie.
    ApiKey {
        /// The environment variable that holds it.
        key_env: Option<String>,
        /// The name of the header, query parameter or cookie.
        header: String,
        /// Where it goes.
        place: KeyPlace,
    },
    /// With a user name and a password.
    Basic {
        /// The environment variable that holds the user name.
        username_env: String,
        /// The environment variable that holds the password.
        password_env: String,
    },
    /// With tokens that an OAuth 2 client gets for itself.
    OAuth2 {
        /// The token endpoint.
        token_url: String,
        /// The environment variable that holds the client id.
        client_id_env: String,
        /// The environment variable that holds the client secret.
        client_secret_env: Option<String>,
        /// The environment variable that holds a refresh token, if the client has one.
        refresh_token_env: Option<String>,
        /// The scopes to request.
        scopes: Vec<String>,
    },
}

/// Where a key goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyPlace {
    /// A header.
    #[default]
    Header,
    /// The query.
    Query,
    /// A cookie.
    Cookie,
}

/// One operation of an adapter.
#[derive(Debug, Clone)]
pub struct AdapterOperation {
    /// Its name.
    pub name: String,
    /// Its category.
    pub category: Category,
    /// What it does.
    pub description: String,
    /// What it calls.
    pub maps_to: MapsTo,
    /// Its parameters, with references to shared ones resolved.
    pub parameters: Vec<AdapterParameter>,
    /// How much harm it can do: declared, else inferred.
    pub danger: Danger,
    /// Whether the file requires confirmation, whatever the danger.
    pub requires_confirmation: bool,
    /// Why it is dangerous, as written.
    pub danger_reasons: Vec<String>,
    /// The question to the person who confirms, as written, with `{param}` as placeholders for values.
    pub confirmation_message: Option<String>,
    /// How long a confirmation has to wait before it takes effect.
    pub cooldown_seconds: u64,
    /// The description of its result.
    pub returns: Option<String>,
    /// How the target pages.
    pub pagination: Option<AdapterPagination>,
    /// Where the result is inside an answer of the target, as a path such as `data.items`.
    pub unwrap: Option<String>,
    /// Whether the target can select fields itself.
    pub supports_fields: bool,
    /// The fields that are returned if a caller asks for none.
    pub default_fields: Vec<String>,
    /// The tool's complete input schema, from the sidecar.
    pub input_schema: Option<Value>,
    /// The tool's complete output schema, from the sidecar.
    pub output_schema: Option<Value>,
    /// The digest of the definition that was reviewed, from the sidecar.
    pub digest: Option<String>,
    /// The complete pin of that definition.
    pub pin: Option<Pin>,
    /// The tool's hints in that definition, from the sidecar.
    pub annotations: Annotations,
    /// The same hints, exactly as the server wrote them.
    pub reviewed_hints: Option<Value>,
}

/// What an operation calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapsTo {
    /// A tool of an MCP server, by its exact name.
    Tool(String),
    /// A route of a REST API.
    Route {
        /// The HTTP method.
        method: &'static str,
        /// The path with `{placeholders}`.
        path: String,
    },
}

/// One parameter of an adapter's operation.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterParameter {
    /// Its canonical name.
    pub name: String,
    /// Its name at the target.
    pub original_name: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its shape as JSON Schema.
    pub schema: Value,
    /// Where it goes in a request, if the file says so.
    pub place: Option<ParameterPlace>,
}

/// Where a parameter goes in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPlace {
    /// The path.
    Path,
    /// The query.
    Query,
    /// A header.
    Header,
    /// A cookie.
    Cookie,
    /// A field of the body.
    Body,
}

/// How a target pages its lists, as a file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterPagination {
    /// The style.
    pub style: PaginationStyle,
    /// The parameter of the target that says which page: an offset, a number or a cursor.
    pub page_param: Option<String>,
    /// The parameter of the target for the size of a page.
    pub size_param: Option<String>,
    /// Where the next cursor is in an answer, as a path such as `meta.next_cursor`.
    pub next_path: Option<String>,
    /// The number of the first page.
    pub first_page: u64,
    /// The default page size.
    pub default_limit: Option<u64>,
    /// The largest page that the target allows.
    pub max_limit: Option<u64>,
}

/// The styles of pagination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaginationStyle {
    /// A number of items to skip.
    Offset,
    /// A page number.
    Page,
    /// A cursor from the answer before.
    Cursor,
    /// A `Link` header.
    Link,
}

impl AdapterOperation {
    /// The tool as it was reviewed, as far as the file and its sidecar contain its definition. Its descriptions are
    /// those of the file. `None` without a sidecar.
    pub fn reviewed_tool(&self) -> Option<Tool> {
        let MapsTo::Tool(name) = &self.maps_to else { return None };
        self.pin.as_ref()?;
        let mut definition = Map::from_iter([
            ("name".to_owned(), Value::from(name.as_str())),
            ("description".to_owned(), Value::from(self.description.as_str())),
        ]);
        definition.extend(self.input_schema.clone().map(|schema| ("inputSchema".to_owned(), schema)));
        definition.extend(self.reviewed_hints.clone().map(|hints| ("annotations".to_owned(), hints)));
        Tool::from_value(Value::Object(definition)).ok()
    }
}

impl Adapter {
    /// Reads an adapter file and, if there is one, its sidecar. Reports all problems at once.
    pub fn read(text: &str, sidecar: Option<&str>) -> Result<Self, Vec<FileProblem>> {
        read::read(text, sidecar)
    }

    /// The name of its file.
    pub fn file_name(name: &str) -> String {
        format!("{name}-adapter.md")
    }

    /// The name of its sidecar.
    pub fn sidecar_name(name: &str) -> String {
        format!("{name}-adapter.provenance.json")
    }
}
