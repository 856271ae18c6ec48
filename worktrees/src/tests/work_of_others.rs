//! What lies where somebody else works is looked at by tm's own git alone.

use super::*;

#[test]
fn a_look_at_the_work_of_others_starts_nothing_that_is_named_there() {
    let scene = Scene::new();
    let base = scene.head();
    let ran = scene.folder.path().join("ran");
    let command = format!("sh -c 'touch {}; cat'", ran.display());
    scene.git(&["config", "filter.of-user.clean", &command]);
    scene.git(&["config", "filter.of-user.required", "true"]);
    let worktree = scene.check_out("tm/1", &base);
    let folder = worktree.path();
    // Whoever works there says what git's folder is, and what it starts.
    let own = scene.folder.path().join("own");
    scene.git(&["init", "--quiet", &own.display().to_string()]);
    let of_agent = own.join(".git/config");
    let text = std::fs::read_to_string(&of_agent).expect("settings");
    let filters = ["clean", "process", "smudge"].map(|what| format!("\t{what} = {command}\n"));
    let monitor = format!("[core]\n\tfsmonitor = {command}\n");
    let filters = format!("{text}[filter \"of-agent\"]\n{}{monitor}", filters.concat());
    write(&of_agent, &filters);
    write(
        &folder.join(".git"),
        &format!("gitdir: {}\n", own.join(".git").display()),
    );
    write(
        &folder.join(".gitattributes"),
        "*.x filter=of-agent\n*.y filter=of-user\n",
    );
    write(&folder.join("a.txt"), "changed\n");
    for name in ["a.x", "a.y"] {
        write(&folder.join(name), "new\n");
    }
    let text = scene
        .of_user
        .diff_of_others(&base, folder)
        .expect("a difference");
    for part in ["+changed", "+++ b/a.x", "+++ b/a.y", "+new"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!ran.exists());
    let again = scene.of_user.diff_of_others(&base, folder);
    assert_eq!(again.expect("a difference"), text);
}
