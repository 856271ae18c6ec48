//! Aider's text. It ends with 0 even when its service refuses, so its words are all there is.

use super::StreamState;
use tm_scheduler::ServiceRefusal;

patterns! {
    TOKENS = r"^Tokens: ([\d.]+)([kM]?) sent,.*?([\d.]+)([kM]?) received\.(?: Cost: \$([\d.]+) message)?";
    ERROR = r"^litellm\.(?:[A-Za-z.]*\.)?([A-Za-z]+(?:Error|Exceeded)): ";
}

pub(super) fn hear(heard: &mut StreamState, line: &str) {
    if let Some(found) = TOKENS.captures(line) {
        heard.succeeds();
        heard.add_tokens(rounded(&found[1], &found[2]), rounded(&found[3], &found[4]));
        heard.add_cost(
            found
                .get(5)
                .and_then(|cost| cost.as_str().parse().ok())
                .filter(|dollars: &f64| dollars.is_finite()),
        );
    } else if let Some(found) = ERROR.captures(line) {
        heard.gives_up(&line.into());
        if matches!(&found[1], "AuthenticationError" | "PermissionDeniedError") {
            heard.refusal = Some(ServiceRefusal::Auth);
        }
    }
}

/// Reads `1.2k` as 1200.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rounded count of tokens, never negative"
)]
fn rounded(digits: &str, unit: &str) -> u64 {
    let factor = match unit {
        "k" => 1e3,
        "M" => 1e6,
        _ => 1.0,
    };
    (digits.parse::<f64>().unwrap_or(0.0) * factor).round() as u64
}
