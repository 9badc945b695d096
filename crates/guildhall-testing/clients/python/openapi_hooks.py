"""What the fuzzer of the OpenAPI description is told of a server beyond that description.

Names drawn at random meet nothing, so every other case gets names of things that are there: GUILDHALL_TEST_KNOWN is an
object of lists, by the name of the argument or parameter. Which case gets which is told by its own content, so that a
run can be repeated.
"""

import json
import os
import zlib

import schemathesis

KNOWN = json.loads(os.environ["GUILDHALL_TEST_KNOWN"])


def named(values):
    """`values` with known names in place of half of those that can be known."""
    if not isinstance(values, dict):
        return values
    chance = zlib.crc32(json.dumps(values, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))
    result = dict(values)
    for place, name in enumerate(sorted(values)):
        draw = chance >> place
        if name in KNOWN and draw % 2 == 0:
            result[name] = KNOWN[name][(draw // 2) % len(KNOWN[name])]
    return result


@schemathesis.hook
def map_body(context, body):
    return named(body)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    return named(path_parameters)


@schemathesis.serializer("application/x-git-upload-pack-request")
def git_request(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
