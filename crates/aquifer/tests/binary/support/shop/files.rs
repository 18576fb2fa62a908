//! What describes the API: an OpenAPI description and an adapter file.

use super::Shop;

/// The OpenAPI description.
pub(crate) fn description(shop: &Shop) -> String {
    include_str!("shop-openapi.yaml").replace("https://shop.example", &shop.url())
}

/// The adapter file.
pub(crate) fn adapter(shop: &Shop) -> String {
    include_str!("shop-adapter.md").replace("https://shop.example", &shop.url())
}
