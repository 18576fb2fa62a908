//! What an operator says of an upstream. Whatever could be secret is never shown.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use aquifer_discovery::bundle::{self, Auth, AuthKind, ServerIdentity};
use aquifer_discovery::{Adapter, DefinitionLimits, Overrides, redact};
use aquifer_engine::shape::Controls;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::hex::hex_prefix;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// What an operator says of one MCP server behind us.
#[derive(Clone)]
pub struct Settings {
    /// What it is called here; prefixes its operations where there are several sources.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long a call may take without a sign of life.
    pub timeout: Duration,
    /// How long it may take to start and to say what it offers.
    pub start_timeout: Duration,
    /// How many calls may be under way at once; more wait for their turn.
    pub concurrency: usize,
    /// The most bytes of one answer.
    pub max_answer_bytes: usize,
    /// Where catalogues are kept between runs.
    pub cache_dir: Option<PathBuf>,
    /// What a reviewer decided, applied to what the server says.
    pub overrides: Option<Overrides>,
    /// A reviewed adapter to be served instead of what the server says.
    pub adapter: Option<Adapter>,
    /// How many controls READ operations get for shaping their results (R-DIS-8).
    pub controls: Controls,
    /// The same for single operations, by their names without prefix.
    pub operation_controls: BTreeMap<String, Controls>,
    /// How one logs in to it, if it is reached over HTTP and wants that.
    pub login: Option<LoginSettings>,
    /// Where the rows are inside the results of an operation, by its name without prefix. Looked for where not said.
    pub rows: BTreeMap<String, String>,
    /// The danger of single operations, by their names without prefix: the operator's last word.
    pub operation_dangers: BTreeMap<String, Danger>,
    /// Whether the operator trusts the adapter's file, so that it settles what the evidence leaves open.
    pub is_adapter_settled: bool,
    /// Which definitions wait until somebody accepts them.
    pub quarantine: QuarantinePolicy,
    /// How much it may define.
    pub limits: DefinitionLimits,
    /// What the server may ask of the clients behind its calls.
    pub allow: AllowedRequests,
    /// Whether a command waits for it that reports failures itself. They are not logged as well, then.
    pub is_watched: bool,
    /// Where somebody gave it its name, such as the path of a configuration. None if the name was made up: then everything
    /// that tells how it is reached is part of what it is.
    pub named_in: Option<String>,
    /// The name that its accepted definitions are kept under, if that is not its own: a number that tells it from others
    /// depends on those others.
    pub pinned_as: Option<String>,
    /// Whether a source that has no accepted definitions yet is held to those of others of its name. Otherwise a moved
    /// configuration or a changed command would accept whatever the server says by then.
    pub inherits_pins: bool,
}

/// What a server may ask of the client behind a call, beside its roots. Nothing, unless the operator says so: to the
/// person who answers, a question of a server looks like one of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllowedRequests {
    /// Have the person fill in a form.
    pub elicitation: bool,
    /// Have the client's model complete a conversation.
    pub sampling: bool,
}

/// How an upstream is reached.
#[derive(Clone)]
pub enum Transport {
    /// As a child process of ours, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables beside the few that every child gets.
        env: Vec<(String, String)>,
        /// The folder it runs in; ours if none.
        cwd: Option<PathBuf>,
    },
    /// Over HTTP.
    Http {
        /// Where.
        url: String,
        /// Headers for every request.
        headers: Vec<(String, String)>,
        /// A token for every request.
        bearer: Option<BearerToken>,
    },
}

/// A token for the `Authorization` header.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    /// The token.
    pub token: String,
    /// The environment variable it came from, which may be shown.
    pub env: Option<String>,
}

/// Which definitions of an upstream that was served before wait until somebody accepts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuarantinePolicy {
    /// Those that changed.
    #[default]
    Changed,
    /// Those that changed, and new ones.
    New,
    /// None: whatever the upstream says is taken over.
    Off,
}

/// How one logs in to a server, as far as an operator says.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct LoginSettings {
    /// Where logins are kept.
    pub folder: PathBuf,
    /// What a person runs to log in. Callers see it.
    pub command: String,
    /// The same with the whole paths of files, for the log.
    pub command_in_full: String,
    /// A client that the operator registered with the authorization server.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<String>,
    /// The authorization server that the secret is for.
    pub issuer: Option<String>,
    /// The URL of a document that describes us, for authorization servers that read such.
    pub client_document: Option<String>,
    /// What to ask for, if not what the server wants.
    pub scopes: Vec<String>,
    /// The port that the browser comes back to; any, if none.
    pub port: Option<u16>,
}

