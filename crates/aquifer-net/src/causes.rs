//! The causes of an error.

use std::error::Error;
use std::io;

/// An error and its causes, including errors wrapped in I/O errors, which `source` skips.
pub fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source())
    })
}
