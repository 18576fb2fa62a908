//! Policy: the matrix, the patterns, rules, strengths and explanations (R-SAF-1, R-SAF-2).
