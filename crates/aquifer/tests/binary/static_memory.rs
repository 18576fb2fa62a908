//! The memory functions of builds for musl, which are written in C. A program in C tests them.

use std::path::Path;
use std::process::Command;

use super::support::{Folder, text};

/// The flags of build.rs.
const FLAGS: [&str; 4] = ["-O2", "-ffreestanding", "-fno-builtin", "-fno-stack-protector"];

/// Compiles a C file of this crate.
fn compile(file: &str, options: &[&str], output: &str) {
    // `CC` may have arguments, as in "ccache gcc".
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let built = Command::new(words.next().unwrap())
        .args(words)
        .args(FLAGS)
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-o", output])
        .arg(source)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
}

#[test]
fn memory_functions_agree_with_loops_over_bytes() {
    let folder = Folder::new();
    let program = folder.path("static_memory");
    compile("tests/binary/static_memory.c", &[], &program);

    let tested = Command::new(&program).output().unwrap();

    assert!(tested.status.success(), "{}: {}", tested.status, text(&tested.stdout));
    assert!(text(&tested.stdout).ends_with("comparisons hold\n"), "{}", text(&tested.stdout));
}

/// A compiler may turn a loop that copies into a call of `memcpy`, which would call itself without end.
#[test]
fn memory_functions_call_no_other_function() {
    let folder = Folder::new();
    let object = folder.path("memory.o");
    compile("src/system/musl/memory.c", &["-c"], &object);

    let listed = Command::new("nm").args(["--undefined-only", &object]).output().unwrap();
    let defined = Command::new("nm").args(["--defined-only", &object]).output().unwrap();

    assert!(listed.status.success() && defined.status.success(), "{}", text(&listed.stderr));
    assert_eq!(text(&listed.stdout), "");
    let assembly = folder.path("memory.s");
    compile("src/system/musl/memory.c", &["-S"], &assembly);
    let assembly = std::fs::read_to_string(&assembly).unwrap();
    for name in ["memcpy", "memmove", "memset", "memcmp"] {
        assert!(text(&defined.stdout).contains(&format!(" T {name}\n")), "{}", text(&defined.stdout));
        let calls_itself = |line: &str| line.contains("call") && line.contains(name);
        assert!(!assembly.lines().any(calls_itself), "{name} is called");
    }
}
