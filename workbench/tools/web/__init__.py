"""Reaching other machines over HTTP, with limits; behind `web_read` and the tools of OpenAPI documents."""
