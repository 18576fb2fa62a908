//! Detects the media type of bytes from their first bytes (R-RES-5). Databases do not store it, and callers need it to
//! use the bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The media type of unknown bytes.
const UNKNOWN: &str = "application/octet-stream";

/// Number of bytes examined. A multiple of three, so that their base64 has no partial group.
const SNIFFED_BYTES: usize = 36;

/// File signatures: offset, bytes and media type.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\0asm", "application/wasm"),
    (0, b"wOF2", "font/woff2"),
    (0, b"wOFF", "font/woff"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"<?xml", "application/xml"),
    (0, b"<svg", "image/svg+xml"),
    (0, b"<!DOCTYPE html", "text/html"),
    (0, b"<html", "text/html"),
];

/// The media type of bytes, from their beginning.
fn detect(bytes: &[u8]) -> &'static str {
    let begins = |(offset, signature, _): &&(usize, &[u8], &str)| {
        bytes.get(*offset..).is_some_and(|rest| rest.starts_with(signature))
    };
    // Two letters are ambiguous, so the image size that follows them is checked as well.
    let is_certain = |(_, signature, _): &&(usize, &[u8], &str)| *signature != b"BM" || bytes.len() > 26;
    SIGNATURES.iter().filter(is_certain).find(begins).map_or(UNKNOWN, |(_, _, media_type)| media_type)
}

/// The media type of base64 in quotes.
pub(crate) fn detect_base64(written: &[u8]) -> &'static str {
    let text = written.strip_prefix(b"\"").unwrap_or(written);
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    let beginning = text.get(..SNIFFED_BYTES / 3 * 4).unwrap_or(text);
    STANDARD.decode(beginning).map_or(UNKNOWN, |bytes| detect(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_res_5_media_types_are_detected_from_the_first_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
            (b"\0\0\0\x20ftypavif", "image/avif"),
            (b"\0\0\0\x20ftypisom", "video/mp4"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"PK\x03\x04\x14\0", "application/zip"),
            (b"SQLite format 3\0", "application/vnd.sqlite3"),
            (b"BM", UNKNOWN),
            (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0", "image/bmp"),
            (b"plain text", UNKNOWN),
            (b"\0\xff", UNKNOWN),
            (b"", UNKNOWN),
        ] {
            for length in [0, 1, 2, 100] {
                let padded = [bytes, &vec![0; length]].concat();
                let written = format!("\"{}\"", STANDARD.encode(&padded));
                let found = detect_base64(written.as_bytes());
                assert!(found == expected || (bytes == b"BM" && length == 100), "{bytes:?} {length}: {found}");
            }
        }
    }
}
