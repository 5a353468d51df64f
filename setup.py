"""Package metadata. Tool settings live in pyproject.toml; tested versions in requirements/."""

import pathlib
import re

from setuptools import find_namespace_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(r'^VERSION = "([^"]+)"', (HERE / "opsapp/wire/version.py").read_text(), re.M).group(1)

SERVER = [
    "pyramid>=2.0.2",
    "pyramid_tm>=2.5",
    "pyramid_retry>=2.1.1",
    "pyramid_zodbconn>=0.8.1",
    "pyramid_jinja2>=2.10",
    "zodburi>=2.5",
    "PasteDeploy>=3.1",
    "waitress>=3.0",
    "ZODB>=5.8",
    "ZEO>=5.4",
    "BTrees>=5.0",
    "persistent>=5.0",
    "transaction>=4.0",
    "zope.interface>=6.0",
    "gevent>=23.9",
    "colander>=2.0",
    "wsproto>=1.2,<1.3",
    "h11>=0.14",
    "pycurl>=7.45",
    "dnspython>=2.4",
    "argon2-cffi>=23.1",
    "pyotp>=2.9",
    "segno>=1.5",
    "oic>=1.6",
    "cryptography>=41",
    "fabric>=3.2",
    "croniter>=2.0",
    "apprise>=2.2",
    "prometheus-client>=0.18",
    "PyYAML>=6.0",
    "multipart>=1.1",
    "markdown-it-py>=3.0",
    "pysnmp>=7.1",
    "ldap3>=2.9.1",
    "pyasn1>=0.4.8,<0.7",  # ldap3 uses names that a later one may drop
]
TEST = [
    "webtest>=3.0",
    "pytest>=8.0",
    "pytest-cov",
    "pytest-xdist",
    "pytest-timeout",
    "pytest-socket",
    "pytest-randomly",
    "httptools>=0.6",
    "hypothesis",
    "schemathesis>=4.0",
    "openapi-spec-validator",
    "jsonschema",
    "selenium",
    "axe-core-python",
    "ruff",
    "mypy",
    "import-linter",
    "types-PyYAML",
    "opentelemetry-proto>=1.30",
    "RelStorage>=4.3",
    "psycopg2-binary>=2.9",
]

setup(
    name="opsapp",
    version=VERSION,
    description="Self-hosted infrastructure operations: it watches, reaches hosts, and heals with earned autonomy",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    packages=find_namespace_packages(include=["opsapp", "opsapp.*"]),
    include_package_data=True,
    python_requires=">=3.10",
    install_requires=SERVER,
    extras_require={"test": TEST, "postgresql": ["RelStorage>=4.3", "psycopg2-binary>=2.9"]},
    entry_points={
        "console_scripts": ["opsapp = opsapp.cli:main"],
        "paste.app_factory": ["main = opsapp.app:main"],
        "paste.server_runner": ["gevent = opsapp.web.server:serve_paste"],
        "zodburi.resolvers": [
            "postgresql = opsapp.runtime.store.postgresql.storage:resolve",
            "zeos = opsapp.runtime.cluster.tls:resolve",
        ],
    },
)
