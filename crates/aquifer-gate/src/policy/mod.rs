//! What is to happen to a call: danger and trust, and the operator's rules (R-SAF-1, R-SAF-2).
