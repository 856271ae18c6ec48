// Has every tool refuse something, through the official client in TypeScript: the reason has to reach its caller.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, program] = process.argv.slice(2);
const resolve = createRequire(join(modules, "x")).resolve;
const load = (name) => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const refused = {
  autopilot_abort: {},
  autopilot_commit: {},
  autopilot_complete_phase: { phase: "red" },
  autopilot_finalize: {},
  autopilot_next: {},
  autopilot_pause: {},
  autopilot_resume: {},
  autopilot_start: { taskId: "99" },
  autopilot_status: { projectRoot: "/nowhere" },
  get_task: { id: "99" },
  get_tasks: { tag: "nowhere" },
  next_task: { tag: "nowhere" },
  set_task_status: { id: "99", status: "done" },
  waves_plan: { tag: "nowhere" },
  waves_report: { run: "nowhere" },
  waves_resume: {},
  waves_run: { agent: "nobody" },
  waves_status: { run: "nowhere" },
  waves_stop: { projectRoot: "/nowhere" },
};

const client = new Client({ name: "test", version: "1" });
const transport = new StdioClientTransport({ command: program, args: ["mcp"], env: process.env, stderr: "ignore" });
await client.connect(transport);
const { tools } = await client.listTools();
const wrong = [];
for (const { name } of tools) {
  try {
    const answer = await client.callTool({ name, arguments: refused[name] ?? {} });
    const { error } = answer.isError ? JSON.parse(answer.content[0].text) : {};
    if (!error) wrong.push(`${name} was not refused: ${JSON.stringify(answer).slice(0, 300)}`);
  } catch (error) {
    wrong.push(`${name}: ${error.message}`);
  }
}
await client.close();
console.log(wrong.length ? wrong.join("\n") : `${tools.length} tools were refused in words`);
process.exit(wrong.length ? 1 : 0);
