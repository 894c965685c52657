"""Errors for the user. A module of its own, because it needs no other."""


class Failure(Exception):
    """One line for the user."""
