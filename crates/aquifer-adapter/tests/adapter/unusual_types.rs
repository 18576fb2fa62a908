//! An adapter whose types are narrower or stranger than most. What the conformance runner requests follows its description.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use aquifer_adapter::{Answer, Code, Failure, Items, Patch, adapter};
use parking_lot::Mutex;

/// Where a badge was issued.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Office {
    city: String,
    room: Option<u8>,
    building: Option<Building>,
}

/// A building.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Building {
    name: Option<String>,
}

/// A badge.
#[derive(Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Badge {
    /// Its number.
    #[schemars(extend("readOnly" = true))]
    slot: u8,
    #[schemars(regex(pattern = r"^[A-Z]{3}-\d{4}(?:/[a-f]{2})?$"))]
    code: String,
    #[schemars(range(min = 10, max = 20))]
    level: i8,
    #[schemars(range(min = 0.25, max = 0.75))]
    ratio: f64,
    #[schemars(regex(pattern = r"^\+[1-9]\d{6,14}$"), length(max = 12))]
    phone: Option<String>,
    office: Option<Office>,
}

/// Badges.
#[derive(Default)]
pub(crate) struct Badges {
    badges: Mutex<BTreeMap<u8, Badge>>,
    counter: AtomicU64,
}

#[adapter]
impl Badges {
    /// Issue a badge.
    #[operation]
    async fn create_badge(
        &self,
        #[schemars(regex(pattern = r"^[A-Z]{3}-\d{4}(?:/[a-f]{2})?$"))] code: String,
        #[schemars(range(min = 10, max = 20))] level: i8,
        #[schemars(range(min = 0.25, max = 0.75))] ratio: f64,
        #[schemars(regex(pattern = r"^\+[1-9]\d{6,14}$"), length(max = 12))] phone: Option<String>,
        office: Option<Office>,
    ) -> Answer<Badge> {
        let mut badges = self.badges.lock();
        let slot = (0..=u8::MAX).find(|slot| !badges.contains_key(slot));
        let slot = slot.ok_or_else(|| Failure::new(Code::ConflictConstraint, "All slots are taken"))?;
        let badge = Badge { slot, code, level, ratio, phone, office };
        badges.insert(slot, badge.clone());
        Ok(badge)
    }

    /// Get one badge.
    #[operation]
    async fn get_badge(&self, slot: u8) -> Answer<Badge> {
        self.badges.lock().get(&slot).cloned().ok_or_else(|| Failure::not_found("badge", slot))
    }

    /// List badges.
    #[operation]
    async fn list_badges(&self) -> Answer<Items<Badge>> {
        Ok(Items { items: self.badges.lock().values().cloned().collect() })
    }

    /// Change a badge.
    #[operation]
    async fn update_badge(&self, slot: u8, input: Patch<Badge>) -> Answer<Badge> {
        let mut badges = self.badges.lock();
        let current = badges.get(&slot).ok_or_else(|| Failure::not_found("badge", slot))?;
        let badge = input.apply(current)?;
        badges.insert(slot, badge.clone());
        Ok(badge)
    }

    /// Withdraw a badge.
    #[operation]
    async fn delete_badge(&self, slot: u8) -> Answer<Badge> {
        self.badges.lock().remove(&slot).ok_or_else(|| Failure::not_found("badge", slot))
    }

    /// Get how many digits a number plate has.
    #[operation]
    async fn get_digit_count(
        &self,
        #[schemars(regex(pattern = r"^(?:[A-Z]{1,3} ){2}[1-9]\d{0,3}[EH]?$"))] plate: String,
    ) -> Answer<usize> {
        Ok(plate.chars().filter(char::is_ascii_digit).count())
    }

    /// Get a number that is another one each time.
    #[operation]
    async fn get_next_number(&self) -> Answer<u64> {
        Ok(self.counter.fetch_add(1, Ordering::Relaxed))
    }
}
