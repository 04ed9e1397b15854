"""Start a gangboard, run the attacks on it, print a line of JSON for each; end with 1 when one got through."""

import sys

from tests.attack.asking import started
from tests.attack.found import attacks, run


def main(names: list[str]) -> int:
    """Run those that are named, or all."""
    known = {attack.name: attack for attack in attacks()}
    if unknown := [name for name in names if name not in known]:
        print(f"no attack {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    passed = True
    with started() as board:
        for name in names or known:
            result = run(known[name], board)
            print(result.line(), flush=True)
            passed = passed and result.passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
