"""The model's tokenizer from a file, for turns whose ids are recorded."""

from importlib import import_module
from pathlib import Path
from typing import Any

from outcomebox.interpret.replay.errors import ReplayError
from outcomebox.interpret.tokens.text import Tokenizer


class _FromFile:
    """A tokenizer of the `tokenizers` library, with what live parsers ask of one besides."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        special = {number: token.content for number, token in added.items() if token.special}
        self._added = added
        self.all_special_ids = list(special)
        self.all_special_tokens = list(special.values())

    def get_vocab(self) -> dict[str, int]:
        found: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        return found

    def get_added_tokens_decoder(self) -> Any:
        return self._added

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        text: str = self._tokenizer.decode(token_ids, skip_special_tokens=skip_special_tokens)
        return text

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        return ids


def load_tokenizer(path: str) -> Tokenizer:
    """Return the tokenizer of a `tokenizer.json`, or of a folder that holds one.

    Raises:
        ReplayError: It is not there or cannot be read, or the `tokenizers` library is missing.
    """
    file = Path(path)
    if file.is_dir():
        file /= "tokenizer.json"
    try:
        library: Any = import_module("tokenizers")
    except ImportError:
        raise ReplayError(
            "needs the tokenizers library: pip install tokenizers", field="--tokenizer"
        ) from None
    if not file.is_file():
        raise ReplayError("there is no such file", field="--tokenizer", value=str(file))
    try:
        return _FromFile(library.Tokenizer.from_file(str(file)))
    except Exception as error:  # noqa: BLE001 - the library raises Exception itself
        raise ReplayError(
            f"is no tokenizer.json ({error})", field="--tokenizer", value=str(file)
        ) from None
