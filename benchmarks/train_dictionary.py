"""Train the zstd dictionary that ``foldlog.eventstore.codec`` compresses with.

    python -m benchmarks.train_dictionary OUT.zdict

What it is trained on, and so what fragments of it stand in the dictionary:

* results of tools, prompts and replies cut from *half* of the modules of CPython's standard library
  (licence PSF-2.0, see NOTICE): those whose file name has an even CRC-32. Compression is measured
  on the other half, which benchmarks/corpus.py uses;
* the JSON shapes of ``benchmarks/shapes.jsonl``: the keys of wire formats with made-up values;
* Chinese sentences put together from a list of words.

No transcript of a person or a project is in it. Everything is seeded: the same library and the same
zstd give the same bytes. ``foldlog-1.zdict`` was made with CPython 3.11.2, zstandard 0.25 and zstd
1.5.7. It is never made again, since stored frames cannot be read without it; a better one gets
another number and stands beside it.
"""

from __future__ import annotations

import ast
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path

import click
import orjson
import zstandard

from benchmarks.corpus import sources
from benchmarks.shapes import Shapes
from foldlog.eventstore.dictionary import LEVEL, NUMBER

SEED, SAMPLES = 20261129, 24_000

SIZE = 110 * 1024
"""Bytes of the dictionary, zstd's own default. 64 KB would cost 1 % of all frames, 32 KB 2 %."""

COVER = {"k": 160, "d": 6, "f": 20, "accel": 1}
"""How zstd picks segments: short ones (160 bytes) are best for source, longer ones for JSON."""

SHARES = {"payload": 35, "data": 50, "line": 7, "meta": 8}
"""Of a hundred samples: texts as they are, bodies of events, whole lines of transcripts, what an
importer keeps of them."""

MEDIAN, SIGMA, LARGEST = 700.0, 1.1, 8_000
"""Sizes of texts in bytes, log-normal: smaller than real results, since small ones gain most."""

VOCABULARY = """
先 再 把 对 从 到 让 给 请 不 都 也 就 还 会 能 要 可 用 看 我 你 这里 那里 目前 现在 问题
原因 方法 结果 步骤 代码 程序 文件 目录 函数 变量 参数 模块 接口 测试 用例 错误 异常 日志
服务 请求 响应 数据 用户 系统 项目 版本 分支 提交 修复 增加 删除 修改 检查 运行 执行 读取
写入 保存 加载 生成 解析 完成 失败 成功 需要 可以 已经 没有 如果 因为 所以 但是 以及 其中
根据 通过 进行 使用 实现 支持 更新 配置 环境
"""


def modules() -> dict[str, str]:
    """Return the modules to train on; the tables of character sets are not what agents read."""
    found = sources("train")
    return {path: text for path, text in found if not path.startswith("/repo/encodings/")}


def docstrings(text: str) -> Iterator[str]:
    """Yield the English of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            said = ast.get_docstring(node)
            if said and len(said) > 80:
                yield said


class Texts:
    """An endless stream of what tools print and people write."""

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        found = modules()
        self.sources = [(path, text.split("\n")) for path, text in found.items()]
        self.prose = [said for text in found.values() for said in docstrings(text)]
        self.vocabulary = VOCABULARY.split()

    def __iter__(self) -> Iterator[str]:
        kinds = {self.read: 40, self.english: 20, self.bash: 20, self.grep: 15, self.chinese: 3}
        while True:
            (make,) = self.pick.choices([*kinds], [*kinds.values()])
            size = self.pick.lognormvariate(math.log(MEDIAN), SIGMA)
            yield make(int(min(LARGEST, max(60, size))))

    def lines(self, size: int) -> tuple[str, int, list[str]]:
        """Return a file, the number of a line, and about ``size`` bytes of lines from there on."""
        path, lines = self.pick.choice(self.sources)
        start = self.pick.randrange(len(lines))
        return path, start + 1, lines[start : start + 1 + size // 40]

    def read(self, size: int) -> str:
        _, first, lines = self.lines(size)
        form = self.pick.choice(("{:6d}\t{}", "{:6d}→{}", "{}\t{}", "{1}"))
        return "\n".join(form.format(number, line) for number, line in enumerate(lines, first))

    def grep(self, size: int) -> str:
        root = self.pick.choice(("/repo/", "/", "./", "/home/dev/project/"))
        found: list[str] = []
        while sum(map(len, found)) < size:
            path, first, lines = self.lines(200)
            found += [
                f"{root}{path[6:]}:{number}:{line}" for number, line in enumerate(lines, first)
            ]
        return "\n".join(found)

    def bash(self, size: int) -> str:
        told: list[str] = []
        while sum(map(len, told)) < size:
            path, number, (line, *_) = self.lines(40)
            told.append(self.pick.choice(self.outputs(path, number, line)))
        return "\n".join(told)

    def outputs(self, path: str, number: int, line: str) -> tuple[str, ...]:
        """Return a line as tests, tracebacks, git and ls would print it."""
        name = re.sub(r"\W+", "_", line.strip())[:30] or "empty"
        verdict = self.pick.choice(("PASSED", "PASSED", "FAILED"))
        return (
            f"tests/test_{path[6:]}::test_{name} {verdict} [{number % 100:3d}%]",
            f'  File "{path}", line {number}, in {name}\n    {line.strip()}',
            f"{self.pick.getrandbits(28):07x} {line.strip()}",
            f"-rw-r--r--  1 dev dev {number:6d} Nov 29 12:{number % 60:02} {path[6:]}",
            f" {path[6:]} | {number % 90} {'+' * (number % 20)}{'-' * (number % 7)}",
            f"+{line}",
        )

    def english(self, size: int) -> str:
        return self.pick.choice(self.prose)[:size]

    def chinese(self, size: int) -> str:
        words = self.pick.choices(self.vocabulary, k=max(4, size // 6))
        return "，".join("".join(words[at : at + 5]) for at in range(0, len(words), 5)) + "。"


def samples() -> Iterator[bytes]:
    """Bodies as the store compresses them."""
    pick = random.Random(SEED)
    texts = iter(Texts(pick))
    shapes = Shapes(pick, texts)
    for kind in pick.choices([*SHARES], [*SHARES.values()], k=SAMPLES):
        yield next(texts).encode() if kind == "payload" else orjson.dumps(shapes.draw(kind))


@click.command()
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
def main(out: Path) -> None:
    """Train the dictionary and write it to OUT."""
    trained = zstandard.train_dictionary(
        SIZE, list(samples()), dict_id=NUMBER, level=LEVEL, **COVER
    )
    out.write_bytes(trained.as_bytes())
    click.echo(f"{len(trained)} bytes, number {trained.dict_id()}")


if __name__ == "__main__":
    main()
