//! Builds without the gateway do not know the files of MCP clients.

use super::Finding;

pub(super) fn check() -> Vec<Finding> {
    Vec::new()
}
