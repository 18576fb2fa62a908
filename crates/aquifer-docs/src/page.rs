//! The pages: which file is in which group, in the order in which they are read. A test compares the list with the folder
//! `docs`.

use Group::{Explanation, HowTo, Reference, Tutorial};

/// What a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Learn by doing.
    Tutorial,
    /// Reach a goal.
    HowTo,
    /// Look something up.
    Reference,
    /// Understand.
    Explanation,
}

impl Group {
    /// All groups, in the order of the navigation.
    pub const ALL: [Self; 4] = [Tutorial, HowTo, Reference, Explanation];

    /// The heading in the navigation.
    pub fn title(self) -> &'static str {
        match self {
            Tutorial => "Tutorial",
            HowTo => "How-to guides",
            Reference => "Reference",
            Explanation => "Explanation",
        }
    }
}

/// A Markdown file that becomes a page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Its path in the repository.
    pub path: &'static str,
    /// What it is for.
    pub group: Group,
    /// Its content in one line. Decisions have none: their titles say it.
    pub summary: &'static str,
    /// The Markdown.
    pub text: &'static str,
}

impl Page {
    /// The page of a file.
    pub fn at(path: &str) -> Option<&'static Self> {
        PAGES.iter().find(|page| page.path == path)
    }

    /// The last part of its address: the path in `docs` without the ending.
    pub fn name(&self) -> String {
        let path = self.path.strip_prefix("docs/").unwrap_or(self.path);
        path.strip_suffix(".md").unwrap_or(path).to_ascii_lowercase()
    }

    /// The page that lists it, for files in folders of `docs`. The navigation shows such pages only near their list.
    pub fn parent(&self) -> Option<&'static Self> {
        let (folder, name) = self.path.rsplit_once('/')?;
        if folder == "docs" || name == "README.md" { None } else { Self::at(&format!("{folder}/README.md")) }
    }
}

/// A file of `docs` that is no page, but belongs to one.
pub(crate) struct Attachment {
    /// Its path in the repository.
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

impl Attachment {
    /// The attachment with this path in the repository.
    pub(crate) fn at(path: &str) -> Option<&'static Self> {
        ATTACHMENTS.iter().find(|file| file.path == path)
    }

    /// Its path in `docs`.
    pub(crate) fn name(&self) -> &'static str {
        self.path.strip_prefix("docs/").unwrap_or(self.path)
    }

    pub(crate) fn is_image(&self) -> bool {
        self.content_type.starts_with("image/")
    }
}

/// `attachments!["content type" "path", …]`.
macro_rules! attachments {
    ($($content_type:literal $path:literal),* $(,)?) => {
        &[$(Attachment {
            path: $path,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../../../", $path)),
        }),*]
    };
}

/// Schemas and images.
pub(crate) static ATTACHMENTS: &[Attachment] = attachments![
    "application/json" "docs/tokens.schema.json",
    "image/png" "docs/images/explorer-approval.png",
    "image/png" "docs/images/explorer-operation.png",
    "image/png" "docs/images/explorer-overview.png",
    "image/png" "docs/images/explorer-schema.png",
];

/// `pages![Group "path" "summary", …]`.
macro_rules! pages {
    ($($group:ident $path:literal $summary:literal),* $(,)?) => {
        &[$(Page { path: $path, group: $group, summary: $summary, text: include_str!(concat!("../../../", $path)) }),*]
    };
}

