"""Does a task with the official Python client of MCP, by following autopilot_next alone. The argument is tm."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def work(action, subtask):
    name = subtask.replace(".", "_")
    if action == "red":
        with open(f"t/part_{name}.t", "w", encoding="utf-8") as file:
            file.write(f". t/check.sh\ncheck '{name} works' '{name}' \"$(sh bin/part_{name} 2>/dev/null)\"\n")
    elif action == "green":
        os.makedirs("bin", exist_ok=True)
        with open(f"bin/part_{name}", "w", encoding="utf-8") as file:
            file.write(f"echo {name}\n")


async def main(program):
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()

        async def call(name, **arguments):
            result = await session.call_tool(name, arguments)
            is_error = getattr(result, "isError", getattr(result, "is_error", False))
            content = getattr(result, "structuredContent", getattr(result, "structured_content", None))
            if is_error:
                raise RuntimeError(f"{name}: {result.content[0].text}")
            return content

        await call("autopilot_start", taskId="1")
        steps = 0
        while True:
            step = await call("autopilot_next")
            action, subtask = step["action"], (step["subtask"] or {}).get("id")
            if action == "complete":
                print(f"complete after {steps} steps")
                return
            steps += 1
            work(action, subtask or "")
            if action in ("red", "green"):
                counts = {"passed": 0, "failed": 1} if action == "red" else {"passed": 1, "failed": 0}
                await call("autopilot_complete_phase", phase=action, subtaskId=subtask, testResults=counts)
            elif action == "commit":
                await call("autopilot_commit", subtaskId=subtask)
            else:
                await call("autopilot_finalize", testResults={"passed": 4, "failed": 0})


asyncio.run(main(sys.argv[1]))
