"""One versioned, checksummed record: a JSON head and named numpy arrays."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import MemoryStore

__all__ = ["Record", "bundle", "decode_schema", "encode_schema", "unbundle"]

_MAGIC = b"SLKW"
_FORMAT = 1
_HEAD = struct.Struct("<4sHII")  # magic, format, crc of the rest, length of the JSON


@dataclass(frozen=True)
class Record:
    """What a snapshot is made of.

    Parameters
    ----------
    kind
        Which kernel wrote it.
    version
        That kernel's layout version.
    meta
        Plain JSON values.
    arrays
        Numpy arrays of any fixed-size type, structured ones included.
    """

    kind: str
    version: int
    meta: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Write the record.

        Examples
        --------
        >>> one = Record("demo", 1, {"n": 3}, {"x": np.arange(3)})
        >>> two = Record.decode(one.encode(), kind="demo", version=1)
        >>> two.meta["n"], two.arrays["x"].tolist()
        (3, [0, 1, 2])
        """
        specs, body = [], []
        for name, array in self.arrays.items():
            array = np.asarray(array, order="C")
            specs.append([name, np.lib.format.dtype_to_descr(array.dtype), list(array.shape)])
            body.append(array.tobytes())
        head = json.dumps({"kind": self.kind, "version": self.version, "meta": dict(self.meta),
                           "arrays": specs}, separators=(",", ":")).encode()
        rest = head + b"".join(body)
        return _HEAD.pack(_MAGIC, _FORMAT, zlib.crc32(rest), len(head)) + rest

    @classmethod
    def head(cls, blob: bytes) -> tuple[str, Mapping[str, Any]]:
        """The kind and the plain values of a record, whatever wrote it."""
        head, _ = cls._parts(blob, "look into a snapshot")
        return head["kind"], head["meta"]

    @classmethod
    def decode(cls, blob: bytes, *, kind: str, version: int) -> Record:
        """Read a record of the given kind and version, or say why not."""
        where = f"restore {kind}"
        head, body = cls._parts(blob, where)
        if head["kind"] != kind:
            raise SnapshotError("the snapshot is of another kernel", step=where, expected=kind,
                                got=head["kind"])
        if head["version"] != version:
            raise SnapshotError("the snapshot's layout is of another version", step=where,
                                expected=f"version {version}", got=f"version {head['version']}",
                                hint="resume with the release that wrote it, or start afresh")
        arrays, at = {}, 0
        for name, descr, shape in head["arrays"]:
            dtype = np.lib.format.descr_to_dtype(_descr(descr))
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            arrays[name] = np.frombuffer(body[at:at + size], dtype).reshape(shape).copy()
            at += size
        return cls(kind, version, head["meta"], arrays)

    @staticmethod
    def _parts(blob: bytes, where: str) -> tuple[dict[str, Any], memoryview]:
        """The JSON head and the bytes after it, if they are whole."""
        if len(blob) < _HEAD.size or blob[:4] != _MAGIC:
            raise SnapshotError("these bytes are not a snapshot", step=where)
        _, form, crc, length = _HEAD.unpack_from(blob)
        if form != _FORMAT:
            raise SnapshotError("the snapshot's format is of another release", step=where,
                                expected=f"format {_FORMAT}", got=f"format {form}",
                                hint="resume with the release that wrote it, or start afresh")
        rest = memoryview(blob)[_HEAD.size:]
        if zlib.crc32(rest) != crc:
            raise SnapshotError("the snapshot is damaged (its checksum does not match)", step=where)
        return json.loads(bytes(rest[:length])), rest[length:]


def _descr(descr: Any) -> Any:
    """What `dtype_to_descr` gave, after its way through JSON, which knows lists but no tuples."""
    if isinstance(descr, str):
        return descr
    return [(name, _descr(kind), *(tuple(shape) for shape in rest)) for name, kind, *rest in descr]


def bundle(index: bytes, store: MemoryStore) -> bytes:
    """Pack an index and the blobs it points to into one snapshot."""
    blobs = {name: np.frombuffer(blob, np.uint8) for name, blob in store.items()}
    return Record("bundle", 1, {}, {"": np.frombuffer(index, np.uint8), **blobs}).encode()


def unbundle(snapshot: bytes) -> tuple[bytes, MemoryStore]:
    """Take apart what `bundle` packed."""
    arrays = dict(Record.decode(snapshot, kind="bundle", version=1).arrays)
    index = arrays.pop("").tobytes()
    return index, MemoryStore({name: blob.tobytes() for name, blob in arrays.items()})


def encode_schema(schema: pa.Schema | None) -> str | None:
    """An Arrow schema as text, for a record's head."""
    return None if schema is None else base64.b64encode(schema.serialize()).decode()


def decode_schema(text: str | None) -> pa.Schema | None:
    """The schema that `encode_schema` wrote."""
    return None if text is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
