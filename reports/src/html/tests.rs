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
    insta::assert_snapshot!(lead.replace("&#x2f;", "/"), @"1 of 2 tasks landed on tm/master/run-x in 7s; 1 failed, 0 blocked. 1 of 2 pairs were seen failing and then passing; 1 of 3 attempts failed. With 2 slots, the work of the agents, with its tests, takes at least 7s; the run took 7s.");
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
fn every_task_stands_in_both_pictures_what_failed_first_and_every_link_has_its_end() {
    let html = report_html(&summary());
    assert_eq!(html.matches("role=\"img\"").count(), 2);
    assert_eq!(html.matches("<article").count(), 2, "a pair is one");
    for (first, last) in [("RED landed", "GREEN landed"), ("<h3>2 ", "<h3>1 ")] {
        assert!(html.find(first) < html.find(last), "{first} before {last}");
    }
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

#[test]
fn the_timeline_shows_what_tm_did_too_and_pauses_are_as_wide_as_any_other() {
    let mut summary = summary();
    let bars = |html: &str, class: &str| html.matches(&format!("<rect class=\"{class}")).count();
    summary.tasks[1].attempts[0].agent_started_at = Some("1970-01-01T00:00:04.500Z".to_owned());
    let html = report_html(&summary);
    // The agents of RED of both began at once; GREEN's was waited for, and its work lands.
    let steps = ["prepare", "prove", "land"].map(|class| bars(&html, class));
    assert_eq!((steps, bars(&html, "pause")), ([1, 3, 1], 0));
    let night = |from: &str, to: &str| crate::PauseSummary {
        from: format!("1970-01-01T{from}.000Z"),
        to: format!("1970-01-0{to}.000Z"),
    };
    summary.pauses = vec![
        night("00:00:02", "1T08:00:00"),
        night("09:00:00", "3T00:00:03"),
    ];
    let html = report_html(&summary);
    assert_eq!(bars(&html, "pause"), 2);
    assert!(html.contains("paused 7h 59m"), "{html}");
    let widths = html.split("class=\"pause\" x=\"").skip(1);
    for band in widths.filter_map(|rest| rest.split("width=\"").nth(1)) {
        assert!(band.starts_with("26\""), "{band}");
    }
}

#[test]
fn tasks_can_be_chosen_by_what_became_of_them_where_that_differs() {
    let mut summary = summary();
    let html = report_html(&summary);
    for id in [
        "show-all\" checked",
        "show-fail\"> fail 1",
        "show-pass\"> pass 1",
    ] {
        assert!(html.contains(id), "{id}");
    }
    summary.tasks.retain(|task| task.id.starts_with('1'));
    assert!(!report_html(&summary).contains("<fieldset"));
}

#[test]
fn the_page_stays_small_however_much_the_run_did() {
    let of_one = summary();
    let mut summary = of_one.clone();
    let tasks = |number: usize| {
        let mut tasks = of_one.tasks[..2].to_vec();
        for task in &mut tasks {
            let id = |id: &str| id.replacen('1', &number.to_string(), 1);
            (task.id, task.pair) = (id(&task.id), task.pair.as_deref().map(id));
            task.dependencies.clear();
            task.title = "/".repeat(3_000);
            task.attempts[0].evidence = Some("<".repeat(4_000));
            task.attempts = vec![task.attempts[0].clone(); 3];
        }
        tasks
    };
    summary.tasks = (0..1_000).flat_map(tasks).collect();
    let html = report_html(&summary);
    assert!(html.len() < 10_000_000, "{}", html.len());
    assert!(html.contains("This page is kept small"));
    assert!(
        html.contains("6000 attempts are not drawn"),
        "too many to see anything"
    );
}
