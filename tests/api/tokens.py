"""Who asks, by a token that is the name: for tests of many requests, which would wait for a database to say so."""

from typing import Any

from django.contrib.auth.models import User
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

USERS = {
    "ann": User(pk=1, username="ann"),
    "bob": User(pk=2, username="bob"),
    "boss": User(pk=3, username="boss", is_staff=True, is_superuser=True),
}


class NameTokens(TokenAuthentication):
    def authenticate_credentials(self, key: str) -> Any:
        if key not in USERS:
            raise AuthenticationFailed("There is no such token.")
        return USERS[key], key
