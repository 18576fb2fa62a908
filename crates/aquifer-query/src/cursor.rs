//! Cursors: a place in an order, sealed (R-COL-8).
//!
//! A cursor holds the values of the sort keys and the key of one item, so that a page costs the same however far it is
//! and stays right while others insert and delete. It is encrypted and authenticated, because those values may be ones
//! the caller never asked to see, and bound to the query that made it. The same place gives the same cursor: AES-SIV
//! needs no nonce, which also keeps it short.

use std::hash::{Hash, Hasher};

use aes_siv::KeyInit;
use aes_siv::siv::Aes128Siv;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::collection::Collection;
use crate::plan::Plan;

/// The secret that cursors are sealed with.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorKey(…)")
    }
}

/// Longer cursors cannot be sent. Ours are as long as the values that are sorted by, which may be long texts.
const MAX_LEN: usize = 10 * 1024 * 1024;

impl CursorKey {
    /// A key of these bytes, which must be secret and random.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The cursor for a place.
    pub fn seal(&self, place: &[Value], collection: &Collection, plan: &Plan) -> String {
        self.sealer(collection, plan).seal(&serde_json::to_vec(place).unwrap_or_default())
    }

    /// What makes the cursors of one query.
    pub fn sealer(&self, collection: &Collection, plan: &Plan) -> Sealer {
        self.bound_to(binding(collection, plan))
    }

    /// These bytes as a cursor that only who knows the key can read, and only together with the binding.
    pub fn seal_bytes(&self, plain: &[u8], binding: &[u8]) -> String {
        self.bound_to(binding.to_vec()).seal(plain)
    }

    fn bound_to(&self, binding: Vec<u8>) -> Sealer {
        Sealer { cipher: Aes128Siv::new((&self.0).into()), binding }
    }

    /// The place a cursor stands for, if we made it for this query.
    pub fn open(&self, cursor: &str, collection: &Collection, plan: &Plan) -> Option<Vec<Value>> {
        let plain = self.open_bytes(cursor, &binding(collection, plan))?;
        let place: Vec<Value> = serde_json::from_slice(&plain).ok()?;
        (place.len() == usize::from(plan.is_ranked()) + plan.order(collection).len()).then_some(place)
    }

    /// The bytes of a cursor, if we sealed them with this binding.
    pub fn open_bytes(&self, cursor: &str, binding: &[u8]) -> Option<Vec<u8>> {
        if cursor.len() > MAX_LEN {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let mut cipher = Aes128Siv::new((&self.0).into());
        cipher.decrypt([binding], &sealed).ok()
    }
}

/// Makes the cursors of one query.
pub struct Sealer {
    cipher: Aes128Siv,
    binding: Vec<u8>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl Sealer {
    /// The cursor for a place, which is given as a JSON list.
    pub fn seal(&mut self, place: &[u8]) -> String {
        // Fails only for more associated data than we ever have.
        let sealed = self.cipher.encrypt([self.binding.as_slice()], place).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(sealed)
    }
}

/// What a cursor is bound to: the collection, and what decides which items there are and in which order.
fn binding(collection: &Collection, plan: &Plan) -> Vec<u8> {
    let mut bytes = Bytes(Vec::with_capacity(256));
    (&collection.name, &collection.key, &plan.text, &plan.filter, &plan.sort).hash(&mut bytes);
    bytes.0
}

/// Keeps all that is hashed. No two queries can be the same to it.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
