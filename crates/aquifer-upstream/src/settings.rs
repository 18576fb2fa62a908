//! Settings of an upstream. Values that may be secret are never printed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aquifer_discovery::bundle::{self, Auth, AuthKind, ServerIdentity};
use aquifer_discovery::{Adapter, DefinitionLimits, Overrides, redact};
use aquifer_engine::shape::Controls;
use aquifer_protocol::hex::hex_prefix;
use aquifer_protocol::operation::SafetyOverride;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// How long a program that installs a server may take.
const MAX_INSTALL_TIME: Duration = Duration::from_secs(10 * 60);

/// Programs that install what they run, if it is not installed yet.
const INSTALLERS: &[&str] = &["npx", "bunx", "pnpx", "uvx", "pipx", "dnx"];

/// Programs that do so with some of their commands.
const INSTALLING_MANAGERS: &[&str] =
    &["npm", "pnpm", "yarn", "bun", "deno", "uv", "nix", "docker", "podman", "nerdctl", "go", "cargo", "dotnet"];

/// Number of words of a command line that are searched for such a program.
const MAX_INSTALLER_WORDS: usize = 16;

/// Settings of one MCP server.
#[derive(Clone)]
pub struct Settings {
    /// Its name. It prefixes the operations if there are several sources.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long a call may take without activity.
    pub timeout: Duration,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// How many calls may run at once. Further calls wait.
    pub concurrency: usize,
    /// The maximum size of one answer, in bytes.
    pub max_answer_bytes: usize,
    /// The folder for cached catalogs.
    pub cache_dir: Option<PathBuf>,
    /// Whether cached catalogs are only read, for commands that change nothing.
    pub is_cache_read_only: bool,
    /// Decisions of a reviewer that override what the server reports.
    pub overrides: Option<Overrides>,
    /// A reviewed adapter that is served instead of the server's own definitions.
    pub adapter: Option<Adapter>,
    /// How many controls READ operations get to shape their results (R-DIS-8).
    pub controls: Controls,
    /// Controls of single operations, by their names without prefix.
    pub operation_controls: BTreeMap<String, Controls>,
    /// How to log in, if it is reached over HTTP and requires a login.
    pub login: Option<LoginSettings>,
    /// The path of the rows in the results of an operation, by the operation's name without prefix. Detected if not
    /// set.
    pub rows: BTreeMap<String, String>,
    /// What the operator says about the safety of single operations, by their names without prefix.
    pub safety_overrides: BTreeMap<String, SafetyOverride>,
    /// Whether the operator trusts the adapter file, so that it decides where the evidence is inconclusive.
    pub is_adapter_settled: bool,
    /// Which definitions have to be accepted before they can be called.
    pub quarantine: QuarantinePolicy,
    /// Limits on its definitions.
    pub limits: DefinitionLimits,
    /// The requests that the server may make to the clients behind its calls.
    pub allow: AllowedRequests,
    /// Whether a command waits for it and reports failures itself. Failures are then logged at debug level.
    pub is_watched: bool,
    /// Where its name was given, such as the path of a configuration. `None` if the name was generated: its identity
    /// then includes how it is reached.
    pub named_in: Option<String>,
    /// The name under which its accepted definitions are stored, if it differs. A generated number depends on the other
    /// sources.
    pub pinned_as: Option<String>,
    /// Whether a source without accepted definitions is compared with those of other sources of its name. Otherwise
    /// moving a configuration or changing a command would accept any definition that the server reports.
    pub inherits_pins: bool,
}

/// The requests that a server may make to the client behind a call, besides roots. None by default: to a person, a
/// question of a server looks like one of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllowedRequests {
    /// Ask a person to fill in a form.
    pub elicitation: bool,
    /// Ask the client's model for a completion.
    pub sampling: bool,
}

