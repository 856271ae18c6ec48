//! Names beside what others write, which none of them can have taken before.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// Returns a name that begins so and that nobody can guess.
pub fn unguessable_name(prefix: &str) -> String {
    // The system's random numbers are its keys, and they are told to nobody.
    let [one, other] = [0; 2].map(|_: u8| RandomState::new().build_hasher().finish());
    format!("{prefix}{one:016x}{other:016x}")
}

#[cfg(test)]
mod tests {
    use super::unguessable_name;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_names_are_the_same() {
        let names: BTreeSet<String> = (0..1_000).map(|_| unguessable_name(".tm-")).collect();
        assert_eq!(names.len(), 1_000);
        assert!(
            names
                .iter()
                .all(|name| name.starts_with(".tm-") && name.len() == 36)
        );
    }
}
