// How memory.c is compiled. The build script and the test of the functions include this file.

/// The level of optimization.
const OPTIMIZATION: u32 = 2;

/// Flags that every compiler knows: without them, a loop could become a call of the function that it implements, and the
/// functions could use a canary that does not exist yet.
const FLAGS: [&str; 3] = ["-ffreestanding", "-fno-builtin", "-fno-stack-protector"];

/// A flag of GCC for the same purpose, which other compilers may not know.
const OPTIONAL_FLAG: &str = "-fno-tree-loop-distribute-patterns";
