"""What people install is complete: the wheel, the source distribution, the editable install."""

from __future__ import annotations

import re
import shutil
import sysconfig
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import foldlog
from tests.packaging.conftest import ROOT, Environment, build, run

FOLDERS = ("eventstore", "projections", "cli")


def source_files() -> set[str]:
    """Every file of the three folders and of the package around them, as a wheel names it."""
    files = {"foldlog/__init__.py", "foldlog/__main__.py", "foldlog/py.typed"}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                files.add(f"foldlog/{path.relative_to(ROOT).as_posix()}")
    return files


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, but for its own list of them."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if not name.endswith("dist-info/RECORD")
        }


class TestWheel:
    def test_it_contains_every_module_and_data_file_and_nothing_else(self, wheel: Path) -> None:
        names = {name for name in contents(wheel) if ".dist-info/" not in name}
        assert names == source_files()

    @pytest.mark.parametrize("file", ["LICENSE", "NOTICE"])
    def test_it_carries_the_licences(self, wheel: Path, file: str) -> None:
        (name,) = (name for name in contents(wheel) if name.endswith(f"licenses/{file}"))
        assert contents(wheel)[name] == (ROOT / file).read_bytes()

    def test_the_command_runs_from_it_alone(self, installed: Environment) -> None:
        assert installed.foldlog("--version").strip().endswith(foldlog.__version__)

    def test_it_is_one_import_package(self, installed: Environment) -> None:
        found = installed.run(
            "from importlib.util import find_spec\n"
            "names = ('foldlog', 'eventstore', 'projections', 'cli')\n"
            "print([name for name in names if find_spec(name)])"
        )
        assert found.strip() == "['foldlog']"

    def test_every_public_name_is_there(self, installed: Environment) -> None:
        code = "import foldlog; print([getattr(foldlog, name) for name in foldlog.__all__])"
        assert str(ROOT) not in installed.run(f"{code}; print(foldlog.__file__)")

    def test_sqlite_utils_finds_the_functions(self, installed: Environment) -> None:
        found = installed.run(
            "from sqlite_utils import Database\n"
            "db = Database(memory=True)\n"
            "print(db.execute(\"select foldlog_hash(x'00ff')\").fetchone()[0])"
        )
        assert found.strip() == "sha256:00ff"

    def test_datasette_finds_the_functions(self, installed: Environment) -> None:
        found = installed.run(
            "import sqlite3\n"
            "from importlib.metadata import entry_points\n"
            "from pluggy import PluginManager, HookspecMarker\n"
            "class Spec:\n"
            "    @HookspecMarker('datasette')\n"
            "    def prepare_connection(self, conn, database, datasette): ...\n"
            "manager = PluginManager('datasette')\n"
            "manager.add_hookspecs(Spec)\n"
            "manager.load_setuptools_entrypoints('datasette', 'foldlog')\n"
            "conn = sqlite3.connect(':memory:')\n"
            "manager.hook.prepare_connection(conn=conn, database='', datasette=None)\n"
            "print(conn.execute(\"select foldlog_hash(x'00ff')\").fetchone()[0])"
        )
        assert found.strip() == "sha256:00ff"


