"""`suspend`, `resume` and `relocate`: ask for an action, and wait until it was seen to hold."""

from __future__ import annotations

import uuid
from argparse import Namespace
from typing import cast

from gangboard_client import clock
from gangboard_client.clock import read_end, read_span
from gangboard_client.context import Context
from gangboard_client.errors import NotReachedError, RefusedError, UsageError
from gangboard_client.gangs import find_gang, find_job, read_address, read_gang
from gangboard_client.output import Output
from gangboard_client.schema import Action, ActionRequest, Avoid, Plan, TargetRequest
from gangboard_client.transport import Server

DONE = "verified"
NOT_KNOWN = "unknown"
LOOK_SECONDS = 1.0
JOB = ("batch", "Job")
_MAYBE = (
    "It may have taken the request: the same command with --idempotency-key {key} acts only once."
)


def act(context: Context, args: Namespace) -> int:
    """Ask for the action of `args.verb`; return its exit code.

    Without --wait 0 says that the request was taken, with --wait that the change was seen to hold.
    """
    span = read_span(args.timeout)
    target, until = _target(context.server, args)
    body: ActionRequest = {"verb": args.verb, "target": target, "reason": args.reason or ""}
    if until:
        body["until"] = until
    if args.verb == "relocate":
        body["avoid"] = _avoid(args)
    if args.dry_run:
        return _plan(context, body)
    key = args.idempotency_key or uuid.uuid4().hex
    action = _request(context.server, body, key)
    if args.wait:
        context.server.deadline = clock.monotonic() + span.total_seconds()
        return _wait(context, action, context.server.deadline)
    if context.output.as_json:
        context.output.json(action)
    else:
        context.output.line(f"Taken, not done yet: action {action['id']} is {action['state']}.")
        _warn(context.output, action)
    return 0


def _avoid(args: Namespace) -> Avoid:
    """Return the place that a relocated Job leaves. Raises UsageError unless exactly one kind is named."""
    if bool(args.node) + bool(args.domain) + args.all_nodes != 1:
        raise UsageError("Name the place to leave: --node, --domain, or --all-nodes.")
    if args.node:
        return {"nodes": args.node}
    if not args.domain:
        return {}
    key, equals, value = args.domain.partition("=")
    if not (key and equals and value):
        raise UsageError(f"--domain {args.domain} is not KEY=VALUE.")
    return {"topology": {key: value}}


def _request(server: Server, body: ActionRequest, key: str) -> Action:
    """Send the request. An error says how to repeat it if the server may have taken it all the same."""
    try:
        return cast("Action", server.ask("request_action", body=body, key=key).data)
    except NotReachedError as error:
        raise NotReachedError(f"{error} {_MAYBE.format(key=key)}") from error
    except RefusedError as error:
        if error.is_passing:
            raise NotReachedError(f"{error} {_MAYBE.format(key=key)}") from error
        if error.action_id:
            raise UsageError(f"{error} That is action {error.action_id}.") from error
        raise


def _target(server: Server, args: Namespace) -> tuple[TargetRequest, str]:
    """Return the object as it is seen now, and the end of the Hold by the server's clock."""
    found = find_gang(server, read_address(args.gang))
    until = read_end(args.until, found.now) if args.until else ""
    gang = found.gang
    place = {"cluster": gang["cluster"], "namespace": gang["namespace"]}
    if not args.job:
        names = {name: gang[name] for name in ("api_group", "kind", "name", "uid", "generation")}
        return cast("TargetRequest", {**place, **names}), until
    job = find_job(read_gang(server, gang["id"]), args.job)
    group, kind = JOB
    names = {name: job[name] for name in ("name", "uid", "generation")}
    return cast("TargetRequest", {**place, "api_group": group, "kind": kind, **names}), until


def _plan(context: Context, body: ActionRequest) -> int:
    """Print the plan; return 0 if it is allowed, 1 if not."""
    answer = context.server.ask("request_action", query={"dry_run": "true"}, body=body)
    plan = cast("Plan", answer.data)
    output = context.output
    if output.as_json:
        output.json(plan)
    elif not plan["allowed"]:
        output.line(" ".join(text for text in (plan["why_not"], plan["needs"]) if text))
    else:
        output.line(f"Nothing was sent. Lever: {plan['lever']}")
        for step in plan["steps"]:
            output.line(f"  {step['method']} {step['path']} {step['patch']}")
        for text in (*plan["warnings"], *plan["reactions"]):
            output.line(f"  {text}")
    return 0 if plan["allowed"] else 1


def _wait(context: Context, action: Action, deadline: float) -> int:
    """Look at the action until it is final; return 0 if it was verified, 2 if nobody knows, else 1."""
    output, state = context.output, ""
    while True:
        if action["state"] != state:
            state = action["state"]
            output.note(f"{state}: {action['message']}")
        if action["final"]:
            return _end(output, action)
        left = deadline - clock.monotonic()
        if left <= 0:
            output.note(
                f"Time is up: action {action['id']} is {state}, which is not its last state."
            )
            if output.as_json:
                output.json(action)
            return 2
        clock.sleep(min(LOOK_SECONDS, left))
        action = _look(context, action)


def _look(context: Context, action: Action) -> Action:
    """Return the action as it is now, or as it was if the server does not answer for a while."""
    try:
        answer = context.server.ask("get_action", action["id"])
    except NotReachedError as error:
        context.output.note(str(error))
        return action
    except RefusedError as error:
        if not error.is_passing:
            raise
        context.output.note(str(error))
        return action
    return cast("Action", answer.data)


def _end(output: Output, action: Action) -> int:
    if output.as_json:
        output.json(action)
    else:
        target = action["target"]
        output.line(f"{action['label']}: {target['kind']} {target['name']}. {action['message']}")
        _warn(output, action)
    if action["state"] == DONE:
        return 0
    return 2 if action["state"] == NOT_KNOWN else 1


def _warn(output: Output, action: Action) -> None:
    for warning in action["warnings"]:
        output.note(warning)
