"""Sign-in by an OpenID provider: authorization code flow with PKCE. django-allauth is the client.

allauth keeps the state of a sign-in, makes the PKCE challenge and exchanges the code. Its views, forms and accounts
are not used. `id_tokens` checks the answer, and `store.identities` selects the account.
"""
