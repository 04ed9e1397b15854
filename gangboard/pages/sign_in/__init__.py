"""Sign-in and sign-out: by password, by a one-time link, by an OpenID provider or by a proxy."""