class TestSdist:
    def test_it_builds_a_wheel_with_the_same_contents(
        self, sdist: Path, wheel: Path, tmp_path: Path
    ) -> None:
        shutil.unpack_archive(sdist, tmp_path)
        (source,) = tmp_path.iterdir()
        assert contents(build("wheel", source, tmp_path / "out")) == contents(wheel)

    @pytest.mark.parametrize("name", ["README.md", "LICENSE", "CHANGELOG.md", "docs/concepts.md"])
    def test_it_carries_what_people_read(self, sdist: Path, name: str) -> None:
        with tarfile.open(sdist) as archive:
            folder = archive.getnames()[0].split("/")[0]
            member = archive.extractfile(f"{folder}/{name}")
            assert member is not None
            assert member.read() == (ROOT / name).read_bytes()

    def test_an_editable_install_of_it_runs_from_its_folders(
        self, sdist: Path, tmp_path: Path
    ) -> None:
        shutil.unpack_archive(sdist, tmp_path)
        (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
        environment = Environment(tmp_path / "venv")
        environment.install("--no-build-isolation", "--editable", source)
        for folder in FOLDERS:
            code = f"import foldlog.{folder} as module; print(module.__file__)"
            place = Path(environment.run(code).strip()).resolve()
            assert place == source / folder / "__init__.py"
        code = "import foldlog; print([getattr(foldlog, name) for name in foldlog.__all__])"
        assert "EventStore" in environment.run(code)
        assert environment.foldlog("--version").strip().endswith(foldlog.__version__)


class TestEditable:
    def test_it_runs_from_the_source_tree(self, tmp_path: Path) -> None:
        environment = Environment(tmp_path / "venv")
        environment.install("--no-build-isolation", "--editable", ROOT)
        code = "import foldlog.eventstore.sqlite as module; print(module.__file__)"
        assert (
            Path(environment.run(code).strip()).resolve()
            == ROOT / "eventstore" / "sqlite" / "__init__.py"
        )
        assert environment.foldlog("--version").strip().endswith(foldlog.__version__)


class TestIndexPage:
    """What a package index shows of the project."""

    @pytest.fixture
    def metadata(self, wheel: Path) -> Message:
        (name,) = (name for name in contents(wheel) if name.endswith("dist-info/METADATA"))
        return message_from_bytes(contents(wheel)[name])

    def test_its_page_has_no_link_that_leads_nowhere(self, metadata: Message) -> None:
        page = str(metadata.get_payload(decode=True), "utf-8")
        html = MarkdownIt("commonmark").enable("table").render(page)
        targets = re.findall(r'(?:href|src)="([^"]*)"', html)
        assert [target for target in targets if not target.startswith("https://")] == []
        assert "<!--" not in html
        assert "Recall (<code>docs/recall.md</code>)" in html

    def test_its_page_says_all_that_the_readme_says(self, metadata: Message) -> None:
        page = str(metadata.get_payload(decode=True), "utf-8")
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        shown = re.sub(r"<!--\[cog.*?cog\]-->", "", readme, flags=re.DOTALL)
        assert re.findall(r"^```.*?^```", page, re.MULTILINE | re.DOTALL) == re.findall(
            r"^```.*?^```", shown, re.MULTILINE | re.DOTALL
        )
        assert re.findall("^#+ .*", page, re.MULTILINE) == re.findall("^#+ .*", shown, re.MULTILINE)

    def test_it_names_an_author_and_no_address_that_does_not_exist(self, metadata: Message) -> None:
        assert metadata["Author"] == "The foldlog authors"
        assert metadata.get_all("Project-URL") is None
        assert metadata["Home-page"] is None

    def test_it_is_found_by_what_it_is(self, metadata: Message) -> None:
        classifiers = metadata.get_all("Classifier") or []
        assert "Environment :: Console" in classifiers
        assert [name for name in classifiers if name.startswith("Topic :: ")]


class TestCheckers:
    """What packaging tools say of what is built."""

    def test_the_contents_of_the_wheel_are_in_order(self, wheel: Path) -> None:
        run(tool("check-wheel-contents"), "--no-config", wheel, cwd=wheel.parent)

    def test_an_index_would_take_both(self, wheel: Path, sdist: Path) -> None:
        run(tool("twine"), "check", "--strict", wheel, sdist, cwd=wheel.parent)

    def test_nothing_is_left_to_tell_about_the_project(self, sdist: Path) -> None:
        # There is no project page and no address to write to, and none is made up.
        told = run(
            *(tool("pyroma"), "--file", "--min=10", "--skip-tests=Url,AuthorEmail"),
            sdist,
            cwd=sdist.parent,
        )
        assert "10/10" in told


def tool(name: str) -> Path:
    """The command of a tool in this environment."""
    return Path(sysconfig.get_path("scripts")) / name


def test_the_version_is_told_once(installed: Environment) -> None:
    metadata = installed.run("from importlib.metadata import version; print(version('foldlog'))")
    assert metadata.strip() == foldlog.__version__
