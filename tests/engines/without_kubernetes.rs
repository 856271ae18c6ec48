//! What a build without Kubernetes says of it.

use crate::scene::{HONEST, Scene};

#[test]
fn a_build_without_kubernetes_says_so_and_begins_nothing() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let output = scene.run(&["--on", "kubernetes"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("this build of tm has no Kubernetes"),
        "{said}"
    );
}
