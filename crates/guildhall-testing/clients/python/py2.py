"""The Python SDK: the same walk over the local pack's tools as `walk.mjs`, and the same one line of JSON.

Called as `py2.py [--era legacy|auto] [--restart] http <url> <token>` or `... stdio <command> [argument ...]`.
"""

import argparse
import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TOOLS = ["local_comment", "local_create_issue", "local_query", "local_read_issue", "local_update_status"]


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def text(result):
    check(len(result.content) == 1, "a result has one content block")
    check(result.content[0].type == "text", "the content block is text")
    return result.content[0].text


async def success(client, name, arguments):
    result = await client.call_tool(name, arguments)
    check(not result.is_error, f"{name}: {result.content}")
    check(json.loads(text(result)) == result.structured_content, f"{name}: text and structured content differ")
    return result.structured_content


async def failure(client, name, arguments):
    result = await client.call_tool(name, arguments)
    check(result.is_error, f"{name} must fail for {arguments}")
    check(result.structured_content is None, "a failure has no structured content")
    message = json.loads(text(result))["error"]["message"]
    check(message, "a failure says why")
    return message


async def walk(client, restart):
    tools = (await client.list_tools()).tools
    check(sorted(tool.name for tool in tools) == TOOLS, f"tools are {[tool.name for tool in tools]}")
    for tool in tools:
        check(tool.description, f"{tool.name} has no description")
        check(tool.input_schema["type"] == "object", f"{tool.name} takes no object")
        check(tool.output_schema["type"] == "object", f"{tool.name} does not say what it returns")

    calls = []

    async def call(name, arguments):
        seen = await success(client, name, arguments)
        calls.append({"name": name, "structured": seen})
        return seen

    title = "Seen by py2"
    created = await call("local_create_issue", {"title": title, "body": "Made by an interop test"})
    issue_id = created["issue"]["id"]
    check(created["issue"]["state"] == "Todo", "a new issue is Todo")

    moved = await call("local_update_status", {"issueId": issue_id, "status": "In Progress"})
    check(moved["issue"]["state"] == "In Progress", "the status was not changed")

    commented = await call("local_comment", {"issueId": issue_id, "body": "A first comment"})
    check(commented == {"ok": True}, f"a comment answers {commented}")

    read = await call("local_read_issue", {"issueId": issue_id})
    check(read["issue"]["title"] == title, "the title was not kept")
    check(read["issue"]["status"] == "In Progress", "the status was not kept")
    check("Made by an interop test" in read["issue"]["description"], "the description was not kept")
    check("A first comment" in json.dumps(read["comments"]), "the comment was not kept")

    queried = await call("local_query", {"where": {"field": "id", "op": "eq", "value": issue_id}})
    check(queried["total"] == 1, f"the query found {queried['total']} issues")
    check(queried["rows"][0]["title"] == title, "the query found another issue")

    refused = await failure(client, "local_read_issue", {"issueId": "NO-SUCH-ISSUE"})

    if restart:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        again = await success(client, "local_read_issue", {"issueId": issue_id})
        check(again["issue"]["title"] == title, "after the restart the issue is gone")
        calls.append({"name": "local_read_issue", "structured": again})

    server = client.server_info
    return {
        "client": "py2",
        "server": server and server.model_dump(exclude_none=True),
        "protocol": client.protocol_version,
        "tools": TOOLS,
        "calls": calls,
        "refused": refused,
    }


async def connected(server, given):
    """Walks over one connection. What failed is raised only after the connection is closed, so that it is reported by
    itself and not inside the client's task groups."""
    failed = None
    async with Client(server, mode=given.era) as client:
        try:
            print(json.dumps(await walk(client, given.restart)), flush=True)
        except Exception as error:
            failed = error
    if failed:
        raise SystemExit(f"py2: {failed!r}")


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["legacy", "auto"], default="auto")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("transport", choices=["http", "stdio"])
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args()

    if given.transport == "stdio":
        command, *arguments = given.rest
        await connected(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)), given)
        return
    url, token = given.rest
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
        await connected(streamable_http_client(url, http_client=http), given)


asyncio.run(main())
