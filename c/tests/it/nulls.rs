//! A program that calls every function of the header with nothing but nulls, written from the header.

use std::fmt::Write as _;
use std::path::Path;

use crate::programs::{compile_file, compilers, root, run};

/// A function of the header: what it gives, its name, the types of its arguments.
struct Function {
    result: String,
    name: String,
    arguments: Vec<String>,
}

/// The header without comments and what is for the preprocessor.
fn bare(header: &str) -> String {
    let mut bare = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        bare.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    bare.push_str(rest);
    let lines = bare.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join(" ")
}

fn functions(header: &str) -> Vec<Function> {
    let bare = bare(header);
    let statements = bare.split([';', '{', '}']).map(str::trim);
    let declarations = statements.filter(|statement| {
        !statement.starts_with("typedef")
            && statement.ends_with(')')
            && statement.contains("larder_")
    });
    let parsed = declarations.map(|declaration| {
        let (head, arguments) = declaration.split_once('(').unwrap();
        let at = head.rfind("larder_").unwrap();
        let arguments = arguments.trim_end_matches(')').split(',').map(str::trim);
        Function {
            result: head[..at].replace("struct ", "").trim().to_owned(),
            name: head[at..].to_owned(),
            arguments: arguments
                .filter(|argument| *argument != "void")
                .map(|argument| argument.replace("struct ", ""))
                .collect(),
        }
    });
    parsed.collect()
}

/// Nothing, of this type.
fn nothing(argument: &str) -> &'static str {
    match argument {
        _ if argument.contains("larder_error **") => "&error",
        _ if argument.contains('*') || argument.contains("_callback ") => "NULL",
        _ if argument.starts_with("larder_str ") => "larder_null()",
        _ if argument.starts_with("larder_bytes ") => "none",
        _ => "0",
    }
}

/// The statement that frees what a function has given, if it gives something that is the host's.
fn freed(result: &str) -> Option<String> {
    let handle = result.strip_suffix('*')?.trim();
    let is_owned = handle.starts_with("larder_") && !result.starts_with("const");
    is_owned.then(|| format!("{handle}_free(given);"))
}

fn program(functions: &[Function]) -> String {
    let mut calls = String::new();
    for Function {
        result,
        name,
        arguments,
    } in functions
    {
        let arguments: Vec<_> = arguments.iter().map(|a| nothing(a)).collect();
        let call = format!("{name}({})", arguments.join(", "));
        let call = match freed(result) {
            Some(freed) => format!("{result} given = {call}; {freed}"),
            None => format!("(void){call};"),
        };
        let free = "larder_error_free(error); error = NULL;";
        writeln!(calls, "  {{ {call} {free} }}").unwrap();
    }
    format!(
        "#include <larder.h>\n#include <stdio.h>\nint main(void) {{\n  larder_error *error = NULL;\n  \
         larder_bytes none = {{NULL, 0}};\n  (void)none;\n{calls}  printf(\"{}\\n\");\n  return 0;\n}}\n",
        functions.len()
    )
}

#[expect(clippy::disallowed_methods, reason = "a program for the compiler")]
fn write(path: &Path, program: &str) {
    std::fs::write(path, program).unwrap();
}

#[test]
fn every_function_of_the_header_takes_nulls() {
    let header = std::fs::read_to_string(root().join("include/larder.h")).unwrap();
    let functions = functions(&header);
    assert!(functions.len() > 190, "{}", functions.len());
    for compiler in compilers("nulls.c") {
        let out = tempfile::tempdir().unwrap();
        let source = out.path().join("nulls.c");
        write(&source, &program(&functions));
        let printed = run(&compile_file(compiler, &source, out.path()), out.path());
        assert_eq!(printed, format!("{}\n", functions.len()));
    }
}
