//! What the compilers of Go, C, C++ and Java say of a test program that does not build.

use super::{Found, cause};

patterns! {
    GO = r"^(\S+\.go):\d+:\d+: (.+)$";
    GO_MISSING = r"^undefined: |undefined \(type .+ has no field or method|unknown field \w+ in struct";
    GO_PACKAGE = r"^(?:no required module provides package|package) ([^\s;:]+)";
    C = r"^(\S+\.(?:c|cc|cpp|cxx|h|hpp)):\d+(?::\d+)?: (?:fatal )?error: (.+)$";
    C_MISSING = r"undeclared|implicit declaration of function|has no member named|was not declared in this scope|unknown type name|is not a member of|does not name a type|\.(?:h|hpp): No such file or directory";
    LINKER = r"(?:^|[/ ])([\w./-]+\.(?:c|cc|cpp|cxx))(?::\d+)?:.*(undefined reference to .+)$";
    JAVA = r"^(?:\[ERROR\] |:[\w:-]+)?(\S+\.(?:java|kt)):\[?\d+(?:,\d+\])?:? (?:error: )?(.+)$";
    JAVA_MISSING = r"cannot find symbol|Unresolved reference";
    JAVA_PACKAGE = r"^package ([\w.]+) does not exist$";
}

pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    let go = output.contains("[build failed]") || output.contains("[setup failed]");
    // In the words of Maven, and of Gradle.
    let java = output.contains("COMPILATION ERROR")
        || output.contains("Compilation failed; see the compiler");
    let is_linked_or_compiled =
        output.contains(" error: ") || output.contains("undefined reference");
    if !go && !java && !is_linked_or_compiled {
        return;
    }
    for line in output.lines() {
        if let Some(error) = GO.captures(line).filter(|_| go) {
            let is_missing = is_missing_in_go(&error[2], found);
            found.add(cause(is_missing), Some(&error[1]), line);
        } else if let Some(error) = C.captures(line) {
            found.add(cause(C_MISSING.is_match(&error[2])), Some(&error[1]), line);
        } else if let Some(error) = LINKER.captures(line) {
            found.add(cause(true), Some(&error[1]), &error[2]);
        } else if let Some(error) = JAVA.captures(line).filter(|_| java) {
            let is_missing = is_missing_in_java(&error[1], &error[2], found);
            found.add(cause(is_missing), Some(&error[1]), line);
        }
    }
}

fn is_missing_in_go(words: &str, found: &Found<'_>) -> bool {
    match GO_PACKAGE.captures(words) {
        Some(package) => found.project.owns_path(&package[1]),
        None => GO_MISSING.is_match(words),
    }
}

/// A package is the project's own where its first two names are a folder of its sources.
fn is_missing_in_java(file: &str, words: &str, found: &Found<'_>) -> bool {
    let Some(package) = JAVA_PACKAGE.captures(words) else {
        return JAVA_MISSING.is_match(words);
    };
    let file = found.project.relative(file);
    let module = file.find("src/").map_or("", |at| &file[..at]);
    let top: Vec<&str> = package[1].split('.').take(2).collect();
    let top = top.join("/");
    ["main/java", "test/java", "main/kotlin", "test/kotlin"]
        .into_iter()
        .any(|sources| {
            found
                .project
                .has_folder(&format!("{module}src/{sources}/{top}"))
        })
}
