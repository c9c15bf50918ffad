"""Loans of single books: a docstring without a mark is no block."""

from thinkingbox.common import Judge, TestContext

"""!
scenario: library
tags: [loans, "category:reader"]
user_context: Reader 7, in a hurry.
max_user_sim_turns: 3
"""

LENT = "B-1"


def lent(x: TestContext) -> bool:
    return LENT in x.effects["catalog"]["lent"]


def lend_one(x: TestContext):
    """!
    query: |
        May I borrow "Moss and Lichen"?

        My card is R-7.
    init:
      catalog:
        rules: {days: 14}
        books:
          - id: B-2
            title: Ferns
        golden_test_case:
          tool_interactions:
            - {tool: find_book, parameters: {title: Moss and Lichen}}
            - tool: lend_book
              parameters: {book: B-1, reader: R-7}
            - {tool: opening_hours}
      mail:
        outbox: []
      printer: {paper: 3}
    tags: [first, "domain:Branch"]
    """
    assert lent(x), "B-1 is not lent"


def lend_politely(x: TestContext, judge: Judge, stamp):
    """!
    query: Please lend me B-1.
    user_context: null
    max_agent_sim_turns: 4
    """
    assert judge.text_yesno(x.response, "Is the answer polite?")


"""!
bot_instructions: The printer is broken.
tags: [later]
"""


async def not_a_test(x: TestContext):
    """!
    query: An async function is passed over.
    """


def helper_with_nothing_to_say():
    """!"""
    return lent


@staticmethod
def renew(x: TestContext):
    """!
    query: "Hello {init[mail][user]}, renew {init[catalog][loans][0]}."
    user_context: "Card {init[mail][card]:>5}; braces {{ }}."
    bot_instructions: "Today is {init[catalog][today]!r}."
    format_query: true
    history: "renewal:1:m4"
    """
    return 0.5


def closed_day(x: TestContext):
    """!
    scenario: closed
    query: Anyone there?
    """


def on_hold(x: TestContext):
    """!
    query: Later, perhaps.
    tags: [SKIP]
    """
