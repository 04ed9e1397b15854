#!/bin/sh
# Debian's packages that the tests start: Redis, PostgreSQL, Prometheus, nginx, Chromium, curl and jq. Root installs what is
# missing; anybody else is told what the tests will leave out.
set -eu
missing=""
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
command -v prometheus >/dev/null 2>&1 || missing="$missing prometheus"
[ -x /usr/sbin/nginx ] || command -v nginx >/dev/null 2>&1 || missing="$missing nginx-light"
for program in wget curl jq; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1 || missing="$missing chromium-headless-shell"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Debian's packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086  # one word per package
    apt-get install -y -qq --no-install-recommends $missing fonts-dejavu-core >/dev/null
else
    echo "Not installed:$missing. The tests that need them will be left out."
fi
