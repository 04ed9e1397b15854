"""Django's settings. Values that differ between installations are environment variables."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import django_htmx
from cryptography.fernet import Fernet
from django.core.management.utils import get_random_secret_key

from gangboard import env, keys
from gangboard.database_url import SCHEMES, database_settings
from gangboard.logs import logging_settings
from gangboard.serving.request import LARGEST_MANIFESTS

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = env.read_folder(
    "GANGBOARD_STATE", BASE_DIR / ".state", "folder for what is kept locally"
)

DEBUG = env.read_bool("GANGBOARD_DEBUG", default=False, meaning="Django's debug pages")
DEFAULT_EXCEPTION_REPORTER_FILTER = "gangboard.pages.core.error_pages.UrlHidingFilter"
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
OIDC_ISSUER = env.read_issuer(
    "GANGBOARD_OIDC_ISSUER", "address of the OpenID provider with which people sign in"
)
OIDC_NAME = env.read_text(
    "GANGBOARD_OIDC_NAME",
    urlsplit(OIDC_ISSUER).hostname or "",
    "name of the provider on the button: Sign in with NAME",
    form=env.LINE,
    wanted="a name of one line",
)
OIDC_CLIENT_ID = env.read_text(
    "GANGBOARD_OIDC_CLIENT_ID",
    "",
    "id of gangboard at the provider",
    form=env.CLAIM,
    wanted="the id that the provider shows, without blanks",
)
OIDC_CLIENT_SECRET = env.read_token(
    "GANGBOARD_OIDC_CLIENT_SECRET", "secret of gangboard at the provider"
)
OIDC_SCOPES = tuple(
    env.read_text(
        "GANGBOARD_OIDC_SCOPES",
        "openid profile email",
        "scopes that gangboard asks the provider for",
        form=env.SCOPES,
        wanted="scopes such as openid, separated by blanks",
    )
    .replace(",", " ")
    .split()
)
OIDC_NAME_CLAIM = env.read_text(
    "GANGBOARD_OIDC_NAME_CLAIM",
    "preferred_username",
    "claim with the name of the person",
    form=env.CLAIM,
    wanted="the name of a claim",
)
OIDC_GROUPS_CLAIM = env.read_text(
    "GANGBOARD_OIDC_GROUPS_CLAIM",
    "groups",
    "claim with the groups of the person; a dot leads into an object",
    form=env.CLAIM,
    wanted="the name of a claim",
)
PROXY_USER_HEADER = env.read_text(
    "GANGBOARD_PROXY_USER_HEADER",
    "",
    "header in which a trusted proxy says who is signed in",
    form=env.HEADER,
    wanted="the name of a header such as X-Forwarded-User, without underscores",
)
PROXY_GROUPS_HEADER = env.read_text(
    "GANGBOARD_PROXY_GROUPS_HEADER",
    "",
    "header in which a trusted proxy names the groups of the person, separated by commas",
    form=env.HEADER,
    wanted="the name of a header such as X-Forwarded-Groups, without underscores",
)
LOCAL_SIGN_IN = env.read_words(
    "GANGBOARD_LOCAL_SIGN_IN",
    ("password", "link"),
    "ways in for local accounts: password, link, both, or none",
    ("password", "link"),
)
SESSION_IDLE = 3600 * env.read_number(
    "GANGBOARD_SESSION_IDLE",
    8,
    "hours after which a session ends that no one has used; every session ends after 12",
    least=0.05,
    most=12,
)
if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise env.SettingError("GANGBOARD_OIDC_ISSUER is set, so GANGBOARD_OIDC_CLIENT_ID must be, too")
if "openid" not in OIDC_SCOPES:
    raise env.SettingError("GANGBOARD_OIDC_SCOPES must have openid among its scopes")
if PROXY_USER_HEADER and not TRUSTED_PROXIES:
    raise env.SettingError(
        "GANGBOARD_PROXY_USER_HEADER is set, so GANGBOARD_TRUSTED_PROXIES must name the proxy that sends it"
    )
if not (LOCAL_SIGN_IN or OIDC_ISSUER or PROXY_USER_HEADER):
    raise env.SettingError(
        "GANGBOARD_LOCAL_SIGN_IN is none, so GANGBOARD_OIDC_ISSUER or GANGBOARD_PROXY_USER_HEADER must be "
        "set: no person could sign in"
    )
CONTACT = env.read_text(
    "GANGBOARD_CONTACT",
    "",
    "whom to ask for a role, as people without one read it",
    form=env.LINE,
    wanted="a text of one line",
)
METRICS_TOKEN = env.read_token(
    "GANGBOARD_METRICS_TOKEN", "token that lets a scraper read /metrics, as Authorization: Bearer"
)
METRICS_NETWORKS = env.read_networks(
    "GANGBOARD_METRICS_NETWORKS",
    "networks (CIDR) from which /metrics may be read; where a token is set as well, both must be right",
)
METRICS_NAMESPACES = env.read_count(
    "GANGBOARD_METRICS_NAMESPACES",
    0,
    "namespaces that /metrics names, those whose gangs ask for the most accelerators",
    least=0,
    most=1000,
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
USAGE_DAYS = env.read_number(
    "GANGBOARD_USAGE_DAYS",
    400,
    "days for which the accelerator time of each day is kept",
    least=1,
    most=3650,
)
HISTORY_DAYS = env.read_number(
    "GANGBOARD_HISTORY_DAYS", 90, "days for which past verdicts are kept", least=1, most=3650
)
SUBMITTER_LABEL = env.read_text(
    "GANGBOARD_SUBMITTER_LABEL",
    "",
    "label of owners whose value is the person who submitted them",
    form=env.LABEL_KEY,
    wanted="the key of a label, such as example.com/submitter",
)
SUBMITTER_ANNOTATION = env.read_text(
    "GANGBOARD_SUBMITTER_ANNOTATION",
    "",
    "annotation of owners whose value is the person who submitted them",
    form=env.LABEL_KEY,
    wanted="the key of an annotation, such as example.com/submitter",
)
LABEL_COLUMNS = tuple(
    env.read_text(
        "GANGBOARD_LABEL_COLUMNS",
        "",
        "labels of owners that the Board offers as columns",
        form=env.LABEL_KEYS,
        wanted="keys of labels such as team, separated by commas",
    )
    .replace(",", " ")
    .split()
)
LOGS = env.read_bool(
    "GANGBOARD_LOGS",
    default=False,
    meaning="pages and API show logs of containers to people with the role logs; print_rbac then includes pods/log",
)
CORDON = env.read_bool(
    "GANGBOARD_CORDON",
    default=False,
    meaning="a relocation may cordon one node for a moment, where an admission system chose the nodes; print_rbac then includes nodes",
)
PROMETHEUS_SOURCES = env.read_prometheus(
    "GANGBOARD_PROMETHEUS_SOURCES",
    "servers that measure accelerator use, NAME=ADDRESS for each cluster, separated by commas; * is every other cluster",
)
PROMETHEUS_TOKEN = env.read_token(
    "GANGBOARD_PROMETHEUS_TOKEN", "token for the Prometheus servers at https addresses"
)
PROMETHEUS_CA = env.read_text(
    "GANGBOARD_PROMETHEUS_CA",
    "",
    "file with the authorities that sign the certificates of these servers",
    form=env.LINE,
    wanted="the name of a file",
)
PROMETHEUS_QUERY = env.read_text(
    "GANGBOARD_PROMETHEUS_QUERY",
    "avg by (exported_namespace, exported_pod, namespace, pod) (DCGM_FI_DEV_GPU_UTIL)",
    "PromQL of the use in percent by pod; $cluster is the name of the cluster",
    form=env.LINE,
    wanted="a query of one line",
)
PROMETHEUS_INTERVAL = env.read_number(
    "GANGBOARD_PROMETHEUS_INTERVAL", 30, "seconds between two readings of use", least=1, most=600
)
IDLE_PERCENT = env.read_number(
    "GANGBOARD_IDLE_PERCENT", 1, "use in percent up to which accelerators are idle", most=100
)
IDLE_AFTER = 60 * env.read_number(
    "GANGBOARD_IDLE_AFTER",
    15,
    "minutes after which idle accelerators are reported",
    least=0.01,
    most=1440,
)
STRAGGLER_PERCENT = env.read_number(
    "GANGBOARD_STRAGGLER_PERCENT",
    50,
    "use in percent of the median of its siblings below which a pod lags",
    most=100,
)
STRAGGLER_AFTER = 60 * env.read_number(
    "GANGBOARD_STRAGGLER_AFTER",
    5,
    "minutes after which a pod that lags is reported",
    least=0.01,
    most=1440,
)
if PROMETHEUS_TOKEN and any(
    source.url.startswith("http://") for source in PROMETHEUS_SOURCES.values()
):
    raise env.SettingError(
        "GANGBOARD_PROMETHEUS_TOKEN is set, so every address of GANGBOARD_PROMETHEUS_SOURCES must begin with "
        "https://: tokens are never sent unencrypted"
    )
NOTIFY_NETWORKS = env.read_networks(
    "GANGBOARD_NOTIFY_NETWORKS",
    "networks (CIDR) that are not public and to which messages may be sent all the same, such as 10.0.0.0/8",
)
CLUSTER_NETWORKS = env.read_networks(
    "GANGBOARD_CLUSTER_NETWORKS",
    "networks (CIDR) of API servers whose address a person gives on a page; others are not connected to",
)
TOPOLOGY_LABELS = tuple(
    env.read_text(
        "GANGBOARD_TOPOLOGY_LABELS",
        "topology.kubernetes.io/zone",
        "node labels whose domains a relocated Job may leave",
        form=env.LABEL_KEYS,
        wanted="keys of node labels such as topology.kubernetes.io/zone, separated by commas",
    )
    .replace(",", " ")
    .split()
)
WAITERS = env.read_count(
    "GANGBOARD_WAITERS", 300, "open pages that may wait for news at once", least=1, most=5000
)

INSTALLED_APPS = [
    # Before Django's own apps, because the first app provides a command of a given name.
    "gangboard.ops",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    # Its views are not served. `gangboard.pages.sign_in.single_sign_on` uses its OpenID client.
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "gangboard.store",
    "gangboard.pages",
]
if (BASE_DIR / "tools").is_dir():
    # Developer commands: benchmarks and docs tables. The image does not contain them.
    INSTALLED_APPS.append("tools")
MIDDLEWARE = [
    # First, because its measurement includes the other middleware.
    "gangboard.pages.metrics.requests.RequestDurationMiddleware",
    # Before all middleware that may refuse a request.
    "gangboard.pages.core.middleware.access_log.AccessLogMiddleware",
    # Before all middleware that asks whether a request came over https. It refuses none.
    "gangboard.pages.core.middleware.headers.ForwardedProtoMiddleware",
    # Before the others, so that their refusals carry the headers as well.
    "gangboard.pages.core.middleware.headers.SecurityHeadersMiddleware",
    # Before sessions, because the slot also covers the lookup of the user.
    "gangboard.pages.core.live.throttle.LiveThrottleMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "gangboard.pages.core.middleware.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gangboard.pages.core.browser_sessions.SessionUseMiddleware",
    "gangboard.pages.sign_in.proxy.ProxySignInMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "gangboard.pages.core.auth.SignInRequiredMiddleware",
    "gangboard.pages.core.middleware.time_zone.TimeZoneMiddleware",
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
# Files stay in memory, within the limit of a body, and are never written.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = LARGEST_MANIFESTS
ACCOUNT_ADAPTER = "gangboard.pages.sign_in.single_sign_on.adapters.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "gangboard.pages.sign_in.single_sign_on.adapters.SocialAdapter"
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
# With the prefix, browsers reject such a cookie from another host of the domain, or without TLS.
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
# HSTS subdomains and browser preload lists are decisions of the domain's owner.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_SSL_REDIRECT = HTTPS
# Probes and scrapers are on this side of the proxy that ends TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
# From trusted proxies only; see ForwardedProtoMiddleware.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
STATIC_URL = "/static/"
# Files are served from their source folders. Of other packages only htmx is served.
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("django_htmx", Path(django_htmx.__file__).parent / "static" / "django_htmx"),
]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
if not DEBUG:  # An edited file keeps its URL.
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "gangboard.pages.core.middleware.static_files.DigestStorage"},
    }
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gangboard.pages.core.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["gangboard.pages.core.api.read_limit.ReadThrottle"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "gangboard.pages.core.api.errors.problem_details",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "gangboard",
    "DESCRIPTION": "Which Kubernetes gangs are whole, which wait and why.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "Health": "gangboard.pages.core.api.parameters.HEALTHS",
        "ProblemCode": "gangboard.pages.core.api.fields.PROBLEM_CODES",
        "Stage": "gangboard.pages.core.api.parameters.STAGES",
        "QueueState": "gangboard.readmodels.visible_queues.QUEUE_STATES",
        "ChannelState": "gangboard.pages.notifications.rows.CHANNEL_STATES",
        "RuleState": "gangboard.pages.notifications.rows.RULE_STATES",
        "DeliveryState": "gangboard.notify.outbox.STATES",
        "RuleTrigger": "gangboard.notify.rules.TRIGGERS",
        "ChosenTrigger": "gangboard.notify.rules.CHOICES",
    },
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "gangboard.pages.core.api.entity_tags.add_entity_tags",
    ],
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
ACCESS_LOG = env.read_bool(
    "GANGBOARD_ACCESS_LOG", default=False, meaning="one line of JSON for each request"
)
AUDIT_LOG = env.read_bool(
    "GANGBOARD_AUDIT_LOG", default=False, meaning="one line of JSON for each row of the audit"
)
LOGGING = logging_settings(level=LOG_LEVEL, as_json=LOG_JSON)
