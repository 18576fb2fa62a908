//! How `introspect` differs from the operations of sources. No other code distinguishes it by its name.

/// The name of the operation.
pub const NAME: &str = "introspect";

/// Whether an operation is `introspect` or one of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationClass {
    /// It is `introspect`.
    Introspection,
    /// It is an operation of a source.
    Ordinary,
}

impl OperationClass {
    /// The class of the operation with this name. `introspect` is reserved, so no source has an operation with that
    /// name.
    pub fn from_name(name: &str) -> Self {
        if name == NAME { Self::Introspection } else { Self::Ordinary }
    }

    /// Whether it describes the catalog: the newest one, and without itself.
    pub fn describes_catalog(self) -> bool {
        self == Self::Introspection
    }

    /// Whether an answer has room only for `data`, or for the code and the message of a failure. The published schema
    /// of introspection allows nothing else (R-REQ-4a).
    pub fn has_bare_answers(self) -> bool {
        self == Self::Introspection
    }
}
