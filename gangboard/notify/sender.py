"""A process that sends one message. It reads an order from standard input and prints the result.

The worker ends the process after its deadline, so neither a receiver nor a library can hang the worker. It
has no database and no keys, connects to allowed addresses only, receives at most 64 KiB, and writes no file.
"""

from __future__ import annotations

import json
import logging
import resource
import smtplib
import sys
from ipaddress import ip_network
from typing import Any

from gangboard.notify import addresses

MOST_RECEIVED = 64 * 1024
MOST_MEMORY = 2**30
SECONDS = 8.0
"""For one connection and each wait on it. The worker's deadline for the whole is a little later."""
LOCAL = frozenset(
    {*("blink1", "dbus", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"), "deltachat"}
)
"""Services of apprise that use the local machine."""

Answer = dict[str, Any]


def answer(sentence: str = "", *, final: bool = False, service: str = "") -> Answer:
    """Return the result to print. Without a sentence the message was delivered.

    `final` means that retrying the same message is useless.
    """
    return {"ok": not sentence, "sentence": sentence, "final": final, "service": service}


def main() -> None:
    """Carry out the order on standard input."""
    order = json.load(sys.stdin)
    logging.disable(logging.CRITICAL)  # Libraries log addresses with secrets.
    _limit_process()
    addresses.guard_connections([ip_network(network) for network in order["networks"]])
    addresses.limit_answers(MOST_RECEIVED)
    work = {"check": check, "apprise": send_by_apprise, "webhook": send_webhook}[order["do"]]
    json.dump(work(order), sys.stdout)


def _limit_process() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def check(order: Answer) -> Answer:
    """Return the service name of an apprise address, or a sentence about its fault."""
    service = _service(order["address"])
    if isinstance(service, str):
        return answer(service)
    return answer(service=str(service.service_name))


def send_by_apprise(order: Answer) -> Answer:
    """Send title and body to an apprise address."""
    import apprise
    import requests

    service = _service(order["address"])
    if isinstance(service, str):
        return answer(service, final=True)
    codes: list[int] = []
    problems: list[str] = []
    _record_responses(requests.adapters.HTTPAdapter, codes, problems)
    mail_codes = _record_mail_codes()
    service.socket_connect_timeout = service.socket_read_timeout = SECONDS
    sent = service.notify(
        body=order["body"], title=order["title"], body_format=apprise.NotifyFormat.TEXT
    )
    if sent:
        return answer()
    return _failure(codes, mail_codes, problems)


def _service(address: str) -> Any:
    """Return the service of an apprise address, or a sentence why there is none."""
    import apprise

    asset = apprise.AppriseAsset(
        app_id="gangboard",
        app_desc="gangboard",
        app_url="",
        http_redirects=False,
        storage_mode=apprise.PersistentStoreMode.MEMORY,
        async_mode=False,
    )
    try:
        service = apprise.Apprise.instantiate(address, asset=asset, suppress_exceptions=True)
    except (OSError, ValueError, TypeError):  # A plugin with its own validation.
        service = None
    if service is None:
        return "Apprise does not know this address: see the list of its services."
    if type(service).__module__.split(".")[2] in LOCAL or not service.enabled:
        return "This service is not available here."
    return service


def _record_responses(adapter: Any, codes: list[int], problems: list[str]) -> None:
    """Record the status and the error of each request, which apprise hides."""
    plain_send = adapter.send

    def send(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            response = plain_send(self, *arguments, **options)
        except Exception as error:
            problems.append(_cause_sentence(error))
            raise
        codes.append(response.status_code)
        return response

    adapter.send = send


def _record_mail_codes() -> list[int]:
    codes: list[int] = []
    plain_getreply = smtplib.SMTP.getreply

    def getreply(self: smtplib.SMTP) -> tuple[int, bytes]:
        code, text = plain_getreply(self)
        codes.append(code)
        return code, text

    smtplib.SMTP.getreply = getreply  # type: ignore[method-assign]
    return codes


def _failure(codes: list[int], mail_codes: list[int], problems: list[str]) -> Answer:
    if special := _special_failure():
        return answer(special)
    if codes and codes[-1] >= 300:
        return _refusal_answer(codes[-1])
    if mail_codes and mail_codes[-1] >= 400:
        return answer(f"The mail server refused the message with {mail_codes[-1]}.")
    return answer(problems[-1] if problems else "The service did not take the message.")


def _special_failure() -> str:
    if addresses.refused:
        return (
            f"Its address is {addresses.refused[0]}, which is not public; the setting "
            "GANGBOARD_NOTIFY_NETWORKS can allow it."
        )
    if addresses.too_large:
        return "The receiver answered with more than 64 KiB."
    return ""


def _refusal_answer(status: int) -> Answer:
    if status < 400:
        return answer(f"The receiver answered with a redirect ({status}), which is not followed.")
    final = status < 500 and status not in (408, 425, 429)
    return answer(f"The receiver answered with {status}.", final=final)


def send_webhook(order: Answer) -> Answer:
    """Post a signed body to the address of a webhook."""
    import urllib3

    pool = urllib3.PoolManager(
        retries=False, timeout=urllib3.Timeout(connect=SECONDS, read=SECONDS)
    )
    try:
        response = pool.request(
            "POST",
            order["address"],
            body=order["body"].encode(),
            headers=order["headers"],
            redirect=False,
            preload_content=False,
        )
        response.close()  # The status is enough.
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        return answer(_special_failure() or _cause_sentence(error))
    return answer() if response.status < 300 else _refusal_answer(response.status)


def _cause_sentence(error: BaseException) -> str:
    """Return the cause of an error, derived from exception types, because exception texts contain addresses."""
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None and len(names) < 20:
        names.update(error_class.__name__ for error_class in type(cause).__mro__)
        nested = [argument for argument in cause.args if isinstance(argument, BaseException)]
        reason = getattr(cause, "reason", None)
        nested += [reason] if isinstance(reason, BaseException) else []
        cause = nested[0] if nested else cause.__cause__ or cause.__context__
    if names & {"NameResolutionError", "gaierror"}:
        return "The name of the receiver cannot be resolved."
    if names & {"SSLError", "SSLCertVerificationError"}:
        return "The certificate of the receiver cannot be verified."
    if names & {"NewConnectionError", "ConnectionRefusedError"}:
        return "The receiver cannot be reached."
    if names & {
        "ConnectTimeoutError",
        "ConnectTimeout",
        "ReadTimeoutError",
        "ReadTimeout",
        "TimeoutError",
    }:
        return "The receiver did not answer in time."
    return "The connection to the receiver failed."


if __name__ == "__main__":
    main()
