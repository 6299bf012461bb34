"""The tables of the language detector, unpacked at one go.

py3langid unpacks them in many small steps and waits after each for the threads that import modules meanwhile.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
from array import array
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    from py3langid.langid import LanguageIdentifier

_LOCAL_HEADER = struct.Struct("<26xHH")
"""The header before a file of a zip archive, with the lengths of its name and of its extra field."""
_ARRAY_HEADER = 2**10
"""Bytes in which the header of an array ends."""
_TYPES = {2: "H", 4: "I"}
"""Types of whole numbers of ``array`` by their bytes, as py3langid has them."""

_UNREADABLE = (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, struct.error)
_IN_ANOTHER_FORM = (*_UNREADABLE, ImportError, KeyError, TypeError, ValueError)
"""What reading raises if another version of py3langid keeps its tables in another form."""


def loaded() -> LanguageIdentifier:
    """Return the language detector with the tables of py3langid."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        from py3langid.langid import MODEL_DIR

        return LanguageIdentifier(**_tables(MODEL_DIR / MODEL_FILE), norm_probs=True)
    except _IN_ANOTHER_FORM:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _tables(path: Path) -> dict[str, Any]:
    """Return the tables of a file by the names of the detector's parameters."""
    data = lzma.decompress(path.read_bytes())
    with zipfile.ZipFile(BytesIO(data)) as archive:
        found = {one.filename.removesuffix(".npy"): _array(data, one) for one in archive.infolist()}
    return {
        "nb_ptc": found["ptc"].copy(),  # a view would keep all of the data
        "nb_pc": found["pc"].copy(),
        "nb_classes": found["classes"].tolist(),
        "tk_nextmove": _numbers(found["nextmove"]),
        "tk_row": _numbers(found["nextmove_row"]),
        "tk_output": found["out_feat"].tolist(),
    }


def _array(data: bytes, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Return an array of an archive as a view of its bytes, whose checksum LZMA has compared.

    Raises:
        ValueError: It is compressed, or in another format.
    """
    import numpy as np

    begin = member.header_offset + _LOCAL_HEADER.size + sum(_LOCAL_HEADER.unpack_from(data, member.header_offset))
    header = BytesIO(data[begin : begin + _ARRAY_HEADER])
    if member.compress_type != zipfile.ZIP_STORED or np.lib.format.read_magic(header) != (1, 0):
        raise ValueError("another format")
    shape, is_by_column, kind = np.lib.format.read_array_header_1_0(header)
    if is_by_column:
        raise ValueError("another order")
    return np.frombuffer(data, kind, int(np.prod(shape)), begin + header.tell()).reshape(shape)


def _numbers(values: npt.NDArray[np.unsignedinteger[Any]]) -> array[int]:
    """Return whole numbers as a plain array, of which single ones are read faster."""
    numbers = array(_TYPES[values.dtype.itemsize])
    numbers.frombytes(values.data.cast("B"))
    return numbers
