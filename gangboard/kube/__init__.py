"""All access to Kubernetes: credentials, discovery, list, watch, write, deadlines, and our own errors.

This room does not know pods or gangs. It returns bytes, and callers decode them. The official `kubernetes` client
sends every request (`api_client`). Its typed models, its kubeconfig loader and its watches are not used. This room
may import domain, kubernetes, urllib3, msgspec, PyYAML and cryptography, but not Django.

Every failure leaves this room as a `KubeError`. Every call has a total deadline that a server cannot extend. A write
is sent once, and its error tells whether it may have changed the object.
"""
