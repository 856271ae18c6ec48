//! What rustc says of a test program that does not build.

use super::project::Project;
use super::{Found, cause};
use crate::patterns::part;
use crate::testing::names;
use tm_scheduler::LoadCause;

patterns! {
    HEADLINE = r"^error(?:\[(E\d{4})\])?: (.+)$";
    PLACE = r"^\s*--> ([^:]+):\d+";
    CODE_ITSELF = r#"could not compile (`[^`]+` \((?:lib|build script|(?:bin|example) "[^"]+")\))"#;
    UNLINKED = r"(?:unlinked crate|undeclared crate or module|module or crate) `(\w+)`";
    KNOWN_RECEIVER = r"for (?:type|struct|enum|reference|array|slice|unit type|primitive type)? ?`&*(?:mut )?(?:[iu](?:8|16|32|64|128|size)|f32|f64|bool|char|str|\(\)|(?:String|Vec|Option|Result|Box|Rc|Arc|HashMap|HashSet|BTreeMap|BTreeSet)\b)";
}

/// Codes of errors that name something which is not there: functions, types, traits, modules, methods, fields, macros.
const MISSING: &str = "E0026 E0404 E0405 E0407 E0412 E0422 E0423 E0424 E0425 E0432 E0433 E0531 E0560 E0574 E0576 E0599 E0603 \
    E0609";

pub(in crate::testing) fn find(output: &str, found: &mut Found<'_>) {
    if !output.contains("could not compile") {
        return;
    }
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(headline) = HEADLINE.captures(line) else {
            continue;
        };
        let text = &headline[2];
        if text.starts_with("could not compile") {
            // Programs of tests are `(test "name")`, `(lib test)`; anything else is what the tests are to test.
            if let Some(target) = CODE_ITSELF.captures(text) {
                found.add(
                    LoadCause::Other,
                    Some(&target[1]),
                    &format!("could not compile {}", &target[1]),
                );
            }
            continue;
        }
        if text.starts_with("aborting due to") {
            continue;
        }
        let mut block = format!("{line}\n");
        while let Some(next) =
            lines.next_if(|next| !next.trim().is_empty() && !HEADLINE.is_match(next))
        {
            block.push_str(next);
            block.push('\n');
        }
        let Some(place) = block.lines().find_map(|line| PLACE.captures(line)) else {
            continue;
        };
        let code = part(&headline, 1);
        found.add(
            cause(is_missing_item(code, text, &block, found)),
            Some(&place[1]),
            &block,
        );
    }
}

/// Whether a trait is not implemented, and either it or the type is the project's own: nobody else can implement it.
fn is_missing_implementation(block: &str, project: &Project) -> bool {
    let headline = block.lines().next().unwrap_or_default();
    let helps = block
        .lines()
        .filter(|line| line.trim_start().starts_with("= help: the trait"));
    let named = std::iter::once(headline)
        .chain(helps)
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    named
        .flat_map(|quoted| quoted.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
        .filter(|word| word.starts_with(char::is_uppercase))
        .any(|word| project.sources().defines(word))
}

/// Whether what a type of the language lacks may come from a trait of the project's own that such types have; a word that
/// is much like one that is there is a slip.
fn is_of_own_trait(headline: &str, block: &str, project: &Project) -> bool {
    let name = KNOWN_RECEIVER
        .find(headline)
        .map_or("", |found| found.as_str())
        .rsplit(['`', '&', ' '])
        .next()
        .unwrap_or_default();
    !name.is_empty() && !block.contains("with a similar name") && project.sources().extends(name)
}

fn is_missing_item(code: &str, headline: &str, block: &str, found: &Found<'_>) -> bool {
    if code == "E0277" {
        return is_missing_implementation(block, found.project);
    }
    if code == "E0599" && KNOWN_RECEIVER.is_match(headline) {
        return is_of_own_trait(headline, block, found.project);
    }
    match UNLINKED.captures(block) {
        Some(unlinked) => found.project.owns(&unlinked[1]),
        None => {
            names(MISSING, code) || code.is_empty() && headline.starts_with("cannot find macro")
        }
    }
}
