//! The page of a run that went half well, with names that try to break out of it.

use super::*;
use crate::tests::summary;
use tm_scheduler::{GateOutcome, GateResult, Tokens};

#[test]
fn the_page_says_what_happened_in_three_sentences() {
    let html = report_html(&summary());
    let lead = html
        .split("class=\"lead\">")
        .nth(1)
        .and_then(|rest| rest.split("</p>").next())
        .expect("a lead");
    insta::assert_snapshot!(lead.replace("&#x2f;", "/"), @"1 of 2 tasks landed on tm/master/run-x in 7s; 1 failed, 0 blocked. 1 of 2 pairs were seen failing and then passing; 1 of 3 attempts failed. With 2 slots, the work of the agents takes at least 7s; the run took 7s.");
}

#[test]
fn whatever_tasks_and_agents_say_stays_text() {
    let mut summary = summary();
    summary.tasks[0].title = "<script>alert(1)</script>\"'".to_owned();
    summary.tasks[0].attempts[0].evidence = Some("</pre><img src=x onerror=alert(1)>".to_owned());
    summary.tasks[0].attempts[0].failure = Some(tm_scheduler::Failure::GreenFailing);
    summary.tasks[1].id = "a\" onload=\"b".to_owned();
    let html = report_html(&summary);
    for dangerous in ["<script", "<img", "\" onload", "alert(1)\""] {
        assert!(!html.contains(dangerous), "{dangerous}");
    }
    assert!(html.contains("&lt;script&gt;"));
}

#[test]
fn every_gate_of_every_attempt_stands_with_what_it_found_and_cost() {
    let mut summary = summary();
    let gate =
        |name: &str, outcome| GateResult::new(name, outcome, vec!["<b>a finding</b>".to_owned()]);
    let attempt = summary.tasks[0].attempts.last_mut().expect("an attempt");
    attempt.proof.as_mut().expect("a proof").gates = vec![gate("lint", GateOutcome::Failed)];
    let tokens = Some(Tokens {
        input: 7,
        output: 2,
    });
    attempt.unreviewed = vec![GateResult {
        tokens,
        cost_usd: Some(0.5),
        ..gate("critic", GateOutcome::NoVerdict)
    }];
    let html = report_html(&summary);
    for part in [
        "<dd>lint <span class=\"word fail\">failed</span>",
        "<dd>critic <span class=\"word fail\">no-verdict</span> 7 tokens read, 2 written $0.50",
        "<li>&lt;b&gt;a finding&lt;&#x2f;b&gt;</li>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(html.matches("<dt>Gate</dt>").count(), 2);
}

#[test]
fn every_task_stands_in_both_pictures_and_every_link_has_its_end() {
    let html = report_html(&summary());
    assert_eq!(html.matches("<svg").count(), 2);
    assert_eq!(html.matches("<article").count(), 4);
    for link in html
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(html.contains(&format!("id=\"{link}\"")), "{link}");
    }
    assert!(
        !html.contains("http"),
        "the page needs nothing from elsewhere"
    );
}

#[test]
fn the_critical_path_is_the_longest_chain_of_work() {
    let summary = summary();
    assert_eq!(
        crate::chain::critical_path(&summary.tasks)
            .into_iter()
            .collect::<Vec<_>>(),
        ["1", "1:red"]
    );
}

#[test]
fn a_run_without_tasks_has_a_page_too() {
    let mut summary = summary();
    summary.tasks.clear();
    summary.totals = crate::Totals::default();
    assert!(report_html(&summary).contains("<h1>"));
}
