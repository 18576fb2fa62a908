//! Bodies of responses, limited in size.

use bytes::{Bytes, BytesMut};
use reqwest::Response;

/// Why a body cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is larger than allowed, with at least `size` bytes.
    #[error("the response is too large")]
    TooLarge {
        /// The number of bytes that were announced or read.
        size: usize,
    },
    /// It did not arrive completely.
    #[error(transparent)]
    Interrupted(#[from] reqwest::Error),
}

/// Reads a body of at most `max_bytes`.
///
/// # Errors
///
/// The body is larger, or the connection breaks off.
pub async fn read_body(mut response: Response, max_bytes: usize) -> Result<Bytes, BodyError> {
    let announced = response.content_length().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
    if announced > max_bytes {
        return Err(BodyError::TooLarge { size: announced });
    }
    let mut body = BytesMut::with_capacity(announced);
    while let Some(chunk) = response.chunk().await? {
        let size = body.len() + chunk.len();
        if size > max_bytes {
            return Err(BodyError::TooLarge { size });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
