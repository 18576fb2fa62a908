//! What was decided and done, in a chain that shows when a line is missing (R-SAF-5).
