//! `tm audit`: shows again, from the history alone, what runs proved.

use super::verify::overrides;
use crate::arguments::AuditArguments;
use crate::display::{print_data, print_json, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::open;
use serde_json::json;
use std::path::Path;
use tm_app::AuditOrder;
use tm_reports::{audit_junit, audit_text};

pub(crate) async fn audit(start: &Path, arguments: &AuditArguments) -> Result<u8, CommandFailure> {
    tm_worktrees::check_git()?;
    let project = open(
        start,
        overrides(arguments.test_command.as_ref(), arguments.strictness),
    )?;
    let order = AuditOrder {
        range: arguments.range.clone(),
        sample: arguments.sample,
        parallel: arguments.max_parallel,
    };
    let audit = tm_app::audit(&project, &order).await?;
    if let Some(path) = &arguments.junit {
        tm_store::atomic::replace(&start.join(path), audit_junit(&audit).as_bytes())
            .map_err(|error| CommandFailure::new(format!("write `{}`: {error}", path.display())))?;
    }
    if arguments.json {
        let mut document = serde_json::to_value(&audit)?;
        document["holds"] = json!(audit.holds());
        print_json(&document)?;
    } else {
        print_data(&audit_text(&audit));
    }
    if audit.holds() {
        return Ok(0);
    }
    print_line("not everything can be shown again");
    Ok(ExitCode::Refused.number())
}
