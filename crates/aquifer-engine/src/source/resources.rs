//! What a source has in addition to operations: resources, prompts and completions.

use serde_json::{Map, Value};

/// What a source has in addition to operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCapabilities {
    /// Resources.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completions for the parameters of both.
    pub completions: bool,
}

impl SourceCapabilities {
    /// The union of two sets of capabilities.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            resources: self.resources || other.resources,
            prompts: self.prompts || other.prompts,
            completions: self.completions || other.completions,
        }
    }

    /// Whether the request can be answered.
    pub fn has(self, wanted: &FetchRequest) -> bool {
        match wanted {
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Resource(_) => self.resources,
            FetchRequest::Prompts | FetchRequest::Prompt { .. } => self.prompts,
            FetchRequest::Completion { .. } => self.completions,
        }
    }
}

/// A request for resources, prompts or completions.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchRequest {
    /// The list of resources.
    Resources,
    /// The list of resource templates.
    ResourceTemplates,
    /// The list of prompts.
    Prompts,
    /// A resource by its URI.
    Resource(String),
    /// A prompt with its arguments filled in.
    Prompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Option<Map<String, Value>>,
    },
    /// Completions for a parameter.
    Completion {
        /// The name of a prompt, or the URI of a template.
        target: String,
        /// Whether that is a URI.
        by_uri: bool,
        /// The rest of the request, in the form of MCP.
        params: Map<String, Value>,
    },
}

impl FetchRequest {
    /// The requested name or URI.
    pub fn name(&self) -> Option<&str> {
        match self {
            FetchRequest::Resource(name)
            | FetchRequest::Prompt { name, .. }
            | FetchRequest::Completion { target: name, .. } => Some(name),
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Prompts => None,
        }
    }

    /// The same request with another name or URI.
    #[must_use]
    pub fn with_name(mut self, other: &str) -> Self {
        if let FetchRequest::Resource(name)
        | FetchRequest::Prompt { name, .. }
        | FetchRequest::Completion { target: name, .. } = &mut self
        {
            other.clone_into(name);
        }
        self
    }

    /// Whether it refers to a URI rather than a name.
    pub fn is_by_uri(&self) -> bool {
        match self {
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Resource(_) => true,
            FetchRequest::Prompts | FetchRequest::Prompt { .. } => false,
            FetchRequest::Completion { by_uri, .. } => *by_uri,
        }
    }

    /// The field that identifies the entries of a list.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            FetchRequest::Resources => Some("uri"),
            FetchRequest::ResourceTemplates => Some("uriTemplate"),
            FetchRequest::Prompts => Some("name"),
            _ => None,
        }
    }
}
