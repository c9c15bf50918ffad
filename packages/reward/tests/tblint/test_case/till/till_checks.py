"""Checks of all sorts, most of them with one thing wrong."""

from thinkingbox.common import Judge, TestContext

"""!
scenario: till
"""


def rows(x, table, *columns, of="result_db_state"):
    return [tuple(row.get(name) for name in columns) for row in x.effects["till"][of][table]]


def same(x, **columns):
    for table, names in columns.items():
        golden = rows(x, table, *names, of="golden_db_state")
        assert sorted(rows(x, table, *names)) == sorted(golden), f"{table} are not as they should be"


def strict(x: TestContext):
    """!
    query: My S-2 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: find_sale, parameters: {sale: S-2}}
            - {tool: open_case, parameters: {sale: S-2, title: it broke, body: It broke at once., rank: high}}
            - {tool: pay_back, parameters: {case: C-2, amount: 20}}
            - {tool: close_case, parameters: {case: C-2}}
    """
    effects = x.effects["till"]
    assert effects["result_db_hash"] == effects["golden_db_hash"]


def any_words(x: TestContext):
    """!
    query: My S-2 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-2, title: broken, body: It broke at once., rank: high}}
            - {tool: pay_back, parameters: {case: C-2, amount: 20}}
    """
    same(x, sales=["id", "state"], cases=["id", "sale", "status", "rank"], payments=["case", "amount"])


def title_only(x: TestContext):
    """!
    query: My S-2 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-2, title: it broke, body: It broke at once., rank: high}}
    """
    same(x, cases=["id", "sale", "title", "status", "rank"])


def any_amount(x: TestContext):
    """!
    query: My S-2 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-2, title: it broke, body: It broke at once., rank: high}}
            - {tool: pay_back, parameters: {case: C-2, amount: 20}}
    """
    same(x, sales=["id", "state"], cases=["id", "sale", "title", "body", "status", "rank"], payments=["case"])


def last_only(x: TestContext):
    """!
    query: My S-2 broke. Close C-1 as well.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: close_case, parameters: {case: C-1}}
            - {tool: open_case, parameters: {sale: S-2, title: it broke, body: It broke at once., rank: high}}
            - {tool: pay_back, parameters: {case: C-1, amount: 20}}
    """
    assert ("S-2", "it broke", "It broke at once.", "high") in rows(x, "cases", "sale", "title", "body", "rank")


def ids_by_order(x: TestContext):
    """!
    query: S-1 and S-2 broke. Pay back S-2.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
            - {tool: find_sale, parameters: {sale: S-2}}
            - {tool: open_case, parameters: {sale: S-2, title: second one, body: Another broke., rank: low}}
            - {tool: pay_back, parameters: {case: C-3, amount: 20}}
    """
    same(x, cases=["id", "sale", "title", "body", "status", "rank"], payments=["case", "amount"])


def ids_by_content(x: TestContext):
    """!
    query: S-1 and S-2 broke. Pay back S-2.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
            - {tool: find_sale, parameters: {sale: S-2}}
            - {tool: open_case, parameters: {sale: S-2, title: second one, body: Another broke., rank: low}}
            - {tool: pay_back, parameters: {case: C-3, amount: 20}}
    """
    cases = {row["id"]: row["sale"] for row in x.effects["till"]["result_db_state"]["cases"]}
    same(x, sales=["id", "state"], cases=["sale", "title", "body", "status", "rank"])
    paid = rows(x, "payments", "case", "amount")
    assert [(cases[case], amount) for case, amount in paid] == [("S-2", 20)]


def anything(x: TestContext):
    """!
    query: Close nothing.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
    """
    assert x.response


def never(x: TestContext):
    """!
    query: My S-1 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
    """
    assert rows(x, "cases", "id") == [("C-9",)], "there is no C-9"


def refused(x: TestContext):
    """!
    query: My S-9 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: find_sale, parameters: {sale: S-1}}
            - {tool: open_case, parameters: {sale: S-9, title: first one, body: One broke., rank: low}}
    """


def no_such_tool(x: TestContext):
    """!
    query: My S-1 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: weigh, parameters: {sale: S-1}}
    """


def broken_check(x: TestContext):
    """!
    query: Close C-1.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
    """
    assert x.effects["shop"]


def the_time(x: TestContext):
    """!
    query: Stamp C-1.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: stamp, parameters: {case: C-1}}
    """
    assert x.effects["till"]["result_db_state"]["cases"][0].get("stamped")


def the_age(x: TestContext):
    """!
    scenario: till_with_age
    query: Close C-1 if it is older than a month.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: close_case, parameters: {case: C-1}}
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
    """
    same(x, cases=["id", "sale", "title", "body", "status", "rank"])


def the_age_by_golden(x: TestContext):
    """!
    query: Open a case if C-1 is older than a month.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: age, parameters: {case: C-1}}
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
    """
    same(x, cases=["id", "sale", "title", "body", "status", "rank"])


def by_chance(x: TestContext):
    """!
    query: Draw for C-1.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: draw, parameters: {case: C-1}}
    """
    assert x.effects["till"]["result_db_state"]["cases"][0].get("ticket")


def asks(x: TestContext, judge: Judge):
    """!
    query: My S-1 broke.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: open_case, parameters: {sale: S-1, title: first one, body: One broke., rank: low}}
    """
    same(x, cases=["id", "sale", "title", "status", "rank"])
    assert judge.text_yesno(x.effects["till"]["result_db_state"]["cases"][-1]["body"], "Does it say what broke?")
