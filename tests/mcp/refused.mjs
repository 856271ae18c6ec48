// Has every tool refuse something, through the official client in TypeScript: the reason has to reach its caller.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, program] = process.argv.slice(2);
const resolve = createRequire(join(modules, "x")).resolve;
const load = (name) => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const refused = JSON.parse(readFileSync(new URL("refused.json", import.meta.url), "utf8"));

const client = new Client({ name: "test", version: "1" });
const transport = new StdioClientTransport({ command: program, args: ["mcp"], env: process.env, stderr: "ignore" });
await client.connect(transport);
const { tools } = await client.listTools();
const wrong = [];
for (const { name } of tools) {
  try {
    for (const given of [refused[name], { nonsense: 1 }]) {
      const answer = await client.callTool({ name, arguments: given });
      const { error, suggestion } = answer.isError ? JSON.parse(answer.content[0].text) : {};
      if (!error) wrong.push(`${name} was not refused: ${JSON.stringify(answer).slice(0, 300)}`);
      if (given.nonsense && !error?.includes("`nonsense`")) wrong.push(`${name} takes nonsense: ${error}`);
      // What is advised is a call of a tool, never a command.
      if (/--\w|`tm /.test(`${error} ${suggestion}`)) wrong.push(`${name}: ${error}: ${suggestion}`);
    }
  } catch (error) {
    wrong.push(`${name}: ${error.message}`);
  }
}
await client.close();
console.log(wrong.length ? wrong.join("\n") : `${tools.length} tools were refused in words`);
process.exit(wrong.length ? 1 : 0);
