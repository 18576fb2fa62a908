//! The size limits of this server (R-REQ-7): their names, their allowed ranges, and their defaults.
//!
//! The table [`BOUNDS`] is the only place that contains a range or a default. Checks, defaults and documentation read
//! it.

/// One of the five limits, as named in `details.limit_type` of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitKind {
    /// Bytes of one request.
    RequestSize,
    /// Bytes of one response.
    ResponseSize,
    /// UTF-8 bytes of one string after its escapes are decoded. Keys are strings, too.
    StringLength,
    /// Elements of one array.
    ArrayElements,
    /// Levels of nested objects and arrays. The root of the request counts as one.
    NestingDepth,
}

impl LimitKind {
    /// The name in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestSize => "request_size",
            Self::ResponseSize => "response_size",
            Self::StringLength => "string_length",
            Self::ArrayElements => "array_elements",
            Self::NestingDepth => "nesting_depth",
        }
    }

    /// The name of its setting, which is also the name of the field of [`Limits`].
    pub const fn setting(self) -> &'static str {
        match self {
            Self::RequestSize => "max_request_size",
            Self::ResponseSize => "max_response_size",
            Self::StringLength => "max_string_length",
            Self::ArrayElements => "max_array_elements",
            Self::NestingDepth => "max_nesting_depth",
        }
    }

    /// What the limit counts.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::RequestSize | Self::ResponseSize | Self::StringLength => "bytes",
            Self::ArrayElements => "elements",
            Self::NestingDepth => "levels",
        }
    }
}

/// The default of a limit and its allowed range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The limit.
    pub kind: LimitKind,
    /// The smallest value allowed.
    pub min: usize,
    /// The largest value allowed.
    pub max: usize,
    /// The value if nothing is configured.
    pub default: usize,
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Every limit with its range and default.
pub const BOUNDS: [Bound; 5] = [
    bound(LimitKind::RequestSize, 64 * KIB, 10 * MIB, MIB),
    bound(LimitKind::ResponseSize, MIB, 100 * MIB, 10 * MIB),
    bound(LimitKind::StringLength, 64 * KIB, 10 * MIB, MIB),
    bound(LimitKind::ArrayElements, 100, 100_000, 10_000),
    bound(LimitKind::NestingDepth, 8, 64, 32),
];

const fn bound(kind: LimitKind, min: usize, max: usize, default: usize) -> Bound {
    Bound { kind, min, max, default }
}

/// The limits in force.
///
/// The fields are public so that a configuration can be read into them. [`Limits::check`] validates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a request, in bytes.
    pub max_request_size: usize,
    /// The maximum size of a response, in bytes.
    pub max_response_size: usize,
    /// The maximum length of a string, in decoded UTF-8 bytes.
    pub max_string_length: usize,
    /// The maximum number of elements in an array.
    pub max_array_elements: usize,
    /// The maximum nesting depth, including the root.
    pub max_nesting_depth: usize,
}

/// A setting outside its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitOutOfRange {
    /// The name of the setting.
    pub name: &'static str,
    /// The configured value.
    pub value: usize,
    /// The smallest value allowed.
    pub min: usize,
    /// The largest value allowed.
    pub max: usize,
}

impl Limits {
    /// The value of one limit.
    pub const fn get(&self, kind: LimitKind) -> usize {
        match kind {
            LimitKind::RequestSize => self.max_request_size,
            LimitKind::ResponseSize => self.max_response_size,
            LimitKind::StringLength => self.max_string_length,
            LimitKind::ArrayElements => self.max_array_elements,
            LimitKind::NestingDepth => self.max_nesting_depth,
        }
    }

    /// Returns every setting that is outside its range, so that all of them are reported at once.
    pub fn check(&self) -> Vec<LimitOutOfRange> {
        BOUNDS
            .iter()
            .map(|bound| (bound, self.get(bound.kind)))
            .filter(|(bound, value)| !(bound.min..=bound.max).contains(value))
            .map(|(bound, value)| LimitOutOfRange { name: bound.kind.setting(), value, min: bound.min, max: bound.max })
            .collect()
    }
}

impl Default for Limits {
    fn default() -> Self {
        let [request, response, string, array, nesting] = BOUNDS;
        Self {
            max_request_size: request.default,
            max_response_size: response.default,
            max_string_length: string.default,
            max_array_elements: array.default,
            max_nesting_depth: nesting.default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_req_7_defaults_stand_in_their_rows_and_ranges() {
        let limits = Limits::default();
        assert!(limits.check().is_empty());
        for bound in BOUNDS {
            assert_eq!(limits.get(bound.kind), bound.default, "{:?}", bound.kind);
            assert_eq!(bound.kind.setting(), format!("max_{}", bound.kind.as_str()));
        }
    }

    #[test]
    fn r_req_7_every_setting_out_of_range_is_reported() {
        let below = Limits { max_request_size: 65_535, max_nesting_depth: 65, ..Limits::default() };
        assert_eq!(
            below.check(),
            [
                LimitOutOfRange { name: "max_request_size", value: 65_535, min: 65_536, max: 10_485_760 },
                LimitOutOfRange { name: "max_nesting_depth", value: 65, min: 8, max: 64 },
            ]
        );
        let at_the_edges = Limits {
            max_request_size: 65_536,
            max_response_size: 104_857_600,
            max_string_length: 10_485_760,
            max_array_elements: 100,
            max_nesting_depth: 64,
        };
        assert!(at_the_edges.check().is_empty());
    }

    #[test]
    fn r_req_7_each_limit_names_its_unit() {
        let units: Vec<_> = BOUNDS.iter().map(|bound| (bound.kind.as_str(), bound.kind.unit())).collect();
        assert_eq!(
            units,
            [
                ("request_size", "bytes"),
                ("response_size", "bytes"),
                ("string_length", "bytes"),
                ("array_elements", "elements"),
                ("nesting_depth", "levels"),
            ]
        );
    }
}
