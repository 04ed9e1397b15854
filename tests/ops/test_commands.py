"""Each command as an operator types it: its output, exit code and database rows."""

import json
import os
import re
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from gangboard.store import authentication, people
from gangboard.store.models import Cluster, Grant, SignInLink
from simulator import Simulator
from tests.ops.kubeconfigs import jwt, write_kubeconfig


def run(*arguments: Any) -> tuple[str, str]:
    """Standard output and standard error of the command."""
    out, err = StringIO(), StringIO()
    call_command(*arguments, stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def refused(*arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert caught.value.returncode == 1
    return str(caught.value)


# --- create_user, create_token


def press(client: Client, link: str) -> int:
    """Press the button on the page of a sign-in link; return the status."""
    return client.post(
        "/sign-in/link/", {"secret": link.rstrip("/").rpartition("/")[2]}
    ).status_code


@pytest.mark.django_db
def test_create_user_prints_a_link_that_signs_in_once() -> None:
    out, _ = run("create_user", "ada", "--role", "viewer")
    link = out.splitlines()[-1]
    assert out.splitlines()[0] == "ada is viewer of everything."
    assert link.startswith("http://127.0.0.1:8000/sign-in/link/")
    client = Client()
    assert client.get(link.removeprefix("http://127.0.0.1:8000")).status_code == 200
    assert press(client, link) == 302
    assert client.get("/api/v1/gangs/").status_code == 200
    assert press(Client(), link) == 403


@pytest.mark.django_db
def test_create_user_again_adds_the_role_and_prints_another_link(tmp_path: Path) -> None:
    run("add_cluster", "east", "--kubeconfig", write_kubeconfig(tmp_path / "k"), "--without-trying")
    first, _ = run("create_user", "ada", "--role", "viewer")
    second, _ = run(
        "create_user", "ada", "--role", "admin", "--cluster", "east", "--namespace", "team-a"
    )
    assert second.splitlines()[0] == "ada is admin of team-a on east."
    assert first.splitlines()[-1] != second.splitlines()[-1]
    assert "ada had an account already. This is a new link." in second.splitlines()
    assert "already" not in first
    grants = Grant.objects.values_list("user__username", "role", "cluster__name", "namespace")
    assert sorted(grants, key=str) == [
        ("ada", "admin", "east", "team-a"),
        ("ada", "viewer", None, ""),
    ]


@pytest.mark.django_db
def test_links_use_the_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PUBLIC_URL", "https://gangs.example/")
    out, _ = run("create_user", "ada", "--role", "viewer")
    assert out.splitlines()[-1].startswith("https://gangs.example/sign-in/link/")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("ways", "sentence"),
    [
        (("password",), "manage.py changepassword ada gives a password."),
        ((), "only the identity provider or the proxy signs people in."),
    ],
)
def test_create_user_reports_disabled_links(
    monkeypatch: pytest.MonkeyPatch, ways: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.setattr(settings, "LOCAL_SIGN_IN", ways)
    out, _ = run("create_user", "ada", "--role", "viewer")
    assert "GANGBOARD_LOCAL_SIGN_IN switches sign-in links off" in out
    assert out.splitlines()[-1].endswith(sentence)
    assert SignInLink.objects.count() == 0


@pytest.mark.django_db
def test_groups_get_and_lose_roles() -> None:
    assert run("list_group_roles")[0] == "No group has a role. manage.py grant_group gives one.\n"
    text = "operator of team-a on every cluster"
    command = ("ml", "--role", "operator", "--namespace", "team-a")
    assert run("grant_group", *command)[0] == f"Members of group ml are {text} from now on.\n"
    assert run("grant_group", *command)[0] == f"Members of group ml are {text} already.\n"
    run("grant_group", "ml", "--role", "viewer")
    everywhere = "viewer of everything"
    assert run("list_group_roles")[0] == f"ml: {everywhere}\nml: {text}\n"
    assert run("revoke_group", *command)[0] == (
        f"Members of group ml are no longer {text}.\nMembers of group ml are still {everywhere}.\n"
    )
    assert refused("revoke_group", *command) == f"group 'ml' is not {text}; it is: {everywhere}"
    assert refused("grant_group", "ml", "--role", "viewer", "--cluster", "east") == (
        "there is no cluster 'east'; the clusters are: none"
    )


@pytest.mark.django_db
def test_create_user_refuses_in_one_sentence() -> None:
    assert refused("create_user", "ada", "--role", "viewer", "--cluster", "east") == (
        "there is no cluster 'east'; the clusters are: none"
    )
    assert "invalid choice: 'god'" in refused("create_user", "ada", "--role", "god")
    assert people.find_user(name="ada") is None


@pytest.mark.django_db
@pytest.mark.parametrize("act", [False, True])
def test_create_token_prints_the_token_alone(act: bool) -> None:
    run("create_user", "ada", "--role", "operator", "--namespace", "team-a")
    out, err = run("create_token", "ada", "--days", "7", *(["--act"] if act else []))
    assert len(out.splitlines()) == 1
    known = authentication.find_token(out.strip())
    assert known is not None
    assert (known.user.username, known.may_act) == ("ada", act)
    assert err.strip() == f"Token of ada, {'may act' if act else 'read-only'}, for 7 days:"


@pytest.mark.django_db
def test_create_token_refuses_in_one_sentence() -> None:
    assert refused("create_token", "ada") == (
        "there is no user 'ada'; create one with manage.py create_user"
    )
    run("create_user", "ada", "--role", "viewer")
    assert "from 1 to 366 days" in refused("create_token", "ada", "--days", "1000")
    assert refused("create_token", "ada", "--act").startswith("ada has no permission to act")


# --- revoke_token, remove_role, disable_user


@pytest.mark.django_db
def test_revoke_token_ends_one_token_or_all_of_a_user() -> None:
    run("create_user", "ada", "--role", "viewer")
    first, second, third = (run("create_token", "ada")[0].strip() for _ in range(3))
    assert run("revoke_token", first)[0] == "A token of ada was revoked.\n"
    assert authentication.find_token(first) is None
    assert authentication.find_token(second) is not None
    assert run("revoke_token", "--user", "ada")[0] == "Tokens of ada that were revoked: 2.\n"
    assert (authentication.find_token(second), authentication.find_token(third)) == (None, None)
    assert refused("revoke_token", first) == (
        "there is no such token: it was revoked already, or it is of another gangboard"
    )
    assert refused("revoke_token", "--user", "eve") == (
        "there is no user 'eve'; the users are: ada"
    )
    assert "one of the arguments token --user is required" in refused("revoke_token")


@pytest.mark.django_db
def test_remove_role_prints_the_remaining_roles() -> None:
    run("create_user", "ada", "--role", "viewer")
    run("create_user", "ada", "--role", "operator", "--namespace", "team-a")
    assert run("remove_role", "ada", "--role", "operator", "--namespace", "team-a")[0] == (
        "ada is no longer operator of team-a on every cluster.\n"
        "ada is still viewer of everything.\n"
    )
    assert run("remove_role", "ada", "--role", "viewer")[0] == (
        "ada is no longer viewer of everything.\nada has no role any more, and sees nothing.\n"
    )
    assert refused("remove_role", "ada", "--role", "viewer") == (
        "ada is not viewer of everything; ada is: nothing"
    )


@pytest.mark.django_db
def test_disable_user_ends_sessions_and_tokens_until_create_user() -> None:
    link = run("create_user", "ada", "--role", "viewer")[0].splitlines()[-1]
    client = Client()
    assert press(client, link) == 302
    token = run("create_token", "ada")[0].strip()
    assert run("disable_user", "ada")[0] == (
        "ada is disabled: sessions, password, sign-in links, tokens and roles have ended.\n"
    )
    assert client.get("/").headers["Location"] == "/sign-in/"
    assert authentication.find_token(token) is None
    assert "the account of ada is disabled" in refused("create_token", "ada")
    link = run("create_user", "ada", "--role", "viewer")[0].splitlines()[-1]
    assert press(Client(), link) == 302
    assert client.get("/").status_code == 302, "the old session does not come back"
    assert refused("disable_user", "eve") == "there is no user 'eve'; the users are: ada"


# --- list_users, list_tokens, list_roles, list_clusters


@pytest.mark.django_db
def test_empty_lists_have_a_message() -> None:
    for name in ("users", "tokens", "roles", "clusters"):
        assert "manage.py" in run(f"list_{name}")[0]
        assert json.loads(run(f"list_{name}", "--json")[0]) == []


@pytest.mark.django_db
def test_users_roles_and_tokens_are_listed(tmp_path: Path) -> None:
    run("add_cluster", "east", "--kubeconfig", write_kubeconfig(tmp_path / "k"), "--without-trying")
    run("create_user", "vera", "--role", "viewer", "--cluster", "east", "--namespace", "research")
    run("create_user", "ada", "--role", "admin")
    run("create_token", "vera")
    token = run("create_token", "ada", "--act")[0].strip()
    users = json.loads(run("list_users", "--json")[0])
    assert [(user["name"], user["tokens"], user["rights"]) for user in users] == [
        ("ada", 1, ["may see everything, may act and administer"]),
        ("vera", 1, ["may see research on east, may not act"]),
    ]
    heading, ada, vera = run("list_users")[0].splitlines()
    texts = "NAME ROLES GROUPS LAST SEEN TOKENS SESSIONS ACCOUNT"
    assert " ".join(heading.split()) == texts
    assert ada.startswith("ada   may see everything, may act and administer")
    assert "may see research on east, may not act" in vera
    assert json.loads(run("list_roles", "--json")[0]) == [
        {"name": "ada", "role": "admin", "cluster": None, "namespace": None, "origin": "hand"},
        {
            "name": "vera",
            "role": "viewer",
            "cluster": "east",
            "namespace": "research",
            "origin": "hand",
        },
    ]
    first, _ = json.loads(run("list_tokens", "--json")[0])
    assert (first["owner"], first["may_act"]) == ("ada", True)
    assert first["id"] == token.rpartition("_")[0]
    secret = token.rpartition("_")[2]
    assert secret not in run("list_tokens")[0] + run("list_tokens", "--json")[0]


@pytest.mark.django_db
def test_clusters_are_listed(tmp_path: Path) -> None:
    run("add_cluster", "east", "--kubeconfig", write_kubeconfig(tmp_path / "k"), "--without-trying")
    (cluster,) = json.loads(run("list_clusters", "--json")[0])
    assert (cluster["name"], cluster["contact_at"]) == ("east", None)
    heading, east = run("list_clusters")[0].splitlines()
    assert heading.split()[:2] == ["CLUSTER", "SERVER"]
    assert east.startswith("east")


# --- clusters


@pytest.mark.django_db
def test_add_cluster_needs_no_reachable_cluster(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", user={"token": jwt(1_900_000_000)})
    out, err = run("add_cluster", "east", "--kubeconfig", kubeconfig, "--without-trying")
    assert out.splitlines() == [
        "Cluster east at https://127.0.0.1:1 is watched from now on.",
        "These credentials expire at 2030-03-17 17:46 UTC.",
    ]
    assert err == ""
    assert Cluster.objects.get().name == "east"


@pytest.mark.django_db
def test_add_cluster_again_renews_the_credentials_of_the_same_server(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k")
    run("add_cluster", "east", "--kubeconfig", kubeconfig, "--without-trying")
    before = bytes(Cluster.objects.get().credentials)
    out, _ = run("add_cluster", "east", "--kubeconfig", kubeconfig, "--without-trying")
    assert out == "Cluster east at https://127.0.0.1:1 has new credentials.\n"
    assert bytes(Cluster.objects.get().credentials) != before
    another = write_kubeconfig(tmp_path / "other", server="https://elsewhere")
    assert refused("add_cluster", "east", "--kubeconfig", another) == (
        "cluster east is at https://127.0.0.1:1 and the new credentials are for https://elsewhere; "
        "choose another name, or run manage.py remove_cluster east first"
    )


@pytest.mark.django_db
def test_add_cluster_refuses_unusable_kubeconfigs(tmp_path: Path) -> None:
    good = write_kubeconfig(tmp_path / "good")
    program = write_kubeconfig(tmp_path / "exec", user={"exec": {"command": "aws"}})
    assert "cannot be the name of a cluster" in refused(
        "add_cluster", "East_1", "--kubeconfig", good
    )
    assert "There is no context prod; there are: dev." in refused(
        "add_cluster", "east", "--kubeconfig", good, "--context", "prod"
    )
    assert "runs a program to log in (exec)" in refused(
        "add_cluster", "east", "--kubeconfig", program
    )
    assert "does not exist" in refused("add_cluster", "east", "--kubeconfig", tmp_path / "none")
    assert not Cluster.objects.exists()


@pytest.mark.django_db
def test_remove_cluster_deletes_the_cluster(tmp_path: Path) -> None:
    run("add_cluster", "east", "--kubeconfig", write_kubeconfig(tmp_path / "k"), "--without-trying")
    assert run("remove_cluster", "east")[0] == "Cluster east is no longer watched.\n"
    assert not Cluster.objects.exists()
    assert refused("remove_cluster", "east") == "there is no cluster 'east'; the clusters are: none"


# --- print_settings, and an installation with only DATABASE_URL


def manage(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py in a process of its own, with no variables but these."""
    stored = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-W", "error", "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env={**stored, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_print_settings_names_every_variable_and_hides_secrets(tmp_path: Path) -> None:
    done = manage(
        "print_settings",
        GANGBOARD_STATE=str(tmp_path),
        DATABASE_URL="postgresql://gangboard:sesame@db/gangboard",
        REDIS_URL="redis://:sesame@redis:6379/0",
        GANGBOARD_SECRET_KEY="sesame-open" * 10,
        GANGBOARD_POLL_SLOTS="3",
    )
    assert done.returncode == 0, done.stderr
    assert "sesame" not in done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert "DATABASE_URL=postgresql://gangboard:(hidden)@db/gangboard  (set)" in lines
    assert "REDIS_URL=redis://:(hidden)@redis:6379/0  (set)" in lines
    assert "GANGBOARD_SECRET_KEY=(hidden)  (set)" in lines
    assert "GANGBOARD_POLL_SLOTS=3  (set)" in lines
    assert "GANGBOARD_HTTPS=off  (default)" in lines
    printed = {line.partition("=")[0] for line in lines}
    source = "\n".join(path.read_text() for path in Path(settings.BASE_DIR).glob("gangboard/*.py"))
    for name in printed:
        assert f'"{name}"' in source
    assert len(re.findall(r"\b(?:env|keys)\.read_", source)) == len(printed)


@pytest.mark.parametrize("variable", ["DATABASE_URL", "REDIS_URL"])
@pytest.mark.parametrize("address", ["{scheme}://u:ses/ame@h/0", "{scheme}://u:1/ses@h/0", "ses"])
def test_an_unparsable_database_url_ends_the_process_without_its_password(
    tmp_path: Path, variable: str, address: str
) -> None:
    scheme = "redis" if variable == "REDIS_URL" else "postgresql"
    value = address.format(scheme=scheme)
    done = manage("check", GANGBOARD_STATE=str(tmp_path), **{variable: value})
    assert done.returncode == 1
    assert done.stderr.startswith(f"gangboard cannot go on: {variable} ")
    assert len(done.stderr.splitlines()) == 1
    assert not re.search(r"'ses|ses/|ses@", done.stderr)


def test_an_installation_needs_only_a_database(tmp_path: Path) -> None:
    env = {
        "DATABASE_URL": f"sqlite:///{tmp_path}/db/gangs.sqlite3",
        "GANGBOARD_STATE": str(tmp_path / "state"),
    }
    kubeconfig = write_kubeconfig(tmp_path / "k")
    for arguments in (
        ["migrate"],
        ["create_user", "ada", "--role", "admin"],
        ["add_cluster", "east", "--kubeconfig", str(kubeconfig), "--without-trying"],
    ):
        done = manage(*arguments, **env)
        assert done.returncode == 0, done.stderr
    # The second process has read the key that the first has made.
    polled = manage("poll", "--once", **env)
    assert polled.returncode == 1
    assert polled.stdout.startswith("east: not read: ")
    assert "could not read east" in polled.stderr
    for name in ("secret_key", "encryption_key"):
        assert stat.S_IMODE((tmp_path / "state" / name).stat().st_mode) == 0o600


@pytest.mark.django_db
def test_poll_refuses_an_unknown_cluster() -> None:
    assert "there is no cluster named 'north'" in refused("poll", "--once", "--cluster", "north")
    assert "There is no cluster to poll" in run("poll", "--once")[0]
    assert "arguments are required: --once" in refused("poll")


@pytest.mark.django_db
def test_poll_prints_one_line(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with Simulator(fleet="west", story=False, hold=False) as simulator:
        kubeconfig.write_text(simulator.kubeconfig_text(read_only=True))
        run("add_cluster", "west", "--kubeconfig", kubeconfig)
        printed, _ = run("poll", "--once", "--cluster", "west")
    assert re.fullmatch(
        r"west: ok, \d+ resources read, \d+ objects, [1-9]\d* gangs, 0 problems, in \d+\.\d s\n",
        printed,
    ), printed
