//! Sealed cursors: encrypted positions in an order (R-COL-8).
//!
//! A cursor holds the values of the sort keys and the key of one item. A page therefore costs the same at any distance,
//! and stays correct while others insert and delete. The cursor is encrypted and authenticated, because the caller may
//! not have selected these values, and it is bound to its query. The same position gives the same cursor: AES-SIV needs
//! no nonce, which also keeps cursors short.

use std::hash::{Hash, Hasher};

use aes_siv::KeyInit;
use aes_siv::siv::Aes128Siv;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::collection::Collection;
use crate::plan::Plan;

/// The secret key that seals cursors.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorKey(…)")
    }
}

/// Longer cursors are rejected. A cursor is as long as the values of its sort keys, which may be long texts.
const MAX_CURSOR_LEN: usize = 10 * 1024 * 1024;

impl CursorKey {
    /// Creates a key from secret random bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Seals a position.
    pub fn seal(&self, place: &[Value], collection: &Collection, plan: &Plan) -> String {
        self.sealer(collection, plan).seal(&serde_json::to_vec(place).unwrap_or_default())
    }

    /// The sealer for the cursors of one query.
    pub fn sealer(&self, collection: &Collection, plan: &Plan) -> CursorSealer {
        self.sealer_for(binding(collection, plan))
    }

    /// Seals bytes. Opening them requires the key and the same binding.
    pub fn seal_bytes(&self, plain: &[u8], binding: &[u8]) -> String {
        self.sealer_for(binding.to_vec()).seal(plain)
    }

    fn sealer_for(&self, binding: Vec<u8>) -> CursorSealer {
        CursorSealer { cipher: Aes128Siv::new((&self.0).into()), binding }
    }

    /// The position of a cursor that was sealed for this query.
    pub fn open(&self, cursor: &str, collection: &Collection, plan: &Plan) -> Option<Vec<Value>> {
        let plain = self.open_bytes(cursor, &binding(collection, plan))?;
        let place: Vec<Value> = serde_json::from_slice(&plain).ok()?;
        (place.len() == usize::from(plan.is_ranked()) + plan.order(collection).len()).then_some(place)
    }

    /// The bytes of a cursor that was sealed with this binding.
    pub fn open_bytes(&self, cursor: &str, binding: &[u8]) -> Option<Vec<u8>> {
        if cursor.len() > MAX_CURSOR_LEN {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let mut cipher = Aes128Siv::new((&self.0).into());
        cipher.decrypt([binding], &sealed).ok()
    }
}

/// Seals the cursors of one query.
pub struct CursorSealer {
    cipher: Aes128Siv,
    binding: Vec<u8>,
}

impl std::fmt::Debug for CursorSealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl CursorSealer {
    /// Seals a position, given as a JSON array.
    pub fn seal(&mut self, place: &[u8]) -> String {
        // Fails only for more associated data than is ever passed.
        let sealed = self.cipher.encrypt([self.binding.as_slice()], place).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(sealed)
    }
}

/// The binding of a cursor: the collection, and everything that determines the items and their order.
fn binding(collection: &Collection, plan: &Plan) -> Vec<u8> {
    let mut bytes = ByteCollector(Vec::with_capacity(256));
    (&collection.name, &collection.key, &plan.text, &plan.filter, &plan.sort).hash(&mut bytes);
    bytes.0
}

/// Collects the input of the hash in a form in which two different queries always differ.
struct ByteCollector(Vec<u8>);

impl Hasher for ByteCollector {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
