//! The differences between `introspect` and the operations of sources. No other code compares the name.

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

    /// Whether it describes the catalog. It then uses the newest catalog and leaves itself out.
    pub fn describes_catalog(self) -> bool {
        self == Self::Introspection
    }

    /// Whether answers consist only of `data`, or of the code and message of a failure. The published schema of
    /// introspection allows nothing else (R-REQ-4a).
    pub fn has_bare_answers(self) -> bool {
        self == Self::Introspection
    }
}
