"""What a file is that is not a saved program, by its first bytes, and what reads it.

It serves an error message alone: nothing of the file is interpreted beyond the name of a member.
"""

from __future__ import annotations

from typing import Final

HEAD: Final = 256  # bytes that are looked at
_ZIP: Final = b"PK\3\4"
_NAME_LENGTH: Final = slice(26, 28)  # in the header of the first member of a zip
_NAME: Final = 30


def foreign(head: bytes, ours: bytes) -> tuple[str, str] | None:
    """What a file is and the fix; None for one that starts as a saved program does.

    `ours` is the name of the first member of a saved program.
    """
    if not head:
        return "it is empty", "save the program again"
    if head[:4] == _ZIP:
        return _of_zip(head[_NAME:][: int.from_bytes(head[_NAME_LENGTH], "little")], ours)
    if head[:2] in (b"\x80\x02", b"\x80\x04", b"\x80\x05"):
        return "it is a pickle, as torch.save and pickle write them", "read it with torch.load"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32:
        return "it is a file of safetensors", "give its tensors to program.load_state_dict"
    return "it has another format", "give the path that program.save(path) wrote"


def _of_zip(name: bytes, ours: bytes) -> tuple[str, str] | None:
    if name == ours or len(name) < 4:
        return None
    inside = name.partition(b"/")[2]
    if inside == b"data.pkl" or inside.startswith((b"data/0", b"code/")):
        return "torch.save or torch.jit.save wrote it", "read it with torch.load or torch.jit.load"
    if inside.startswith((b"data/", b"models/", b"archive_")):
        return (
            "torch.export.save wrote it",
            "read it with torch.export.load, and give that to anyshape.from_torch",
        )
    return f"it is a zip that starts with {name[:60]!r}", "give the path that save wrote"
