//! Programs in C and C++, compiled against the header and the static library, and run under the sanitizers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What rustc says that its static libraries need (`--print native-static-libs`).
const SYSTEM_LIBRARIES: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

const WARNINGS: [&str; 6] = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wredundant-decls",
    "-Werror",
    "-g",
];

const SANITIZERS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library that cargo has built for this test, beside it.
pub(crate) fn static_library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.with_file_name("liblarder_c.a");
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// The compilers of this language that are there.
pub(crate) fn compilers(source: &str) -> Vec<&'static str> {
    let names = match source.ends_with(".cpp") {
        true => ["g++", "clang++"],
        false => ["gcc", "clang"],
    };
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let there: Vec<_> = names.into_iter().filter(is_there).collect();
    if there.is_empty() {
        let why = format!("no {} to compile {source} with", names[0]);
        let is_required = std::env::var_os("LARDER_REQUIRE_PEERS").is_some();
        assert!(!is_required, "{why}");
        println!("SKIPPED: {why}");
    }
    there
}

/// Compiles a program of this crate's, and links it.
pub(crate) fn compile(compiler: &str, source: &str, out: &Path) -> PathBuf {
    compile_file(compiler, &root().join(source), out)
}

pub(crate) fn compile_file(compiler: &str, source: &Path, out: &Path) -> PathBuf {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let program = out.join(format!("{name}-{compiler}"));
    let standard = match source.extension().is_some_and(|end| end == "cpp") {
        true => "-std=c++17",
        false => "-std=c11",
    };
    let built = Command::new(compiler)
        .arg(standard)
        .args(WARNINGS)
        .args(SANITIZERS)
        .arg("-I")
        .arg(root().join("include"))
        .arg(source)
        .arg(static_library())
        .args(SYSTEM_LIBRARIES)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{compiler} {name}: {said}");
    program
}

/// Runs a program with this argument, with leaks looked for: what it printed.
pub(crate) fn run(program: &Path, argument: &Path) -> String {
    let ran = Command::new(program)
        .arg(argument)
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=1:detect_stack_use_after_return=1",
        )
        .env("UBSAN_OPTIONS", "print_stacktrace=1")
        .output()
        .unwrap();
    let Output {
        status,
        stdout,
        stderr,
    } = ran;
    let (stdout, stderr) = (String::from_utf8(stdout), String::from_utf8(stderr));
    let (stdout, stderr) = (stdout.unwrap(), stderr.unwrap());
    assert!(
        status.success() && stderr.is_empty(),
        "{} ended with {status}\n{stdout}\n{stderr}",
        program.display()
    );
    stdout
}
