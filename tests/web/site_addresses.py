"""Pages of a site that axe-core and the screenshots cover."""

from __future__ import annotations

from tests.web.site import BATCH, CHECK, TRIALS, Site

MISSING = "/no-such-page/"


def addresses(site: Site) -> dict[str, str]:
    """Return the address of each page by a descriptive name."""
    return {
        "board": "/",
        "board by reason": "/?group_by=reason&show_finished=1&code=insufficient-resources",
        "gang": f"/gangs/{site.gang_id('llama-sft')}/",
        "gang, its Jobs open": f"/gangs/{site.gang_id('llama-sft')}/?open=*",
        "groups": "/groups/",
        "reasons": "/reasons/",
        "capacity": "/capacity/",
        "capacity by rack": "/capacity/?cluster=eu-train&by=topology.kubernetes.io/rack",
        "usage": "/usage/",
        "usage by week": "/usage/?by=week&then=reason",
        "evictions": "/evictions/",
        "check": "/check/",
        "result of a check": f"/check/{CHECK}/",
        "clusters": "/clusters/",
        "cluster": "/clusters/eu-train/",
        "gang with a past": f"/gangs/{site.gang_id('has-a-past')}/",
        "gang that is gone": f"/gangs/{site.gone_gang_id('is-gone')}/",
        "gang with a Hold": f"/gangs/{site.gang_id('llama')}/",
        "gang without": f"/gangs/{site.gang_id('mixtral')}/",
        "actions": "/actions/",
        "holds": "/holds/",
        "audit": "/actions/audit/",
        "batch": f"/actions/batches/{BATCH}/",
        "node": "/nodes/eu-train/h100-1/",
        "Jobs of a node": "/actions/node/?cluster=gpu-east&node=gpu-02",
        "queues": "/queues/",
        "queue": "/queues/gpu-east/gpu/",
        "board of a label": "/?label=team%3Dvision&submitter=ada%40example.com&columns=submitter,label:team",
        "board, filtered": "/?q=llama%20research",
        "board, filtered to nothing": "/?q=zzz",
        "board of deleted gangs": "/?gone=1",
        "search": "/search/?q=llama",
        "search for a label": "/search/?q=team&all=1",
        "search that finds nothing": "/search/?q=zzz",
        **{
            f"action {state}": f"/actions/{site.action_id(state)}/"
            for state in ("verified", "applied", "reverted", "refused")
        },
        "confirmation": f"/actions/confirm/?verb=suspend&target={site.target('llama', 2)}",
        "relocation": f"/actions/confirm/?verb=relocate&target={site.target('llama', 2)}",
        "relocation, with a place": f"/actions/confirm/?verb=relocate&target={site.target('llama', 2)}"
        "&avoid=node:gpu-07",
        "several": "/actions/confirm/?verb=suspend"
        f"&target={site.target('llama', 2)}&target={site.target('llama', 0)}",
        "refusal": f"/actions/confirm/?verb=suspend&target={site.target('mixtral', 0)}",
        "account": "/account/",
        "API reference": "/reference/",
        "API reference of one resource": "/reference/actions/",
        "add a cluster": "/add-cluster/",
        "manage a cluster": "/clusters/eu-train/manage/",
        **{f"trial {name}": f"/add-cluster/{id_}/" for name, id_ in TRIALS.items()},
        "people": "/people/",
        "person": "/people/users/oskar/",
        "person, disabled": "/people/users/nils/",
        "roles of groups": "/people/groups/",
        "tokens": "/people/tokens/",
        "sessions": "/people/sessions/",
        "messages": "/notifications/",
        "tell me of a gang": f"/notifications/gangs/{site.gang_id('llama-sft')}/",
        "channel": f"/notifications/channels/{site.row_id('store_channel', 'ops-room')}/",
        "rule": f"/notifications/rules/{site.row_id('store_rule', 'Large runs wait')}/",
        "rule of one gang": f"/notifications/rules/{site.row_id('store_rule', 'llama-sft runs')}/",
        "mute a rule": f"/notifications/rules/{site.row_id('store_rule', 'Holds end')}/mute/",
        "missing": MISSING,
    }
