//! Where calls go: recipients, addresses, links and accounts, each in one spelling, and those that people have agreed to.

mod address;
mod find;
mod known;
mod origin;
mod roles;
mod settings;
mod text;
mod traces;

pub(crate) use address::{Destination, host_name, is_invisible};
pub(crate) use find::CallDestinations;
pub(crate) use find::MAX_DEPTH;
pub(crate) use known::KnownDestinations;
pub(crate) use origin::TextOrigins;
pub(crate) use roles::ParameterRole;
pub(crate) use text::is_mention;
pub(crate) use text::words;

pub use address::DestinationKind;
pub use known::KnownDestination;
pub use known::Remember;
pub use known::Scope;
pub use known::forget;
pub use known::list;
pub use origin::TextOrigin;
pub use settings::DestinationSettings;
pub use settings::DestinationSettingsError;
