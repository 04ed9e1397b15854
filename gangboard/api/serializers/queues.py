"""The JSON of queues, field by field: decimal strings in base units."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import PageSerializer, TimeField, WordField
from gangboard.api.parameters import QUEUE_STATES
from gangboard.api.serializers.groups import GangNameSerializer
from gangboard.readmodels.queues import QueueDetail


class LentSerializer(serializers.Serializer[Any]):
    """How much of a quota others have; the two differ where several could have lent it."""

    at_least = serializers.CharField()
    at_most = serializers.CharField()


class TermSerializer(serializers.Serializer[Any]):
    """One more number of a quota or queue, in the words of its system."""

    name = serializers.CharField(help_text="Such as `limit`, `guarantee` or `weight`.")
    amount = serializers.CharField(
        source="exact", allow_null=True, help_text="Null: no bound. A weight has no unit."
    )


class QuotaSerializer(serializers.Serializer[Any]):
    """One resource in one flavor of a queue."""

    flavor = serializers.CharField()
    flavor_known = serializers.BooleanField(
        source="is_flavor_known",
        help_text="False where flavors can be looked at and there is none of this name.",
    )
    resource = serializers.CharField()
    accelerator = serializers.BooleanField(source="is_accelerator")
    nominal = serializers.CharField(
        source="exact.nominal",
        allow_null=True,
        help_text="Null: the queue has no quota for it, or one without bound: `nominal_word` says which.",
    )
    nominal_word = serializers.CharField(
        help_text="What its system calls `nominal`, such as `capability`; where that is null, what is said of it."
    )
    used = serializers.CharField(source="exact.used", help_text="By those that are admitted.")
    reserved = serializers.CharField(
        source="exact.reserved",
        help_text="By those that are admitted, and those that have quota and wait for something else.",
    )
    borrowed = serializers.CharField(
        source="exact.borrowed", help_text="The part of `reserved` beyond `nominal`."
    )
    lent = LentSerializer(
        source="exact.lent",
        allow_null=True,
        help_text="Computed from all with which the queue shares quota; null where these are not all known.",
    )
    borrowing_limit = serializers.CharField(
        source="exact.borrowing_limit", allow_null=True, help_text="Null: no limit."
    )
    lending_limit = serializers.CharField(
        source="exact.lending_limit", allow_null=True, help_text="Null: no limit."
    )
    terms = TermSerializer(many=True, help_text="What else its system keeps for it.")


class FlavorAmountSerializer(serializers.Serializer[Any]):
    """So much of a resource; of a flavor where that is decided."""

    flavor = WordField()
    resource = serializers.CharField()
    amount = serializers.CharField(source="exact")


class PlaceSerializer(serializers.Serializer[Any]):
    """One entry that waits in a queue, or that has its quota."""

    position = serializers.IntegerField(
        allow_null=True,
        help_text="1 is first, computed by gangboard from all entries; null for who stands in no line, and where "
        "the order cannot be told.",
    )
    gang = GangNameSerializer(allow_null=True, help_text="Null when the caller may see none.")
    name = serializers.CharField(
        help_text="Of the gang, else of the entry; a placeholder where the caller may not see it."
    )
    namespace = WordField(help_text="Null where the caller may not see it.")
    priority = serializers.IntegerField(
        allow_null=True,
        help_text="Null where only `priority_class` is known: its value is not read.",
    )
    priority_class = WordField()
    since = TimeField(allow_null=True, help_text="By it those of one priority stand in line.")
    amounts = FlavorAmountSerializer(many=True, help_text="What it asks for, or has.")
    message = WordField(help_text="What keeps it.")
    why = WordField(help_text="Of the first: why it is first.")


class AliasSerializer(serializers.Serializer[Any]):
    """A name by which the owners of a namespace reach a queue, such as a LocalQueue."""

    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(QUEUE_STATES, source="face.word")
    cause = WordField()
    pending = serializers.IntegerField(allow_null=True)


class NamespaceSerializer(serializers.Serializer[Any]):
    """A namespace with gangs in a queue that needs no alias."""

    name = serializers.CharField()
    gangs = serializers.IntegerField(
        help_text="Those that wait or have pods on nodes; 0: all of them are over."
    )


class QueueSerializer(serializers.Serializer[Any]):
    """One queue that admits, such as a ClusterQueue."""

    id = serializers.CharField()
    cluster = serializers.CharField()
    system = serializers.CharField(help_text="The admission system whose queue it is.")
    api_group = serializers.CharField()
    api_version = serializers.CharField()
    kind = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    shared = serializers.ListField(
        child=serializers.CharField(),
        help_text="What it shares quota in, nearest first; empty also where the caller may not know.",
    )
    shared_kind = WordField(help_text="Kind of these, such as `Cohort`.")
    shares_with = serializers.IntegerField(help_text="Other queues with which it shares quota.")
    state = serializers.ChoiceField(QUEUE_STATES, source="face.word")
    cause = WordField(help_text="Why it is stopped or inactive.")
    advice = WordField()
    quotas = QuotaSerializer(many=True)
    quota_overridden = serializers.BooleanField(
        source="is_quota_overridden",
        help_text="The quotas in force are computed, and not those of its spec.",
    )
    pending = serializers.IntegerField(
        allow_null=True, help_text="Entries that wait, as the system counts them."
    )
    waiting = serializers.IntegerField(
        allow_null=True,
        help_text="`pending`; in a queue of a scheduler the gangs that gangboard counts. Null: not known.",
    )
    unknown = serializers.IntegerField(
        help_text="Gangs in a queue of a scheduler of which nobody knows whether they wait."
    )
    placed = serializers.IntegerField(
        allow_null=True,
        help_text="Gangs with pods on nodes, in a queue of a scheduler; null in others, and where nobody can tell.",
    )
    reserving = serializers.IntegerField(allow_null=True)
    admitted = serializers.IntegerField(allow_null=True)
    in_line = serializers.IntegerField(
        allow_null=True, help_text="By the entries; null where these cannot be looked at."
    )
    kept_out = serializers.IntegerField(
        allow_null=True, help_text="Those that wait and stand in no line; null likewise."
    )
    line = PlaceSerializer(
        many=True,
        allow_null=True,
        help_text="Who waits, those in no line last: of lists the first 3, of one queue up to 500; "
        "null where entries cannot be looked at.",
    )
    tells_places = serializers.BooleanField(
        help_text="False where no object tells the order: `line` is then the oldest first, without positions."
    )
    order = serializers.ListField(
        child=serializers.CharField(),
        help_text="How the line is ordered, and what is not known of that.",
    )
    aliases = AliasSerializer(many=True, help_text="Those that the caller may see.")
    aliases_hidden = serializers.IntegerField()
    namespaces = NamespaceSerializer(
        many=True,
        help_text="Of a queue without aliases: the namespaces with gangs in it that the caller may see.",
    )
    namespaces_hidden = serializers.IntegerField()
    reached_by = WordField(help_text="Who may use the queue, where no alias says it: a sentence.")
    terms = TermSerializer(many=True, help_text="What its system keeps for the queue as a whole.")
    stale = serializers.BooleanField(
        help_text="Its cluster has not answered for 30 seconds, or queues cannot be looked at there."
    )


class UnseenQueuesSerializer(serializers.Serializer[Any]):
    """Kinds of an admission system that cannot be seen in a cluster: that is not the same as none."""

    cluster = serializers.CharField()
    state = serializers.CharField(
        help_text="silent, never, forbidden, failing, unknown-version, listing or not-looked."
    )
    kinds = serializers.ListField(child=serializers.CharField())
    message = serializers.CharField(source="sentence")


class LostAliasSerializer(serializers.Serializer[Any]):
    """An alias that names a queue that does not exist."""

    cluster = serializers.CharField()
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    target_kind = serializers.CharField()
    target = serializers.CharField()


class QueueListSerializer(PageSerializer):
    """One page of queues."""

    results = QueueSerializer(many=True)
    unseen = UnseenQueuesSerializer(many=True)
    lost_aliases = LostAliasSerializer(
        many=True, help_text="Of all clusters that are asked for, on every page."
    )
    serving = serializers.ListField(
        child=serializers.CharField(),
        help_text="The clusters that serve queues: in all others there are none.",
    )


class QueueDetailSerializer(QueueSerializer):
    """One queue with who has its quota."""

    holders = PlaceSerializer(
        many=True,
        allow_null=True,
        help_text="Those with the most accelerators first, up to 500; null where entries cannot be looked at.",
    )
    unseen = UnseenQueuesSerializer(many=True)

    def to_representation(self, instance: QueueDetail) -> dict[str, Any]:
        """Return the queue as in lists, with more beside it."""
        holders = instance.holders
        return {
            **QueueSerializer().to_representation(instance.row),
            "holders": None if holders is None else PlaceSerializer(holders, many=True).data,
            "unseen": UnseenQueuesSerializer(instance.unseen, many=True).data,
        }
