//! Every check there is, in the order in which a run makes them: looking first, writing later, breaking things last.

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

/// Every check, in the order in which a run makes them.
#[must_use]
pub fn all() -> Vec<&'static Check> {
    first().into_iter().chain(looking()).chain(probing()).collect()
}

/// The checks of what the server says of itself, and of its modes: these may not know the same rows once we write.
pub(crate) fn first() -> Vec<&'static Check> {
    [introspection::lists::CHECKS, introspection::details::CHECKS, modes::CHECKS].into_iter().flatten().collect()
}

/// The checks that only read.
pub(crate) fn looking() -> Vec<&'static Check> {
    let tables: [&'static [Check]; 7] = [
        requests::routing::LOOKING,
        batch::LOOKING,
        collections::fields::CHECKS,
        collections::filter::CHECKS,
        collections::sort::CHECKS,
        collections::pages::CHECKS,
        collections::aggregate::CHECKS,
    ];
    tables.into_iter().flatten().collect()
}

/// The checks that may write or break something.
pub(crate) fn probing() -> Vec<&'static Check> {
    let tables: [&'static [Check]; 12] = [
        writes::roundtrip::FIRST,
        requests::fidelity::CHECKS,
        requests::parameters::CHECKS,
        errors::refusals::CHECKS,
        writes::constraints::CHECKS,
        requests::routing::WRITING,
        writes::roundtrip::CHECKS,
        writes::confirm::CHECKS,
        batch::WRITING,
        writes::roundtrip::LAST,
        errors::malformed::CHECKS,
        errors::invariants::CHECKS,
    ];
    tables.into_iter().flatten().collect()
}
