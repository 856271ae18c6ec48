//! What a client is told of the server as a whole, in words of the tools that it is offered.

use crate::server::Server;

const TASKS: &str = "tm keeps a backlog of programming tasks. `next_task` names the one to work on, `get_task` tells all of \
                     it, `get_tasks` lists them by pages, `set_task_status` says how far one is. Ids are texts: \"3\", or \
                     \"3.1\" for a subtask.";

const WAVES: &str = "Waves have agents work the whole backlog off, many at once, each in a worktree of its own; what their \
                     tests prove lands on an integration branch, never on the user's. `waves_plan` shows the order and runs \
                     nothing. `waves_run` costs money: ask the user first, and bound it with `maxCost`, `deadline` and \
                     `retries`; with `wait` false it returns at once. `waves_status` tells in short how a run stands, \
                     `waves_report` all of it, `waves_stop` ends it gently; the next `waves_run` takes it up.";

/// The steps of autopilot.
pub(crate) const AUTOPILOT: &str = "Autopilot leads you yourself through one task: for each subtask tests that fail (RED), \
the code that makes them pass (GREEN), a commit. You write code and run tests; it keeps the state, checks what you report, and \
does all git work. Begin with `autopilot_start`, then repeat until the action is `complete`: `autopilot_next` tells the \
`action`, its `context`, and the `command` to call.
- `red`: write tests for behaviour that is missing, see them fail because of that, then `autopilot_complete_phase`.
- `green`: the least code that makes every test pass, no change of a test, then `autopilot_complete_phase`.
- `commit`: `autopilot_commit`; never commit by hand, never switch branches.
- `finalize`: the whole suite once more, then `autopilot_finalize`.
- `resume`: the run is paused; a person decides, or you call `autopilot_resume`.
Report the counts that the test command printed, where they are asked for. A GREEN that is refused too often pauses the run: \
say so and stop instead of weakening a test.";

const REFUSALS: &str =
    "A call that is refused says why in `error` and what to do in `suggestion`; nothing is lost.";

/// Returns what is said to whoever is offered these tools.
pub(crate) fn of(server: &Server) -> String {
    let is_offered = |tool: &str| server.router.has_route(tool);
    let parts = [
        ("get_tasks", TASKS),
        ("waves_run", WAVES),
        ("autopilot_start", AUTOPILOT),
    ];
    let offered = parts.into_iter().filter(|(tool, _)| is_offered(tool));
    let said: Vec<&str> = offered.map(|(_, words)| words).chain([REFUSALS]).collect();
    said.join("\n\n")
}
