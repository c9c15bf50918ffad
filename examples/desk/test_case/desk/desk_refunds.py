"""Refunds and cancellations at the order desk, in the ThinkingBox form."""

from thinkingbox.common import Judge, TestContext

"""!
scenario: desk
tags: [refunds]
"""


def same_tables(x: TestContext):
    effects = x.effects["desk"]
    assert effects["result_db_hash"] == effects["golden_db_hash"], "the tables are not as they should be"


def whole_refund(x: TestContext):
    """!
    query: My order O-3 never came. I would like my money back.
    user_context: You are customer C-3.
    init:
      desk:
        golden_test_case:
          tool_interactions:
            - {tool: get_order, parameters: {order_id: O-3}}
            - {tool: refund, parameters: {order_id: O-3, amount: 13}}
    """
    same_tables(x)


def part_refund_with_note(x: TestContext, judge: Judge):
    """!
    query: One of the two lamps in O-90 was broken.
    user_context: You are customer C-1 and want 20 euros back.
    init:
      desk:
        data_patch:
          orders:
            - {id: O-90, customer: C-1, status: paid, total: 40}
        golden_test_case:
          tool_interactions:
            - {tool: get_order, parameters: {order_id: O-90}}
            - {tool: refund, parameters: {order_id: O-90, amount: 20}}
            - {tool: add_note, parameters: {order_id: O-90, text: one lamp broken}}
    """
    same_tables(x)
    assert judge.text_yesno(x.response, "Does the message say that the request was dealt with?")


def cancel_all_of_a_customer(x: TestContext):
    """!
    query: I am C-5. Please cancel every order of mine.
    init:
      desk:
        golden_test_case:
          tool_interactions:
            - {tool: list_orders, parameters: {customer: C-5}}
            - {tool: cancel_order, parameters: {order_id: O-5}}
            - {tool: cancel_order, parameters: {order_id: O-12}}
            - {tool: cancel_order, parameters: {order_id: O-19}}
            - {tool: cancel_order, parameters: {order_id: O-26}}
            - {tool: cancel_order, parameters: {order_id: O-33}}
            - {tool: cancel_order, parameters: {order_id: O-40}}
    """
    same_tables(x)


def too_much_is_refused(x: TestContext):
    """!
    query: I paid 11 euros for O-1 and want 1000 back.
    init:
      desk:
        golden_test_case:
          tool_interactions:
            - {tool: get_order, parameters: {order_id: O-1}}
    """
    same_tables(x)
    assert x.effects["desk"]["result_db_state"]["refunds"] == {}


def not_yet(x: TestContext):
    """!
    query: A case that is still being written.
    tags: [skip]
    """
    raise NotImplementedError
