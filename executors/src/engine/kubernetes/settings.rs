//! What the settings may say: what a cluster refuses, or what no pod could begin with, is told by the setting. Pure.

use super::names::{LABEL, is_label, is_qualified, is_subdomain};
use super::{KubernetesRequest, Resources};
use crate::Error;
use std::path::{Component, Path};

/// What of a container is not for volumes.
const SYSTEM: [&str; 2] = ["/proc", "/sys"];
/// What may stand behind the number of an amount, besides an exponent.
const UNITS: [&str; 16] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

/// What a value has to be.
struct Rule {
    is_kept: fn(&str) -> bool,
    words: &'static str,
}

const NAMESPACE: Rule = Rule {
    is_kept: is_label,
    words: LABEL,
};
const OBJECT: Rule = Rule {
    is_kept: is_subdomain,
    words: "small letters, digits, `-` and `.`, a letter or digit at both ends of each part, 253 at the most",
};
const IMAGE: Rule = Rule {
    is_kept: |text| !text.is_empty() && !text.contains(is_blank),
    words: "the name of an image, without spaces",
};
const PROGRAM: Rule = Rule {
    is_kept: |text| !text.trim().is_empty() && !text.contains(char::is_control),
    words: "a program of the image, by name or path",
};
const PATH: Rule = Rule {
    is_kept: |text| is_mountable(Path::new(text)),
    words: "an absolute path without `..` and `:`, neither `/` nor `/dev`, nor in `/proc` or `/sys`",
};
const RESOURCE: Rule = Rule {
    is_kept: is_qualified,
    words: "the name of a resource, such as `memory` or `nvidia.com/gpu`",
};
const AMOUNT: Rule = Rule {
    is_kept: is_amount,
    words: "an amount that is not negative, such as `2`, `500m` or `8Gi`",
};

/// Checks all that can be said without a cluster.
///
/// # Errors
/// One is of no use; names the first such setting, and what it may be.
pub(super) fn check(request: &KubernetesRequest) -> Result<(), Error> {
    let all = Said(Vec::new()).of(request);
    let mistake = all.0.into_iter().find_map(|(setting, value, rule)| {
        let shown = tm_untrusted::line(&value, 100);
        (!(rule.is_kept)(&value)).then(|| {
            let words = rule.words;
            format!("`kubernetes.{setting}` is `{shown}`, and has to be {words}")
        })
    });
    let mistake = mistake.or_else(|| second_at_a_path(request));
    mistake.map_or(Ok(()), |words| Err(Error::PlaceSettings(words)))
}

/// Settings, with what they say and have to keep to.
struct Said(Vec<(String, String, Rule)>);

impl Said {
    fn of(mut self, request: &KubernetesRequest) -> Self {
        if let Some(namespace) = &request.namespace {
            self.add("namespace", namespace, NAMESPACE);
        }
        if let Some(image) = &request.image {
            self.add("image", image, IMAGE);
        }
        self.add("tm", &request.tm_program, PROGRAM);
        for (number, (claim, path)) in request.volumes.iter().enumerate() {
            self.add(&format!("volumes.{number}.claim"), claim, OBJECT);
            let path = path.to_string_lossy();
            self.add(&format!("volumes.{number}.path"), &path, PATH);
        }
        for (number, secret) in request.env_from.iter().enumerate() {
            self.add(&format!("env_from.{number}"), secret, OBJECT);
        }
        self.add_resources("resources", &request.resources);
        for (size, resources) in &request.by_complexity {
            self.add_resources(&format!("by_complexity.{size:?}"), resources);
        }
        self
    }

    fn add_resources(&mut self, setting: &str, resources: &Resources) {
        let Resources { requests, limits } = resources;
        for (kind, amounts) in [("requests", requests), ("limits", limits)] {
            for (resource, amount) in amounts {
                self.add(&format!("{setting}.{kind}"), resource, RESOURCE);
                self.add(&format!("{setting}.{kind}.{resource}"), amount, AMOUNT);
            }
        }
    }

    fn add(&mut self, setting: &str, value: &str, rule: Rule) {
        self.0.push((setting.to_owned(), value.to_owned(), rule));
    }
}

fn second_at_a_path(request: &KubernetesRequest) -> Option<String> {
    let volumes = &request.volumes;
    let mut numbered = volumes.iter().enumerate();
    let (number, (_, path)) = numbered
        .find(|(number, (_, path))| volumes[..*number].iter().any(|(_, own)| own == path))?;
    let shown = path.display();
    Some(format!(
        "`kubernetes.volumes.{number}.path` is `{shown}`, where an earlier one is: each has a path of its own"
    ))
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control()
}

fn is_mountable(path: &Path) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    let has_colon = path.as_os_str().as_encoded_bytes().contains(&b':');
    path.is_absolute()
        && path.parent().is_some()
        && path.components().all(is_plain)
        && !has_colon
        // Files in memory are below it.
        && path != Path::new("/dev")
        && !SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Whether a text is an amount, by the grammar of
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.
fn is_amount(text: &str) -> bool {
    let text = text.strip_prefix('+').unwrap_or(text);
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let unit = text.trim_start_matches(is_of_number);
    let number = &text[..text.len() - unit.len()];
    let is_number =
        number.contains(|letter: char| letter.is_ascii_digit()) && number.matches('.').count() <= 1;
    is_number && (UNITS.contains(&unit) || is_exponent(unit))
}

