//! All checks, in the order of a run: first those that read, then those that write, and destructive ones last.

mod batch;
mod check;
mod collections;
mod errors;
pub(crate) mod feature;
mod introspection;
mod modes;
mod requests;
mod writes;

pub use check::Check;

/// All checks, in the order of a run.
#[must_use]
pub fn all() -> Vec<&'static Check> {
    description_checks().into_iter().chain(read_checks()).chain(write_checks()).collect()
}

/// The checks of the description and of the modes. They run before any writes, because the modes may not share rows.
pub(crate) fn description_checks() -> Vec<&'static Check> {
    [introspection::lists::CHECKS, introspection::details::CHECKS, modes::CHECKS].into_iter().flatten().collect()
}

/// The checks that only read.
pub(crate) fn read_checks() -> Vec<&'static Check> {
    let tables: [&'static [Check]; 7] = [
        requests::routing::READ_CHECKS,
        batch::READ_CHECKS,
        collections::fields::CHECKS,
        collections::filter::CHECKS,
        collections::sort::CHECKS,
        collections::pages::CHECKS,
        collections::aggregate::CHECKS,
    ];
    tables.into_iter().flatten().collect()
}

/// The checks that may write or break something.
pub(crate) fn write_checks() -> Vec<&'static Check> {
    let tables: [&'static [Check]; 13] = [
        writes::roundtrip::CREATE_CHECKS,
        requests::fidelity::CHECKS,
        requests::parameters::CHECKS,
        errors::refusals::CHECKS,
        writes::constraints::CHECKS,
        requests::routing::WRITE_CHECKS,
        writes::roundtrip::CHECKS,
        introspection::details::EXAMPLE_CHECKS,
        writes::confirm::CHECKS,
        batch::WRITE_CHECKS,
        writes::roundtrip::DELETE_CHECKS,
        errors::malformed::CHECKS,
        errors::invariants::CHECKS,
    ];
    tables.into_iter().flatten().collect()
}
