//! Windows. Files inherit the permissions of their directory, and these are neither read nor changed: what is in the
//! profile of the user is taken to be private.

pub(super) mod directories;
pub(super) mod directory;
pub(super) mod files;
pub(super) mod processes;
pub(super) mod stamp;
pub(super) mod terminal;
