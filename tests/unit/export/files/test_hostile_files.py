"""Damaged and hostile files: each is refused with LoadError and a reason, and nothing else."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.errors import LoadError
from anyshape.export import ExportedProgram, load
from anyshape.export.files import archive
from anyshape.export.files.encode import FORMAT
from tests.unit.export.files.saved_programs import CASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

VICTIMS = ("sequential", "tied", "branch", "split", "nested", "sizes", "numbers", "classes")


@cache
def members(name: str) -> dict[str, bytes]:
    import tempfile

    with tempfile.NamedTemporaryFile() as f:
        CASES[name].export().save(f.name)
        return archive.read_file(f.name)


def packed(parts: dict[str, bytes], *, fix: bool = True) -> bytes:
    """The file of these members, with checksums that are right if `fix`."""
    if fix:
        parts = {**parts, archive.CHECKSUMS: archive.checksums(parts)}
    stream = io.BytesIO()
    archive.write(stream, parts)
    return stream.getvalue()


def whole(name: str) -> bytes:
    return packed(members(name))


def content(name: str) -> Any:
    return json.loads(members(name)[archive.PROGRAM])


def with_content(name: str, data: Any) -> bytes:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return packed({**members(name), archive.PROGRAM: text})


def refusal(data: bytes, path: Path) -> str:
    """The reason for which a file is refused; any other exception is a failure."""
    path.write_bytes(data)
    with pytest.raises(LoadError) as found:
        load(path)
    text = str(found.value)
    assert text.strip()
    return text


def refused_or_program(data: bytes, path: Path) -> bool:
    """Whether a file is refused; where it is not, it must be a program all the same."""
    path.write_bytes(data)
    try:
        program = load(path)
    except LoadError:
        return True
    assert isinstance(program, ExportedProgram)
    assert program.code
    assert program.explain()
    assert program.graph_signature
    assert program.module().state_dict().keys() == program.state_dict().keys()
    program.save(path)
    return False


def test_the_victims_are_sound(tmp_path: Path) -> None:
    for name in VICTIMS:
        (tmp_path / "a").write_bytes(whole(name))
        assert load(tmp_path / "a").code == CASES[name].export().code


# ---------------------------------------------------------------------- damage


def test_truncated_at_60_places(tmp_path: Path) -> None:
    for name in ("sequential", "split"):
        data = whole(name)
        for i in range(30):
            refusal(data[: i * len(data) // 30], tmp_path / "a")


def flip(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_one_bit_flipped_at_200_places(tmp_path: Path) -> None:
    """Any bit: of a header, of the content, of a checksum, of the directory."""
    for name in ("tied", "branch"):
        data = whole(name)
        bits = random.Random(name).sample(range(8 * len(data)), 60)
        bits += [8 * i + i % 8 for i in range(20)] + [8 * (len(data) - i) - 3 for i in range(1, 21)]
        for bit in bits:
            refusal(flip(data, bit), tmp_path / "a")


def test_something_before_after_or_between(tmp_path: Path) -> None:
    data = whole("branch")
    for changed in (data + b"\0", b"\0" + data, data + data, data[:50] + b"x" + data[50:], b""):
        refusal(changed, tmp_path / "a")


@pytest.mark.parametrize("member", [archive.PROGRAM, archive.WEIGHTS])
def test_bits_flipped_with_right_checksums(member: str, tmp_path: Path) -> None:
    """A text or a weight may be another one, and the rest is refused."""
    refused = 0
    for name in ("sequential", "split", "sizes"):
        parts = members(name)
        chosen = random.Random(name).sample(range(8 * len(parts[member])), 40)
        for bit in chosen:
            changed = packed({**parts, member: flip(parts[member], bit)})
            refused += refused_or_program(changed, tmp_path / "a")
    assert refused > 10


# ---------------------------------------------------------------------- other types


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values, those inside of arguments of ops aside, which may be anything."""
    if path:
        yield path
    if isinstance(x, dict | list):
        for key, part in x.items() if isinstance(x, dict) else enumerate(x):
            if key not in ("args", "kwargs", "outputs", "plain"):
                yield from places(part, (*path, key))


