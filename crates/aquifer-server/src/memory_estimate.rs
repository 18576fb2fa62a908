//! Estimates the memory that a request and its answer will take, before the request is parsed.

/// Estimated size of the answer to one operation. Answers over 64 KiB are paged automatically, and each is sent twice,
/// as text and as structured content.
pub(crate) const OPERATION_BYTES: usize = 128 * 1024;

/// Memory of a request as a tree of values, as a multiple of its text.
const TREE_FACTOR: usize = 4;

/// Number of objects around an operation: the message, its parameters and arguments, and the metadata.
const FRAME_OBJECTS: usize = 8;

/// Estimates the memory for a message with at most `max_operations` operations in a batch. Every operation of a batch
/// is an object, so it has an opening brace, however the client formats it.
pub(crate) fn estimate_bytes(message: &[u8], max_operations: usize) -> usize {
    let objects = memchr::memchr_iter(b'{', message).count();
    let operations = objects.saturating_sub(FRAME_OBJECTS).clamp(1, max_operations.max(1));
    operations.saturating_mul(OPERATION_BYTES).saturating_add(message.len().saturating_mul(TREE_FACTOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_a_batch_counts_however_it_is_formatted() {
        let batch = |operation: &str, count: usize| {
            let operations = vec![operation; count].join(",");
            format!(r#"{{"params":{{"arguments":{{"operations":[{operations}]}},"_meta":{{"a":{{}},"b":{{}}}}}}}}"#)
        };
        for (message, operations) in [
            ("{}".to_owned(), 1),
            (batch(r#"{"operation":"get_x"}"#, 1), 1),
            (batch(r#"{"operation":"get_x"}"#, 50), 48),
            (batch(r#"{"\u006fperation":"get_x"}"#, 50), 48),
            (batch(r#"{"operation":"get_x","params":{}}"#, 50), 98),
            (batch(r#"{"operation":"get_x"}"#, 5_000), 100),
        ] {
            let expected = operations * OPERATION_BYTES + message.len() * TREE_FACTOR;
            assert_eq!(estimate_bytes(message.as_bytes(), 100), expected, "{} bytes", message.len());
        }
    }
}
