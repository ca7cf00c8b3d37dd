"""Words that occur in the names and labels of programs; a value made of them is not a password."""

from __future__ import annotations

import re

from workbench.lazy_pattern import lazy_pattern

_TERMS = """
    access account action adapter admin analytics and api app application args array attribute authentication
    authenticator authorization auto aws azure base basic box builder button by bytes cache callback change check
    checker class client code command component config configuration content context control controller converter
    cookie count create credentials custom data db decoder default delete device dialog disk domain dto edit element
    encoder encoding encrypted encryption entity entry enum env error event example exception expired expression
    factory field file filter flow for form format from function generator get github google grant group handler
    hash hasher header helper http icon id identifier impl in info input instance instances interface invalid is
    issuer item json key keys kind label length link list loader login managed manager manual map max message method
    min missing mixin mode model module my name network new no node not object of old option options or out page
    param parameter params parser passwords path policy processor prompt property provided provider proxy query
    reader ref reference refresh registry request required reset resolver resource response result ring role route
    router rule save schema screen secrets serializer server service session set setting settings sign signature
    signer some source spec state status storage store str strategy strength string system table task template test
    text the to tokens type types union up update url use user util utils uuid validation validator value values
    vault verifier view widget with word wrapper writer xml your
"""
TERMS = frozenset(_TERMS.split())
"""Words in the names of classes and enumerations; CamelCase passwords seldom contain them."""
_LABELS = """
    account adgangskode admin allow always array auto basic bearer bool cipher clear confirm contra create
    credential crypt delete deny digest disab email enab error expire eye field forg generat geslo grant has[lł]o
    hash heslo hide icon ignore info inherit input jelsz kdf keep kennwort kerberos keychain keyring l[oö]senord
    label ldap local lock login lozinka manual mask name never number oauth object parol pass pattern phone plain
    private prompt public random read remember reveal salasana saml secret security senha shared short show sifre
    sign str strong supported text toggle token type unsupported update user valid value vault verif visible
    wachtwoord warn weak write
"""
LABELS = lazy_pattern("|".join(_LABELS.split()), re.IGNORECASE)
"""Parts of plain words that appear in place of a password in labels, types and settings."""
