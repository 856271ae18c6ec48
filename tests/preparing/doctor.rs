//! What `tm doctor --tests` leaves for whoever has to find out why a set-up fails.

use super::one_task;

#[test]
fn what_a_failing_set_up_printed_is_where_the_hint_says() {
    let setup = "echo the first line says why; seq 100; exit 9";
    let scene = one_task(
        &format!("worktree: {{ setup: \"{setup}\" }}\n"),
        "echo 1..1; echo ok - fine\n",
    );
    let looked = scene
        .tm(&["doctor", "--tests"])
        .env("TMPDIR", scene.path(""))
        .output()
        .expect("tm");
    let found = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert_eq!(looked.status.code(), Some(1), "{found}");
    let (_, rest) = found
        .split_once("all that it printed is in `")
        .unwrap_or_else(|| panic!("{found}"));
    let (path, _) = rest.split_once('`').expect("the end of the path");
    assert!(
        std::fs::read_to_string(path)
            .expect("the log")
            .starts_with("the first line says why"),
        "{found}"
    );
}
