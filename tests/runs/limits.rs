//! Services that refuse: one wall for all who share an account, other agents that take over, refused credentials.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;

/// Claude Code's last event when its service refuses.
fn event(status: u32, words: &str) -> String {
    format!(
        "printf '{{\"type\":\"result\",\"is_error\":true,\"result\":\"{words}\",\"api_error_status\":{status}}}\\n'; exit 1"
    )
}

/// Notes each start. Once the first five are up, three of them are refused for two seconds, and the other two go on a
/// second later.
fn walled() -> String {
    let refused = event(429, "limit reached|$until").replace("|$until", "|'\"$until\"'");
    format!(
        "cd \"$AGENT_FOLDER\"; echo \"$TM_TASK_ID $TM_ATTEMPT $(date +%s)\" >> starts\n\
         case $TM_TASK_ID in [1-5]) : > up.$TM_TASK_ID; while [ \"$(ls up.* | wc -l)\" -lt 5 ]; do sleep 0.05; done ;; esac\n\
         case $TM_TASK_ID$TM_ATTEMPT in\n\
         11|21|31) until=$(($(date +%s) + 2)); echo $until >> untils; {refused} ;;\n\
         4?|5?) while [ \"$(cat untils 2>/dev/null | wc -l)\" -lt 3 ]; do sleep 0.05; done; sleep 1 ;;\n\
         esac; cd \"$TM_WORKTREE\"\n{HONEST}"
    )
}

fn starts(scene: &Scene) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(scene.path("starts")).unwrap_or_default();
    let words = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words
        .map(|words| (words[0].to_owned(), words[2].parse().expect("a moment")))
        .collect()
}

fn attempts<'a>(report: &'a Value, id: &str) -> &'a Vec<Value> {
    task(report, id)["attempts"].as_array().expect("attempts")
}

#[test]
fn a_wall_on_three_of_five_slots_holds_up_all_and_the_run_ends_well_after_the_reset() {
    let names: Vec<String> = (1..=8).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = names
        .iter()
        .map(|id| (id.as_str(), "Document it", &[][..]))
        .collect();
    let scene = Scene::new(&tasks, &walled()).prints_events();
    let report = scene.runs(
        &["--max-parallel", "5", "--tdd", "off", "--retries", "0"],
        0,
    );
    let untils = std::fs::read_to_string(scene.path("untils")).expect("moments");
    let reset: u64 = untils
        .lines()
        .filter_map(|line| line.parse().ok())
        .min()
        .expect("a moment");
    for id in ["1", "2", "3"] {
        let attempts = attempts(&report, id);
        assert_eq!(attempts[0]["failure"], "rate-limited", "{report:#}");
        assert_eq!(attempts.len(), 2, "{report:#}");
    }
    // Those that had no slot when the wall went up started after it.
    let late = starts(&scene)
        .into_iter()
        .filter(|(id, _)| ["6", "7", "8"].contains(&id.as_str()));
    assert!(
        late.clone().all(|(_, at)| at >= reset),
        "{:?} after {reset}",
        starts(&scene)
    );
    assert_eq!(late.count(), 3);
}

#[test]
fn credentials_that_two_tasks_had_refused_stop_that_agent_and_the_next_one_takes_over() {
    let refused = event(401, "Invalid API key");
    let scene = Scene::new(
        &[
            ("1", "Document it", &[]),
            ("2", "Document that", &[]),
            ("3", "Document all", &[]),
        ],
        HONEST,
    );
    write(
        &scene.path("refused.sh"),
        &format!("echo x >> \"$AGENT_FOLDER/refused\"\n{refused}"),
    );
    let settings = format!(
        "agent: {{default: first, fallback: [second]}}\nagents:\n  first: {{command: [sh, '{}'], output: claude-stream-json, account: first, \
         if_refused: 'run `first login`'}}\n  second: {{command: [sh, '{}'], account: second}}\n",
        scene.path("refused.sh").display(),
        scene.path("agent.sh").display()
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    let run = [
        "waves",
        "run",
        "--yes",
        "--tdd",
        "off",
        "--max-parallel",
        "1",
        "--retries",
        "0",
    ];
    let output = scene.tm(&run).output().expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("hint: run `first login`"), "{said}");
    assert_eq!(
        std::fs::read_to_string(scene.path("refused")).expect("starts"),
        "x\nx\n"
    );
    let report = scene.report();
    let agents = |id: &str| -> Vec<String> {
        let attempts = attempts(&report, id).iter();
        attempts
            .filter_map(|attempt| attempt["agent"].as_str().map(ToOwned::to_owned))
            .collect()
    };
    for id in ["1", "2"] {
        assert_eq!(agents(id), ["first", "second"], "{report:#}");
    }
    assert_eq!(agents("3"), ["second"], "{report:#}");
}

