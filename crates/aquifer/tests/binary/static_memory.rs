//! The memory functions of static builds, which are written in C. A program in C tests them, built like the functions.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::{Folder, text};

#[test]
fn memory_functions_agree_with_loops_over_bytes() {
    let folder = Folder::new();
    let program: PathBuf = folder.path("static_memory").into();
    let source: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/binary/static_memory.c");
    let built = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-builtin", "-o"])
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));

    let tested = Command::new(&program).output().unwrap();

    assert!(tested.status.success(), "{}: {}", tested.status, text(&tested.stdout));
    assert!(text(&tested.stdout).ends_with("comparisons hold\n"), "{}", text(&tested.stdout));
}
