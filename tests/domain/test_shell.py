"""Commands to copy, with names from a cluster."""

import pytest

from gangboard.domain.shell import command, command_line, in_context, is_safe_in_shell


@pytest.mark.parametrize("name", ["main", "train-0", "n1.example", "A_b"])
def test_kubernetes_names_are_safe_in_a_shell(name: str) -> None:
    assert is_safe_in_shell("team-a", name)


@pytest.mark.parametrize(
    "name", ["", "$(x)", "`x`", "a b", "a;b", "a\nb", "a\n", "-o", "--all", "a'b", "a/b", "*", "é"]
)
def test_unsafe_names_are_rejected(name: str) -> None:
    assert not is_safe_in_shell("team-a", name)


def test_command_is_empty_if_a_name_is_unsafe() -> None:
    assert command("kubectl logs -n {} {} --previous", "ml", "run-0") == (
        *("kubectl", "logs", "-n", "ml", "run-0", "--previous"),
    )
    assert command("kubectl logs -n {} {}", "ml", "run-0; reboot") == ()
    assert command("kubectl uncordon {} {}", "n1", "-rf") == ()
    # The text between names is ours. A quoted word stays one word.
    assert command_line(("kubectl", "x y")) == "kubectl 'x y'"


@pytest.mark.parametrize(
    ("context", "line"),
    [
        ("sim-west", "kubectl --context sim-west get pods"),
        ("admin@prod", "kubectl --context admin@prod get pods"),
        ("a b; rm -rf /", "kubectl --context 'a b; rm -rf /' get pods"),
        ("$(id)", "kubectl --context '$(id)' get pods"),
        ("", "kubectl get pods"),
        ("--server=evil", "kubectl get pods"),
        ("a\nb", "kubectl get pods"),
    ],
)
def test_command_has_the_context_of_its_cluster(context: str, line: str) -> None:
    assert command_line(in_context(command("kubectl get pods"), context)) == line


def test_unknown_commands_get_no_context() -> None:
    words = command("vcctl queue operate -a open -n {}", "research")
    assert in_context(words, "prod") == words
