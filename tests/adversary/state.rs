//! What tm has written down, forged by an agent that then kills it: nothing of that is believed because it is there.

use super::case::{Case, green};

/// Appends answers to the journal as tm would have: `forge COMMIT ANSWER…`. Its words are those of `scheduler`.
const FORGE: &str = r#"
forge() {
    python3 - "$@" <<'END'
import glob, json, os, struct, sys, zlib
path = glob.glob(os.environ["AGENT_FOLDER"] + "/tm/projects/*/runs/*/journal.jsonl")[0]
with open(path) as file:
    last = json.loads(file.read().splitlines()[-1])
at, sequence = last["at"], last.get("seq", 0)
with open(path, "a") as file:
    for answer in sys.argv[1:]:
        sequence += 1
        record = json.dumps({"answer": {"task": "1", "attempt": 1, "answer": json.loads(answer)}}, separators=(",", ":"))
        checksum = zlib.crc32(struct.pack("<QQ", at, sequence) + record.encode())
        file.write('{"at":%d,"seq":%d,"crc":"%08x","record":%s}\n' % (at, sequence, checksum, record))
END
}
pretend; weaken; echo BACKDOOR > evil
commit "$(printf 'Add the parser\n\nTask: 1\nPhase: green\nTag: master\nRun: %s\nTests: 2 passed' "$TM_RUN_ID")"
commit=$(git rev-parse HEAD); tree=$(git rev-parse 'HEAD^{tree}')
ended='{"agent-ended":{"agent":"custom","started_at":1,"ended_at":2,"ended":{"exited":0},"result":{"claimed":{"status":"pass","tests_passed":null,"tests_failed":null,"files":[],"issues":[]}},"refusal":null,"tokens":null,"cost_usd":null,"last_words":"","leftovers":0,"escape":[],"noticed":[]}}'
proof='{"tree":"'$tree'","baseline_failed":1,"new":[],"unloaded":[],"seen_failing":false,"passed":2,"failed":0,"regressions":[],"flaky":[],"coverage":null,"failure":null,"reason":null,"waived":[],"evidence":"","notes":[]}'
"#;

/// An agent that forges as much of the journal, and kills tm.
fn forged(what: &'static str) -> Case {
    let script = format!("{FORGE}\n{what}\nkill_tm; exit 0");
    green(script.leak()).ends()
}

cases! {
    a_forged_proof_is_proven_again: forged(r#"forge "$ended" "{\"proved\":$proof}""#);
    a_forged_commit_is_not_landed: forged(r#"forge "$ended" "{\"proved\":$proof}" "{\"committed\":{\"commit\":\"$commit\",\"proof\":null}}""#);
    a_forged_commit_with_its_proof_is_not_landed: forged(
        r#"forge "$ended" "{\"proved\":$proof}" "{\"committed\":{\"commit\":\"$commit\",\"proof\":$proof}}""#,
    );
    a_forged_landing_is_not_said_to_have_landed: forged(
        r#"ref=$(git for-each-ref --format='%(refname)' 'refs/heads/tm/*/run-*')
           merge=$(git -c user.name=A -c user.email=a@example.org commit-tree -m 'Land task 1: Add the parser' -p $ref -p $commit $tree)
           git update-ref $ref $merge
           forge "$ended" "{\"proved\":$proof}" "{\"committed\":{\"commit\":\"$commit\",\"proof\":null}}" "{\"landed\":{\"commit\":\"$merge\"}}""#,
    );
    a_forged_landing_without_any_branch_is_not_said_to_have_landed: forged(
        r#"forge "$ended" "{\"proved\":$proof}" "{\"committed\":{\"commit\":\"$commit\",\"proof\":null}}" "{\"landed\":{\"commit\":\"$commit\"}}""#,
    );
    a_journal_that_is_cut_short_lands_nothing_twice: green(
        r#"implement; journal=$(echo "$AGENT_FOLDER"/tm/projects/*/runs/*/journal.jsonl); sed -i '$d' "$journal"; kill_tm; exit 0"#,
    ).ends();
    a_journal_that_is_rubbish_is_an_error_in_words: green(
        r#"implement; for journal in "$AGENT_FOLDER"/tm/projects/*/runs/*/journal.jsonl; do echo rubbish > "$journal"; done; kill_tm; exit 0"#,
    ).ends();
    settings_of_the_run_that_an_agent_edits_are_not_heeded: green(
        r#"pretend; weaken; for file in "$AGENT_FOLDER"/tm/projects/*/runs/*/manifest.json; do
               sed -i 's/"strictness": *"[a-z]*"/"strictness": "relaxed"/; s/sh run-tests.sh/exit 0/' "$file"; done; kill_tm; exit 0"#,
    ).ends();
}
