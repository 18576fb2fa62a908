//! The explorer in this program: how it is served, and its access to configuration, rules and the review of tools.

mod operator;
pub(crate) mod popup;
mod redacted_config;
#[cfg_attr(not(feature = "gateway"), path = "no_review.rs")]
mod review;
mod rule_text;
mod rules;
pub(crate) mod serve;
mod settings;
mod unified_diff;

pub(crate) use operator::ExplorerOperator;
pub(crate) use operator::OperatorContext;
