"""The one settings file. Everything that may differ between installations is an environment variable."""

from __future__ import annotations

from pathlib import Path

import django_htmx
from cryptography.fernet import Fernet
from django.core.management.utils import get_random_secret_key

from gangboard import env, keys
from gangboard.database_url import SCHEMES, database_settings
from gangboard.serving.bodies import LARGEST_BODY

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = env.read_folder(
    "GANGBOARD_STATE", BASE_DIR / ".state", "folder for what is kept locally"
)

DEBUG = env.read_bool("GANGBOARD_DEBUG", default=False, meaning="Django's debug pages")
DEFAULT_EXCEPTION_REPORTER_FILTER = "gangboard.web.debug_page.AddressesToo"
SECRET_KEY, *SECRET_KEY_FALLBACKS = keys.read_keys(
    "GANGBOARD_SECRET_KEY",
    "key that signs sessions; several, the newest first, to replace it",
    folder=STATE_DIR,
    make=get_random_secret_key,
    problem=keys.secret_problem,
)
ENCRYPTION_KEYS = keys.read_keys(
    "GANGBOARD_ENCRYPTION_KEY",
    "Fernet key that encrypts cluster credentials; several, the newest first, to replace it",
    folder=STATE_DIR,
    make=lambda: Fernet.generate_key().decode(),
    problem=keys.fernet_problem,
)
ALLOWED_HOSTS = list(
    env.read_list(
        "GANGBOARD_HOSTS",
        ("localhost", "127.0.0.1", "[::1]"),
        "host names that are served",
        form=env.HOSTS,
        wanted="host names such as gangs.example.com, without https:// and port",
    )
)
CSRF_TRUSTED_ORIGINS = list(
    env.read_list(
        "GANGBOARD_ORIGINS",
        (),
        "origins (https://…) of a proxy in front that ends TLS",
        form=env.ORIGINS,
        wanted="origins such as https://gangs.example.com, with nothing after host and port",
    )
)
PUBLIC_URL = env.read_url(
    "GANGBOARD_URL", "address under which people reach the pages, for links that commands print"
)
TRUSTED_PROXIES = env.read_networks(
    "GANGBOARD_TRUSTED_PROXIES",
    "networks (CIDR) of proxies in front, whose X-Forwarded-For says who asks, and X-Forwarded-Proto how",
)
METRICS_TOKEN = env.read_token(
    "GANGBOARD_METRICS_TOKEN", "token that lets a scraper read /metrics, as Authorization: Bearer"
)
METRICS_NETWORKS = env.read_networks(
    "GANGBOARD_METRICS_NETWORKS",
    "networks (CIDR) from which /metrics may be read; where a token is set as well, both must be right",
)
HTTPS = env.read_bool(
    "GANGBOARD_HTTPS",
    default=False,
    meaning="pages are reached over https: secure cookies of this host alone, HSTS, a redirect from http",
)