#[test]
fn where_nobody_else_can_take_over_credentials_that_two_had_refused_fail_every_task() {
    let agent = format!(
        "echo x >> \"$AGENT_FOLDER/starts\"\n{}",
        event(401, "Invalid API key")
    );
    let scene = Scene::new(
        &[
            ("1", "Document it", &[]),
            ("2", "Document that", &[]),
            ("3", "Document all", &[]),
        ],
        &agent,
    )
    .prints_events();
    let report = scene.runs(&["--tdd", "off", "--max-parallel", "1"], 3);
    for id in ["1", "2", "3"] {
        assert_eq!(task(&report, id)["failure"], "auth", "{report:#}");
    }
    assert_eq!(
        std::fs::read_to_string(scene.path("starts")).expect("starts"),
        "x\nx\n"
    );
    assert_eq!(scene.statuses(), ["pending", "pending", "pending"]);
}

#[test]
fn credentials_that_one_task_alone_had_refused_are_its_own_trouble() {
    let refused = event(401, "Not logged in");
    let agent = format!("[ \"$TM_TASK_ID$TM_ATTEMPT\" = 11 ] && {{ {refused}; }}\n{HONEST}");
    let scene = Scene::new(
        &[
            ("1", "Document it", &[]),
            ("2", "Document that", &[]),
            ("3", "Document all", &[]),
        ],
        &agent,
    )
    .prints_events();
    let report = scene.runs(&["--tdd", "off", "--max-parallel", "1"], 0);
    assert_eq!(attempts(&report, "1")[0]["failure"], "auth", "{report:#}");
    for id in ["1", "2", "3"] {
        assert_eq!(task(&report, id)["landed"], true, "{report:#}");
    }
}

#[test]
fn what_an_agent_of_text_prints_holds_up_nobody_else_and_spends_nothing() {
    let prints = "[ \"$TM_TASK_ID$TM_ATTEMPT\" = 11 ] && {\n\
        echo '{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":4102444800}}'\n\
        echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"Not logged in\",\"api_error_status\":401,\"total_cost_usd\":1e9}'\n\
        exit 1; }\n";
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Document that", &[])];
    let scene = Scene::new(&tasks, &format!("{prints}{HONEST}"));
    let run = ["--tdd", "off", "--max-parallel", "1", "--max-cost", "5"];
    let report = scene.runs(&run, 0);
    assert_eq!(
        attempts(&report, "1")[0]["failure"],
        "no-result",
        "{report:#}"
    );
    for id in ["1", "2"] {
        assert_eq!(task(&report, id)["landed"], true, "{report:#}");
    }
}

#[test]
fn a_budget_that_one_attempt_says_it_has_spent_ends_the_run_in_its_name_or_its_task_alone() {
    let prints = r#"[ $TM_TASK_ID = 1 ] && echo '{"type":"result","is_error":false,"result":"Done","total_cost_usd":1e9}'"#;
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Document that", &[])];
    let run = ["--tdd", "off", "--max-parallel", "1", "--max-cost", "50"];
    let scene = Scene::new(&tasks, &format!("{HONEST}\n{prints}\n:")).prints_events();
    let output = scene.run(&run);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{said}");
    let named = "most was reported by attempt 1 at `1`: $1000000000.00";
    assert!(said.contains(named), "{said}");
    let scene = Scene::new(&tasks, &format!("{HONEST}\n{prints}\n:")).prints_events();
    let bounded = [&run[..], &["--max-cost-per-task", "10"]].concat();
    let report = scene.runs(&bounded, 0);
    assert_eq!(task(&report, "2")["landed"], true, "{report:#}");
}
