//! The environment of commands: what is on the list reaches them, and nothing else.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn rules(pairs: &[(&str, Option<&str>)]) -> EnvironmentRules {
    let added = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    EnvironmentRules {
        added,
        ..EnvironmentRules::default()
    }
}

fn private(rules: &EnvironmentRules, user: &[(&str, &str)]) -> CommandEnvironment {
    let folder = PrivateFolder::new_in(&std::env::temp_dir()).expect("a folder");
    CommandEnvironment::private(folder, rules, &variables(user)).expect("folders")
}

fn value(environment: &CommandEnvironment, name: &str) -> Option<String> {
    environment
        .variables
        .get(OsStr::new(name))
        .map(|value| value.to_string_lossy().into_owned())
}

#[test]
fn only_what_is_on_the_list_gets_through() {
    let user = [
        ("PATH", "/bin"),
        ("ANTHROPIC_API_KEY", "x"),
        ("GITHUB_TOKEN", "x"),
        ("AWS_PROFILE", "x"),
        ("SSH_AUTH_SOCK", "x"),
        ("DBUS_SESSION_BUS_ADDRESS", "x"),
        ("GIT_DIR", "x"),
        ("TM_HOME", "x"),
        ("WHATEVER", "x"),
        ("CC", "clang"),
        ("LANG", "de_DE.UTF-8"),
        ("HTTPS_PROXY", "http://somebody:secret@proxy:1"),
        ("http_proxy", "http://proxy:1/@"),
    ];
    let environment = private(&EnvironmentRules::default(), &user);
    assert!(!environment.variables.values().any(|value| value == "x"));
    assert_eq!(environment.inherited, Inherited::Nothing);
    let of = |name| value(&environment, name);
    assert_eq!(
        (of("PATH").as_deref(), of("CC").as_deref()),
        (Some("/bin"), Some("clang"))
    );
    assert_eq!(
        (of("HTTPS_PROXY"), of("http_proxy").as_deref()),
        (None, Some("http://proxy:1/@"))
    );
    assert!(
        of("LANG").is_some_and(|locale| locale.ends_with(".UTF-8") && !locale.starts_with("de"))
    );
}

#[test]
fn home_and_temporary_files_are_private_empty_and_gone_with_the_run() {
    let environment = private(
        &EnvironmentRules::default(),
        &[("HOME", "/home/somebody"), ("XDG_CONFIG_HOME", "/x")],
    );
    let home = PathBuf::from(value(&environment, "HOME").expect("a home"));
    let folder = home.parent().expect("a folder").to_owned();
    for name in [
        "HOME",
        "TMPDIR",
        "TMP",
        "TEMP",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
    ] {
        assert!(
            value(&environment, name).is_some_and(|path| Path::new(&path).starts_with(&folder)),
            "{name}"
        );
    }
    let names: Vec<_> = std::fs::read_dir(folder.join("home"))
        .expect("a folder")
        .flatten()
        .collect();
    assert_eq!(
        names
            .iter()
            .map(std::fs::DirEntry::file_name)
            .collect::<Vec<_>>(),
        [".gitconfig"]
    );
    let locked = folder.join("home/go/pkg");
    std::fs::create_dir_all(locked.join("mod")).expect("a folder");
    std::fs::set_permissions(&locked, Permissions::from_mode(0o500)).expect("locked");
    drop(environment);
    assert!(!folder.exists());
}

#[test]
fn toolchains_and_caches_are_found_where_they_are_or_as_the_user_says() {
    let home = tempfile::tempdir().expect("a folder");
    for folder in [".cargo", ".cache/uv", "elsewhere/pip", ".rustup"] {
        std::fs::create_dir_all(home.path().join(folder)).expect("a folder");
    }
    let at = |name: &str| home.path().join(name).display().to_string();
    let (own, cache) = (home.path().display().to_string(), at("elsewhere"));
    let with = |more: &[(&str, &str)]| {
        let user = [
            &[("HOME", own.as_str()), ("RUSTUP_HOME", "/opt/rustup")],
            more,
        ]
        .concat();
        private(&EnvironmentRules::default(), &user)
    };
    let environment = with(&[]);
    assert_eq!(value(&environment, "CARGO_HOME"), Some(at(".cargo")));
    assert_eq!(
        value(&environment, "RUSTUP_HOME").as_deref(),
        Some("/opt/rustup")
    );
    assert_eq!(
        (
            value(&environment, "UV_CACHE_DIR"),
            value(&environment, "PIP_CACHE_DIR")
        ),
        (Some(at(".cache/uv")), None)
    );
    let environment = with(&[("XDG_CACHE_HOME", &cache)]);
    assert_eq!(
        value(&environment, "PIP_CACHE_DIR"),
        Some(at("elsewhere/pip"))
    );
}

#[test]
fn the_user_adds_values_and_passes_variables_by_name() {
    let added = rules(&[
        ("A", Some("1")),
        ("DATABASE_URL", None),
        ("NOT_THERE", None),
        ("CI", Some("")),
    ]);
    let environment = private(&added, &[("DATABASE_URL", "postgres://me:it@host/db")]);
    let of = |name| value(&environment, name);
    assert_eq!(
        (of("A").as_deref(), of("CI").as_deref()),
        (Some("1"), Some(""))
    );
    assert_eq!(
        (of("DATABASE_URL").as_deref(), of("NOT_THERE")),
        (Some("postgres://me:it@host/db"), None)
    );
}

#[test]
fn with_the_home_of_the_user_everything_but_git_and_tm_is_handed_down() {
    let open = EnvironmentRules {
        home: TestHome::User,
        ..rules(&[("A", Some("1"))])
    };
    let folder = PrivateFolder::new_in(&std::env::temp_dir()).expect("a folder");
    let environment = CommandEnvironment::of_user(folder, &open, &Variables::new());
    let environment = environment.expect("a folder");
    assert_eq!(
        environment.inherited,
        Inherited::AllBut(vec!["GIT_*".to_owned(), "TM_*".to_owned()])
    );
    assert_eq!(
        (
            value(&environment, "A").as_deref(),
            value(&environment, "HOME")
        ),
        (Some("1"), None)
    );
}
