//! State that outlives a request: in SQLite, in Redis (R-SAF-6).