/// Every page.
pub static PAGES: &[Page] = pages![
    Tutorial "docs/tutorial.md" "Install Aquifer, let an agent query a sample shop, and see it stopped from deleting.",
    HowTo "docs/install.md" "Install with npx, uvx, apt, Docker and others; upgrade and remove.",
    HowTo "docs/how-to/README.md" "Short how-to guides, each for one task.",
    HowTo "docs/how-to/connect-a-client.md" "Let Claude Desktop, VS Code, Cursor or another client use Aquifer.",
    HowTo "docs/how-to/read-only-database.md" "Let agents query a database that they cannot change.",
    HowTo "docs/how-to/mcp-server-from-npm.md" "Put an MCP server behind Aquifer, and show an agent fewer tools.",
    HowTo "docs/how-to/rest-api-with-a-token.md" "Serve an HTTP API without showing its token to agents.",
    HowTo "docs/how-to/confirm-and-approve.md" "Choose what runs, what asks first and what is denied.",
    HowTo "docs/how-to/known-recipients.md" "Let an agent write to colleagues, and ask about strangers.",
    HowTo "docs/how-to/approve-from-a-chat.md" "Learn in a chat or on a phone that a call waits, and decide there.",
    HowTo "docs/how-to/why-was-it-refused.md" "Find out who stopped a call: error codes, explanations, the audit log.",
    HowTo "docs/how-to/several-servers.md" "Run more than one Aquifer behind one address.",
    HowTo "docs/how-to/secrets.md" "Keep passwords and tokens out of configurations and logs.",
    HowTo "docs/how-to/small-answers.md" "Spend fewer tokens on answers: fields, aggregates, budgets.",
    HowTo "docs/gateway.md" "Put your MCP servers behind Aquifer: setup, logins, review, changed definitions.",
    HowTo "docs/databases.md" "Serve SQLite and PostgreSQL databases.",
    HowTo "docs/rest.md" "Serve HTTP APIs, from OpenAPI descriptions and adapter files.",
    HowTo "docs/explorer.md" "Use the pages for people: browse, try, approve, review, audit.",
    HowTo "docs/adapters.md" "Write a source in Rust.",
    HowTo "docs/conformance.md" "Test a server against MCP-AQL: levels and checks.",
    HowTo "CONTRIBUTING.md" "Build, test and change Aquifer.",
    Reference "docs/commands.md" "Every command and its options.",
    Reference "docs/configuration.md" "Flags, environment variables, and every key of aquifer.toml.",
    Reference "docs/query-language.md" "Filters, sorting, fields, aggregates and pages.",
    Reference "docs/protocol.md" "Requests, responses and introspection.",
    Reference "docs/errors.md" "Every error code, and what to do about it.",
    Reference "docs/audit.md" "What the audit log records, and how tampering shows.",
    Reference "docs/glossary.md" "The terms used here, one sentence each.",
    Reference "docs/requirements.md" "The requirements of the specification, by their ids.",
    Reference "docs/conformance/README.md" "The conformance levels of our own servers.",
    Reference "docs/conformance/demo-http.md" "The demo over HTTP.",
    Reference "docs/conformance/demo-stdio.md" "The demo over stdio.",
    Reference "docs/conformance/gateway-http.md" "An MCP server behind the gateway, over HTTP.",
    Reference "docs/conformance/gateway-stdio.md" "An MCP server behind the gateway, over stdio.",
    Reference "docs/conformance/postgres-http.md" "A PostgreSQL database over HTTP.",
    Reference "docs/conformance/postgres-stdio.md" "A PostgreSQL database over stdio.",
    Reference "docs/conformance/sqlite-http.md" "A SQLite database over HTTP.",
    Reference "docs/conformance/sqlite-stdio.md" "A SQLite database over stdio.",
    Reference "CHANGELOG.md" "What changed.",
    Explanation "README.md" "What Aquifer is, and what it can do.",
    Explanation "docs/safety.md" "What an agent can do: danger, trust, rules, confirmation, quotas.",
    Explanation "docs/hijacked-models.md" "What a model that obeys an attacker reaches, measured with a public benchmark.",
    Explanation "SECURITY.md" "What is defended, and what is not.",
    Explanation "ARCHITECTURE.md" "How it is built: the path of a request, the crates, the invariants.",
    Explanation "docs/tokens.md" "What a model pays for tools, and how it is counted.",
    Explanation "docs/agents.md" "How many calls and tokens models need to finish tasks.",
    Explanation "docs/performance.md" "Times, memory and instruction counts.",
    Explanation "docs/soak.md" "What a thousand faults do to the gateway.",
    Explanation "docs/openapi-survey.md" "How Aquifer reads OpenAPI descriptions from everywhere.",
    Explanation "docs/adr/README.md" "Decisions, the rejected alternatives, and their consequences.",
    Explanation "docs/adr/0001-one-definition.md" "",
    Explanation "docs/adr/0002-byte-scanner.md" "",
    Explanation "docs/adr/0003-json.md" "",
    Explanation "docs/adr/0004-adapters-from-types.md" "",
    Explanation "docs/adr/0005-sdk-in-one-crate.md" "",
    Explanation "docs/adr/0006-search.md" "",
    Explanation "docs/adr/0007-introspection-pages.md" "",
    Explanation "docs/adr/0008-cursors.md" "",
    Explanation "docs/adr/0009-sql-text.md" "",
    Explanation "docs/adr/0010-rows-to-json.md" "",
    Explanation "docs/adr/0011-session-trait.md" "",
    Explanation "docs/adr/0012-shaping.md" "",
    Explanation "docs/adr/0013-own-mcp-client.md" "",
    Explanation "docs/adr/0014-logins.md" "",
    Explanation "docs/adr/0015-response-text.md" "",
    Explanation "docs/adr/0016-direct-tool-calls.md" "",
    Explanation "docs/adr/0017-gate.md" "",
    Explanation "docs/adr/0018-independent-conformance-client.md" "",
    Explanation "docs/adr/0019-inline-sqlite-reads.md" "",
    Explanation "docs/adr/0020-pinned-definitions.md" "",
    Explanation "docs/adr/0021-extractors.md" "",
    Explanation "docs/adr/0022-http-apis.md" "",
    Explanation "docs/adr/0023-explorer.md" "",
    Explanation "docs/adr/0024-documentation-site.md" "",
    Explanation "docs/adr/0025-static-binary.md" "",
    Explanation "docs/adr/0026-resolved-statements.md" "",
    Explanation "docs/adr/0027-ring.md" "",
    Explanation "docs/adr/0028-shared-http-clients.md" "",
    Explanation "docs/adr/0029-cost-of-dependencies.md" "",
    Explanation "docs/adr/0030-operating-systems.md" "",
    Explanation "docs/adr/0031-effects.md" "",
    Explanation "docs/adr/0032-a-person-confirms.md" "",
    Explanation "docs/adr/0033-known-destinations.md" "",
    Explanation "docs/adr/0034-destinations-inside-texts.md" "",
];
