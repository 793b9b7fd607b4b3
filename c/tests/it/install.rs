//! What `install.sh` installs is found by pkg-config and by CMake, wherever it is moved.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{compilers, root, run, static_library};

const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(Larder 0.1 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello Larder::larder)
add_executable(hello_static hello.c)
target_link_libraries(hello_static Larder::larder_static)
";

/// Runs a command: what it printed. `None` if it is not there.
fn printed(command: &mut Command) -> Option<String> {
    let ran = match command.output() {
        Ok(ran) => ran,
        Err(error) => {
            let is_required = std::env::var_os("LARDER_REQUIRE_PEERS").is_some();
            assert!(!is_required, "{command:?}: {error}");
            println!("SKIPPED: {command:?}: {error}");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command:?}: {said}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// Installs the library that cargo has built for this test.
#[expect(clippy::disallowed_methods, reason = "what a person does")]
fn installed(out: &Path) -> PathBuf {
    let (first, moved) = (out.join("first"), out.join("moved"));
    let mut install = Command::new("sh");
    install.arg(root().join("install.sh")).arg(&first);
    install.env("LARDER_LIBRARIES", static_library().parent().unwrap());
    printed(&mut install).unwrap();
    std::fs::rename(first, &moved).unwrap();
    moved
}

#[test]
fn pkg_config_finds_what_was_installed() {
    let out = tempfile::tempdir().unwrap();
    let moved = installed(out.path());
    let mut flags = Command::new("pkg-config");
    flags
        .args(["--cflags", "--libs", "larder"])
        .env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig"));
    let Some(flags) = printed(&mut flags) else {
        return;
    };
    for compiler in compilers("hello.c") {
        let program = out.path().join(compiler);
        let mut compile = Command::new(compiler);
        compile
            .arg(root().join("examples/hello.c"))
            .args(flags.split_whitespace())
            .arg(format!("-Wl,-rpath,{}", moved.join("lib").display()))
            .arg("-o")
            .arg(&program);
        printed(&mut compile).unwrap();
        assert_eq!(run(&program, &out.path().join("store")), "Hello, world!\n");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a project for CMake")]
fn cmake_finds_what_was_installed() {
    let out = tempfile::tempdir().unwrap();
    let moved = installed(out.path());
    let (project, build) = (out.path().join("project"), out.path().join("build"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("CMakeLists.txt"), PROJECT).unwrap();
    let hello = std::fs::read(root().join("examples/hello.c")).unwrap();
    std::fs::write(project.join("hello.c"), hello).unwrap();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", moved.display()));
    if printed(&mut configure).is_none() {
        return;
    }
    printed(Command::new("cmake").arg("--build").arg(&build)).unwrap();
    for name in ["hello", "hello_static"] {
        let printed = run(&build.join(name), &out.path().join("store"));
        assert_eq!(printed, "Hello, world!\n", "{name}");
    }
}
