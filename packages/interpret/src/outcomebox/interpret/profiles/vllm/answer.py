"""What all of vLLM's readings share: what its server is given and what it sends."""

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.wires import served_call as call_of
from outcomebox.interpret.turn import Diagnostic, Span

__all__ = ["call_of", "nameless", "served"]


def nameless(span: Span) -> Diagnostic:
    """Return the note about an attempt of which a server sends nothing."""
    return Diagnostic("empty_call", "a call without a name: the server leaves it out", span)


def served(output: Output) -> Output:
    """Return the output as an engine hands it out: without the end of turn that stopped it."""
    text, tokens = output.text, output.tokens
    if output.cut or (tokens is not None and not tokens.ids):
        return output
    if tokens is None:
        ending = next((each for each in output.format.end_of_turn if text.endswith(each)), "")
        return output._replace(text=text.removesuffix(ending))
    begins = tokens.ends[-2] if len(tokens.ids) > 1 else 0
    if text[begins:] not in output.format.end_of_turn:
        return output
    shorter = tokens._replace(ids=tokens.ids[:-1], ends=tokens.ends[:-1])
    return output._replace(text=text[:begins], tokens=shorter)
