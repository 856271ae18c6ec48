//! Which variables of the user's reach a project's commands, and where toolchains and caches are when no variable says.
//!
//! The one list: what is not on it does not get through, whatever it is called. Each row is here because a command that
//! works in the user's own shell would not work without it, or would fetch or build again what is there. Nothing on it
//! says who the user is to any service.

/// Where something lies when no variable names it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// In the home folder.
    Home(&'static str),
    /// In the folder for caches.
    Cache(&'static str),
    /// In the folder for data.
    Data(&'static str),
    /// In the folder for settings.
    Config(&'static str),
}

/// Variables that are passed as they are set, and otherwise name what is found at a place below the user's home.
pub(super) const FOUND: &[(&str, Place)] = &[
    // Rust: toolchains, and crates that were fetched.
    ("CARGO_HOME", Place::Home(".cargo")),
    ("RUSTUP_HOME", Place::Home(".rustup")),
    ("SCCACHE_DIR", Place::Cache("sccache")),
    // C and C++: what was compiled before.
    ("CCACHE_DIR", Place::Cache("ccache")),
    // Node: versions of it, package managers and what they fetched, browsers for tests.
    ("npm_config_cache", Place::Home(".npm")),
    ("PNPM_HOME", Place::Data("pnpm")),
    ("COREPACK_HOME", Place::Cache("node/corepack")),
    ("YARN_GLOBAL_FOLDER", Place::Home(".yarn/berry")),
    ("BUN_INSTALL", Place::Home(".bun")),
    ("DENO_DIR", Place::Cache("deno")),
    ("NVM_DIR", Place::Home(".nvm")),
    ("FNM_DIR", Place::Data("fnm")),
    ("VOLTA_HOME", Place::Home(".volta")),
    ("NODENV_ROOT", Place::Home(".nodenv")),
    ("PLAYWRIGHT_BROWSERS_PATH", Place::Cache("ms-playwright")),
    ("PUPPETEER_CACHE_DIR", Place::Cache("puppeteer")),
    ("CYPRESS_CACHE_FOLDER", Place::Cache("Cypress")),
    ("SE_CACHE_PATH", Place::Cache("selenium")),
    // Python: versions of it, environments that tools made, what was fetched, models and data of tests.
    ("PYENV_ROOT", Place::Home(".pyenv")),
    ("PIP_CACHE_DIR", Place::Cache("pip")),
    ("UV_CACHE_DIR", Place::Cache("uv")),
    ("UV_PYTHON_INSTALL_DIR", Place::Data("uv/python")),
    ("UV_TOOL_DIR", Place::Data("uv/tools")),
    ("POETRY_CACHE_DIR", Place::Cache("pypoetry")),
    ("WORKON_HOME", Place::Data("virtualenvs")),
    ("HATCH_DATA_DIR", Place::Data("hatch")),
    ("RYE_HOME", Place::Home(".rye")),
    ("PRE_COMMIT_HOME", Place::Cache("pre-commit")),
    ("HF_HUB_CACHE", Place::Cache("huggingface/hub")),
    ("TORCH_HOME", Place::Cache("torch")),
    ("NLTK_DATA", Place::Home("nltk_data")),
    // Go: modules, what was built, and the settings of `go env -w`.
    ("GOPATH", Place::Home("go")),
    ("GOCACHE", Place::Cache("go-build")),
    ("GOENV", Place::Config("go/env")),
    // The JVM. Maven needs no row: Java takes the user's home from the system, not from HOME.
    ("GRADLE_USER_HOME", Place::Home(".gradle")),
    ("SDKMAN_DIR", Place::Home(".sdkman")),
    ("COURSIER_CACHE", Place::Cache("coursier/v1")),
    // .NET
    ("NUGET_PACKAGES", Place::Home(".nuget/packages")),
    // Ruby and PHP.
    ("RBENV_ROOT", Place::Home(".rbenv")),
    ("BUNDLE_USER_CACHE", Place::Home(".bundle/cache")),
    ("COMPOSER_CACHE_DIR", Place::Cache("composer")),
    // Elixir, Haskell, OCaml, Dart, Julia, Zig, Android, Bazel.
    ("MIX_HOME", Place::Home(".mix")),
    ("HEX_HOME", Place::Home(".hex")),
    ("STACK_ROOT", Place::Home(".stack")),
    ("CABAL_DIR", Place::Home(".cabal")),
    ("OPAMROOT", Place::Home(".opam")),
    ("PUB_CACHE", Place::Home(".pub-cache")),
    ("JULIA_DEPOT_PATH", Place::Home(".julia")),
    ("ZIG_GLOBAL_CACHE_DIR", Place::Cache("zig")),
    ("ANDROID_USER_HOME", Place::Home(".android")),
    ("BAZELISK_HOME", Place::Cache("bazelisk")),
    // Managers of many languages: which versions there are, and which one counts.
    ("ASDF_DATA_DIR", Place::Home(".asdf")),
    ("MISE_DATA_DIR", Place::Data("mise")),
    ("MISE_CONFIG_DIR", Place::Config("mise")),
];

/// Variables that are passed when they are set.
#[rustfmt::skip]
pub(super) const GIVEN: &[&str] = &[
    // Who and where.
    "PATH", "USER", "LOGNAME", "SHELL", "TZ",
    // How a network is reached, and whose certificates count. A value with a login in it stays behind.
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "HTTPLIB2_CA_CERTS",
    "NODE_EXTRA_CA_CERTS", "NIX_SSL_CERT_FILE", "CARGO_HTTP_CAINFO", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    // Compilers, and where libraries are.
    "CC", "CXX", "CPP", "AR", "AS", "LD", "NM", "RANLIB", "STRIP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS",
    "LIBRARY_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR",
    "CMAKE_PREFIX_PATH", "CMAKE_GENERATOR", "LIBCLANG_PATH", "LLVM_CONFIG_PATH", "OPENSSL_DIR", "OPENSSL_LIB_DIR",
    "OPENSSL_INCLUDE_DIR", "PROTOC", "VCPKG_ROOT", "CONAN_HOME", "DEVELOPER_DIR", "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY",
    // How the machine computes.
    "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE", "NVPL_BLAS_DEBUG_CPU_TYPE",
    // Nix.
    "NIX_PATH", "NIX_PROFILES", "NIX_STORE", "NIX_CC", "NIX_BINTOOLS", "NIX_LDFLAGS", "NIX_CFLAGS_COMPILE",
    "NIX_LD", "NIX_LD_LIBRARY_PATH", "NIX_BUILD_CORES", "NIX_HARDENING_ENABLE", "NIX_ENFORCE_PURITY", "IN_NIX_SHELL",
    "LOCALE_ARCHIVE",
    // Rust.
    "RUSTUP_TOOLCHAIN", "RUSTUP_AUTO_INSTALL", "RUSTC_WRAPPER", "RUSTFLAGS", "RUSTDOCFLAGS", "RUST_BACKTRACE",
    "RUST_MIN_STACK", "RUST_TEST_THREADS", "CARGO_BUILD_JOBS", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    // Node.
    "NODE_PATH", "NODE_OPTIONS", "NVM_BIN", "FNM_MULTISHELL_PATH", "N_PREFIX", "COREPACK_ENABLE_STRICT",
    "PUPPETEER_EXECUTABLE_PATH", "CHROME_BIN",
    // Python.
    "PYENV_VERSION", "PYTHONPATH", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE",
    "MAMBA_ROOT_PREFIX", "UV_PYTHON", "UV_OFFLINE", "UV_PROJECT_ENVIRONMENT", "POETRY_VIRTUALENVS_PATH",
    "POETRY_VIRTUALENVS_IN_PROJECT", "PIPENV_VENV_IN_PROJECT", "PYTEST_ADDOPTS",
    // Go.
    "GOROOT", "GOBIN", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB",
    "GOTOOLCHAIN", "GOEXPERIMENT", "GOOS", "GOARCH", "CGO_ENABLED", "CGO_CFLAGS", "CGO_LDFLAGS", "GOENV_ROOT",
    "GOENV_VERSION",
    // The JVM.
    "JAVA_HOME", "JDK_HOME", "JENV_ROOT", "JENV_VERSION", "MAVEN_HOME", "M2_HOME", "MAVEN_OPTS", "MAVEN_ARGS",
    "GRADLE_HOME", "GRADLE_OPTS", "SBT_OPTS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "ANDROID_HOME", "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
    // .NET, Ruby, PHP, Perl, R, OCaml, Dart, and managers of many languages.
    "DOTNET_ROOT", "RBENV_VERSION", "GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT", "BUNDLE_PATH", "BUNDLE_GEMFILE",
    "rvm_path", "COMPOSER_HOME", "PHPRC", "PERL5LIB", "PERL_LOCAL_LIB_ROOT", "R_LIBS", "R_LIBS_USER",
    "OPAM_SWITCH_PREFIX", "CAML_LD_LIBRARY_PATH", "OCAML_TOPLEVEL_PATH", "FLUTTER_ROOT", "ASDF_DIR",
    "MISE_ENV",
];

/// The file of the user's home that the private one has too: it says which versions of languages count, and no more.
pub(super) const COPIED: &str = ".tool-versions";

/// Variables that are the same everywhere.
pub(super) const FIXED: &[(&str, &str)] = &[
    ("LANG", LOCALE),
    ("LC_ALL", LOCALE),
    ("TERM", "dumb"),
    // As in a job of CI: nothing waits for a key, watches files, or writes expectations that are missing.
    ("CI", "true"),
    // Python takes bytecode for fresh by whole seconds and size; worktrees change faster than that.
    ("PYTHONDONTWRITEBYTECODE", "1"),
    // What lies in the user's own site folder would be run by every Python.
    ("PYTHONNOUSERSITE", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    // A new home would be greeted, at length.
    ("DOTNET_NOLOGO", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_GENERATE_ASPNET_CERTIFICATE", "false"),
];

#[cfg(target_os = "macos")]
const LOCALE: &str = "en_US.UTF-8";
#[cfg(not(target_os = "macos"))]
const LOCALE: &str = "C.UTF-8";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names() -> Vec<&'static str> {
        let found = FOUND.iter().map(|(name, _)| *name);
        found
            .chain(GIVEN.iter().copied())
            .chain(FIXED.iter().map(|(name, _)| *name))
            .collect()
    }

    #[test]
    fn no_variable_is_on_the_list_twice() {
        assert_eq!(
            names().into_iter().collect::<BTreeSet<_>>().len(),
            names().len()
        );
    }

    #[test]
    fn nothing_on_the_list_is_named_like_a_secret_or_belongs_to_git_or_tm() {
        for name in names() {
            let capitals = name.to_uppercase();
            for word in [
                "TOKEN",
                "SECRET",
                "PASSWORD",
                "PASSWD",
                "CREDENTIAL",
                "APIKEY",
                "API_KEY",
                "AUTH",
                "COOKIE",
            ] {
                assert!(!capitals.contains(word), "{name}");
            }
            for beginning in [
                "GIT_",
                "TM_",
                "AWS_",
                "GITHUB_",
                "ANTHROPIC_",
                "OPENAI_",
                "SSH_",
                "DBUS_",
                "XDG_",
            ] {
                assert!(!capitals.starts_with(beginning), "{name}");
            }
        }
    }
}
