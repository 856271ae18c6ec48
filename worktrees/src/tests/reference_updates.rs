//! References that are moved by a git that stays.

use super::*;

fn waiting(repository: &Repository) -> usize {
    repository
        .own()
        .map_or(0, |own| own.reference_updates.waiting())
}

#[test]
fn one_git_moves_all_that_are_moved_one_after_the_other() {
    let scene = Scene::new();
    let (repository, first) = (&scene.repository, scene.head());
    let second = scene.task("tm/2", &first, "b.txt", "b");
    for number in 0..20 {
        let name = branch(&format!("tm/many/{number}"));
        repository.create_branch(&name, &first).expect("created");
        repository
            .move_branch(&name, &second, Some(&first))
            .expect("moved");
        assert_eq!(
            repository.branch_tip(&name).expect("asked"),
            Some(second.clone())
        );
    }
    assert_eq!(waiting(repository), 1);
    // As any git writes it.
    let log = scene.git(&["reflog", "show", "--format=%H %gs", "tm/many/3"]);
    assert_eq!(log, format!("{second} tm\n{first} tm"));
}

#[test]
fn whoever_is_elsewhere_is_told_and_the_next_one_is_moved_all_the_same() {
    let scene = Scene::new();
    let (repository, first) = (&scene.repository, scene.head());
    let second = scene.task("tm/2", &first, "b.txt", "b");
    let name = branch("tm/x");
    repository.create_branch(&name, &first).expect("created");
    for (from, found) in [(None, &first), (Some(&second), &first)] {
        let moved = repository.move_branch(&name, &second, from);
        assert!(matches!(moved, Err(Error::Moved { found: Some(at), .. }) if at == *found));
        assert_eq!(
            repository.branch_tip(&name).expect("asked").as_ref(),
            Some(&first)
        );
    }
    let gone = CommitId::new("1".repeat(40));
    assert!(repository.move_branch(&name, &gone, Some(&first)).is_err());
    assert!(
        repository
            .move_branch(&name, &CommitId::new("--no"), Some(&first))
            .is_err()
    );
    repository
        .move_branch(&name, &second, Some(&first))
        .expect("moved");
    // What somebody else did meanwhile is seen.
    scene.git(&["update-ref", "refs/heads/tm/x", first.as_str()]);
    scene.git(&["pack-refs", "--all"]);
    assert!(
        repository
            .move_branch(&name, &first, Some(&second))
            .is_err()
    );
    repository
        .move_branch(&name, &second, Some(&first))
        .expect("moved");
    scene.git(&["update-ref", "-d", "refs/heads/tm/x"]);
    repository.create_branch(&name, &first).expect("created");
    assert!(repository.create_branch(&branch("tm/x/y"), &first).is_err());
}

#[test]
fn many_at_the_same_time_move_each_what_is_theirs() {
    let scene = Scene::new();
    let (repository, first) = (&scene.repository, scene.head());
    let second = scene.task("tm/2", &first, "b.txt", "b");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (first, second) = (&first, &second);
            scope.spawn(move || {
                for number in 0..10 {
                    let name = branch(&format!("tm/at-{thread}/{number}"));
                    repository.create_branch(&name, first).expect("created");
                    repository
                        .move_branch(&name, second, Some(first))
                        .expect("moved");
                }
            });
        }
        // One that all want, and one gets.
        let wins: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| repository.create_branch(&branch("tm/one"), &second).is_ok()))
            .collect();
        let won = wins.into_iter().map(|win| win.join().expect("joined"));
        assert_eq!(won.filter(|won| *won).count(), 1);
    });
    let names = scene.git(&["for-each-ref", "--format=%(objectname)", "refs/heads/tm"]);
    let moved = names.lines().filter(|id| *id == second.as_str()).count();
    assert_eq!(moved, 8 * 10 + 2);
    assert!(waiting(repository) <= 9);
}

/// A lock that somebody else holds is waited for, or told of as ever.
#[test]
fn a_reference_that_is_locked_is_not_moved() {
    let scene = Scene::new();
    let (repository, first) = (&scene.repository, scene.head());
    let second = scene.task("tm/2", &first, "b.txt", "b");
    let name = branch("tm/x");
    repository.create_branch(&name, &first).expect("created");
    let lock = repository.common_dir().join("refs/heads/tm/x.lock");
    write(&lock, "");
    assert!(
        repository
            .move_branch(&name, &second, Some(&first))
            .is_err()
    );
    std::fs::remove_file(lock).expect("unlocked");
    repository
        .move_branch(&name, &second, Some(&first))
        .expect("moved");
}
