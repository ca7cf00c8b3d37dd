"""The names that other programs give to the keys of a server's configuration, and the keys that have no effect here."""

from __future__ import annotations

from typing import Final

SYNONYMS: Final = {
    **dict.fromkeys(("serverUrl", "httpUrl", "uri", "server_url", "endpoint"), "url"),
    "cmd": "command",
    **dict.fromkeys(("envs", "environment"), "env"),
    **dict.fromkeys(("working_directory", "workingDirectory", "workdir"), "cwd"),
    "transportType": "transport",
    **dict.fromkeys(("http_headers", "httpHeaders"), "headers"),
    **dict.fromkeys(("tool_timeout_sec", "timeout_sec", "call_timeout"), "timeout"),
    **dict.fromkeys(("startup_timeout_sec", "startupTimeout", "initTimeout", "init_timeout"), "startTimeout"),
    "startup_timeout_ms": "startTimeout",
    **dict.fromkeys(("disabledTools", "disabled_tools", "excludeTools", "exclude_tools"), "hiddenTools"),
    **dict.fromkeys(("enabledTools", "enabled_tools", "includeTools", "include_tools"), "onlyTools"),
    **dict.fromkeys(("availableTools", "available_tools", "toolFilter", "tool_filter"), "onlyTools"),
    "env_keys": "envKeys",
    **dict.fromkeys(("bearer_token_env_var", "bearerTokenEnvVar", "token_env", "tokenEnv"), "tokenVariable"),
    **dict.fromkeys(("auth_token_env", "token_env_var", "tokenEnvVar", "api_key_env", "apiKeyEnv"), "tokenVariable"),
    **dict.fromkeys(("env_http_headers", "envHttpHeaders"), "headerVariables"),
    **dict.fromkeys(("api_key", "apiKey", "bearer_token", "bearerToken", "access_token", "accessToken"), "token"),
    **dict.fromkeys(("auth_token", "authToken", "authorization", "authorization_token", "authorizationToken"), "token"),
    "authentication": "auth",
    **dict.fromkeys(("active", "isActive", "is_active", "enable", "isEnabled", "is_enabled"), "enabled"),
    **dict.fromkeys(("isDisabled", "is_disabled"), "disabled"),
}
NEEDLESS: Final = {
    *("$schema", "_comment", "comment", "//", "name", "title", "displayName", "display_name"),
    *("keep_alive", "alwaysLoad", "sse_read_timeout", "bundled", "source"),
}
"""Keys that are ignored without a notice: they say nothing, or what is always so here (a server is kept running)."""
APPROVALS: Final = {
    *("autoApprove", "alwaysAllow", "trust", "autoStart", "auto_approve", "always_allow", "autoApproveAll", "yolo"),
    *("allowedTools", "allow", "permissions", "approval", "approval_mode", "default_tools_approval_mode", "trusted"),
}
