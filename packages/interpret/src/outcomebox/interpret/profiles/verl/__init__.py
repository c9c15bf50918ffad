"""The `verl-0.9` profile: what verl 0.9's agent loop reads, certified against verl 0.9.1.

The agent loop decodes a turn's ids, special tokens kept, and hands the text to the parser that
`multi_turn.format` names. It has no step for reasoning: a call drafted in it is executed. A turn
that fills the response budget is never read by the loop; the profile reads it as the parser does
wherever the loop asks it, because the budget is not the output's.
"""

from outcomebox.interpret.profiles.base import Profile
from outcomebox.interpret.profiles.verl.hermes import read_hermes
from outcomebox.interpret.profiles.verl.xml import read_xml

_PROFILE = Profile(
    name="verl-0.9",
    summary="verl's agent loop, certified against verl 0.9.1",
    readings={"qwen3_xml": read_xml, "hermes": read_hermes},
)

PROFILES = {_PROFILE.name: _PROFILE}