/// How an upstream is reached.
#[derive(Clone)]
pub enum Transport {
    /// A child process, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables in addition to those that every child inherits.
        env: Vec<(String, String)>,
        /// The working folder. Ours if not set.
        cwd: Option<PathBuf>,
    },
    /// Over HTTP.
    Http {
        /// The URL.
        url: String,
        /// Headers for every request.
        headers: Vec<(String, String)>,
        /// A bearer token for every request.
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

/// Which definitions of a known upstream have to be accepted before they can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuarantinePolicy {
    /// Changed definitions.
    #[default]
    Changed,
    /// Changed and new definitions.
    New,
    /// None. All definitions are accepted.
    Off,
}

/// How to log in to a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct LoginSettings {
    /// The folder for stored logins.
    pub folder: PathBuf,
    /// The command that a person runs to log in. Callers see it.
    pub command: String,
    /// The same command with full paths, for the log.
    pub command_in_full: String,
    /// The client id that the operator registered with the authorization server.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<String>,
    /// The authorization server that the secret belongs to.
    pub issuer: Option<String>,
    /// The URL of a client metadata document, for authorization servers that support it.
    pub client_document: Option<String>,
    /// The scopes to request instead of those that the server asks for.
    pub scopes: Vec<String>,
    /// The port for the redirect of the browser. Any port if not set.
    pub port: Option<u16>,
}

impl Settings {
    /// Settings with default values.
    pub fn new(name: &str, transport: Transport) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(30),
            concurrency: 32,
            max_answer_bytes: 16 * 1024 * 1024,
            cache_dir: None,
            is_cache_read_only: false,
            overrides: None,
            adapter: None,
            controls: Controls::default(),
            login: None,
            operation_controls: BTreeMap::new(),
            rows: BTreeMap::new(),
            safety_overrides: BTreeMap::new(),
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

    /// The controls of an operation.
    pub(crate) fn controls_of(&self, operation: &str) -> Controls {
        self.operation_controls.get(operation).copied().unwrap_or(self.controls)
    }

    /// How long a start may take. A program that installs what it runs may take minutes the first time; if it were ended
    /// earlier, it would begin again each time.
    pub fn max_start_time(&self) -> Duration {
        match self.installer() {
            Some(_) => self.start_timeout.max(MAX_INSTALL_TIME),
            None => self.start_timeout,
        }
    }

    /// The program that installs the server before it runs it, if the server is started with one.
    pub(crate) fn installer(&self) -> Option<&'static str> {
        let Transport::Stdio { command, args, .. } = &self.transport else { return None };
        let find = |known: &[&'static str], word: &str| {
            let program = Path::new(word).file_stem()?.to_str()?.to_ascii_lowercase();
            known.iter().find(|known| **known == program).copied()
        };
        // A shell or another program may start it.
        let mut words = args.iter().flat_map(|argument| argument.split_whitespace()).take(MAX_INSTALLER_WORDS);
        find(INSTALLERS, command)
            .or_else(|| find(INSTALLING_MANAGERS, command))
            .or_else(|| words.find_map(|word| find(INSTALLERS, word)))
    }

    /// Whether catalogs and accepted definitions are written to the cache.
    pub(crate) fn writes_cache(&self) -> bool {
        self.cache_dir.is_some() && !self.is_cache_read_only
    }

    /// The name under which accepted definitions are stored.
    pub(crate) fn pin_name(&self) -> &str {
        self.pinned_as.as_deref().unwrap_or(&self.name)
    }

    /// Settings for a child process.
    pub fn stdio<S: Into<String>>(name: &str, command: &str, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self::new(name, Transport::Stdio { command: command.to_owned(), args, env: Vec::new(), cwd: None })
    }

    /// Settings for a server over HTTP.
    pub fn http(name: &str, url: &str) -> Self {
        Self::new(name, Transport::Http { url: url.to_owned(), headers: Vec::new(), bearer: None })
    }

    /// The `source` of a bundle: where the capture was made, without secrets (R-DIS-2).
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

    /// The identity that accepted definitions belong to: the name and where it was given. How the server is reached
    /// counts only for generated names, so that changing it does not reset the review. Permissions never count.
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

    /// Distinguishes this upstream from others, without secrets. Part of its cache file's name.
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
        // Some servers offer other tools to clients with more capabilities.
        if self.allow != AllowedRequests::default() {
            // The text is part of existing file names and must not change.
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
