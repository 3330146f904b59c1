"""Seeded sessions of a coding agent, as messages of the Messages API.

One message holds one prompt, one reply (text and one to three calls) or one tool result: what a
harness records each time something happens. Results are log-normal in size (median 1.2 KB, 95 %
under 20 KB, at most 200 KB), one in ten repeats an earlier one, one in twenty is Chinese. Their
text is cut from the standard library's own sources and documentation, so that ratios of compression
mean something: results of real sessions compress as well. Half of the sources trained the
dictionary of compression (train_dictionary.py); sessions are cut from the other half. The first
messages of a long session are those of a short one with the same seed.
"""

from __future__ import annotations

import functools
import math
import random
import sysconfig
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, Literal

import orjson

Message = dict[str, Any]
Pool = Literal["train", "test"]

MEDIAN, P95, LARGEST = 1_200, 20_000, 200_000
SIGMA = math.log(P95 / MEDIAN) / 1.645  # 1.645: the 95th percentile of the normal distribution
REPEATED, CHINESE = 0.10, 0.05
REMEMBERED = 500
"""How many of the latest results one may be a repetition of."""

VOCABULARY = """
我们 你们 它 这个 那个 每次 已经 没有 可以 需要 应该 必须 因为 所以 如果 但是 然后
之前 以后 仍然 函数 变量 测试 配置 文件 目录 日志 数据库 会话 事件 版本 索引 缓存
线程 进程 锁 事务 接口 类型 参数 返回 错误 异常 警告 消息 工具 模型 摘要 压缩 上下文
历史 请求 结果 路径 编码 修改 删除 添加 检查 运行 读取 写入 恢复 备份 迁移 合并 提交
更新 重试 解析 输出 打开 关闭 并发 超时 丢失 重复 正确 空 旧 新 全部 一行 的 了 和
在
"""
SKIPPED = {"site-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data"}
TOOLS = ("Read", "Bash", "Grep")


@functools.cache
def sources(pool: Pool = "test") -> tuple[tuple[str, str], ...]:
    """Path and text of each module; ``train`` and ``test`` have no file in common."""
    library = Path(sysconfig.get_paths()["stdlib"])
    found = []
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library)
        half: Pool = "test" if zlib.crc32(name.name.encode()) % 2 else "train"
        if pool == half and SKIPPED.isdisjoint(name.parts):
            text = path.read_text(encoding="utf-8", errors="ignore")
            if len(text) > 600:
                found.append((f"/repo/{name}", text))
    return tuple(found)


@functools.cache
def outputs() -> dict[str, str]:
    """Return a long text for each tool, from which its results are cut."""
    pick = random.Random(1)
    read, grep, bash = [], [], []
    for path, text in sources():
        lines = text.split("\n")
        read += [f"{number:6d}\t{line}" for number, line in enumerate(lines, 1)]
        for number in sorted(pick.sample(range(len(lines)), len(lines) // 8)):
            line, commit = lines[number], f"{pick.getrandbits(28):07x}"
            grep.append(f"{path}:{number + 1}:{line}")
            bash += [
                f"{path[6:]}::test_{pick.choice(lines)[8:24].strip()} PASSED {pick.random():.3f}s",
                f'  File "{path}", line {number + 1}, in {commit}\n    {line.strip()}',
                f"{commit} {pick.choice(lines).strip()}",
            ]
    pick.shuffle(grep)
    return {"Read": "\n".join(read), "Grep": "\n".join(grep), "Bash": "\n".join(bash)}


class Writer:
    """Writes one session, message after message."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sources = sources()
        self.outputs = outputs()
        self.english = "\n".join(topics[name] for name in sorted(topics))
        self.vocabulary = VOCABULARY.split()
        self.results: deque[str] = deque(maxlen=REMEMBERED)

    def messages(self) -> Iterator[Message]:
        """Prompts, each with its rounds of calls and results (nine on average), and a last word."""
        while True:
            yield {"role": "user", "content": [self.prose(150)]}
            while self.random.random() < 0.9:
                calls = [self.call() for _ in range(self.random.choices((1, 2, 3), (6, 3, 1))[0])]
                yield {"role": "assistant", "content": [self.prose(180), *calls]}
                for call in calls:
                    yield {"role": "user", "content": [self.result(call)]}
            yield {"role": "assistant", "content": [self.prose(600)]}

    def size(self, median: float, sigma: float = 0.8, largest: int = 6_000) -> int:
        return int(min(largest, max(16, self.random.lognormvariate(math.log(median), sigma))))

    def cut(self, text: str, size: int) -> str:
        start = text.find("\n", self.random.randrange(max(1, len(text) - size))) + 1
        return text[start : start + size]

    def chinese(self, size: int) -> str:
        """Of about ``size`` bytes: a character has three, a word and its comma six on average."""
        words = self.random.choices(self.vocabulary, k=max(2, size // 6))
        clauses = ("".join(words[at : at + 6]) for at in range(0, len(words), 6))
        return "，".join(clauses)[: size // 3] + "。"

    def prose(self, median: int) -> Message:
        size = self.size(median)
        chinese = self.random.random() < CHINESE
        text = self.chinese(size) if chinese else self.cut(self.english, size)
        return {"type": "text", "text": text.strip() or "Done."}

    def call(self) -> Message:
        pick = self.random
        path, text = pick.choice(self.sources)
        tool = pick.choices((*TOOLS, "Edit"), (45, 25, 15, 15))[0]
        before = self.cut(text, self.size(200))
        inputs: dict[str, Message] = {
            "Read": {"file_path": path, "offset": pick.randrange(500), "limit": 200},
            "Bash": {"command": f"cd /repo && python -m pytest -x -q {path}", "timeout": 60_000},
            "Grep": {"pattern": before[:12].strip() or "self", "path": path, "-n": True},
            "Edit": {
                "file_path": path,
                "old_string": before,
                "new_string": before.replace("self", "this"),
            },
        }
        identity = f"toolu_01{pick.getrandbits(128):032x}"[:30]
        return {"type": "tool_use", "id": identity, "name": tool, "input": inputs[tool]}

    def result(self, call: Message) -> Message:
        pick = self.random
        if self.results and pick.random() < REPEATED:
            text = pick.choice(self.results)
        else:
            size = self.size(MEDIAN, SIGMA, LARGEST)
            output = self.outputs.get(call["name"]) or self.outputs["Read"]
            text = self.chinese(size) if pick.random() < CHINESE else self.cut(output, size)
            self.results.append(text)
        return {"type": "tool_result", "tool_use_id": call["id"], "content": text}


def session(count: int, seed: int = 7) -> Iterator[Message]:
    """Return the first ``count`` messages of the session with this seed."""
    return islice(Writer(seed).messages(), count)


def write(messages: Iterable[Message], path: Path) -> Path:
    """Return one JSON object a line, so that every process of a run reads the same session."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps(m, option=orjson.OPT_APPEND_NEWLINE) for m in messages)
    return path


def read(path: Path, count: int, skip: int = 0) -> Iterator[Message]:
    with path.open("rb") as file:
        yield from map(orjson.loads, islice(file, skip, skip + count))