def replaced(x: Any, path: tuple[Any, ...], value: Any) -> Any:
    x = json.loads(json.dumps(x))
    inner = x
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return x


def at(x: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        x = x[key]
    return x


OTHERS: tuple[Any, ...] = ({"bad": 1}, 1.5, [[[]]], "\x00 no such thing", -7, True)


@pytest.mark.parametrize("name", VICTIMS)
def test_values_of_another_type(name: str, tmp_path: Path) -> None:
    """At 40 places of each program: what is there becomes what never can be."""
    whole_ = content(name)
    chosen = [path for path in places(whole_) if ("class", 2) not in pairwise(path)]  # any context
    chosen = [path for path in chosen if path[-3:-2] != ("dict",) or path[-1] != 0]  # any key
    draw = random.Random(name)
    kept = count = 0
    for path in draw.sample(chosen, min(40, len(chosen))):
        old = at(whole_, path)
        for value in draw.sample(OTHERS, 2):
            if old is None or type(value) is type(old):
                continue
            count += 1
            data = with_content(name, replaced(whole_, path, value))
            kept += not refused_or_program(data, tmp_path / "a")
            assert not kept, (path, old, value)
    assert count > 40


def test_a_call_that_gives_an_empty_tuple_in_a_tuple(tmp_path: Path) -> None:
    whole_ = content("split")
    nodes = whole_["variants"][0]["nodes"]
    unused = max(i for i, node in enumerate(nodes) if "symbol" in node["outs"])
    path = ("variants", 0, "nodes", unused, "outs")
    for value in ([[]], [[[]]], [None, []]):
        data = with_content("split", replaced(whole_, path, value))
        assert refused_or_program(data, tmp_path / "a"), value


@pytest.mark.parametrize("name", VICTIMS)
def test_missing_and_additional_keys(name: str, tmp_path: Path) -> None:
    whole_ = content(name)
    objects = [p for p in places(whole_) if isinstance(at(whole_, p), dict)]
    for path in random.Random(name).sample(objects, min(10, len(objects))):
        old = at(whole_, path)
        less = dict(list(old.items())[1:])
        refusal(with_content(name, replaced(whole_, path, less)), tmp_path / "a")
        more = {**old, "more": 0}
        refusal(with_content(name, replaced(whole_, path, more)), tmp_path / "a")
    for key in whole_:
        rest = {k: v for k, v in whole_.items() if k != key}
        refusal(with_content(name, rest), tmp_path / "a")


def test_arguments_of_any_kind(tmp_path: Path) -> None:
    """What an argument may be is refused where it makes no sense, or fails when the op runs."""
    values: tuple[Any, ...] = (
        {"value": "v9999"},
        {"value": 3},
        {"value": "c0", "more": 1},
        {"unknown": 1},
        {"int": "s99"},
        {"int": "1.5"},
        {"bool": "s0"},
        {"int": 3},
        {"dtype": "float33"},
        {"device": "../x"},
        {"float": "1.5"},
        {"complex": [1]},
        {"slice": [1, 2]},
        {"dict": [[1]]},
        {"dict": [[[], 1]]},
        {"size": ["a"]},
        {"ellipsis": False},
        {},
        2**65,
    )
    for value in values:
        changed = content("branch")
        changed["variants"][0]["nodes"][0]["args"][0] = value
        refusal(with_content("branch", changed), tmp_path / "a")


# ---------------------------------------------------------------------- hostile content


def node(name: str = "branch", **changes: Any) -> bytes:
    data = content(name)
    data["variants"][0]["nodes"][0].update(changes)
    return with_content(name, data)


@pytest.mark.parametrize(
    "op",
    [
        "os.system",
        "builtins.eval",
        "torch.load",
        "torch.save",
        "torch.hub.load",
        "torch.compile",
        "torch.from_file",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.save",
        "torch.ops.load_library",
        "torch.ops.load_library.a.b",
        "torch.ops.prim.Print",
        "torch.ops.aten.add.__class__",
        "torch.ops.nobody.knows.default",
        "torch.Tensor.__class__",
        "torch.Tensor.__reduce_ex__",
        "torch.Tensor.numpy",
        "torch.Tensor.apply_",
        "torch.nn.functional.handle_torch_function",
        "torch.serialization.load",
        "torch..add",
        "",
        "add",
    ],
)
def test_ops_that_are_not_in_the_table(op: str, tmp_path: Path) -> None:
    reason = refusal(node(op=op), tmp_path / "a")
    assert "op" in reason


def test_an_unregistered_library_is_named(tmp_path: Path) -> None:
    reason = refusal(node(op="torch.ops.nobody.knows.default"), tmp_path / "a")
    assert "nobody::knows" in reason
    assert "import the library" in reason


@pytest.mark.parametrize("word", ["a=__import__('os')", "if", "x y", "", "λ", "a, **b", "1"])
def test_names_of_arguments_are_names(word: str, tmp_path: Path) -> None:
    refusal(node(kwargs=[[word, 1]]), tmp_path / "a")


@pytest.mark.parametrize(
    "word", ["torch", "fail", "flat", "s0; import os", "_0", "if", "s0)", "a7"]
)
def test_names_of_symbols_are_symbols(word: str, tmp_path: Path) -> None:
    data = content("branch")
    data["variants"][0]["terms"][0]["name"] = word
    refusal(with_content("branch", data), tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [
        "0 <= s0**999999999",
        "0 <= 9**999999999",
        "0 <= " + "9" * 5000,
        "0 <= " + "(" * 5000 + "s0" + ")" * 5000,
        "0 <= " + "-" * 5000 + "s0",
        "0 <= __import__('os').getcwd()",
        "0 <= s0.__class__",
        "0 <= s0 // 0",
        "0 <= " + "*".join(f"(s0 + {i})" for i in range(400)),
        "s0",
        "0 <= s1",
        "0 <= _0",
        "",
        "0 <= s0 and",
        "lambda: 0",
        "x" * (1 << 21),
    ],
)
def test_hostile_conditions(text: str, tmp_path: Path) -> None:
    data = content("branch")
    data["variants"][0]["guards"][0]["condition"] = text
    refused_or_program(with_content("branch", data), tmp_path / "a")
    if "(s0 + " not in text and "**" not in text:
        refusal(with_content("branch", data), tmp_path / "a")


@pytest.mark.parametrize("place", [2**20, 2**22, 2**62, -1, None, "0", 1.5])
def test_places_far_away(place: Any, tmp_path: Path) -> None:
    data = content("sizes")
    for term in data["variants"][0]["terms"]:
        if "place" in term:
            term["place"] = place
    refused_or_program(with_content("sizes", data), tmp_path / "a")


def test_contradictory_facts(tmp_path: Path) -> None:
    data = content("branch")
    data["variants"][0]["terms"][0]["range"] = [5, 4]
    refusal(with_content("branch", data), tmp_path / "a")
    data["variants"][0]["terms"][0]["range"] = [5, None]
    data["variants"][0]["replacements"] = [["s0", "3"]]
    refusal(with_content("branch", data), tmp_path / "a")
    data["variants"][0]["replacements"] = [["s0", "s0 + 1"]]
    refusal(with_content("branch", data), tmp_path / "a")


def test_values_used_before_they_are_made(tmp_path: Path) -> None:
    data = content("sequential")
    nodes = data["variants"][0]["nodes"]
    nodes.reverse()
    refusal(with_content("sequential", data), tmp_path / "a")
    data = content("sequential")
    nodes = data["variants"][0]["nodes"]
    nodes.append(nodes[-1])
    assert "already defined" in refusal(with_content("sequential", data), tmp_path / "a")


def test_sizes_used_before_they_are_known(tmp_path: Path) -> None:
    data = content("split")
    nodes = data["variants"][0]["nodes"]
    first = next(n for n in nodes if "symbol" in json.dumps(n["outs"]))
    nodes.remove(first)
    assert "not defined" in refusal(with_content("split", data), tmp_path / "a")


@pytest.mark.parametrize(
    "shape", [[2**62, 2**62], [-1], [float("nan")], [1e400], [2**64], [1] * 99]
)
@pytest.mark.parametrize("where", ["example", "constant"])
def test_absurd_shapes(shape: list[Any], where: str, tmp_path: Path) -> None:
    data = content("sequential")
    if where == "example":
        example = data["variants"][0]["inputs"][0]["example"]
        example.update(shape=shape, strides=[1] * len(shape))
    else:
        data["constants"][0].update(shape=shape, strides=[1] * len(shape))
    refusal(with_content("sequential", data), tmp_path / "a")


def test_views_beyond_the_memory(tmp_path: Path) -> None:
    for change in ({"offset": 10**6}, {"strides": [10**6, 1]}, {"shape": [10**6, 4]}):
        data = content("tied")
        view = next(
            c for c in data["constants"] if c["strides"] and min(c["strides"]) and c["shape"][1:]
        )
        view.update(change)
        refusal(with_content("tied", data), tmp_path / "a")


def test_recursion(tmp_path: Path) -> None:
    for text in (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 10**5 + b"]" * 10**5):
        refusal(with_content("branch", text), tmp_path / "a")
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    refusal(node(args=[deep]), tmp_path / "a")
    data = content("branch")
    data["variants"][0]["out_tree"] = "here"
    tree = '{"list":[' * 200 + "0" + "]}" * 200
    text = json.dumps(data).replace('"here"', tree)
    refusal(with_content("branch", text.encode()), tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"not json",
        b'{"format":1,"format":1}',
        b'{"format":NaN}',
        b'{"format":1e999}',
        b'{"format":' + b"9" * 10000 + b"}",
        b"\xff\xfe",
        b'"\\ud800"',
        b"[" + b"0," * (1 << 23) + b"0]",
    ],
)
def test_not_the_json_of_a_program(text: bytes, tmp_path: Path) -> None:
    refusal(with_content("branch", text), tmp_path / "a")


