# One image; web, poll worker, act worker and beat are different commands of it (see docker-compose.yml).

FROM python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7 AS packages
WORKDIR /build
COPY requirements/runtime.txt .
# Exactly the locked files: anything whose hash is not in the list is refused.
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r runtime.txt

FROM python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7
RUN useradd --uid 10001 --create-home --home-dir /home/gangboard --shell /usr/sbin/nologin gangboard \
    && install -d -o gangboard -g gangboard -m 0700 /state
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY manage.py CHANGELOG.md LICENSE ./
COPY gangboard gangboard
COPY simulator simulator
COPY templates templates
COPY static static
# Compiled once here: the processes cannot write the result, and would compile all of it at each start.
RUN python -m compileall -q gangboard simulator
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    GANGBOARD_STATE=/state
USER 10001
EXPOSE 8000
# The first lines are those of gangboard/serving/web_server.py, which says why. A page that waits for news would hold up
# the end of the process for 25 s, and with it the start of the next.
CMD ["granian", "gangboard.entry:application", \
     "--interface", "asginl", "--workers", "1", "--loop", "asyncio", "--http", "1", "--no-ws", \
     "--backpressure", "4096", "--backlog", "4096", \
     "--http1-header-read-timeout", "10000", "--http1-buffer-size", "65536", \
     "--workers-kill-timeout", "1", "--host", "0.0.0.0", "--port", "8000"]
