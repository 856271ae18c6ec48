//! Words of the commands that prompts name, as any shell takes them.
//!
//! Prompts name tm by its path: agents start login shells, whose search path need not be the one that found tm.

/// Returns a word that a shell takes as one, whatever it holds.
pub fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:@,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_whatever_it_holds() {
        assert_eq!(shell_word("/usr/local/bin/tm"), "/usr/local/bin/tm");
        assert_eq!(shell_word("/it's here/tm"), r"'/it'\''s here/tm'");
        assert_eq!(shell_word(""), "''");
    }
}
