"""The only door to Kubernetes: credentials, discovery, list, watch, write, deadlines, errors of our own.

No meaning: nothing here knows what a pod or a gang is; bytes come out, and who asked decodes them.
The official `kubernetes` client carries every request (`api_client`); its typed models, its loader and
its watches are not used. May import domain, kubernetes, urllib3, msgspec, PyYAML and cryptography, not Django.

Every failure leaves this room as a `KubeError`, and every call ends within a deadline that holds for
the whole of it, whatever the other side does. A write is sent once, and its error says what is known
about it.
"""
