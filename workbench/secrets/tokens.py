"""The shapes of tokens that start with their issuer's prefix."""

from __future__ import annotations

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.shape import Shape, issued

TOKENS: tuple[Shape, ...] = (
    issued("AWS key", "AKIA ASIA", r"[0-9A-Z]{16}(?![A-Za-z0-9])", "long"),
    issued("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{30,}"),
    issued("GitLab token", "glpat- glrt- gldt- glcbt- glptt- glft- gloas- glsoat-", r"(?=[\w.-]{0,80}\d)[\w.-]{8,}"),
    issued(
        "API key",
        "sk- gsk_ xai- sk_live_ rk_live_ sk_test_ whsec_",
        r"(?=[\w-]{0,80}\d)[A-Za-z0-9_-]{20,}",
    ),
    issued("Google key", "AIza", r"[\w-]{35}", "long"),
    issued("Google secret", "GOCSPX-", r"[\w-]{20,}"),
    issued("Google token", "ya29.", r"[\w-]{30,}", "long"),
    issued("Slack token", "xox xapp-", r"(?:(?<=xox)[abprs]-|(?<=xapp-))[\w-]{10,}"),
    issued("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    issued("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    issued("PyPI token", "pypi-AgE", r"[\w-]{50,}"),
    issued("SendGrid key", "SG.", r"[\w-]{20,24}\.[\w-]{40,45}", "encoded"),
    issued(
        "access token",
        "dop_v1_ shpat_ shpss_ shpca_ shppa_ dckr_pat_ lin_api_ figd_ sntrys_ sntryu_ glsa_ sbp_ pscale_tkn_ "
        "pscale_pw_ rubygems_ NRAK- tskey- PMAK- sq0atp- sq0csp- ntn_ pplx- xkeysib- phx_ CFPAT- nvapi- tvly- "
        "vercel_blob_rw_ pat-na1- pat-eu1- pul- shippo_live_ dp.st. ops_eyJ",
        r"(?=[\w.=-]{0,80}(?:\d|[a-z][A-Z]))[\w.=-]{16,}",
    ),
    issued("access token", "ATATT3 hvs. dp.pt.", r"[\w.=-]{16,}", "encoded"),
    issued("access token", "secret_ r8_", r"(?=[A-Za-z]{0,80}\d)[A-Za-z0-9]{32,}"),
    issued("access token", "EAA", r"(?=[A-Za-z]{0,80}\d)[A-Za-z0-9]{60,}", "long"),
    issued("access token", "amzn.mws.", r"[0-9a-f-]{36}", "dashed"),
    Shape(
        "Terraform token",
        (".atlasv1.",),
        lazy_pattern(r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
        words="encoded",
    ),
    issued("Databricks token", "dapi", r"[0-9a-f]{32}", "encoded"),
    issued("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    issued(
        "private key",
        "LS0tLS1CRUdJTi",
        r"(?=BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NI)[\w+/=]{30,}",
        "long",
    ),
    issued("Docker logins", "eyJhdXRocyI6", r"[\w+/=]{20,}", "long"),
    issued("Mailgun key", "key-", r"(?=[a-z]{0,32}\d)[0-9a-z]{32}(?![\w-])"),
    issued("Google token", "1//0", r"(?=[\w-]{0,80}\d)[\w-]{40,}", "encoded"),
    issued("web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", "long"),
)
