"""!
scenario: library
"""


def greet(x):
    """!
    query: Good morning!
    """
    assert "morning" in x.response
