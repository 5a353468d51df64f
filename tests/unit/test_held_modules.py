"""What a server has loaded when it is ready: each module is memory for as long as it runs."""

import subprocess
import sys

READY = """
import sys
from opsapp.cli import serve
application = serve.make_application({"opsapp.data": sys.argv[1]} | dict(pair.split("=", 1) for pair in sys.argv[2:]))
print(*sys.modules)
application.registry["opsapp.node"].stop()
"""
OF_CLUSTERS = ("ZEO.ClientStorage", "ZEO.asyncio", "asyncio", "ZConfig")
OF_FILES_AND_LETTERS = ("yaml", "difflib", "smtplib", "email.headerregistry", "email._header_value_parser")


def held(*arguments):
    program = [sys.executable, "-W", "ignore", "-c", READY, *map(str, arguments)]
    return set(subprocess.run(program, capture_output=True, text=True, check=True).stdout.split())


def test_a_server_with_an_embedded_store_is_without_what_clusters_need(tmp_path):
    modules = held(tmp_path)
    assert "opsapp.ui.views" in modules
    assert not modules.intersection(OF_CLUSTERS)


def test_a_server_is_without_what_reads_files_and_writes_letters_until_there_are_some(tmp_path):
    assert not held(tmp_path).intersection(OF_FILES_AND_LETTERS)
    (tmp_path / "opsapp.yaml").write_text("web:\n  base_url: https://ops.example.com\n")
    assert "yaml" in held(tmp_path, f"opsapp.config={tmp_path}/opsapp.yaml")


def test_a_store_with_options_has_them_read_by_zodburi(tmp_path):
    options = f"opsapp.store=file://{tmp_path}/main.fs?connection_pool_size"
    assert held(tmp_path, f"{options}=9").issuperset(("zodburi.resolvers", *OF_CLUSTERS))