def test_a_newer_version(tmp_path: Path) -> None:
    data = content("branch")
    data["format"] = FORMAT + 1
    data["something"] = "new"
    reason = refusal(with_content("branch", data), tmp_path / "a")
    assert f"format version {FORMAT + 1}" in reason
    assert "newer" in reason
    for version in (0, -1, "1", None, True, 1.0):
        data["format"] = version
        refusal(with_content("branch", data), tmp_path / "a")


def test_weights_that_are_not_those_of_the_program(tmp_path: Path) -> None:
    import safetensors.torch

    parts = members("sequential")
    good = safetensors.torch.load(parts[archive.WEIGHTS])
    key = next(iter(good))
    bad = (
        {},
        {k: t for k, t in good.items() if k != key},
        {**good, "more": torch.ones(1)},
        {**good, key: torch.ones(1)},
        {**good, key: good[key].double()},
    )
    files = [safetensors.torch.save(tensors) for tensors in bad]
    files += [b"", b"\0" * 8, struct.pack("<Q", 2**60) + b"{}", parts[archive.WEIGHTS] + b"x"]
    for data in files:
        refusal(packed({**parts, archive.WEIGHTS: data}), tmp_path / "a")


# ---------------------------------------------------------------------- hostile zips


def rezipped(change: Callable[[zipfile.ZipFile, dict[str, bytes]], None]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as z:
        change(z, members("branch"))
    return stream.getvalue()


def _bomb(z: zipfile.ZipFile, _: Any) -> None:
    z.writestr("program.json", b" " * (1 << 24), zipfile.ZIP_DEFLATED)


def _escape(z: zipfile.ZipFile, parts: dict[str, bytes]) -> None:
    for name, data in parts.items():
        z.writestr(f"../../{name}", data)


def _twice(z: zipfile.ZipFile, parts: dict[str, bytes]) -> None:
    for name, data in parts.items():
        z.writestr(name, data)
    z.filelist[0].filename = "program.json"
    z.filelist.append(z.filelist[0])


def _more(z: zipfile.ZipFile, parts: dict[str, bytes]) -> None:
    for name, data in {**parts, "more.pkl": b"x"}.items():
        z.writestr(name, data)


@pytest.mark.parametrize("change", [_bomb, _escape, _twice, _more, lambda *_: None])
def test_other_zips(change: Any, tmp_path: Path) -> None:
    refusal(rezipped(change), tmp_path / "a")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_member_that_says_it_is_huge(tmp_path: Path) -> None:
    data = bytearray(whole("branch"))
    at_ = data.index(b"program.json") + len("program.json") + 4
    for size in (1 << 30, 1 << 40, (1 << 64) - 1):
        data[at_ : at_ + 16] = struct.pack("<2Q", size, size)
        refusal(bytes(data), tmp_path / "a")


# ---------------------------------------------------------------------- names and modules


NAMES = {
    "twice": lambda s, _: s["entries"].append(s["entries"][0]),
    "empty": lambda s, _: s["entries"][0].__setitem__(0, ""),
    "empty part": lambda s, _: s["entries"][0].__setitem__(0, "a..b"),
    "deep": lambda s, _: s["entries"][0].__setitem__(0, ".".join("a" * 100)),
    "long": lambda s, _: s["entries"][0].__setitem__(0, "a" * 5000),
    "kind": lambda s, _: s["entries"][0].__setitem__(1, "module"),
    "tensor": lambda s, _: s["entries"][0].__setitem__(2, 99),
    "left out": lambda s, _: s["entries"].pop(),
    "inside of a tensor": lambda s, _: s["entries"][0].__setitem__(0, f"{s['entries'][1][0]}.a"),
    "changes": lambda s, _: s["mutated"].append("nothing"),
    "a circle": lambda _, m: m["shared"].extend([["a", "b"], ["b", "a"]]),
    "a long circle": lambda _, m: m["shared"].extend([["a", "b.c"], ["b", "a"]]),
    "in itself": lambda _, m: m["shared"].append(["a", "a.b"]),
    "a mode": lambda _, m: m.__setitem__("training", 1),
    "a call before its outer": lambda _, m: m["calls"][0].__setitem__(3, 0),
    "a number of a call": lambda _, m: m["calls"][0].__setitem__(2, -1),
    "a path": lambda _, m: m["calls"][0].__setitem__(0, "."),
}


@pytest.mark.parametrize("what", NAMES)
def test_names_and_modules(what: str, tmp_path: Path) -> None:
    data = content("sequential")
    NAMES[what](data["state"], data["modules"])
    refusal(with_content("sequential", data), tmp_path / "a")


def test_calls_that_do_not_exist(tmp_path: Path) -> None:
    data = content("sequential")
    assert data["modules"]["calls"]
    for number in (-1, 99, "0", True):
        data["variants"][0]["nodes"][0]["call"] = number
        refusal(with_content("sequential", data), tmp_path / "a")


# ---------------------------------------------------------------------- a bug, planted


def test_a_reader_that_skips_the_checksums_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the checks of the content, flipped bits of the weights would get through."""
    import zlib

    parts = members("sequential")
    start = whole("sequential").index(parts[archive.WEIGHTS])
    damaged = flip(whole("sequential"), 8 * (start + len(parts[archive.WEIGHTS]) - 1))
    refusal(damaged, tmp_path / "a")
    wrong = packed({**parts, archive.WEIGHTS: flip(parts[archive.WEIGHTS], 4000)}, fix=False)
    refusal(wrong, tmp_path / "a")
    monkeypatch.setattr(archive, "agree", lambda *_: True)
    (tmp_path / "a").write_bytes(wrong)
    with pytest.raises(pytest.fail.Exception):
        refusal(wrong, tmp_path / "a")
    monkeypatch.undo()
    monkeypatch.setattr(zlib, "crc32", lambda _: 0)
    monkeypatch.setattr(archive, "agree", lambda *_: True)
    zeroed = packed(parts, fix=False)
    where = zeroed.index(parts[archive.WEIGHTS]) + len(parts[archive.WEIGHTS]) - 1
    with pytest.raises(pytest.fail.Exception):
        refusal(flip(zeroed, 8 * where), tmp_path / "a")