DATABASES = {
    "default": database_settings(
        env.read_address(
            "DATABASE_URL",
            f"sqlite:///{STATE_DIR / 'gangboard.sqlite3'}",
            "sqlite:///PATH or postgresql://user:password@host/name",
            schemes=SCHEMES,
        )
    )
}
DATABASE_CONNECTIONS = env.read_count(
    "GANGBOARD_DATABASE_CONNECTIONS",
    16,
    "connections to PostgreSQL that one web process opens at most",
    least=4,
    most=1000,
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.read_address(
    "REDIS_URL",
    "",
    "Redis for the task queue; a folder serves when empty",
    schemes=("redis", "rediss", "redis+socket"),
)
POLL_WINDOW = env.read_number(
    "GANGBOARD_POLL_WINDOW", 10, "seconds for which a poll holds a cluster", least=1, most=300
)
POLL_SLOTS = env.read_count(
    "GANGBOARD_POLL_SLOTS", 8, "clusters that one poll worker watches at once", least=1, most=64
)
REPAIR_INTERVAL = env.read_number(
    "GANGBOARD_REPAIR_INTERVAL", 900, "seconds between complete lists as repair", least=30
)
HISTORY_DAYS = env.read_number(
    "GANGBOARD_HISTORY_DAYS", 90, "days for which past verdicts are kept", least=1, most=3650
)
WAITERS = env.read_count(
    "GANGBOARD_WAITERS", 300, "open pages that may wait for news at once", least=1, most=5000
)

INSTALLED_APPS = [
    # Before Django's own: of two commands of one name the first app's counts.
    "gangboard.ops",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "gangboard.store",
    "gangboard.web",
    "gangboard.pages",
]
MIDDLEWARE = [
    # Before all others: what they take is time that somebody waits, too.
    "gangboard.api.metrics.requests.RequestDurationMiddleware",
    # Before all that asks whether a request came over https. It refuses nothing.
    "gangboard.web.forwarded.ForwardedProtoMiddleware",
    # Before the others, so that their refusals carry the headers too.
    "gangboard.web.security.SecurityHeadersMiddleware",
    # Before sessions: who asks is looked up in the slot too.
    "gangboard.web.live.throttle.LiveThrottleMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "gangboard.web.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gangboard.web.auth.SignInRequiredMiddleware",
    "gangboard.web.time_zone.TimeZoneMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "gangboard.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader"],
                )
            ],
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Nobody uploads files: the parts of a form that are files are read past, and written nowhere.
FILE_UPLOAD_HANDLERS: list[str] = []
DATA_UPLOAD_MAX_MEMORY_SIZE = LARGEST_BODY

LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
# The prefix makes browsers refuse such a cookie from another host of the domain, or without TLS.
_PREFIX = "__Host-" if HTTPS else ""
SESSION_ENGINE = "gangboard.store.sessions"
SESSION_COOKIE_NAME = f"{_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_PREFIX}csrftoken"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
# What the other hosts of the domain do is for whoever owns the domain to say: neither their names
# nor the lists of browsers are spoken for.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_SSL_REDIRECT = HTTPS
# Whoever probes or scrapes is on this side of the proxy that ends TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
# Of proxies of ours only: see ForwardedProtoMiddleware.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "/static/"
# Files are served straight from where they are: no collect step to forget. Of what other packages
# bring along only htmx is ours to serve; an admin that is not used has no scripts here either.
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("django_htmx", Path(django_htmx.__file__).parent / "static" / "django_htmx"),
]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
if not DEBUG:  # a file that is edited keeps its address
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "gangboard.web.static_files.DigestStorage"},
    }
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gangboard.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["gangboard.api.read_limit.ReadThrottle"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "gangboard.api.errors.problem_details",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "gangboard",
    "DESCRIPTION": "Which Kubernetes gangs are whole, which wait and why.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "Health": "gangboard.api.parameters.HEALTHS",
        "Stage": "gangboard.api.parameters.STAGES",
        "QueueState": "gangboard.api.parameters.QUEUE_STATES",
    },
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}

CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
CELERY_BROKER_FOLDER = STATE_DIR / "broker"
LOG_LEVEL = env.read_choice(
    "GANGBOARD_LOG_LEVEL",
    "INFO",
    "DEBUG, INFO, WARNING or ERROR",
    ("DEBUG", "INFO", "WARNING", "ERROR"),
)
LOG_JSON = env.read_bool("GANGBOARD_LOG_JSON", default=False, meaning="log lines as JSON")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "gangboard.logs.LineFormatter", "as_json": LOG_JSON}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "filters": {"brief": {"()": "gangboard.logs.Brief"}},
    # Anybody can send a wrong Host, as often as they like.
    "loggers": {
        "django.security.DisallowedHost": {"filters": ["brief"]},
        # At INFO it writes three lines for each request.
        "psycopg.pool": {"level": "WARNING"},
    },
}