fn is_exponent(unit: &str) -> bool {
    let digits = unit.strip_prefix(['e', 'E']);
    let digits = digits.map(|digits| digits.strip_prefix(['+', '-']).unwrap_or(digits));
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> KubernetesRequest {
        KubernetesRequest {
            namespace: Some("agents-1".to_owned()),
            image: Some("registry.example:5000/tm@sha256:aa".to_owned()),
            tm_program: "/opt/my tm/tm".to_owned(),
            volumes: vec![
                ("work".to_owned(), "/srv/work".into()),
                ("work.2".to_owned(), "/srv/work/deeper".into()),
            ],
            env_from: vec!["agent-keys".to_owned()],
            resources: asked_for("nvidia.com/gpu", "1"),
            ..KubernetesRequest::default()
        }
    }

    fn asked_for(resource: &str, amount: &str) -> Resources {
        Resources {
            requests: [(resource.to_owned(), amount.to_owned())].into(),
            ..Resources::default()
        }
    }

    fn told(change: impl Fn(&mut KubernetesRequest)) -> String {
        let mut request = sound();
        change(&mut request);
        let told = check(&request).expect_err("of no use").to_string();
        let (_, words) = told.split_once(": ").expect("what is done");
        words.to_owned()
    }

    #[test]
    fn sound_settings_have_no_mistake() {
        check(&sound()).expect("sound");
    }

    #[test]
    fn a_setting_of_no_use_is_named_with_what_it_may_be() {
        let texts = [
            told(|request| request.namespace = Some("A B".to_owned())),
            told(|request| request.image = Some(String::new())),
            told(|request| request.tm_program = String::new()),
            told(|request| request.env_from = vec![String::new()]),
            told(|request| request.volumes[1].0 = "A B/c".to_owned()),
            told(|request| request.volumes[0].1 = "relative/x".into()),
            told(|request| request.volumes[1].1 = "/srv/work/".into()),
            told(|request| request.resources = asked_for("cpu", "-1")),
            told(|request| request.resources = asked_for("A B", "1")),
            told(|request| {
                let large = asked_for("memory", "abc");
                request.by_complexity = [(tm_scheduler::Complexity::XL, large)].into();
            }),
        ];
        assert_eq!(
            texts.join("\n"),
            "`kubernetes.namespace` is `A B`, and has to be small letters, digits and `-`, a letter or digit at both \
             ends, 63 at the most\n\
             `kubernetes.image` is ``, and has to be the name of an image, without spaces\n\
             `kubernetes.tm` is ``, and has to be a program of the image, by name or path\n\
             `kubernetes.env_from.0` is ``, and has to be small letters, digits, `-` and `.`, a letter or digit at both \
             ends of each part, 253 at the most\n\
             `kubernetes.volumes.1.claim` is `A B/c`, and has to be small letters, digits, `-` and `.`, a letter or \
             digit at both ends of each part, 253 at the most\n\
             `kubernetes.volumes.0.path` is `relative/x`, and has to be an absolute path without `..` and `:`, neither \
             `/` nor `/dev`, nor in `/proc` or `/sys`\n\
             `kubernetes.volumes.1.path` is `/srv/work/`, where an earlier one is: each has a path of its own\n\
             `kubernetes.resources.requests.cpu` is `-1`, and has to be an amount that is not negative, such as `2`, \
             `500m` or `8Gi`\n\
             `kubernetes.resources.requests` is `A B`, and has to be the name of a resource, such as `memory` or \
             `nvidia.com/gpu`\n\
             `kubernetes.by_complexity.XL.requests.memory` is `abc`, and has to be an amount that is not negative, such \
             as `2`, `500m` or `8Gi`"
        );
    }

    #[test]
    fn volumes_are_where_a_pod_can_have_them() {
        let is_kept = |path: &&str| is_mountable(Path::new(path));
        let paths = [
            "",
            "/",
            "//",
            "x",
            "/proc",
            "/proc/1",
            "/sys/fs",
            "/dev",
            "/dev/shm/x",
            "/a/../proc",
            "/a:b",
            "/a",
            "/process/x",
            "/a/./b",
        ];
        let kept: Vec<&str> = paths.into_iter().filter(is_kept).collect();
        assert_eq!(kept, ["/dev/shm/x", "/a", "/process/x", "/a/./b"]);
    }

    #[test]
    fn amounts_are_those_of_the_cluster() {
        let amounts = [
            "2", "0", "+1", "0.5", ".5", "5.", "500m", "8Gi", "1E", "1e3", "1E-3", "1e+3", "2k",
        ];
        assert!(amounts.into_iter().all(is_amount));
        let others = [
            "", "-1", "abc", "1 Gi", "1GB", "8gi", "1.2.3", ".", "1e", "1e-", "K", "1ee3", "１",
        ];
        assert_eq!(others.into_iter().find(|text| is_amount(text)), None);
    }
}