impl Settings {
    /// Settings for a server, everything else as most people want it.
    pub fn new(name: &str, transport: Transport) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(30),
            concurrency: 32,
            max_answer_bytes: 16 * 1024 * 1024,
            cache_dir: None,
            overrides: None,
            adapter: None,
            controls: Controls::default(),
            login: None,
            operation_controls: BTreeMap::new(),
            rows: BTreeMap::new(),
            operation_dangers: BTreeMap::new(),
            is_adapter_settled: false,
            quarantine: QuarantinePolicy::default(),
            limits: DefinitionLimits::default(),
            allow: AllowedRequests::default(),
            is_watched: false,
            named_in: Some(String::new()),
            pinned_as: None,
            inherits_pins: false,
        }
    }

    /// The name that accepted definitions are kept under.
    pub(crate) fn pin_name(&self) -> &str {
        self.pinned_as.as_deref().unwrap_or(&self.name)
    }

    /// Settings for a program that is started.
    pub fn stdio<S: Into<String>>(name: &str, command: &str, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self::new(name, Transport::Stdio { command: command.to_owned(), args, env: Vec::new(), cwd: None })
    }

    /// Settings for a server at a URL.
    pub fn http(name: &str, url: &str) -> Self {
        Self::new(name, Transport::Http { url: url.to_owned(), headers: Vec::new(), bearer: None })
    }

    /// The `source` of a bundle: where a capture was made, without secrets (R-DIS-2).
    pub fn source(&self, captured_at: Timestamp, server: Option<ServerIdentity>) -> bundle::Source {
        let (server_url, transport, auth, configuration) = match &self.transport {
            Transport::Stdio { command, args, env, .. } => (
                format!("stdio:{}", self.name),
                bundle::Transport::Stdio,
                Auth::none(),
                redact::configuration(Some((command, args)), env, None, &[]),
            ),
            Transport::Http { url, headers, bearer } => (
                redact::url(url),
                bundle::Transport::StreamableHttp,
                auth(headers, bearer.as_ref()),
                redact::configuration(None, &[], Some(url), headers),
            ),
        };
        bundle::Source {
            name: self.name.clone(),
            server_url,
            transport,
            captured_at: captured_at.to_string(),
            server,
            auth,
            capture_config_redacted: configuration,
        }
    }

    /// What accepted definitions belong to: the name and who gave it. How it is reached can change without anybody having
    /// looked at its definitions, so that counts only where nobody gave it a name. What it may do never counts.
    pub(crate) fn identity(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(self.pin_name());
        match (&self.named_in, &self.transport) {
            (Some(named_in), _) => add(named_in),
            (None, Transport::Stdio { command, args, cwd, .. }) => {
                add("stdio");
                add(command);
                redact::arguments(args).iter().for_each(|argument| add(argument));
                add(&cwd.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default());
            }
            (None, Transport::Http { url, .. }) => {
                add("http");
                add(&redact::url(url));
            }
        }
        hex_prefix(&hash.finalize(), 16)
    }

    /// What tells this upstream from others, without anything secret: the name of its cache file.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(&self.name);
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                add("stdio");
                add(command);
                redact::arguments(args).iter().for_each(|argument| add(argument));
                let mut names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                names.into_iter().for_each(&mut add);
                add(&cwd.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default());
            }
            Transport::Http { url, headers, .. } => {
                add("http");
                add(&redact::url(url));
                let mut names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                names.into_iter().for_each(&mut add);
            }
        }
        // Some servers have other tools for clients that can be asked.
        if self.allow != AllowedRequests::default() {
            // Part of the names of cache files, so the text stays what it was.
            let AllowedRequests { elicitation, sampling } = self.allow;
            add(&format!("Allowed {{ elicitation: {elicitation}, sampling: {sampling} }}"));
        }
        hex_prefix(&hash.finalize(), 16)
    }
}

fn auth(headers: &[(String, String)], bearer: Option<&BearerToken>) -> Auth {
    let header = |name: &str, prefix: Option<&str>, env: Option<&str>| Auth {
        kind: AuthKind::Bearer,
        header: Some(name.to_owned()),
        prefix: prefix.map(str::to_owned),
        token_env: env.map(str::to_owned),
        token_command: None,
    };
    if let Some(bearer) = bearer {
        return header("Authorization", Some("Bearer "), bearer.env.as_deref());
    }
    match headers.iter().find(|(name, _)| redact::names_secret(name)) {
        Some((name, value)) => header(name, value.starts_with("Bearer ").then_some("Bearer "), None),
        None => Auth::none(),
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("transport", &self.transport)
            .field("timeout", &self.timeout)
            .field("start_timeout", &self.start_timeout)
            .field("concurrency", &self.concurrency)
            .field("max_answer_bytes", &self.max_answer_bytes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self {
            Transport::Stdio { command, args, env, .. } => redact::configuration(Some((command, args)), env, None, &[]),
            Transport::Http { url, headers, .. } => redact::configuration(None, &[], Some(url), headers),
        };
        f.debug_map().entries(shown).finish()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").field("env", &self.env).finish_non_exhaustive()
    }
}

impl fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("command", &self.command).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
