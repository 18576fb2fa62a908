//! The memory functions of builds for musl, which are written in C. A program in C tests them.

use std::path::Path;
use std::process::Command;

use super::support::{Folder, text};

include!("../../src/system/musl/flags.rs");

/// The functions that a compiler may call on its own, and the one that is another name of the last.
const FUNCTIONS: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// The compiler. `CC` may have arguments, as in "ccache gcc".
fn compiler() -> Command {
    let named = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = named.split_whitespace();
    let mut compiler = Command::new(words.next().unwrap());
    compiler.args(words);
    compiler
}

/// The flags with which the build script compiles the functions.
fn flags() -> Vec<String> {
    let tried = compiler().args(["-Werror", OPTIONAL_FLAG, "-E", "-x", "c", "/dev/null"]).output().unwrap();
    let optional = tried.status.success().then_some(OPTIONAL_FLAG);
    let known = FLAGS.into_iter().chain(optional).map(str::to_owned);
    std::iter::once(format!("-O{OPTIMIZATION}")).chain(known).collect()
}

/// Compiles a C file of this crate.
fn compile(file: &str, options: &[&str], output: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let built = compiler()
        .args(flags())
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-o", output])
        .arg(source)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
}

/// Which function calls or jumps to which of the memory functions, or mentions it in any other instruction.
fn references(assembly: &str) -> Vec<(&str, &str)> {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
    let mut function = "";
    let mut found = Vec::new();
    for line in assembly.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        match line.strip_suffix(':') {
            Some(label) if !label.starts_with('.') => function = label,
            Some(_) => {}
            None if line.starts_with('.') => {}
            None => {
                let operands = line.split_once(char::is_whitespace).map_or("", |(_, operands)| operands);
                let names = operands.split(|c| !is_in_name(c)).filter(|name| FUNCTIONS.contains(name));
                found.extend(names.map(|name| (function, name)));
            }
        }
    }
    found
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
    for name in FUNCTIONS {
        assert!(text(&defined.stdout).contains(&format!(" T {name}\n")), "{}", text(&defined.stdout));
    }
    let meant = ("bcmp", "memcmp");
    let others: Vec<_> = references(&assembly).into_iter().filter(|reference| *reference != meant).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn calls_and_jumps_to_memory_functions_are_found() {
    let assembly = "\t.globl\tmemcpy\n\t.type\tmemcpy, @function\nmemcpy:\n.LFB1:\n\tmovq\t%rdi, %rax\n\tjmp\tmemcpy\n\
                    \t.size\tmemcpy, .-memcpy\nmemset.part.0:\n\tjne\t.L3\n\tcall\tmemset@PLT\n\tje\tmemset.part.0\n\
                    bcmp:\n\tjmp\tmemcmp # tail call of memmove\n\tret\n";
    let expected = [("memcpy", "memcpy"), ("memset.part.0", "memset"), ("bcmp", "memcmp")];
    assert_eq!(references(assembly), expected);
}
